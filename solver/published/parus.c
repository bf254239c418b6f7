/* SPDX-License-Identifier: Apache-2.0 */
#include "parus.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stats.h"

/* ---- the local topology of one matrix ------------------------------------------------------- */

/* Stages 1 to 3 of the paper for one matrix. */

enum parus_mark {
    PARUS_FREE = 0,
    PARUS_GONE,   /* the heavier arc of a simplex channel: destroyed for good */
    PARUS_ARC,    /* in the local topology: from here on */
    PARUS_SHARED, /* in the local topology, collected into a group by eps_shared */
};

struct local {
    size_t n;
    const struct nt_matrix *m;
    const struct nt_parus_options *o;
    unsigned char *mark; /* n*n of enum parus_mark, from row to column */
    bool *done;          /* D in the paper: the vertex was visited */
    bool *waiting;       /* S in the paper: to be collected into the group */
    double *distance;
    uint32_t *arc, *arcs; /* stage 3: n per vertex, to which its arcs lead; their number */
    uint32_t *open;       /* reached, but not visited */
    size_t groups;
    uint64_t operations;
};

/* From i to j; where only the other direction was measured, that one counts. NaN: neither. */
static float parus_weight(const struct nt_matrix *m, size_t i, size_t j)
{
    float there = nt_matrix_get(m, i, j);
    return there == there ? there : nt_matrix_get(m, j, i);
}

static int local_init(struct local *p, size_t n, const struct nt_parus_options *o,
                      struct nt_arena *memory, struct nt_err *err)
{
    *p = (struct local){.n = n, .o = o};
    p->mark = nt_arena_array(memory, n * n, sizeof *p->mark);
    p->done = nt_arena_array(memory, n, sizeof *p->done);
    p->waiting = nt_arena_array(memory, n, sizeof *p->waiting);
    p->distance = nt_arena_array(memory, n, sizeof *p->distance);
    p->arc = nt_arena_array(memory, n * n, sizeof *p->arc);
    p->arcs = nt_arena_array(memory, n, sizeof *p->arcs);
    p->open = nt_arena_array(memory, n, sizeof *p->open);
    return nt_arena_check(memory, err);
}

/* The weight of an arc; infinity where it was not measured. */
static double pair_weight(const struct local *p, size_t i, size_t j)
{
    float w = parus_weight(p->m, i, j);
    return i == j || isnan(w) ? INFINITY : (double)w;
}

static unsigned char *pair_mark(struct local *p, size_t i, size_t j)
{
    return &p->mark[i * p->n + j];
}

/* Adds the channel: both arcs if their weights differ by at most 1 + eps, else the lighter one; the
 * heavier one is then deleted. */
static void add_channel(struct local *p, size_t i, size_t j, double eps)
{
    double there = pair_weight(p, i, j), back = pair_weight(p, j, i);
    bool duplex = fmax(there, back) <= fmin(there, back) * (1 + eps);
    *pair_mark(p, i, j) = duplex || there <= back ? PARUS_ARC : PARUS_GONE;
    *pair_mark(p, j, i) = duplex || back < there ? PARUS_ARC : PARUS_GONE;
}

/* Everything within the limit of formula 1 from v is on the same shared memory, in either
 * direction, and so on from there. */
static void collect_from(struct local *p, size_t v, double limit)
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

static void collect_group(struct local *p, size_t start, double limit)
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
static bool find_smallest(struct local *p, bool ascent, size_t *from, size_t *to)
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
static bool descend_path(struct local *p, size_t start, double limit, size_t *end, double *last)
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
static void find_skeleton(struct local *p)
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
        } else { /* nothing is nearer to it than its predecessor: a new group */
            p->done[to] = true;
            p->groups++;
        }
    }
}

static void find_arcs(struct local *p, size_t i)
{
    p->arcs[i] = 0;
    for (size_t j = 0; j < p->n; j++)
        if (*pair_mark(p, i, j) >= PARUS_ARC)
            p->arc[i * p->n + p->arcs[i]++] = (uint32_t)j;
    p->operations += p->n;
}

static size_t take_nearest(struct local *p, size_t *count)
{
    size_t nearest = 0;
    for (size_t k = 1; k < *count; k++)
        if (p->distance[p->open[k]] < p->distance[p->open[nearest]])
            nearest = k;
    p->operations += *count;
    size_t v = p->open[nearest];
    p->open[nearest] = p->open[--*count];
    return v;
}

