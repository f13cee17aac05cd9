/* SPDX-License-Identifier: Apache-2.0
 * Constants that the library and the child process that tries a driver share. */
#ifndef HX_DRIVER_CHECK_STATUS_H
#define HX_DRIVER_CHECK_STATUS_H

#define HX__CHECK_FD 3      /* descriptor for the child's step: l loads, p queries platforms, d queries devices */
#define HX__CHECK_PASSED 42 /* its exit status if it ran to its end */

#endif
