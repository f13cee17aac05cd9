/* SPDX-License-Identifier: Apache-2.0
 * A batch of products; private to this folder. */
#ifndef HX_API_BATCH_H
#define HX_API_BATCH_H

#include "runtime/api/context.h"

/* Runs a checked batch that is not empty. As hx__offload_checked. */
hx_status hx__offload_batch(hx_context *hx, const hx__work *work, hx_report *report);

#endif
