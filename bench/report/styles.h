/* SPDX-License-Identifier: Apache-2.0
 * The style sheets, embedded by the build. chart.css is part of each SVG file; a page has both. */
#ifndef HX_BENCH_REPORT_STYLES_H
#define HX_BENCH_REPORT_STYLES_H

extern const char hx__cl_chart[], hx__cl_page[]; /* kernels/embed.sh names them */
#define report_chart_css hx__cl_chart
#define report_page_css hx__cl_page

#endif
