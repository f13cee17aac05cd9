/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/published.h"

#define REDUCE "reduce"
#define ELEMENTS "elements per item"
#define GROUPS "groups per compute unit"

#define OFFLOAD "offload"
#define TILED "tiled C" /* with SSE */

/* PCL-Reduction: u32, 2^24 elements for the trees, several sizes for the libraries. The Intel GFX study: seconds of the
 * product 2048x4096x2048 on two cores and their GPU, over the 5.12 s of the loop with SSE. */
const published published_rates[] = {
    {REDUCE, "completely unrolled", "naive", 1.489, 1.489, "published, K20M: 1.489 x naive"},
    {REDUCE, "completely unrolled", "naive", 1.422, 1.422, "published, W8000: 1.422 x naive"},
    {REDUCE, "OpenCV, CPU", "OpenCV, CPU", 2.97, 20.24, "published, K20M: 2.97 to 20.24 x it"},
    {REDUCE, "OpenCV, CPU", "OpenCV, CPU", 3.91, 15.93, "published, W8000: 3.91 to 15.93 x it"},
    {REDUCE, "OpenCV, OpenCL", "OpenCV, OpenCL", 1.25, 1.75, "published, K20M: 1.25 to 1.75 x it"},
    {REDUCE, "OpenCV, OpenCL", "OpenCV, OpenCL", 1.24, 5.15, "published, W8000: 1.24 to 5.15 x it"},
    {OFFLOAD, TILED, TILED, 1, 1, "published: 5.12 s"},
    {OFFLOAD, "tiled C, AVX", TILED, 5.12 / 4.098, 5.12 / 4.098, "published: 4.098 s"},
    {OFFLOAD, "tiled C, OpenMP", TILED, 5.12 / 2.689, 5.12 / 2.689, "published, 2 cores: 2.689 s"},
    {OFFLOAD, "tiled C, OpenMP", TILED, 5.12 / 1.784, 5.12 / 1.784, "published, 2 cores, AVX: 1.784 s"},
    {OFFLOAD, "GPU, ordinary kernel", TILED, 5.12 / 1.6, 5.12 / 1.6, "published: 1.6 s"},
    {OFFLOAD, "GPU, tile per item", TILED, 5.12 / 0.439, 5.12 / 0.439, "published: 0.439 s"},
};
const size_t published_rate_count = sizeof published_rates / sizeof published_rates[0];

const published_place published_places[] = {
    {REDUCE, ELEMENTS, 16, "published, W8000: trees within 1 %"},
    {REDUCE, ELEMENTS, 32, "published, K20M: trees within 1 %"},
    {REDUCE, GROUPS, 4, "published: at least 4 ..."},
    {REDUCE, GROUPS, 8, "... to 8"},
    {REDUCE, "elements", 1 << 14, "published: below 2^14 the CPU is faster"},
};
const size_t published_place_count = sizeof published_places / sizeof published_places[0];

/* n words of one bank take n transactions. */
const published_fall published_falls[] = {{"lds", "words of one bank", "by the rule"}};
const size_t published_fall_count = sizeof published_falls / sizeof published_falls[0];
