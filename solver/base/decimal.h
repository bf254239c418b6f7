/* SPDX-License-Identifier: Apache-2.0 */
/* Plain decimal numbers in text, independent of the locale: digits, for thousandths with an
 * optional point. No sign, no exponent, no space, no "inf" or "nan": anything else is rejected.
 * Libc only, no allocation.
 * Tests: test_option.c. */
#ifndef NT_DECIMAL_H
#define NT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* "42": a whole number of at most max; -1 for anything else (value is then unchanged). */
int nt_decimal_whole(const char *text, size_t bytes, uint64_t max, uint64_t *value);

/* The same for bytes: K, M and G behind the number are 2^10, 2^20 and 2^30 of them. */
int nt_decimal_bytes(const char *text, size_t bytes, uint64_t max, uint64_t *value);

/* "2.5" becomes 2500: at most three digits after the point, at most max thousandths. */
int nt_decimal_thousandths(const char *text, size_t bytes, uint64_t max, uint64_t *value);

#endif
