/* SPDX-License-Identifier: Apache-2.0 */
#include "shape.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "rng.h"
#include "stats.h"

/* A set of hosts as the XOR of a random word each: equal sets, equal words; two different sets are
 * equal with probability 2^-128. count: how many hosts. */
struct set {
    uint64_t word[2];
    size_t count;
};

struct edge {
    uint32_t to, next; /* next edge of the same vertex + 1; 0: none */
};

/* One model as sets of hosts. */
struct view {
    const struct nt_model *m;
    size_t vertices, edges;
    uint32_t *first; /* vertices: edge + 1 */
    struct edge *edge;
    uint32_t *part; /* vertices: the component */
    size_t parts;
    bool cycles, complete;
    struct set *below; /* vertices: hosts below, in a forest */
    struct set *split; /* splits of them, sorted */
    size_t splits;
};

static struct set host_set(uint32_t host)
{
    struct nt_rng rng;
    struct set s = {.count = 1};
    nt_rng_init(&rng, 0x9d5c3a7e00000000u + host);
    s.word[0] = nt_rng_next(&rng);
    s.word[1] = nt_rng_next(&rng);
    return s;
}

static void set_add(struct set *s, const struct set *t)
{
    s->word[0] ^= t->word[0];
    s->word[1] ^= t->word[1];
    s->count += t->count;
}

static int set_compare(const void *a, const void *b)
{
    const struct set *s = a, *t = b;
    return NT_ORDER(s->count, t->count, memcmp(s->word, t->word, sizeof s->word));
}

static int view_init(struct view *v, const struct nt_model *m, struct nt_arena *memory,
                     struct nt_err *err)
{
    *v = (struct view){.m = m, .vertices = m->hosts + m->switches};
    v->first = nt_arena_array(memory, v->vertices + 1, sizeof *v->first);
    v->edge = nt_arena_array(memory, 2 * m->links + 1, sizeof *v->edge);
    v->part = nt_arena_array(memory, v->vertices + 1, sizeof *v->part);
    v->below = nt_arena_array(memory, v->vertices + 1, sizeof *v->below);
    v->split = nt_arena_array(memory, v->vertices + 1, sizeof *v->split);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t end[2] = {m->link[k].a, m->link[k].b};
        for (int side = 0; side < 2; side++) {
            v->edge[v->edges] = (struct edge){end[1 - side], v->first[end[side]]};
            v->first[end[side]] = (uint32_t)++v->edges;
        }
    }
    return 0;
}

/* Visits one component from root and removes edges as they are used (first advances). order gets
 * the vertices in the order of visits, up their parents. */
static size_t order_component(struct view *v, uint32_t root, uint32_t *order, uint32_t *up,
                              uint32_t *came)
{
    size_t tail = 0;
    order[tail++] = root;
    v->part[root] = (uint32_t)++v->parts;
    up[root] = came[root] = UINT32_MAX;
    for (size_t head = 0; head < tail; head++) {
        uint32_t at = order[head];
        for (uint32_t e = v->first[at]; e != 0; e = v->edge[e - 1].next) {
            uint32_t to = v->edge[e - 1].to;
            if (((e - 1) ^ 1) == came[at])
                continue;
            if (v->part[to] != 0) {
                v->cycles = true;
                continue;
            }
            v->part[to] = v->part[root];
            up[to] = at;
            came[to] = e - 1;
            order[tail++] = to;
        }
    }
    return tail;
}

/* Adds the smaller side of a link; for equal sizes the side with the smaller word. Sides of one
 * host or none are ignored. */
static void add_split(struct view *v, const struct set *below, const struct set *all)
{
    struct set other = {.count = all->count - below->count};
    for (int k = 0; k < 2; k++)
        other.word[k] = all->word[k] ^ below->word[k];
    const struct set *side = set_compare(below, &other) <= 0 ? below : &other;
    if (side->count > 1)
        v->split[v->splits++] = *side;
}

static void gather_splits(struct view *v, const uint32_t *order, const uint32_t *up, size_t n)
{
    for (size_t k = n; k-- > 0;) {
        uint32_t at = order[k];
        if (at < v->m->hosts) {
            struct set own = host_set(at);
            set_add(&v->below[at], &own);
        }
        if (up[at] != UINT32_MAX)
            set_add(&v->below[up[at]], &v->below[at]);
    }
    for (size_t k = 1; k < n; k++)
        add_split(v, &v->below[order[k]], &v->below[order[0]]);
}

/* Whether every host is linked to every other, without further links. */
static bool is_complete(const struct view *v)
{
    size_t hosts = 0;
    for (size_t h = 0; h < v->m->hosts; h++)
        hosts += v->first[h] != 0;
    for (size_t k = 0; k < v->m->switches; k++)
        if (v->first[v->m->hosts + k] != 0)
            return false;
    return hosts > 2 && v->m->links == hosts * (hosts - 1) / 2;
}

