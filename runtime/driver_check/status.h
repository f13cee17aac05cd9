/* SPDX-License-Identifier: Apache-2.0
 * What the child that tries a driver and the library agree on. */
#ifndef HX_DRIVER_CHECK_STATUS_H
#define HX_DRIVER_CHECK_STATUS_H

#define HX__LOOK_FD 3    /* the child's descriptor for what it is at: l loads, p asks for platforms, d for devices */
#define HX__LOOK_FINE 42 /* its exit status if the driver let it come to its end */

#endif
