/* SPDX-License-Identifier: Apache-2.0 */
/* Stages 1 to 3 of the paper for one matrix. */
#include "parus_local.h"

#include <math.h>
#include <string.h>

int parus_local_init(struct parus_local *p, size_t n, const struct nt_parus_options *o,
                     struct nt_arena *memory, struct nt_err *err)
{
    *p = (struct parus_local){.n = n, .o = o};
    p->mark = nt_arena_array(memory, n * n, sizeof *p->mark);
    p->done = nt_arena_array(memory, n, sizeof *p->done);
    p->waiting = nt_arena_array(memory, n, sizeof *p->waiting);
    p->distance = nt_arena_array(memory, n, sizeof *p->distance);
    return nt_arena_check(memory, err);
}

/* The weight of an arc; infinity where it was not measured. */
static double pair_weight(const struct parus_local *p, size_t i, size_t j)
{
    float w = parus_weight(p->m, i, j);
    return i == j || isnan(w) ? INFINITY : (double)w;
}

static unsigned char *pair_mark(struct parus_local *p, size_t i, size_t j)
{
    return &p->mark[i * p->n + j];
}

/* Puts the channel in: both arcs when their weights differ by at most 1 + eps, else the lighter
 * one; the heavier is then destroyed. */
static void add_channel(struct parus_local *p, size_t i, size_t j, double eps)
{
    double there = pair_weight(p, i, j), back = pair_weight(p, j, i);
    bool duplex = fmax(there, back) <= fmin(there, back) * (1 + eps);
    *pair_mark(p, i, j) = duplex || there <= back ? PARUS_ARC : PARUS_GONE;
    *pair_mark(p, j, i) = duplex || back < there ? PARUS_ARC : PARUS_GONE;
}

/* Everything within the limit of formula 1 from v is on the same shared memory, in either
 * direction, and so on from there. */
static void collect_from(struct parus_local *p, size_t v, double limit)
{
    p->done[v] = true;
    for (size_t u = 0; u < p->n; u++) {
        bool there = pair_weight(p, v, u) <= limit, back = pair_weight(p, u, v) <= limit;
        p->operations += 2;
        if (there && *pair_mark(p, v, u) == PARUS_FREE)
            *pair_mark(p, v, u) = PARUS_SHARED;
        if (back && *pair_mark(p, u, v) == PARUS_FREE)
            *pair_mark(p, u, v) = PARUS_SHARED;
        if ((there || back) && !p->done[u])
            p->waiting[u] = true;
    }
}

static void collect_group(struct parus_local *p, size_t start, double limit)
{
    p->groups++;
    p->waiting[start] = true;
    for (size_t v = 0; v < p->n;) {
        p->operations++;
        if (!p->waiting[v]) {
            v++;
            continue;
        }
        p->waiting[v] = false;
        collect_from(p, v, limit);
        v = 0; /* it may have brought an earlier one */
    }
}

/* The smallest entry of the whole matrix, or of rows already done to columns not yet done. */
static bool find_smallest(struct parus_local *p, bool ascent, size_t *from, size_t *to)
{
    double least = INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        p->operations++;
        if (ascent && !p->done[i])
            continue;
        for (size_t j = 0; j < p->n; j++) {
            double w = pair_weight(p, i, j);
            if (w < least && !(ascent && p->done[j])) {
                least = w;
                *from = i;
                *to = j;
            }
        }
        p->operations += p->n;
    }
    return isfinite(least);
}

/* The way down from a board to its cores: a chain of arcs, each the lightest to a vertex not yet
 * used and lighter than the one before. *end is where it stops, *last the last arc's weight. */
static bool descend_path(struct parus_local *p, size_t start, double limit, size_t *end,
                         double *last)
{
    size_t v = start;
    double previous = limit;
    for (;;) {
        size_t next = p->n;
        double least = previous;
        for (size_t u = 0; u < p->n; u++) {
            if (!p->done[u] && u != v && pair_weight(p, v, u) < least) {
                least = pair_weight(p, v, u);
                next = u;
            }
        }
        p->operations += p->n;
        if (next == p->n)
            break;
        p->done[v] = true;
        add_channel(p, v, next, p->o->eps_duplex);
        v = next;
        previous = least;
    }
    *end = v;
    *last = previous;
    return v != start;
}

