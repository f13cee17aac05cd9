/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HX_BLAS_MESSAGE_H
#define HX_BLAS_MESSAGE_H

/* Writes one line to standard error, by one write: "hx: LEVEL: " and the text. Leaves errno as it is. */
void hx__blas_message(const char *level, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

#endif
