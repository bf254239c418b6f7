/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts: finite decimals. The same value gives the same bytes.
 * Tests: test_matrix_csv.c, test_name_file.c. */
#ifndef NT_NUMBER_H
#define NT_NUMBER_H

#include <stddef.h>

enum { NT_NUMBER_BYTES = 32 };

/* Reads the decimal at text (up to end) and returns the address behind it, or NULL if there is none
 * or it is not finite. No leading spaces, hexadecimal, inf or nan. Correctly rounded: one exact
 * division for up to 15 digits, strtod for more. */
const char *nt_number_read(const char *text, const char *end, double *value);

/* Writes value with the fewest of 6, 9, 12, 15 or 17 digits that restore it. */
void nt_number_write(double value, char text[NT_NUMBER_BYTES]);

/* Rounds value to that many significant digits (1 to 17): the nearest double to the output of
 * %.*g. */
double nt_number_round(double value, int digits);

/* Significant digits in texts for people. JSON has more. */
enum { NT_FIGURE_DIGITS = 3 };

/* Writes value with all of that many significant digits, "0.500", so that the values of a column
 * are aligned, and without an exponent between 1e-6 and 1e15. */
void nt_number_figure(double value, int digits, char text[NT_NUMBER_BYTES]);

/* The same without trailing zeros, for sentences and JSON. Reading and writing again gives the same
 * bytes. */
void nt_number_plain(double value, int digits, char text[NT_NUMBER_BYTES]);

/* Returns the value of a hexadecimal digit of either case; -1: it is none. */
int nt_hex_digit(char c);

#endif