static void sort_splits(struct view *v)
{
    size_t kept = 0;
    if (v->splits > 0)
        qsort(v->split, v->splits, sizeof *v->split, set_compare);
    for (size_t k = 0; k < v->splits; k++)
        if (kept == 0 || set_compare(&v->split[k], &v->split[kept - 1]) != 0)
            v->split[kept++] = v->split[k];
    v->splits = kept;
}

static int view_splits(struct view *v, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *order = nt_arena_array(&memory, v->vertices + 1, sizeof *order);
    uint32_t *up = nt_arena_array(&memory, v->vertices + 1, sizeof *up),
             *came = nt_arena_array(&memory, v->vertices + 1, sizeof *came);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < v->vertices; k++)
        if (v->part[k] == 0) {
            size_t n = order_component(v, k, order, up, came);
            gather_splits(v, order, up, n);
        }
    v->complete = v->cycles && is_complete(v);
    if (v->complete) /* as a star */
        v->splits = 0;
    sort_splits(v);
    return 0;
}

/* The same hosts must be connected. Components are numbered from the lowest host on. */
static bool same_parts(const struct view *a, const struct view *b)
{
    for (size_t h = 0; h < a->m->hosts; h++)
        if (a->part[h] != b->part[h])
            return false;
    return true;
}

static void count_splits(const struct view *found, const struct view *truth,
                         struct nt_shape_difference *d)
{
    size_t i = 0, j = 0;
    while (i < found->splits || j < truth->splits) {
        int order = i == found->splits   ? 1
                    : j == truth->splits ? -1
                                         : set_compare(&found->split[i], &truth->split[j]);
        d->invented += order < 0;
        d->missing += order > 0;
        i += order <= 0;
        j += order >= 0;
    }
    d->equal = d->equal && d->invented == 0 && d->missing == 0;
}

/* ---- with cycles -------------------------------------------------------------------------- */

static uint64_t mix_hash(uint64_t x)
{
    struct nt_rng rng;
    nt_rng_init(&rng, x);
    return nt_rng_next(&rng);
}

/* Colours, repeatedly: a host has its own, a switch one made of the colours of its neighbours. */
static int refine_colours(const struct view *v, uint64_t *colour, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint64_t *next = nt_arena_array(&memory, v->vertices + 1, sizeof *next);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < v->vertices; k++)
        colour[k] = k < v->m->hosts ? mix_hash(k + 1) : 0;
    for (int pass = 0; pass < 64; pass++) {
        for (size_t k = 0; k < v->vertices; k++) {
            next[k] = mix_hash(colour[k] + 0x51ed270b);
            for (uint32_t e = v->first[k]; e != 0; e = v->edge[e - 1].next)
                next[k] += mix_hash(colour[v->edge[e - 1].to]);
        }
        memcpy(colour, next, v->vertices * sizeof *colour);
    }
    return 0;
}

/* All vertices' colours, hosts in place, switches sorted; the links are in the colours. */
static int compare_colours(const struct view *a, const struct view *b, bool *equal,
                           struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint64_t *x = nt_arena_array(&memory, a->vertices, sizeof *x);
    uint64_t *y = nt_arena_array(&memory, b->vertices, sizeof *y);
    *equal = false;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (a->vertices != b->vertices || a->edges != b->edges)
        return 0;
    if (refine_colours(a, x, err) != 0 || refine_colours(b, y, err) != 0)
        return -1;
    qsort(x + a->m->hosts, a->m->switches, sizeof *x, nt_compare_u64);
    qsort(y + b->m->hosts, b->m->switches, sizeof *y, nt_compare_u64);
    *equal = memcmp(x, y, a->vertices * sizeof *x) == 0;
    return 0;
}

static int compare_views(const struct view *found, const struct view *truth,
                         struct nt_shape_difference *d, struct nt_err *err)
{
    bool found_tree = !found->cycles || found->complete;
    bool truth_tree = !truth->cycles || truth->complete;
    d->trees = found_tree && truth_tree;
    d->equal = same_parts(found, truth) && found_tree == truth_tree;
    if (d->trees)
        count_splits(found, truth, d);
    else if (d->equal)
        return compare_colours(found, truth, &d->equal, err);
    return 0;
}

int nt_shape_compare(const struct nt_model *found, const struct nt_model *truth,
                     struct nt_shape_difference *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct view f, t;
    struct nt_shape_difference d = {0};
    if (found->hosts != truth->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "a network of %zu hosts against one of %zu",
                          found->hosts, truth->hosts);
    if (view_init(&f, found, &memory, err) < 0)
        return -1;
    if (view_init(&t, truth, &memory, err) < 0)
        return -1;
    int rc =
        view_splits(&f, err) < 0 || view_splits(&t, err) < 0 || compare_views(&f, &t, &d, err) < 0
            ? -1
            : 0;
    if (rc == 0)
        *out = d;
    return rc;
}

bool nt_shape_equal(const struct nt_model *a, const struct nt_model *b)
{
    struct nt_shape_difference d;
    return nt_shape_compare(a, b, &d, NULL) == 0 && d.equal;
}
