/* SPDX-License-Identifier: Apache-2.0 */
#include "decimal.h"

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : -1;
}

int nt_decimal_whole(const char *text, size_t bytes, uint64_t max, uint64_t *value)
{
    uint64_t sum = 0;
    if (bytes == 0)
        return -1;
    for (size_t k = 0; k < bytes; k++) {
        int d = digit(text[k]);
        if (d < 0 || sum > (UINT64_MAX - 9) / 10)
            return -1;
        sum = sum * 10 + (uint64_t)d;
        if (sum > max)
            return -1;
    }
    *value = sum;
    return 0;
}

int nt_decimal_bytes(const char *text, size_t bytes, uint64_t max, uint64_t *value)
{
    static const char units[] = {'K', 'M', 'G'};
    unsigned shift = 0;
    for (unsigned k = 0; k < sizeof units && bytes > 1; k++)
        if (text[bytes - 1] == units[k])
            shift = 10 * (k + 1);
    if (nt_decimal_whole(text, bytes - (shift > 0), max >> shift, value) != 0)
        return -1;
    *value <<= shift;
    return 0;
}

int nt_decimal_thousandths(const char *text, size_t bytes, uint64_t max, uint64_t *value)
{
    static const uint64_t scale[] = {1000, 100, 10, 1};
    size_t whole_bytes = 0;
    while (whole_bytes < bytes && text[whole_bytes] != '.')
        whole_bytes++;
    uint64_t whole, part = 0;
    if (nt_decimal_whole(text, whole_bytes, max / 1000, &whole) != 0)
        return -1;
    if (whole_bytes < bytes) {
        size_t after = bytes - whole_bytes - 1;
        if (after > 3 || nt_decimal_whole(text + whole_bytes + 1, after, 999, &part) != 0)
            return -1;
        part *= scale[after];
    }
    if (part > max - whole * 1000)
        return -1;
    *value = whole * 1000 + part;
    return 0;
}
