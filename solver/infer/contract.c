/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the edges of a joined tree that noise alone could make.
 *
 * The length of an edge is measured by four branches: mean distance over it, minus half of the mean
 * distances between the branches at each end. That does not depend on the lengths within the
 * branches. In depth-first order every branch is a range of groups, or the rest of the tree, so
 * sums over a block of pairs come from one table of running sums. */
#include "work.h"

#include <string.h>

#include "memory.h"
#include "stats.h"

struct branch {
    uint32_t first, last; /* range of the order, last excluded */
    bool rest;            /* everything but the range */
};

struct table {
    const struct nt_work *w;
    struct nt_tree *tree;
    size_t groups, nodes;
    uint32_t *parent;              /* nodes; itself for the root */
    bool *removed;                 /* nodes: contracted */
    double *length, *z;            /* nodes: of the edge to the parent */
    uint32_t *child_start, *child; /* children of each node */
    uint32_t *held_start, *held;   /* groups of each node */
    uint32_t *order, *place;       /* groups in depth-first order, and back */
    uint32_t *first, *last;        /* nodes: range of the groups below */
    double *sum, *weight;          /* (groups+1)^2 running sums over the order */
    double *hosts, *offsets;       /* groups+1 running sums: hosts, hosts * mean offset */
    struct branch *at_parent, *at_child;
    uint32_t *stack;
};

static int table_init(struct table *t, const struct nt_work *w, struct nt_tree *tree,
                      struct nt_arena *memory, struct nt_err *err)
{
    size_t g = w->groups, v = tree->nodes;
    *t = (struct table){.w = w, .tree = tree, .groups = g, .nodes = v};
    t->parent = nt_arena_array(memory, v + 1, sizeof *t->parent);
    t->removed = nt_arena_array(memory, v + 1, sizeof *t->removed);
    t->length = nt_arena_array(memory, v + 1, sizeof *t->length);
    t->z = nt_arena_array(memory, v + 1, sizeof *t->z);
    t->child_start = nt_arena_array(memory, v + 3, sizeof *t->child_start);
    t->child = nt_arena_array(memory, v + 1, sizeof *t->child);
    t->held_start = nt_arena_array(memory, v + 3, sizeof *t->held_start);
    t->held = nt_arena_array(memory, g + 1, sizeof *t->held);
    t->order = nt_arena_array(memory, g + 1, sizeof *t->order);
    t->place = nt_arena_array(memory, g + 1, sizeof *t->place);
    t->first = nt_arena_array(memory, v + 1, sizeof *t->first);
    t->last = nt_arena_array(memory, v + 1, sizeof *t->last);
    t->sum = nt_arena_array(memory, (g + 1) * (g + 1), sizeof *t->sum);
    t->weight = nt_arena_array(memory, (g + 1) * (g + 1), sizeof *t->weight);
    t->hosts = nt_arena_array(memory, g + 2, sizeof *t->hosts);
    t->offsets = nt_arena_array(memory, g + 2, sizeof *t->offsets);
    t->at_parent = nt_arena_array(memory, g + v + 2, sizeof *t->at_parent);
    t->at_child = nt_arena_array(memory, g + v + 2, sizeof *t->at_child);
    t->stack = nt_arena_array(memory, 2 * v + 2, sizeof *t->stack);
    return nt_arena_check(memory, err);
}

/* Parents by a walk from the last node, which is an inner one when there is any. */
static void root_tree(struct table *t)
{
    const struct nt_tree *tree = t->tree;
    for (size_t v = 0; v < t->nodes; v++)
        t->parent[v] = UINT32_MAX;
    uint32_t root = (uint32_t)(t->nodes - 1);
    t->parent[root] = root;
    /* edges of a joined tree name the later node second, so one pass downwards gives all parents */
    for (size_t e = tree->edges; e-- > 0;) {
        uint32_t a = tree->edge[e].a, b = tree->edge[e].b;
        if (t->parent[b] != UINT32_MAX && t->parent[a] == UINT32_MAX)
            t->parent[a] = b;
        else
            t->parent[b] = a;
    }
}

static void list_by(const uint32_t *owner, size_t count, size_t owners, uint32_t *start,
                    uint32_t *list)
{
    memset(start, 0, (owners + 2) * sizeof *start);
    for (size_t k = 0; k < count; k++)
        if (owner[k] != UINT32_MAX)
            start[owner[k] + 2]++;
    for (size_t v = 2; v <= owners; v++)
        start[v + 1] += start[v];
    for (size_t k = 0; k < count; k++)
        if (owner[k] != UINT32_MAX)
            list[start[owner[k] + 1]++] = (uint32_t)k;
}

