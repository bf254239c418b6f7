/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "plan.h"

/* One direction, as it was added. */
struct way {
    uint32_t a, b;
    uint32_t links;
    uint32_t back; /* the path of the other direction if it came earlier, else NO_WAY */
};

enum { NO_WAY = UINT32_MAX };

struct nt_routes_builder {
    struct way *way;
    size_t ways, ways_capacity;
    uint32_t *link;
    size_t links, links_capacity;
    uint32_t *slot; /* slots of them: index of a pair's first way, + 1; 0 is free */
    size_t slots, pairs;
    uint32_t *seen; /* by link: stamp of the last path that passed it */
    size_t seen_capacity;
    uint32_t stamp;
};

void nt_routes_destroy(struct nt_routes *routes)
{
    nt_object_destroy(routes);
}

int nt_routes_builder_create(struct nt_routes_builder **out, struct nt_err *err)
{
    struct nt_routes_builder *b = calloc(1, sizeof *b);
    if (b == NULL)
        return nt_err_memory(err);
    *out = b;
    return 0;
}

static void builder_empty(struct nt_routes_builder *b)
{
    free(b->way);
    free(b->link);
    free(b->slot);
    free(b->seen);
    *b = (struct nt_routes_builder){0};
}

void nt_routes_builder_destroy(struct nt_routes_builder *builder)
{
    if (builder == NULL)
        return;
    builder_empty(builder);
    free(builder);
}

static size_t hash_pair(uint32_t a, uint32_t b)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    uint64_t h = (low << 32 | high) * 0x9e3779b97f4a7c15u;
    return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 20);
}

static bool same_pair(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (a == c && b == d) || (a == d && b == c);
}

/* The slot of the pair, or the free one where it belongs. */
static size_t find_slot(const struct nt_routes_builder *b, uint32_t a, uint32_t c)
{
    size_t s = hash_pair(a, c) & (b->slots - 1);
    while (b->slot[s] != 0 && !same_pair(b->way[b->slot[s] - 1].a, b->way[b->slot[s] - 1].b, a, c))
        s = (s + 1) & (b->slots - 1);
    return s;
}

static bool grow_slots(struct nt_routes_builder *b)
{
    size_t old_slots = b->slots;
    uint32_t *old = b->slot, *slot = calloc(old_slots == 0 ? 256 : old_slots * 2, sizeof *slot);
    if (slot == NULL)
        return false;
    b->slot = slot;
    b->slots = old_slots == 0 ? 256 : old_slots * 2;
    for (size_t s = 0; s < old_slots; s++) {
        if (old[s] != 0)
            slot[find_slot(b, b->way[old[s] - 1].a, b->way[old[s] - 1].b)] = old[s];
    }
    free(old);
    return true;
}

static bool builder_reserve(struct nt_routes_builder *b, size_t n)
{
    if (b->ways == b->ways_capacity) {
        size_t capacity = b->ways_capacity == 0 ? 256 : b->ways_capacity * 2;
        struct way *way = realloc(b->way, capacity * sizeof *way);
        if (way == NULL)
            return false;
        b->way = way;
        b->ways_capacity = capacity;
    }
    if (b->links + n > b->links_capacity) {
        size_t capacity = (b->links + n) * 2;
        uint32_t *link = realloc(b->link, capacity * sizeof *link);
        if (link == NULL)
            return false;
        b->link = link;
        b->links_capacity = capacity;
    }
    return (b->pairs + 1) * 2 <= b->slots || grow_slots(b);
}

/* Whether a link occurs twice on the path; -1: no memory. */
static int has_repeat(struct nt_routes_builder *b, const uint32_t *link, size_t n)
{
    if (++b->stamp == 0) { /* wrapped: forget the stamps of four thousand million paths ago */
        memset(b->seen, 0, b->seen_capacity * sizeof *b->seen);
        b->stamp = 1;
    }
    for (size_t k = 0; k < n; k++) {
        if (link[k] >= b->seen_capacity) {
            size_t capacity = ((size_t)link[k] + 1) * 2;
            uint32_t *seen = realloc(b->seen, capacity * sizeof *seen);
            if (seen == NULL)
                return -1;
            memset(seen + b->seen_capacity, 0, (capacity - b->seen_capacity) * sizeof *seen);
            b->seen = seen;
            b->seen_capacity = capacity;
        }
        if (b->seen[link[k]] == b->stamp)
            return 1;
        b->seen[link[k]] = b->stamp;
    }
    return 0;
}

static int check_path(struct nt_routes_builder *b, uint32_t from, uint32_t to, const uint32_t *link,
                      size_t n, struct nt_err *err)
{
    if (from == to)
        return nt_err_set(err, NT_ERR_INPUT, "a route from a host to itself");
    if (n == 0 || n > NT_ROUTE_LINKS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu links on a route, expected 1 to %d", n,
                          (int)NT_ROUTE_LINKS_MAX);
    if (b->ways >= NT_ROUTES_PAIRS_MAX || b->links + n > NT_ROUTES_TOTAL_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "over %d routes or %d links on them",
                          (int)NT_ROUTES_PAIRS_MAX, (int)NT_ROUTES_TOTAL_MAX);
    for (size_t k = 0; k < n; k++) {
        if (link[k] >= NT_ROUTES_LINKS_MAX)
            return nt_err_set(err, NT_ERR_INPUT, "over %d different links",
                              (int)NT_ROUTES_LINKS_MAX);
    }
    int repeat = has_repeat(b, link, n);
    if (repeat < 0)
        return nt_err_memory(err);
    return repeat == 0 ? 0 : nt_err_set(err, NT_ERR_INPUT, "a link appears twice on a route");
}