/* Dijkstra's algorithm over the arcs of the topology, which are few in most networks. */
static void distances_from(struct local *p, size_t source)
{
    size_t count = 1;
    for (size_t v = 0; v < p->n; v++)
        p->distance[v] = INFINITY;
    p->distance[source] = 0;
    p->open[0] = (uint32_t)source;
    while (count > 0) {
        size_t v = take_nearest(p, &count);
        for (size_t k = 0; k < p->arcs[v]; k++) {
            uint32_t u = p->arc[v * p->n + k];
            double distance = p->distance[v] + pair_weight(p, v, u);
            if (distance >= p->distance[u])
                continue;
            if (isinf(p->distance[u]))
                p->open[count++] = u;
            p->distance[u] = distance;
        }
        p->operations += p->arcs[v];
    }
}

/* Stage 3: an arc that is shorter than every path closes a cycle. Arcs added for one source are
 * used for the next, as with n calls of Dijkstra's algorithm. */
static void restore_cycles(struct local *p)
{
    for (size_t i = 0; i < p->n; i++)
        find_arcs(p, i);
    for (size_t i = 0; i < p->n; i++) {
        distances_from(p, i);
        for (size_t j = 0; j < p->n; j++)
            if (*pair_mark(p, i, j) == PARUS_FREE && isfinite(p->distance[j]) &&
                p->distance[j] > pair_weight(p, i, j))
                *pair_mark(p, i, j) = PARUS_ARC;
        find_arcs(p, i);
    }
}

/* A channel whose two arcs differ by more than eps_duplex is simplex: the heavier arc is deleted.
 * Within a group eps_shared has already decided. */
static void make_simplex(struct local *p)
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

/* Fills p->mark for this matrix; groups and operations are added to. */
static void find_local(struct local *p, const struct nt_matrix *m)
{
    p->m = m;
    memset(p->mark, PARUS_FREE, p->n * p->n);
    memset(p->done, 0, p->n * sizeof *p->done);
    memset(p->waiting, 0, p->n * sizeof *p->waiting);
    find_skeleton(p);
    restore_cycles(p);
    make_simplex(p);
}

/* ---- all matrices --------------------------------------------------------------------------- */

/* The arcs of all local topologies, merged by their vertices. */
struct merged {
    uint32_t *seen; /* n*n: in how many of them */
    float *weight;  /* n*n */
};

void nt_parus_default(struct nt_parus_options *options)
{
    *options = (struct nt_parus_options){.eps_shared = 0.1, .eps_duplex = 0.5};
}

static int check_matrix(const struct nt_matrix *m, size_t n, struct nt_err *err)
{
    if (m->kind != NT_MATRIX_LATENCY_US || m->n != n)
        return nt_err_set(err, NT_ERR_INPUT,
                          "parus: the matrices must all hold latencies of %zu hosts", n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            float v = nt_matrix_get(m, i, j);
            if (i != j && (v < 0 || isinf(v)))
                return nt_err_set(err, NT_ERR_INPUT,
                                  "parus: latency of hosts %zu and %zu is %g, expected at least 0",
                                  i, j, (double)v);
        }
    }
    return 0;
}

static int check_matrices(const struct nt_matrix *const *m, size_t count,
                          const struct nt_parus_options *o, struct nt_err *err)
{
    if (count == 0 || count > NT_PARUS_MATRICES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "parus: %zu matrices, expected 1 to %d", count,
                          (int)NT_PARUS_MATRICES_MAX);
    if (m[0]->n > NT_PARUS_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "parus: %zu hosts, the method takes at most %d",
                          m[0]->n, (int)NT_PARUS_HOSTS_MAX);
    if (!(o->eps_shared >= 0 && o->eps_shared <= 100 && o->eps_duplex >= 0 && o->eps_duplex <= 100))
        return nt_err_set(err, NT_ERR_INPUT,
                          "parus: eps-shared %g and eps-duplex %g, expected 0 to 100",
                          o->eps_shared, o->eps_duplex);
    if (o->lengths == NT_PARUS_OF_SIZE && o->size >= count)
        return nt_err_set(err, NT_ERR_INPUT, "parus: size %zu of %zu matrices", o->size, count);
    for (size_t k = 0; k < count; k++)
        if (check_matrix(m[k], m[0]->n, err) != 0)
            return -1;
    return 0;
}

/* All matrices, for the lengths of arcs. */
struct sizes {
    const struct nt_matrix *const *m;
    size_t count;
    const struct nt_parus_options *o;
    float *room; /* count of them */
};

/* NaN: not measured in the selected size, or in none. */
static float length_of(const struct sizes *s, size_t i, size_t j)
{
    double sum = 0;
    size_t n = 0;
    if (s->o->lengths == NT_PARUS_OF_SIZE)
        return parus_weight(s->m[s->o->size], i, j);
    for (size_t k = 0; k < s->count; k++) {
        float w = parus_weight(s->m[k], i, j);
        if (isnan(w))
            continue;
        s->room[n++] = w;
        sum += (double)w;
    }
    if (n == 0)
        return NAN;
    return s->o->lengths == NT_PARUS_MEAN ? (float)(sum / (double)n)
                                          : nt_stats_select(s->room, n, (n - 1) / 2);
}

