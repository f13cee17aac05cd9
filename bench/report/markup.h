/* SPDX-License-Identifier: Apache-2.0
 * Text within HTML and SVG. Names of devices may contain anything: all text goes through these functions. */
#ifndef HX_BENCH_REPORT_MARKUP_H
#define HX_BENCH_REPORT_MARKUP_H

#include <stdarg.h>
#include <stdio.h>

/* Writes text as content of an element or value of an attribute in double quotes, valid in HTML and in XML: & < > " '
 * are escaped; bytes that are not UTF-8, characters that XML does not allow, and those that change the
 * direction of text become U+FFFD. */
void markup_text(FILE *f, const char *text);
/* Formats text and writes it in the same way. */
void markup_format(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void markup_format_list(FILE *f, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

#endif