/* Stage 2: the skeleton. The smallest entry starts the first group; then, again and again, up
 * over the lightest arc to a vertex not yet used and down to the next group. */
static void find_skeleton(struct parus_local *p)
{
    size_t from = 0, to = 0;
    if (!find_smallest(p, false, &from, &to))
        return;
    double spread = 1 + p->o->eps_shared;
    p->done[from] = true;
    *pair_mark(p, from, to) = PARUS_SHARED;
    if (pair_weight(p, to, from) <= pair_weight(p, from, to) * spread)
        *pair_mark(p, to, from) = PARUS_SHARED;
    p->waiting[from] = true;
    collect_group(p, to, pair_weight(p, from, to) * spread);
    while (find_smallest(p, true, &from, &to)) {
        size_t end;
        double last;
        add_channel(p, from, to, p->o->eps_duplex);
        if (descend_path(p, to, pair_weight(p, from, to), &end, &last)) {
            collect_group(p, end, last * spread);
        } else { /* nothing is nearer to it than what led here: a group of its own */
            p->done[to] = true;
            p->groups++;
        }
    }
}

/* Dijkstra over the arcs that are in, on a dense matrix. */
static void distances_from(struct parus_local *p, size_t source)
{
    for (size_t v = 0; v < p->n; v++) {
        p->distance[v] = INFINITY;
        p->done[v] = false;
    }
    p->distance[source] = 0;
    for (;;) {
        size_t v = p->n;
        for (size_t u = 0; u < p->n; u++)
            if (!p->done[u] && isfinite(p->distance[u]) &&
                (v == p->n || p->distance[u] < p->distance[v]))
                v = u;
        p->operations += p->n;
        if (v == p->n)
            return;
        p->done[v] = true;
        for (size_t u = 0; u < p->n; u++) {
            if (*pair_mark(p, v, u) >= PARUS_ARC &&
                p->distance[v] + pair_weight(p, v, u) < p->distance[u])
                p->distance[u] = p->distance[v] + pair_weight(p, v, u);
        }
        p->operations += p->n;
    }
}

/* Stage 3: an arc that is shorter than every path closes a cycle. Arcs added for one source count
 * for the next, as n calls of Dijkstra's algorithm do. */
static void restore_cycles(struct parus_local *p)
{
    for (size_t i = 0; i < p->n; i++) {
        distances_from(p, i);
        for (size_t j = 0; j < p->n; j++)
            if (*pair_mark(p, i, j) == PARUS_FREE && isfinite(p->distance[j]) &&
                p->distance[j] > pair_weight(p, i, j))
                *pair_mark(p, i, j) = PARUS_ARC;
        p->operations += p->n;
    }
}

/* A channel whose two arcs differ by more than eps_duplex is simplex: the heavier goes. Within a
 * group eps_shared has already decided. */
static void make_simplex(struct parus_local *p)
{
    double spread = 1 + p->o->eps_duplex;
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < i; j++) {
            double there = pair_weight(p, i, j), back = pair_weight(p, j, i);
            if (*pair_mark(p, i, j) != PARUS_ARC || *pair_mark(p, j, i) != PARUS_ARC)
                continue;
            if (there > back * spread)
                *pair_mark(p, i, j) = PARUS_GONE;
            else if (back > there * spread)
                *pair_mark(p, j, i) = PARUS_GONE;
        }
    }
    p->operations += p->n * p->n;
}

void parus_local_find(struct parus_local *p, const struct nt_matrix *m)
{
    p->m = m;
    memset(p->mark, PARUS_FREE, p->n * p->n);
    memset(p->done, 0, p->n * sizeof *p->done);
    memset(p->waiting, 0, p->n * sizeof *p->waiting);
    find_skeleton(p);
    restore_cycles(p);
    make_simplex(p);
}
