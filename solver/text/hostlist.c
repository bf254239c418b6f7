/* SPDX-License-Identifier: Apache-2.0 */
#include "hostlist.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "map.h"
#include "matrix.h"

enum { PIECES_MAX = 17, DIGITS_MAX = 18, NAME_BYTES = 256 };

/* A part of a name: fixed text, or a bracket with numbers. */
struct piece {
    const char *at, *end; /* for a bracket: its contents */
    bool bracket;
};

struct entry {
    const char *at, *end; /* the whole entry, for messages */
    size_t pieces;
    struct piece piece[PIECES_MAX];
    nt_hostlist_each *each;
    void *context;
    char name[NAME_BYTES];
};

struct range {
    uint64_t low, high;
    int width;
};

static int hostlist_error(const char *at, const char *end, const char *what, struct nt_err *err)
{
    size_t bytes = (size_t)(end - at);
    return nt_err_set(err, NT_ERR_INPUT, "host list \"%.*s\": %s", (int)(bytes < 64 ? bytes : 64),
                      at, what);
}

static const char *read_digits(const char *at, const char *end, uint64_t *value)
{
    const char *c = at;
    for (*value = 0; c < end && *c >= '0' && *c <= '9' && c - at <= DIGITS_MAX; c++)
        *value = *value * 10 + (uint64_t)(*c - '0');
    return c == at || c - at > DIGITS_MAX ? NULL : c;
}

/* Reads "LOW" or "LOW-HIGH", then a comma or the end of the bracket; NULL: neither. */
static const char *read_range(const char *at, const char *end, struct range *r)
{
    const char *c = read_digits(at, end, &r->low);
    if (c == NULL)
        return NULL;
    r->width = (int)(c - at);
    r->high = r->low;
    if (c < end && *c == '-')
        c = read_digits(c + 1, end, &r->high);
    if (c == NULL || r->high < r->low || (c < end && (*c != ',' || c + 1 == end)))
        return NULL;
    return c < end ? c + 1 : c;
}

static int split_entry(struct entry *e, struct nt_err *err)
{
    e->pieces = 0;
    for (const char *c = e->at; c < e->end;) {
        struct piece p = {.at = c, .bracket = *c == '['};
        if (e->pieces == PIECES_MAX)
            return hostlist_error(e->at, e->end, "more than eight brackets in a name", err);
        p.at += p.bracket ? 1 : 0;
        for (c = p.at; c < e->end && *c != '[' && *c != ']';)
            c++;
        p.end = c;
        if (p.bracket && (c == e->end || *c != ']'))
            return hostlist_error(e->at, e->end, "a bracket is not closed", err);
        if (!p.bracket && c < e->end && *c == ']')
            return hostlist_error(e->at, e->end, "a bracket is closed that was not opened", err);
        c += p.bracket ? 1 : 0;
        e->piece[e->pieces++] = p;
    }
    return 0;
}

static int fail_many(const struct entry *e, struct nt_err *err)
{
    size_t bytes = (size_t)(e->end - e->at);
    return nt_err_set(err, NT_ERR_INPUT, "host list \"%.*s\": more than %d hosts",
                      (int)(bytes < 64 ? bytes : 64), e->at, (int)NT_HOSTS_MAX);
}

/* Counts the names of an entry; an error if there is no room. */
static int count_names(const struct entry *e, size_t capacity, size_t *names, struct nt_err *err)
{
    *names = 1;
    for (size_t k = 0; k < e->pieces; k++) {
        uint64_t numbers = 0;
        if (!e->piece[k].bracket)
            continue;
        if (e->piece[k].at == e->piece[k].end)
            return hostlist_error(e->at, e->end, "a bracket is empty", err);
        for (const char *c = e->piece[k].at; c < e->piece[k].end;) {
            struct range r;
            c = read_range(c, e->piece[k].end, &r);
            if (c == NULL)
                return hostlist_error(e->at, e->end, "expected numbers and ranges like 1-8,12",
                                      err);
            numbers += r.high - r.low < NT_HOSTS_MAX ? r.high - r.low + 1 : NT_HOSTS_MAX + 1;
            if (numbers > capacity)
                break;
        }
        if (numbers > capacity / *names)
            return fail_many(e, err);
        *names *= (size_t)numbers;
    }
    return *names > capacity ? fail_many(e, err) : 0;
}

