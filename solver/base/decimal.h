/* SPDX-License-Identifier: Apache-2.0 */
/* Plain decimal numbers in text, independent of the locale: digits, and for thousandths an optional
 * point. A sign, exponent, space, "inf" or "nan" is rejected. Libc only, no allocation.
 * Tests: test_option.c. */
#ifndef NT_DECIMAL_H
#define NT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* Reads a whole number such as "42", at most max. -1 for any other text; *value is then
 * unchanged. */
int nt_decimal_whole(const char *text, size_t bytes, uint64_t max, uint64_t *value);

/* Reads a whole number of bytes, with an optional suffix K, M or G for 2^10, 2^20 or 2^30. */
int nt_decimal_bytes(const char *text, size_t bytes, uint64_t max, uint64_t *value);

/* Reads a decimal number in thousandths, "2.5" as 2500, with at most three digits after the point
 * and at most max thousandths. -1 for any other text. */
int nt_decimal_thousandths(const char *text, size_t bytes, uint64_t max, uint64_t *value);

#endif
