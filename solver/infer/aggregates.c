/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregates.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The sum of the null vector up to a place of a path: a run is determined when it ends on the value
 * at which it began. */
struct prefix {
    uint64_t sum;
    uint32_t at;
};

struct search {
    struct nt_aggregates runs;
    size_t runs_capacity, links_capacity;
    uint32_t *slot; /* slots of them: run + 1; 0 is free */
    size_t slots;
    struct prefix prefix[NT_ROUTE_LINKS_MAX + 1];
};

static int by_sum(const void *a, const void *b)
{
    const struct prefix *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Link k of a run of n, turned so that its lower end comes first. */
static uint32_t turned_link(const uint32_t *link, size_t n, size_t k)
{
    return link[0] <= link[n - 1] ? link[k] : link[n - 1 - k];
}

static size_t hash_links(const uint32_t *link, size_t n)
{
    uint64_t h = n;
    for (size_t k = 0; k < n; k++)
        h = (h ^ turned_link(link, n, k)) * 0x9e3779b97f4a7c15u;
    return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 20);
}

static bool same_links(const struct search *s, size_t run, const uint32_t *link, size_t n)
{
    const uint32_t *there = s->runs.link + s->runs.start[run];
    if (s->runs.start[run + 1] - s->runs.start[run] != n)
        return false;
    for (size_t k = 0; k < n; k++) {
        if (there[k] != turned_link(link, n, k))
            return false;
    }
    return true;
}

static size_t find_links(const struct search *s, const uint32_t *link, size_t n)
{
    size_t at = hash_links(link, n) & (s->slots - 1);
    while (s->slot[at] != 0 && !same_links(s, s->slot[at] - 1, link, n))
        at = (at + 1) & (s->slots - 1);
    return at;
}

static bool grow_table(struct search *s, size_t n)
{
    struct nt_aggregates *r = &s->runs;
    if (r->start[r->count] + n > s->links_capacity) {
        size_t capacity = (s->links_capacity + n) * 2;
        uint32_t *link = realloc(r->link, capacity * sizeof *link);
        if (link == NULL)
            return false;
        r->link = link;
        s->links_capacity = capacity;
    }
    if (r->count + 2 > s->runs_capacity) {
        size_t *start = realloc(r->start, s->runs_capacity * 2 * sizeof *start);
        if (start == NULL)
            return false;
        r->start = start;
        s->runs_capacity *= 2;
    }
    if ((r->count + 1) * 2 <= s->slots)
        return true;
    uint32_t *slot = calloc(s->slots * 2, sizeof *slot);
    if (slot == NULL)
        return false;
    free(s->slot);
    s->slot = slot;
    s->slots *= 2;
    for (size_t k = 0; k < r->count; k++)
        slot[find_links(s, r->link + r->start[k], r->start[k + 1] - r->start[k])] = (uint32_t)k + 1;
    return true;
}

static bool add_aggregate(struct search *s, const uint32_t *link, size_t n)
{
    struct nt_aggregates *r = &s->runs;
    if (s->slot[find_links(s, link, n)] != 0)
        return true;
    if (!grow_table(s, n))
        return false;
    size_t start = r->start[r->count];
    for (size_t k = 0; k < n; k++)
        r->link[start + k] = turned_link(link, n, k);
    r->start[++r->count] = start + n;
    s->slot[find_links(s, r->link + start, n)] = (uint32_t)r->count;
    return true;
}

/* Neighbours among equal sums are the shortest runs from either end. */
static bool search_path(struct search *s, const struct nt_unknowns *u, const uint32_t *link,
                        size_t n)
{
    bool hidden = false;
    s->prefix[0] = (struct prefix){.sum = 0, .at = 0};
    for (size_t k = 0; k < n; k++) {
        hidden = hidden || !nt_unknowns_alone(u, link[k]);
        s->prefix[k + 1] =
            (struct prefix){.sum = nt_echelon_plus(s->prefix[k].sum, u->echelon->null[link[k]]),
                            .at = (uint32_t)k + 1};
    }
    if (!hidden)
        return true;
    qsort(s->prefix, n + 1, sizeof *s->prefix, by_sum);
    for (size_t k = 0; k < n; k++) {
        uint32_t from = s->prefix[k].at, to = s->prefix[k + 1].at;
        if (s->prefix[k].sum != s->prefix[k + 1].sum || to - from < 2)
            continue;
        if (!add_aggregate(s, link + from, to - from))
            return false;
    }
    return true;
}

int nt_aggregates_find(const struct nt_routes *routes, const struct nt_unknowns *unknowns,
                       struct nt_aggregates *out, struct nt_err *err)
{
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_memory(err);
    s->runs_capacity = 64;
    s->slots = 256;
    s->runs.start = calloc(s->runs_capacity, sizeof *s->runs.start);
    s->slot = calloc(s->slots, sizeof *s->slot);
    bool ok = s->runs.start != NULL && s->slot != NULL;
    for (size_t p = 0; p < routes->pairs && ok; p++) {
        const uint32_t *link = nt_route_links(routes, p);
        size_t there = routes->there[p], length = nt_route_length(routes, p);
        ok = search_path(s, unknowns, link, there) &&
             search_path(s, unknowns, link + there, length - there);
    }
    free(s->slot);
    if (ok) {
        *out = s->runs;
    } else {
        free(s->runs.start);
        free(s->runs.link);
        (void)nt_err_memory(err);
    }
    free(s);
    return ok ? 0 : -1;
}