/* Creates all names from piece k on; the first used bytes are complete. Depth: at most
 * PIECES_MAX. */
static int make_names(struct entry *e, size_t k, size_t used, struct nt_err *err)
{
    if (k == e->pieces) {
        e->name[used] = '\0';
        if (nt_host_name_check(e->name, err) != 0)
            return -1;
        return e->each(e->context, e->name, err);
    }
    const struct piece *p = &e->piece[k];
    size_t bytes = (size_t)(p->end - p->at);
    if (!p->bracket) {
        if (bytes >= NAME_BYTES - used || memchr(p->at, '\0', bytes) != NULL)
            return hostlist_error(e->at, e->end, "a name of more than 255 bytes, or a zero byte",
                                  err);
        memcpy(e->name + used, p->at, bytes);
        return make_names(e, k + 1, used + bytes, err);
    }
    for (const char *c = p->at; c < p->end;) {
        struct range r;
        c = read_range(c, p->end, &r);
        for (uint64_t value = r.low; c != NULL && value <= r.high; value++) {
            int printed = snprintf(e->name + used, NAME_BYTES - used, "%0*llu", r.width,
                                   (unsigned long long)value);
            if (printed < 0 || (size_t)printed >= NAME_BYTES - used)
                return hostlist_error(e->at, e->end, "a name of more than 255 bytes", err);
            if (make_names(e, k + 1, used + (size_t)printed, err) != 0)
                return -1;
        }
        if (c == NULL)
            return hostlist_error(e->at, e->end, "expected numbers and ranges", err);
    }
    return 0;
}

/* Returns the comma that ends the entry, not one inside a bracket. */
static const char *entry_end(const char *at, const char *end)
{
    bool inside = false;
    for (; at < end && (inside || *at != ','); at++)
        inside = *at == '[' || (inside && *at != ']');
    return at;
}

int nt_hostlist_visit(const char *text, size_t bytes, nt_hostlist_each *each, void *context,
                      struct nt_err *err)
{
    const char *end = text + bytes;
    size_t capacity = NT_HOSTS_MAX;
    if (bytes == 0)
        return hostlist_error(text, end, "expected a name", err);
    for (const char *at = text;; at++) {
        struct entry e = {.at = at, .end = entry_end(at, end), .each = each, .context = context};
        size_t names;
        if (e.at == e.end)
            return hostlist_error(text, end, "expected a name before and after each comma", err);
        if (split_entry(&e, err) != 0 || count_names(&e, capacity, &names, err) != 0 ||
            make_names(&e, 0, 0, err) != 0)
            return -1;
        capacity -= names;
        at = e.end;
        if (at == end)
            return 0;
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

enum { NUMBER_DIGITS_MAX = 9 };

/* A name that ends in a number: length of the prefix, number of digits. */
struct split {
    size_t prefix, digits;
    unsigned long number;
};

static struct split split_name(const char *name)
{
    struct split s = {.prefix = strlen(name)};
    while (s.prefix > 0 && s.digits < NUMBER_DIGITS_MAX && name[s.prefix - 1] >= '0' &&
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

/* Returns whether b has the next number after a, with the same width if a has leading zeros. */
static bool name_follows(const char *a, const char *b)
{
    struct split x = split_name(a), y = split_name(b);
    if (!same_prefix(a, b) || y.number != x.number + 1)
        return false;
    bool padded = a[x.prefix] == '0' || b[y.prefix] == '0';
    return !padded || x.digits == y.digits;
}

/* Appends the ranges of consecutive names with the same prefix. */
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
