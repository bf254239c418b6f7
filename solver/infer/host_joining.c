/* SPDX-License-Identifier: Apache-2.0 */
/* A tree for few hosts, from the hosts themselves.
 *
 * Groups find a switch by what its hosts have in common, and few hosts have little in common, so
 * that a host beside a leaf, or a leaf of two below a switch with one host, is not found. Joined
 * one by one (Saitou and Nei 1987) hosts need no groups. The joined tree has an edge too many at
 * every switch of more than three ports; all edges are fitted together by weighted least squares,
 * the weakest is taken out, and so on down to one switch. Of these nested trees the one is taken
 * whose every edge gains more likelihood than the number of ways to choose it costs. */
#include "work.h"

#include <string.h>

#include "cholesky.h"
#include "memory.h"

struct host_joining {
    struct nt_work *w;
    size_t n, nodes, unknowns, rows, left; /* unknowns: the edge above each node but the root */
    uint32_t root;
    uint32_t *parent, *ports, *below; /* nodes; below: children that are left */
    bool *gone;                       /* nodes */
    uint32_t *removed;                /* in the order in which they were taken out */
    uint32_t *path;
    float *d;             /* n*n readings, outliers clipped */
    double *x, *inverse;  /* nodes, unknowns^2 */
    double *first, *full; /* x and inverse of the whole tree */
    double *worth;        /* nodes: of each edge when it was taken out */
    double rss;
};

static int host_joining_init(struct host_joining *j, struct nt_work *w, struct nt_arena *memory,
                             struct nt_err *err)
{
    size_t n = w->n, v = 2 * n;
    *j = (struct host_joining){.w = w, .n = n, .nodes = v - 2, .unknowns = v - 3};
    j->parent = nt_arena_array(memory, v, sizeof *j->parent);
    j->ports = nt_arena_array(memory, v, sizeof *j->ports);
    j->below = nt_arena_array(memory, v, sizeof *j->below);
    j->gone = nt_arena_array(memory, v, sizeof *j->gone);
    j->removed = nt_arena_array(memory, v, sizeof *j->removed);
    j->path = nt_arena_array(memory, 2 * v, sizeof *j->path);
    j->d = nt_arena_array(memory, n * n, sizeof *j->d);
    j->x = nt_arena_array(memory, v, sizeof *j->x);
    j->first = nt_arena_array(memory, v, sizeof *j->first);
    j->full = nt_arena_array(memory, v * v, sizeof *j->full);
    j->worth = nt_arena_array(memory, v, sizeof *j->worth);
    j->inverse = nt_arena_array(memory, v * v, sizeof *j->inverse);
    return nt_arena_check(memory, err);
}

/* Readings that are far from the present fit are clipped, missing ones are taken from it. */
static void clip_readings(struct host_joining *j, float most)
{
    const struct nt_work *w = j->w;
    for (size_t a = 0; a < j->n; a++)
        for (size_t b = 0; b < j->n; b++) {
            float v = w->d[a * j->n + b], p = nt_work_predict(w, a, b);
            float reach = most * (float)nt_noise_sd(&w->noise, (double)p);
            if (p == p && (v != v || v > p + reach))
                v = v != v ? p : p + reach;
            else if (p == p && v < p - reach)
                v = p - reach;
            j->d[a * j->n + b] = a == b ? 0 : v;
        }
}

/* The last node is the root; edges name the node that was made later second. */
static void root_tree(struct host_joining *j, const struct nt_tree *tree)
{
    j->root = (uint32_t)(j->nodes - 1);
    for (size_t e = 0; e < tree->edges; e++) {
        uint32_t a = tree->edge[e].a, b = tree->edge[e].b;
        j->parent[a < b ? a : b] = a < b ? b : a;
        j->ports[a]++;
        j->ports[b]++;
    }
    j->parent[j->root] = j->root;
}

/* Edges between two hosts, by the nodes below them: up from both until the ways meet. A parent's
 * number is larger than its child's. */
static size_t path_of(const struct host_joining *j, uint32_t a, uint32_t b, uint32_t *path)
{
    size_t count = 0;
    while (a != b) {
        uint32_t *lower = a < b ? &a : &b;
        path[count++] = *lower;
        *lower = j->parent[*lower];
    }
    return count;
}

