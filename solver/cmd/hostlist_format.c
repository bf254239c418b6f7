/* SPDX-License-Identifier: Apache-2.0 */
#include "hostlist_format.h"

#include <stdbool.h>
#include <string.h>

enum { DIGITS_MAX = 9 };

/* A name that ends in a number: prefix bytes, then digits of them. */
struct split {
    size_t prefix, digits;
    unsigned long number;
};

static struct split split_name(const char *name)
{
    struct split s = {.prefix = strlen(name)};
    while (s.prefix > 0 && s.digits < DIGITS_MAX && name[s.prefix - 1] >= '0' &&
           name[s.prefix - 1] <= '9') {
        s.prefix--;
        s.digits++;
    }
    for (size_t k = 0; k < s.digits; k++)
        s.number = s.number * 10 + (unsigned long)(name[s.prefix + k] - '0');
    return s;
}

static bool same_prefix(const char *a, const char *b)
{
    struct split x = split_name(a), y = split_name(b);
    return x.digits > 0 && y.digits > 0 && x.prefix == y.prefix && memcmp(a, b, x.prefix) == 0;
}

/* b is the next number after a, written as wide as a where a has leading zeros. */
static bool name_follows(const char *a, const char *b)
{
    struct split x = split_name(a), y = split_name(b);
    if (!same_prefix(a, b) || y.number != x.number + 1)
        return false;
    bool padded = a[x.prefix] == '0' || b[y.prefix] == '0';
    return !padded || x.digits == y.digits;
}

/* The ranges of a run of names with one prefix. */
static void put_ranges(struct nt_strbuf *d, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n;) {
        size_t last = k;
        while (last + 1 < n && name_follows(names[last], names[last + 1]))
            last++;
        if (k > 0)
            nt_strbuf_puts(d, ",");
        nt_strbuf_puts(d, names[k] + split_name(names[k]).prefix);
        if (last > k) {
            nt_strbuf_puts(d, "-");
            nt_strbuf_puts(d, names[last] + split_name(names[last]).prefix);
        }
        k = last + 1;
    }
}

void nt_hostlist_format(struct nt_strbuf *d, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n;) {
        size_t run = 1;
        while (k + run < n && same_prefix(names[k], names[k + run]))
            run++;
        if (k > 0)
            nt_strbuf_puts(d, ",");
        if (run == 1) {
            nt_strbuf_puts(d, names[k]);
        } else {
            nt_strbuf_put(d, names[k], split_name(names[k]).prefix);
            nt_strbuf_puts(d, "[");
            put_ranges(d, names + k, run);
            nt_strbuf_puts(d, "]");
        }
        k += run;
    }
}
