/* SPDX-License-Identifier: Apache-2.0 */
#include "lattice.h"

#include <string.h>

#include "graph.h"

size_t nt_lattice_neighbours(const struct nt_lattice *l, size_t v,
                             size_t out[NT_LATTICE_DEGREE_MAX])
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

/* ---- which vertex is where ------------------------------------------------------------------- */

/* A search fills the grid in the order of its numbers. Each vertex after the first is a neighbour
 * of an earlier one, and nearly always the only one that all earlier neighbours have in common, so
 * that few steps are taken back. Backing out of wrong first directions takes some hundred. */
enum { STEPS_A_VERTEX = 200, STEPS_LEAST = 100000 };

struct search {
    const struct nt_lattice *l;
    struct nt_graph graph;
    size_t n;        /* vertices of the grid */
    uint32_t *at;    /* n: the model's vertex */
    uint32_t *tried; /* n: neighbours of the earlier one that were tried */
    bool *used;      /* the model's vertices */
};

static bool linked(const struct search *s, uint32_t a, uint32_t b)
{
    for (uint32_t k = s->graph.start[a]; k < s->graph.start[a + 1]; k++)
        if (s->graph.to[k] == b)
            return true;
    return false;
}

/* Links of a vertex within the grid: hosts behind its switches do not count. */
static size_t degree_of(const struct search *s, const struct nt_model *m, uint32_t v)
{
    size_t degree = 0;
    for (uint32_t k = s->graph.start[v]; k < s->graph.start[v + 1]; k++)
        degree += m->switches == 0 || s->graph.to[k] >= m->hosts;
    return degree;
}

/* Vertices two steps apart along a dimension have one neighbour in common, and round a corner two;
 * where the dimension is a ring of four they have two either way. */
static bool is_straight(const struct search *s, size_t v, uint32_t candidate)
{
    size_t stride = 1, k = 0;
    while (v / stride % s->l->size[k] == 0)
        stride *= s->l->size[k++];
    if (s->l->twist > 0 || (s->l->wraps && s->l->size[k] <= 4) || v / stride < 2 ||
        v / stride >= s->l->size[k])
        return true;
    uint32_t before = s->at[v - 2 * stride];
    size_t common = 0;
    for (uint32_t p = s->graph.start[before]; p < s->graph.start[before + 1]; p++)
        common += linked(s, s->graph.to[p], candidate);
    return common == 1;
}

static bool fits(const struct search *s, const struct nt_model *m, size_t v, uint32_t candidate)
{
    size_t next[NT_LATTICE_DEGREE_MAX], count = nt_lattice_neighbours(s->l, v, next);
    if (s->used[candidate] || (m->switches > 0 && candidate < m->hosts) ||
        degree_of(s, m, candidate) != count)
        return false;
    for (size_t k = 0; k < count; k++)
        if (next[k] < v && !linked(s, s->at[next[k]], candidate))
            return false;
    return v == 0 || is_straight(s, v, candidate);
}

/* The k-th vertex to try for v: any for the first one, then neighbours of an earlier one. */
static uint32_t candidate_of(const struct search *s, const struct nt_model *m, size_t v, uint32_t k)
{
    size_t next[NT_LATTICE_DEGREE_MAX];
    if (v == 0) {
        size_t first = m->switches > 0 ? m->hosts : 0;
        return first + k < m->hosts + m->switches ? (uint32_t)(first + k) : NT_NO_VERTEX;
    }
    size_t count = nt_lattice_neighbours(s->l, v, next), before = v;
    for (size_t p = 0; p < count; p++)
        before = next[p] < before ? next[p] : before;
    uint32_t from = s->at[before];
    return k < nt_graph_degree(&s->graph, from) ? s->graph.to[s->graph.start[from] + k]
                                                : NT_NO_VERTEX;
}

/* False: there is no way to fill the grid, or it takes too long to find. */
static bool fill(struct search *s, const struct nt_model *m)
{
    size_t v = 0, left = STEPS_LEAST + STEPS_A_VERTEX * s->n;
    while (v < s->n && left-- > 0) {
        uint32_t candidate = candidate_of(s, m, v, s->tried[v]++);
        if (candidate == NT_NO_VERTEX) { /* all were tried: another one for the vertex before */
            s->tried[v] = 0;
            if (v-- == 0)
                return false;
            s->used[s->at[v]] = false;
        } else if (fits(s, m, v, candidate)) {
            s->used[candidate] = true;
            s->at[v++] = candidate;
        }
    }
    return v == s->n;
}

static bool state_lattice(const struct nt_model *m, struct nt_lattice *l)
{
    size_t n = 1, vertices = m->switches;
    for (size_t h = 0; m->switches == 0 && h < m->hosts; h++)
        vertices += !m->missing[h];
    if ((m->family != NT_FAMILY_TORUS && m->family != NT_FAMILY_MESH) || m->dimensions < 2 ||
        m->dimensions > NT_DIMENSIONS_MAX)
        return false;
    *l = (struct nt_lattice){
        .dimensions = m->dimensions, .wraps = m->family == NT_FAMILY_TORUS, .twist = m->twist};
    for (size_t k = 0; k < l->dimensions; k++) {
        l->size[k] = m->dimension[k];
        if (l->size[k] == 0 || n > vertices / l->size[k])
            return false;
        n *= l->size[k];
    }
    return n == vertices && l->twist < l->size[0];
}

int nt_lattice_place(const struct nt_model *m, struct nt_arena *memory, struct nt_lattice *lattice,
                     const uint32_t **place, struct nt_err *err)
{
    size_t vertices = m->hosts + m->switches;
    struct search s = {.l = lattice, .n = 1};
    *place = NULL;
    if (!state_lattice(m, lattice))
        return 0;
    for (size_t k = 0; k < lattice->dimensions; k++)
        s.n *= lattice->size[k];
    s.at = nt_arena_array(memory, s.n, sizeof *s.at);
    s.tried = nt_arena_array(memory, s.n, sizeof *s.tried);
    s.used = nt_arena_array(memory, vertices, sizeof *s.used);
    uint32_t *number = nt_arena_array(memory, vertices, sizeof *number);
    if (nt_arena_check(memory, err) != 0 || nt_graph_init(&s.graph, m, memory, err) != 0)
        return -1;
    if (!fill(&s, m))
        return 0;
    memset(number, 0xff, vertices * sizeof *number);
    for (size_t v = 0; v < s.n; v++)
        number[s.at[v]] = (uint32_t)v;
    *place = number;
    return 0;
}