int nt_routes_builder_add(struct nt_routes_builder *builder, uint32_t a, uint32_t b,
                          const uint32_t *link, size_t n, struct nt_err *err)
{
    if (check_path(builder, a, b, link, n, err) != 0)
        return -1;
    if (!builder_reserve(builder, n))
        return nt_err_memory(err);
    uint32_t *slot = &builder->slot[find_slot(builder, a, b)];
    struct way way = {.a = a, .b = b, .links = (uint32_t)n, .back = NO_WAY};
    if (*slot != 0) {
        struct way *first = &builder->way[*slot - 1];
        if (first->a == a || first->back != NO_WAY)
            return nt_err_set(err, NT_ERR_INPUT, "this route is given twice");
        first->back = (uint32_t)builder->ways; /* of the first way: where its other direction is */
        way.back = *slot - 1;
    } else {
        *slot = (uint32_t)builder->ways + 1;
        builder->pairs++;
    }
    builder->way[builder->ways++] = way;
    memcpy(builder->link + builder->links, link, n * sizeof *link);
    builder->links += n;
    return 0;
}

/* at: room for where the links of each way begin. */
static void fill_routes(struct nt_routes *r, const struct nt_routes_builder *b, size_t *at)
{
    size_t pair = 0, used = 0;
    for (size_t w = 0; w < b->ways; w++)
        at[w + 1] = at[w] + b->way[w].links;
    for (size_t w = 0; w < b->ways; w++) {
        const struct way *way = &b->way[w];
        if (way->back != NO_WAY && way->back < w)
            continue; /* follows its first direction */
        r->host[pair][0] = way->a;
        r->host[pair][1] = way->b;
        r->start[pair] = used;
        r->there[pair++] = way->links;
        memcpy(r->link + used, b->link + at[w], way->links * sizeof *r->link);
        used += way->links;
        if (way->back != NO_WAY) {
            size_t n = b->way[way->back].links;
            memcpy(r->link + used, b->link + at[way->back], n * sizeof *r->link);
            used += n;
        }
    }
    r->start[pair] = used;
}

int nt_routes_builder_finish(struct nt_routes_builder *b, size_t hosts, size_t links,
                             struct nt_routes **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t *at = nt_arena_array(&memory, b->ways + 1, sizeof *at);
    struct nt_routes *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    r->hosts = hosts;
    r->links = links;
    r->pairs = b->pairs;
    r->host = nt_arena_array(&r->memory, b->pairs, sizeof *r->host);
    r->start = nt_arena_array(&r->memory, b->pairs + 1, sizeof *r->start);
    r->there = nt_arena_array(&r->memory, b->pairs, sizeof *r->there);
    r->link = nt_arena_array(&r->memory, b->links, sizeof *r->link);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&r->memory, err) != 0) {
        nt_routes_destroy(r);
        return -1;
    }
    fill_routes(r, b, at);
    builder_empty(b);
    *out = r;
    return 0;
}

struct nt_pair_index {
    struct nt_arena memory; /* first, for nt_object_create */
    const struct nt_routes *routes;
    uint32_t *slot; /* pair + 1; 0 is free */
    size_t slots;
};

int nt_pair_index_create(const struct nt_routes *routes, struct nt_pair_index **out,
                         struct nt_err *err)
{
    size_t slots = 256;
    while (slots < routes->pairs * 2)
        slots *= 2;
    struct nt_pair_index *index = nt_object_create(sizeof *index, err);
    if (index == NULL)
        return -1;
    index->routes = routes;
    index->slots = slots;
    uint32_t *slot = index->slot = nt_arena_array(&index->memory, slots, sizeof *slot);
    if (nt_arena_check(&index->memory, err) != 0) {
        nt_pair_index_destroy(index);
        return -1;
    }
    for (size_t p = 0; p < routes->pairs; p++) {
        size_t s = hash_pair(routes->host[p][0], routes->host[p][1]) & (slots - 1);
        while (slot[s] != 0)
            s = (s + 1) & (slots - 1);
        slot[s] = (uint32_t)p + 1;
    }
    *out = index;
    return 0;
}

void nt_pair_index_destroy(struct nt_pair_index *index)
{
    nt_object_destroy(index);
}

uint32_t nt_pair_index_find(const struct nt_pair_index *index, uint32_t a, uint32_t b)
{
    size_t s = hash_pair(a, b) & (index->slots - 1);
    for (; index->slot[s] != 0; s = (s + 1) & (index->slots - 1)) {
        const uint32_t *host = index->routes->host[index->slot[s] - 1];
        if (same_pair(host[0], host[1], a, b))
            return index->slot[s] - 1;
    }
    return NT_PAIR_NONE;
}

/* ---- plans, measurements and estimates over routes ---- */

int nt_plan_create(size_t pairs, struct nt_plan **out, struct nt_err *err)
{
    struct nt_plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return nt_err_memory(err);
    p->pairs = pairs;
    p->pair = calloc(pairs + 1, sizeof *p->pair);
    p->round = calloc(pairs + 1, sizeof *p->round);
    p->amplification_rms = p->amplification_max = NAN;
    if (p->pair == NULL || p->round == NULL) {
        nt_plan_destroy(p);
        return nt_err_memory(err);
    }
    *out = p;
    return 0;
}

void nt_plan_destroy(struct nt_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->pair);
    free(plan->round);
    free(plan);
}

void nt_measured_destroy(struct nt_measured *measured)
{
    if (measured == NULL)
        return;
    free(measured->pair);
    free(measured->latency_us);
    free(measured);
}

void nt_estimate_destroy(struct nt_estimate *estimate)
{
    nt_object_destroy(estimate);
}