static void order_groups(struct table *t)
{
    uint32_t *owner = t->place; /* free until the order stands */
    size_t top = 0;
    uint32_t next = 0, root = 0;
    list_by(t->tree->node_of, t->groups, t->nodes, t->held_start, t->held);
    owner = t->last; /* nodes of them, free too */
    for (size_t v = 0; v < t->nodes; v++) {
        bool is_root = t->parent[v] == v;
        owner[v] = t->removed[v] || is_root ? UINT32_MAX : t->parent[v];
        if (is_root)
            root = (uint32_t)v;
    }
    list_by(owner, t->nodes, t->nodes, t->child_start, t->child);
    t->stack[top++] = root;
    while (top > 0) {
        uint32_t v = t->stack[--top];
        if (v >= t->nodes) { /* on the way back up */
            t->last[v - t->nodes] = next;
            continue;
        }
        t->first[v] = next;
        for (uint32_t k = t->held_start[v]; k < t->held_start[v + 1]; k++) {
            t->place[t->held[k]] = next;
            t->order[next++] = t->held[k];
        }
        t->stack[top++] = v + (uint32_t)t->nodes;
        for (uint32_t k = t->child_start[v]; k < t->child_start[v + 1]; k++)
            t->stack[top++] = t->child[k];
    }
}

static void sum_groups(struct table *t)
{
    const struct nt_work *w = t->w;
    size_t g = t->groups, m = g + 1;
    for (size_t i = 0; i < g; i++) {
        uint32_t a = t->order[i];
        double na = (double)nt_work_size(w, a), mean = 0, sum = 0, weight = 0;
        for (size_t k = w->start[a]; k < w->start[a + 1]; k++)
            mean += (double)w->offset[w->member[k]];
        t->hosts[i + 1] = t->hosts[i] + na;
        t->offsets[i + 1] = t->offsets[i] + mean;
        for (size_t j = 0; j < g; j++) {
            uint32_t b = t->order[j];
            double v = (double)w->t[a * g + b];
            if (a != b && v == v) {
                double pairs = na * (double)nt_work_size(w, b);
                sum += v * pairs;
                weight += pairs;
            }
            t->sum[(i + 1) * m + j + 1] = t->sum[i * m + j + 1] + sum;
            t->weight[(i + 1) * m + j + 1] = t->weight[i * m + j + 1] + weight;
        }
    }
}

static double block_variance(const double *s, size_t m, uint32_t a, uint32_t b, uint32_t c,
                             uint32_t d)
{
    return s[b * m + d] - s[a * m + d] - s[b * m + c] + s[a * m + c];
}

static double block_of(const struct table *t, const double *s, struct branch x, struct branch y)
{
    size_t m = t->groups + 1;
    uint32_t all = (uint32_t)t->groups;
    if (x.rest) {
        struct branch swap = x;
        x = y;
        y = swap;
    }
    double v = block_variance(s, m, x.first, x.last, y.first, y.last);
    return y.rest ? block_variance(s, m, x.first, x.last, 0, all) - v : v;
}

static double range_of(const struct table *t, const double *s, struct branch x)
{
    double v = s[x.last] - s[x.first];
    return x.rest ? s[t->groups] - v : v;
}

/* Mean distance between two branches and its variance; false when no pair was measured. */
static bool between_branches(const struct table *t, struct branch x, struct branch y, double *mean,
                             double *variance)
{
    double pairs = block_of(t, t->weight, x, y);
    if (!(pairs > 0.5))
        return false;
    *mean = block_of(t, t->sum, x, y) / pairs;
    double level = *mean + range_of(t, t->offsets, x) / range_of(t, t->hosts, x) +
                   range_of(t, t->offsets, y) / range_of(t, t->hosts, y);
    double sd = nt_noise_sd(&t->w->noise, level);
    *variance = 1.6 * sd * sd / pairs; /* distances are medians: pi/2 of a mean's variance */
    return true;
}

struct mean {
    double sum, variance, count;
};

static void mean_add(struct mean *m, const struct table *t, struct branch x, struct branch y)
{
    double mean, variance;
    if (!between_branches(t, x, y, &mean, &variance))
        return;
    m->sum += mean;
    m->variance += variance;
    m->count += 1;
}

/* Half of the mean distance between the branches, and the variance of that. A single branch can
 * only be a group that is attached to the node itself; then the error of its own level counts. */