/* The weight of a reading must not come from the reading: one that is low by chance would count for
 * more than its neighbours, and a few such readings would look like a leaf. */
static double weight_of(const struct host_joining *j, uint32_t a, uint32_t b)
{
    float p = nt_work_predict(j->w, a, b);
    double sd = nt_noise_sd(&j->w->noise, (double)(p > 0 ? p : j->d[a * j->n + b]));
    return 1 / (sd * sd);
}

/* Weighted least squares of all edges. */
static int fit_edges(struct host_joining *j, struct nt_err *err)
{
    size_t m = j->unknowns;
    double sum = 0;
    for (uint32_t a = 1; a < j->n; a++)
        for (uint32_t b = 0; b < a; b++) {
            if (j->w->d[a * j->n + b] != j->w->d[a * j->n + b])
                continue;
            double v = (double)j->d[a * j->n + b], weight = weight_of(j, a, b);
            size_t count = path_of(j, a, b, j->path);
            for (size_t k = 0; k < count; k++) {
                j->x[j->path[k]] += v * weight;
                for (size_t l = 0; l < count; l++)
                    j->inverse[j->path[k] * m + j->path[l]] += weight;
            }
            j->rows++;
        }
    if (nt_cholesky_solve(j->inverse, j->x, m, err) < 0 ||
        nt_cholesky_invert(j->inverse, m, err) < 0)
        return -1;
    for (size_t k = 0; k < m; k++)
        for (size_t l = k + 1; l < m; l++)
            j->inverse[k * m + l] = j->inverse[l * m + k];
    for (uint32_t a = 1; a < j->n; a++)
        for (uint32_t b = 0; b < a; b++) {
            if (j->w->d[a * j->n + b] != j->w->d[a * j->n + b])
                continue;
            double r = (double)j->d[a * j->n + b];
            size_t count = path_of(j, a, b, j->path);
            for (size_t k = 0; k < count; k++)
                r -= j->x[j->path[k]];
            sum += r * r * weight_of(j, a, b);
        }
    j->rss = sum;
    memcpy(j->first, j->x, m * sizeof *j->x);
    memcpy(j->full, j->inverse, m * m * sizeof *j->inverse);
    return 0;
}

/* Below the resolution of the readings no fit counts as better. */
static double floor_of(const struct host_joining *j)
{
    double share = j->w->noise.least / j->w->noise.scale;
    return 0.5 * share * share;
}

static uint32_t edge_above(const struct host_joining *j, uint32_t v)
{
    uint32_t u = j->parent[v];
    while (j->gone[u])
        u = j->parent[u];
    return u;
}

/* The gain of the edge above v: twice the gain in likelihood less what it costs to have picked it
 * among the ways to part the branches that would meet without it, whatever the sizes. */
static double edge_worth(const struct host_joining *j, uint32_t v, double df)
{
    size_t far = j->ports[v] - 1, near = j->ports[edge_above(j, v)] - 1;
    double evidence =
        nt_null_distribution_limit(nt_ln_choose(far + near, far) + log((double)(far + near)), df);
    double gain = j->x[v] * j->x[v] / j->inverse[v * j->unknowns + v];
    double square = (j->rss + floor_of(j) * (double)j->rows) / df;
    return df * (log1p(gain / square / df) - log1p(evidence * evidence / df));
}

static void take_out(struct host_joining *j, uint32_t v)
{
    size_t m = j->unknowns;
    double own = j->inverse[v * m + v], x = j->x[v];
    uint32_t u = edge_above(j, v);
    for (size_t k = 0; k < m; k++) {
        double share = j->inverse[k * m + v] / own;
        if (k == v || (k >= j->n && j->gone[k]) || share == 0)
            continue;
        j->x[k] -= share * x;
        for (size_t l = 0; l < m; l++)
            if (l != v)
                j->inverse[k * m + l] -= share * j->inverse[v * m + l];
    }
    j->rss += x * x / own;
    j->gone[v] = true;
    j->ports[u] += j->ports[v] - 2;
    j->removed[j->left++] = v;
}

