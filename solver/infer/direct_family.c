/* SPDX-License-Identifier: Apache-2.0 */
/* Names a direct network: its hop counts are compared with those of each regular network of as
 * many hosts. Hop counts, and links within a number of hops, do not prove that two graphs are
 * the same, but networks named here differ in them unless they are the same: a torus of four by
 * four is a hypercube of four dimensions, a ring of four one of two. */
#include "direct_network.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

struct lattice {
    size_t dimensions, size[NT_DIMENSIONS_MAX];
    bool wraps;
    size_t twist; /* columns shifted where the second dimension wraps */
};

/* Neighbours of vertex v; at most 2 * dimensions. */
static size_t lattice_neighbours(const struct lattice *l, size_t v, size_t *out)
{
    size_t count = 0, stride = 1;
    for (size_t k = 0; k < l->dimensions; stride *= l->size[k], k++) {
        size_t size = l->size[k], x = v / stride % size;
        for (int up = 0; up < 2; up++) {
            bool edge = up ? x + 1 == size : x == 0;
            if (edge && !l->wraps)
                continue;
            size_t to = up ? (edge ? v - stride * (size - 1) : v + stride)
                           : (edge ? v + stride * (size - 1) : v - stride);
            if (edge && k == 1 && l->twist > 0) {
                size_t columns = l->size[0], c = to % columns;
                to = to - c + (c + (up ? l->twist : columns - l->twist)) % columns;
            }
            bool known = to == v;
            for (size_t p = 0; p < count; p++)
                known = known || out[p] == to;
            if (!known)
                out[count++] = to;
        }
    }
    return count;
}

struct counts {
    size_t n, links;
    uint32_t *of;    /* n: vertices at each number of hops */
    uint32_t *level; /* n: links, twice, between vertices at the same number of hops */
    size_t *start;   /* n+1: where the neighbours of each vertex begin */
    uint32_t *neighbour;
    size_t *queue, *hops;   /* n */
    uint64_t *mark, *other; /* n: a mark of each vertex's counts, sorted */
};

static uint64_t mark_of(const struct counts *c)
{
    uint64_t mark = 1469598103934665603u; /* FNV-1a */
    for (size_t k = 0; k < c->n && (k == 0 || c->of[k] > 0); k++) {
        mark = (mark ^ c->of[k]) * 1099511628211u;
        mark = (mark ^ c->level[k]) * 1099511628211u;
    }
    return mark;
}

static uint64_t lattice_mark(const struct lattice *l, struct counts *c, size_t from)
{
    size_t head = 0, tail = 0, next[2 * NT_DIMENSIONS_MAX];
    memset(c->of, 0, c->n * sizeof *c->of);
    memset(c->level, 0, c->n * sizeof *c->level);
    for (size_t v = 0; v < c->n; v++)
        c->hops[v] = SIZE_MAX;
    c->hops[from] = 0;
    c->queue[tail++] = from;
    while (head < tail) {
        size_t v = c->queue[head++], count = lattice_neighbours(l, v, next);
        c->of[c->hops[v]]++;
        for (size_t k = 0; k < count; k++)
            c->level[c->hops[v]] += c->hops[next[k]] == c->hops[v];
        for (size_t k = 0; k < count; k++)
            if (c->hops[next[k]] == SIZE_MAX) {
                c->hops[next[k]] = c->hops[v] + 1;
                c->queue[tail++] = next[k];
            }
    }
    return mark_of(c);
}

/* False: a pair is more hops apart than there are vertices, as by a reading that is wrong. */
static bool graph_marks(const struct nt_direct *d, struct counts *c)
{
    size_t p = 0;
    for (size_t i = 0; i < d->n; i++) {
        c->start[i] = p;
        for (size_t j = 0; j < d->n; j++)
            if (d->linked[i * d->n + j])
                c->neighbour[p++] = (uint32_t)j;
    }
    c->start[d->n] = p;
    for (size_t i = 0; i < d->n; i++) {
        const uint16_t *hops = d->hops + i * d->n;
        memset(c->of, 0, d->n * sizeof *c->of);
        memset(c->level, 0, d->n * sizeof *c->level);
        for (size_t j = 0; j < d->n; j++) {
            if (hops[j] >= d->n)
                return false;
            c->of[hops[j]]++;
        }
        for (size_t a = 0; a < d->n; a++)
            for (size_t k = c->start[a]; k < c->start[a + 1]; k++)
                c->level[hops[a]] += hops[c->neighbour[k]] == hops[a];
        c->mark[i] = mark_of(c);
    }
    qsort(c->mark, d->n, sizeof *c->mark, nt_compare_u64);
    return true;
}

/* Of a lattice: a quick test that most candidates fail. */
static size_t links_of(const struct lattice *l, size_t n)
{
    size_t sum = 0;
    for (size_t k = 0; k < l->dimensions; k++) {
        size_t size = l->size[k], lines = n / size;
        sum += lines * (l->wraps && size > 2 ? size : size - 1);
    }
    return sum;
}