static bool inside_branches(const struct table *t, const struct branch *branch, size_t count,
                            double *half, double *variance)
{
    struct mean m = {0, 0, 0};
    *half = *variance = 0;
    if (count == 1) {
        const struct nt_work *w = t->w;
        uint32_t g = t->order[branch[0].first];
        double size = (double)nt_work_size(w, g);
        if (branch[0].rest || branch[0].last != branch[0].first + 1 || size < 2)
            return count == 1 && size < 2;
        double level = 2 * (double)w->offset[w->member[w->start[g]]];
        double sd = nt_noise_sd(&w->noise, level);
        *variance = sd * sd / (2 * size * (size - 1));
        return true;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            mean_add(&m, t, branch[i], branch[j]);
    if (m.count < 1)
        return false;
    *half = 0.5 * m.sum / m.count;
    *variance = 0.25 * m.variance / m.count / m.count;
    return true;
}

/* Branches at node v except the one towards node `except` (its parent, or a child). */
static size_t list_branches(const struct table *t, uint32_t v, uint32_t except, struct branch *out)
{
    size_t count = 0;
    for (uint32_t k = t->held_start[v]; k < t->held_start[v + 1]; k++) {
        uint32_t p = t->place[t->held[k]];
        out[count++] = (struct branch){p, p + 1, false};
    }
    for (uint32_t k = t->child_start[v]; k < t->child_start[v + 1]; k++) {
        uint32_t c = t->child[k];
        if (c != except)
            out[count++] = (struct branch){t->first[c], t->last[c], false};
    }
    if (t->parent[v] != v && t->parent[v] != except)
        out[count++] = (struct branch){t->first[v], t->last[v], true};
    return count;
}

static void measure_edge(struct table *t, uint32_t v)
{
    uint32_t u = t->parent[v];
    size_t p = list_branches(t, u, v, t->at_parent), c = list_branches(t, v, u, t->at_child);
    struct mean across = {0, 0, 0};
    double half_p, half_c, variance_p, variance_c;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < c; j++)
            mean_add(&across, t, t->at_parent[i], t->at_child[j]);
    t->length[v] = t->z[v] = 0;
    if (across.count < 1 || !inside_branches(t, t->at_parent, p, &half_p, &variance_p) ||
        !inside_branches(t, t->at_child, c, &half_c, &variance_c))
        return;
    t->length[v] = across.sum / across.count - half_p - half_c;
    double variance = across.variance / across.count / across.count + variance_p + variance_c;
    t->z[v] = t->length[v] / sqrt(variance);
}

/* A host that is a group of its own: its edge is its link, there is nothing to test. */
static bool is_host(const struct table *t, uint32_t v)
{
    return t->child_start[v] == t->child_start[v + 1] &&
           t->held_start[v + 1] == t->held_start[v] + 1 &&
           nt_work_size(t->w, t->held[t->held_start[v]]) == 1;
}

/* Neighbour joining takes the best of all ways to part the groups; a leaf's own edge is given. */
static double edge_limit(const struct table *t, uint32_t v)
{
    size_t below = t->last[v] - t->first[v];
    bool leaf = t->child_start[v] == t->child_start[v + 1];
    double ln_ways = leaf ? log((double)t->groups) : nt_ln_choose(t->groups, below);
    return nt_null_distribution_limit(ln_ways, t->w->noise.df);
}

static void take_out(struct table *t, uint32_t v)
{
    uint32_t u = t->parent[v];
    t->removed[v] = true;
    for (size_t g = 0; g < t->groups; g++)
        if (t->tree->node_of[g] == v)
            t->tree->node_of[g] = u;
    for (size_t c = 0; c < t->nodes; c++)
        if (t->parent[c] == v && !t->removed[c])
            t->parent[c] = u;
}

/* One stage: measures all edges, takes out the weakest that fail; false when none does. Those
 * beyond a quarter of the way from the weakest to the limit may pass once the others are gone. */
static bool contract_edges(struct table *t)
{
    double weakest = 1;
    order_groups(t);
    sum_groups(t);
    for (uint32_t v = 0; v < t->nodes; v++) {
        if (t->removed[v] || t->parent[v] == v)
            continue;
        measure_edge(t, v);
        if (!is_host(t, v) && t->z[v] / edge_limit(t, v) < weakest)
            weakest = t->z[v] / edge_limit(t, v);
    }
    if (weakest >= 1)
        return false;
    const double STAGE = 0.25;
    double until = weakest < 0 ? STAGE : weakest + STAGE * (1 - weakest);
    for (uint32_t v = 0; v < t->nodes; v++) {
        bool edge = !t->removed[v] && t->parent[v] != v && !is_host(t, v);
        t->stack[v] = edge && t->z[v] / edge_limit(t, v) <= until;
    }
    for (uint32_t v = 0; v < t->nodes; v++)
        if (t->stack[v] != 0)
            take_out(t, v);
    return true;
}

int nt_group_tree_contract(const struct nt_work *w, struct nt_tree *tree, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct table t;
    if (table_init(&t, w, tree, &memory, err) < 0)
        return -1;
    root_tree(&t);
    while (contract_edges(&t))
        ;
    tree->edges = 0;
    for (uint32_t v = 0; v < t.nodes; v++)
        if (!t.removed[v] && t.parent[v] != v)
            tree->edge[tree->edges++] = (struct nt_tree_edge){v, t.parent[v], t.length[v], t.z[v]};
    return 0;
}