static void add_local(struct merged *all, const struct local *p, const struct nt_matrix *m,
                      const struct sizes *sizes)
{
    for (size_t k = 0; k < p->n * p->n; k++) {
        if (p->mark[k] < PARUS_ARC)
            continue;
        if (all->seen[k]++ > 0)
            continue;
        float w = length_of(sizes, k / p->n, k % p->n);
        all->weight[k] = isnan(w) ? parus_weight(m, k / p->n, k % p->n) : w;
    }
}

static int list_arcs(const struct merged *all, size_t n, size_t matrices, struct nt_parus_result *r,
                     struct nt_err *err)
{
    size_t arcs = 0;
    for (size_t k = 0; k < n * n; k++)
        arcs += all->seen[k] > 0 ? 1 : 0;
    r->arc = nt_arena_array(&r->memory, arcs, sizeof *r->arc);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            size_t k = i * n + j;
            if (all->seen[k] > 0)
                r->arc[r->arcs++] = (struct nt_parus_arc){(uint32_t)i, (uint32_t)j,
                                                          (double)all->seen[k] / (double)matrices};
        }
    }
    return 0;
}

/* One link for the arcs i->j and j->i, at least one of which is there. Formula 2: their weights
 * in proportion to their probabilities. */
static void set_link(struct nt_link *link, const struct merged *all, size_t n, size_t i, size_t j,
                     size_t matrices)
{
    double there = (double)all->seen[i * n + j], back = (double)all->seen[j * n + i];
    bool turned = !(there > 0);
    link->a = (uint32_t)(turned ? j : i);
    link->b = (uint32_t)(turned ? i : j);
    link->latency_us = ((there > 0 ? there * (double)all->weight[i * n + j] : 0) +
                        (back > 0 ? back * (double)all->weight[j * n + i] : 0)) /
                       (there + back);
    link->probability = fmax(there, back) / (double)matrices;
    link->simplex = !(there > 0 && back > 0);
}

static int make_model(const struct merged *all, size_t n, size_t matrices, struct nt_model **out,
                      struct nt_err *err)
{
    size_t links = 0, k = 0;
    struct nt_model *m;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            links += all->seen[i * n + j] > 0 || all->seen[j * n + i] > 0 ? 1 : 0;
    if (nt_model_create(n, 0, links, &m, err) != 0)
        return -1;
    for (size_t h = 0; h < n; h++)
        m->missing[h] = n > 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            if (all->seen[i * n + j] == 0 && all->seen[j * n + i] == 0)
                continue;
            m->missing[i] = m->missing[j] = false;
            set_link(&m->link[k++], all, n, i, j, matrices);
        }
    }
    m->confidence = NAN;
    m->family = n > 1 && links == n * (n - 1) / 2 ? NT_FAMILY_FULL_MESH : NT_FAMILY_IRREGULAR;
    *out = m;
    return 0;
}

static int run_method(const struct nt_matrix *const *m, size_t count,
                      const struct nt_parus_options *o, struct nt_parus_result *r,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct local p;
    size_t n = m[0]->n;
    struct merged all = {.seen = nt_arena_array(&memory, n * n, sizeof *all.seen),
                         .weight = nt_arena_array(&memory, n * n, sizeof *all.weight)};
    const struct sizes sizes = {m, count, o, nt_arena_array(&memory, count, sizeof(float))};
    if (local_init(&p, n, o, &memory, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        find_local(&p, m[k]);
        add_local(&all, &p, m[k], &sizes);
        if (k == 0)
            r->groups = p.groups;
    }
    r->operations = p.operations;
    if (list_arcs(&all, n, count, r, err) != 0)
        return -1;
    return make_model(&all, n, count, &r->model, err);
}

int nt_parus_infer(const struct nt_matrix *const *latencies, size_t n_matrices,
                   const struct nt_parus_options *options, struct nt_parus_result **out,
                   struct nt_err *err)
{
    struct nt_parus_options o;
    nt_parus_default(&o);
    if (options != NULL)
        o = *options;
    if (check_matrices(latencies, n_matrices, &o, err) != 0)
        return -1;
    struct nt_parus_result *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    int rc = run_method(latencies, n_matrices, &o, r, err);
    if (rc == 0)
        *out = r;
    else
        nt_parus_destroy(r);
    return rc;
}

void nt_parus_destroy(struct nt_parus_result *result)
{
    if (result == NULL)
        return;
    nt_model_destroy(result->model);
    nt_object_destroy(result);
}
