/* SPDX-License-Identifier: Apache-2.0
 * The memory of a product's panels, kept for the next product: new pages take a tenth of the time of a product of a
 * thousand rows. */
#ifndef HX_MPI_MEMORY_H
#define HX_MPI_MEMORY_H

#include <stddef.h>

#define HX__MPI_MOST_KEPT ((size_t)64 << 20) /* bytes */

/* Memory for so many floats, whose contents are undefined, or NULL. */
float *hx__mpi_memory_take(size_t floats);
/* Keeps it for a later call if it is not more than HX__MPI_MOST_KEPT, else frees it. NULL: does nothing. */
void hx__mpi_memory_return(float *memory);

#endif
