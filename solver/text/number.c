/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 10^k is exact in a double up to k = 22 */
static const double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_number_byte(char c)
{
    return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/* Exponents and long mantissas: rare, so a copy is fine. 63 bytes hold every sensible number. */
static const char *read_rare(const char *text, const char *end, double *value)
{
    char copy[64];
    size_t bytes = 0;
    while (text + bytes < end && is_number_byte(text[bytes])) {
        if (bytes == sizeof copy - 1)
            return NULL;
        copy[bytes] = text[bytes];
        bytes++;
    }
    copy[bytes] = '\0';
    char *behind;
    double read = strtod(copy, &behind);
    if (behind == copy || !isfinite(read))
        return NULL;
    *value = read;
    return text + (behind - copy);
}

const char *nt_number_read(const char *text, const char *end, double *value)
{
    const char *c = text;
    bool minus = c < end && *c == '-';
    c += minus;
    uint64_t mantissa = 0;
    const char *first = c;
    for (; c < end && is_digit(*c) && c - first < 15; c++)
        mantissa = mantissa * 10 + (uint64_t)(*c - '0');
    size_t digits = (size_t)(c - first), places = 0;
    if (c < end && *c == '.') {
        const char *point = c++;
        for (; c < end && is_digit(*c) && digits + places < 15; c++, places++)
            mantissa = mantissa * 10 + (uint64_t)(*c - '0');
        if (digits + places == 0)
            return NULL;
        if (places == 0)
            c = point + 1;
    }
    if (digits + places == 0 || (c < end && is_number_byte(*c)))
        return read_rare(text, end, value);
    double read = (double)mantissa / power_of_ten[places];
    *value = minus ? -read : read;
    return c;
}

int nt_hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void nt_number_write(double value, char text[NT_NUMBER_BYTES])
{
    static const int digits[] = {6, 9, 12, 15, 17};
    for (size_t k = 0; k < sizeof digits / sizeof *digits; k++) {
        snprintf(text, NT_NUMBER_BYTES, "%.*g", digits[k], value);
        if (strtod(text, NULL) == value)
            return;
    }
}

double nt_number_round(double value, int digits)
{
    char text[NT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return strtod(text, NULL);
}

void nt_number_figure(double value, int digits, char text[NT_NUMBER_BYTES])
{
    double rounded = nt_number_round(value, digits);
    double size = fabs(rounded);
    if (size == 0) {
        memcpy(text, "0", 2);
        return;
    }
    if (size < 1e-6 || size >= 1e15) {
        snprintf(text, NT_NUMBER_BYTES, "%.*g", digits, rounded);
        return;
    }
    int places = digits - 1 - (int)floor(log10(size));
    snprintf(text, NT_NUMBER_BYTES, "%.*f", places > 0 ? places : 0, rounded);
}

void nt_number_plain(double value, int digits, char text[NT_NUMBER_BYTES])
{
    nt_number_figure(value, digits, text);
    if (strchr(text, '.') == NULL || strchr(text, 'e') != NULL)
        return;
    for (size_t n = strlen(text); text[n - 1] == '0' || text[n - 1] == '.'; n--) {
        bool point = text[n - 1] == '.';
        text[n - 1] = '\0';
        if (point)
            break;
    }
}
