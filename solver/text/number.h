/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts: finite decimals, the same bytes for the same value.
 * Tests: test_matrix_csv.c, test_name_file.c. */
#ifndef NT_NUMBER_H
#define NT_NUMBER_H

#include <stddef.h>

enum { NT_NUMBER_BYTES = 32 };

/* Reads the decimal at text (not further than end) and returns the byte behind it, or NULL when
 * there is none or it is not finite. No leading blanks, no hexadecimal, no inf or nan. Correctly
 * rounded: up to 15 digits by one exact division, the rest by strtod. */
const char *nt_number_read(const char *text, const char *end, double *value);

/* Writes the fewest of 6, 9, 12, 15 or 17 digits that give value back. */
void nt_number_write(double value, char text[NT_NUMBER_BYTES]);

/* value to that many significant digits (1 to 17); the nearest double of what %.*g prints. */
double nt_number_round(double value, int digits);

/* The same for people and JSON: digits significant digits, no trailing zeros, no exponent where
 * the number is between 1e-6 and 1e15. Reading and writing again gives the same bytes. */
void nt_number_plain(double value, int digits, char text[NT_NUMBER_BYTES]);

/* The value of a hexadecimal digit of either case; -1: it is none. */
int nt_hex_digit(char c);

#endif