static bool lattice_matches(const struct lattice *l, struct counts *c)
{
    /* a twist along two columns or rows may give two hosts one link or two */
    if (l->twist == 0 && links_of(l, c->n) != c->links)
        return false;
    if (l->wraps) /* all vertices are alike */
        return c->mark[0] == c->mark[c->n - 1] && lattice_mark(l, c, 0) == c->mark[0];
    for (size_t v = 0; v < c->n; v++)
        c->other[v] = lattice_mark(l, c, v);
    qsort(c->other, c->n, sizeof *c->other, nt_compare_u64);
    return memcmp(c->mark, c->other, c->n * sizeof *c->mark) == 0;
}

static void name_family(struct nt_model *m, enum nt_family family, const struct lattice *l)
{
    m->family = family;
    m->dimensions = (uint32_t)l->dimensions;
    m->twist = (uint32_t)l->twist;
    for (size_t k = 0; k < l->dimensions; k++)
        m->dimension[k] = (uint32_t)l->size[k];
}

/* All ways to write rest as a product of sizes that do not grow, each at least least. */
static bool try_sizes(struct lattice *l, size_t rest, size_t most, size_t least, struct counts *c)
{
    if (rest == 1)
        return l->dimensions > 0 && lattice_matches(l, c);
    if (l->dimensions == NT_DIMENSIONS_MAX)
        return false;
    for (size_t s = most < rest ? most : rest; s >= least; s--) {
        if (rest % s != 0)
            continue;
        l->size[l->dimensions++] = s;
        if (try_sizes(l, rest / s, s, least, c))
            return true;
        l->dimensions--;
    }
    return false;
}

/* The description with the most equal sizes first: one graph may have several. */
static bool try_twists(struct lattice *l, size_t n, struct counts *c)
{
    *l = (struct lattice){.dimensions = 2, .wraps = true};
    if (c->links > 2 * n || c->mark[0] != c->mark[n - 1])
        return false;
    for (size_t shorter = n; shorter >= 2; shorter--) {
        if (n % shorter != 0 || shorter * shorter > n)
            continue;
        for (int turned = 0; turned < 2; turned++) {
            l->size[turned] = n / shorter;
            l->size[1 - turned] = shorter;
            for (l->twist = 1; l->twist <= l->size[0] / 2; l->twist++)
                if (lattice_matches(l, c))
                    return true;
        }
    }
    return false;
}

static void recognise_lattice(const struct nt_direct *d, struct nt_model *m, struct counts *c)
{
    size_t n = d->n, links = d->links, degree = 0;
    struct lattice cube = {0}, l = {.wraps = true};
    m->family = NT_FAMILY_IRREGULAR;
    if (!graph_marks(d, c))
        return;
    while ((size_t)1 << degree < n && degree < NT_DIMENSIONS_MAX)
        cube.size[degree++] = 2;
    cube.dimensions = degree;
    struct lattice ring = {.dimensions = 1, .size = {n}, .wraps = true};
    if (links == n * (n - 1) / 2)
        m->family = NT_FAMILY_FULL_MESH;
    else if (links == n && lattice_matches(&ring, c))
        name_family(m, NT_FAMILY_RING, &ring);
    else if ((size_t)1 << degree == n && 2 * links == n * degree && lattice_matches(&cube, c))
        name_family(m, NT_FAMILY_HYPERCUBE, &cube);
    else if (try_sizes(&l, n, n, 2, c))
        name_family(m, NT_FAMILY_TORUS, &l);
    else if (l = (struct lattice){.wraps = false}, try_sizes(&l, n, n, 2, c))
        name_family(m, NT_FAMILY_MESH, &l);
    else if (try_twists(&l, n, c))
        name_family(m, NT_FAMILY_TORUS, &l);
}

int nt_direct_family(const struct nt_direct *d, struct nt_model *model, struct nt_err *err)
{
    size_t n = d->n;
    NT_SCOPED struct nt_arena memory = {0};
    struct counts c = {.n = n, .links = d->links};
    c.of = nt_arena_array(&memory, n + 1, sizeof *c.of);
    c.level = nt_arena_array(&memory, n + 1, sizeof *c.level);
    c.start = nt_arena_array(&memory, n + 1, sizeof *c.start);
    c.neighbour = nt_arena_array(&memory, 2 * d->links + 1, sizeof *c.neighbour);
    c.queue = nt_arena_array(&memory, n + 1, sizeof *c.queue);
    c.hops = nt_arena_array(&memory, n + 1, sizeof *c.hops);
    c.mark = nt_arena_array(&memory, n + 1, sizeof *c.mark);
    c.other = nt_arena_array(&memory, n + 1, sizeof *c.other);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    recognise_lattice(d, model, &c);
    return 0;
}