/* Takes out edge after edge, down to one switch; the number to take out for the best tree. */
static size_t eliminate_edges(struct host_joining *j)
{
    double sum = 0, best = 0;
    size_t inner = j->unknowns - j->n, take = 0;
    while (j->left < inner) {
        double least = INFINITY, df = (double)j->rows - (double)(j->unknowns - j->left);
        uint32_t weakest = 0;
        for (uint32_t v = (uint32_t)j->n; v < j->unknowns; v++) {
            if (j->gone[v])
                continue;
            double now = edge_worth(j, v, df);
            if (j->x[v] <= 0) /* no edge at all */
                now = -1e9 - now;
            if (now < least) {
                least = now;
                weakest = v;
            }
        }
        double own = edge_worth(j, weakest, df);
        sum += j->x[weakest] > 0 ? own : fmin(own, 0);
        j->worth[weakest] = own;
        take_out(j, weakest);
        if (sum <= best) {
            best = sum;
            take = j->left;
        }
    }
    return take;
}

/* The fit without the first `take` of the edges that were taken out. */
static void restore_edges(struct host_joining *j, double rss, size_t take)
{
    size_t m = j->unknowns;
    memcpy(j->x, j->first, m * sizeof *j->x);
    memcpy(j->inverse, j->full, m * m * sizeof *j->inverse);
    memset(j->gone, 0, j->nodes * sizeof *j->gone);
    j->rss = rss;
    j->left = 0;
    for (size_t k = 0; k < take; k++)
        take_out(j, j->removed[k]);
}

/* Offsets, distances and noise of the groups as the edges say: medians of few hosts are poor. */
static int take_figures(struct host_joining *j, struct nt_err *err)
{
    struct nt_work *w = j->w;
    double df = (double)j->rows - (double)(j->unknowns - j->left);
    if (nt_groups_fit(w, nt_work_passes(w), err) < 0)
        return -1;
    for (uint32_t a = 0; a < j->n; a++) {
        w->offset[a] = (float)fmax(j->x[a], 0);
        for (uint32_t b = 0; b < j->n; b++) {
            double sum = 0;
            size_t count = a == b ? 0 : path_of(j, a, b, j->path);
            for (size_t k = 0; k < count; k++)
                if (j->path[k] >= j->n && !j->gone[j->path[k]])
                    sum += j->x[j->path[k]];
            w->t[w->group[a] * w->groups + w->group[b]] = (float)sum;
        }
    }
    w->noise.scale = fmax(w->noise.scale * sqrt(j->rss / df), w->noise.least);
    return nt_groups_noise(w, false, err);
}

static int to_groups(struct host_joining *j, struct nt_tree *tree, struct nt_err *err)
{
    struct nt_work *w = j->w;
    size_t count = 0;
    uint32_t *number = j->below, *at = j->ports;
    for (uint32_t v = (uint32_t)j->n; v < j->nodes; v++)
        number[v] = j->gone[v] ? UINT32_MAX : (uint32_t)count++;
    for (uint32_t i = 0; i < j->n; i++)
        at[i] = w->group[i] = number[edge_above(j, i)];
    nt_groups_index(w);
    tree->nodes = count;
    tree->edges = 0;
    for (uint32_t i = 0; i < j->n; i++)
        tree->node_of[w->group[i]] = at[i];
    for (uint32_t v = (uint32_t)j->n; v < j->unknowns; v++)
        if (!j->gone[v])
            tree->edge[tree->edges++] =
                (struct nt_tree_edge){number[v], number[edge_above(j, v)], fmax(j->x[v], 0),
                                      sqrt(fmax(j->worth[v], 0) + 12)};
    return take_figures(j, err);
}

int nt_host_joining(struct nt_work *w, bool clipped, struct nt_tree *out, bool *found,
                    struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct host_joining j;
    *found = false;
    if (w->n < NT_HOST_JOINING_MIN || w->n > NT_HOST_JOINING_MAX || w->pairs < 2 * w->n)
        return 0;
    if (host_joining_init(&j, w, &memory, err) < 0)
        return -1;
    clip_readings(&j, clipped ? 5 : INFINITY);
    int status = nt_neighbor_joining(w->n, j.d, out, err);
    if (status == 0) {
        struct nt_err ignored;
        root_tree(&j, out);
        if (fit_edges(&j, &ignored) == 0 && j.rows > j.unknowns) {
            double rss = j.rss;
            restore_edges(&j, rss, eliminate_edges(&j));
            status = to_groups(&j, out, err);
            *found = status == 0;
        }
        if (!*found)
            nt_tree_fini(out);
    }
    return status;
}
