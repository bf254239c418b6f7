/* SPDX-License-Identifier: Apache-2.0 */
/* The switches above the groups: neighbour joining on the distances of groups, then every edge
 * that noise alone could make is taken out. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void nt_tree_fini(struct nt_tree *tree)
{
    free(tree->edge);
    free(tree->node_of);
    *tree = (struct nt_tree){0, 0, NULL, NULL};
}

static int tree_init(struct nt_tree *tree, size_t groups, struct nt_err *err)
{
    *tree = (struct nt_tree){groups, 0, NULL, NULL};
    tree->edge = malloc((2 * groups + 4) * sizeof *tree->edge);
    tree->node_of = malloc((groups + 1) * sizeof *tree->node_of);
    if (tree->edge == NULL || tree->node_of == NULL) {
        nt_tree_fini(tree);
        return nt_err_memory(err);
    }
    for (size_t g = 0; g < groups; g++)
        tree->node_of[g] = (uint32_t)g;
    return 0;
}

/* Distances that no pair measured: the smallest of the detours' longer halves, as in a tree
 * whose levels are equal. */
static void fill_holes(double *x, size_t groups)
{
    for (size_t a = 0; a < groups; a++)
        for (size_t b = 0; b < a; b++) {
            if (x[a * groups + b] == x[a * groups + b])
                continue;
            double best = INFINITY;
            for (size_t c = 0; c < groups; c++) {
                double longer =
                    x[a * groups + c] > x[b * groups + c] ? x[a * groups + c] : x[b * groups + c];
                if (c != a && c != b && x[a * groups + c] == x[a * groups + c] && longer < best)
                    best = longer;
            }
            x[a * groups + b] = x[b * groups + a] = isinf(best) ? 0 : best;
        }
}

struct joining {
    size_t groups, count;
    double *x, *sum;
    uint32_t *node, *active;
};

static void add_edge(struct nt_tree *tree, uint32_t a, uint32_t b, double length)
{
    tree->edge[tree->edges++] = (struct nt_tree_edge){a, b, length, 0};
}

/* One step of neighbour joining (Saitou and Nei 1987; Studier and Keppler 1988). */
static void join_two(struct joining *j, struct nt_tree *tree)
{
    size_t n = j->groups, m = j->count, best_s = 1, best_r = 0;
    double best = INFINITY;
    for (size_t s = 1; s < m; s++) {
        const double *row = j->x + j->active[s] * n;
        for (size_t r = 0; r < s; r++) {
            double q =
                ((double)m - 2) * row[j->active[r]] - j->sum[j->active[s]] - j->sum[j->active[r]];
            if (q < best) {
                best = q;
                best_s = s;
                best_r = r;
            }
        }
    }
    uint32_t a = j->active[best_r], b = j->active[best_s], node = (uint32_t)tree->nodes++;
    double ab = j->x[a * n + b];
    double la = 0.5 * ab + 0.5 * (j->sum[a] - j->sum[b]) / ((double)m - 2);
    add_edge(tree, j->node[a], node, la);
    add_edge(tree, j->node[b], node, ab - la);
    j->active[best_s] = j->active[m - 1];
    j->count--;
    j->node[a] = node;
    j->sum[a] = 0;
    for (size_t s = 0; s < j->count; s++) {
        uint32_t z = j->active[s];
        if (z == a)
            continue;
        double za = j->x[z * n + a], zb = j->x[z * n + b], v = 0.5 * (za + zb - ab);
        j->sum[z] += v - za - zb;
        j->sum[a] += v;
        j->x[z * n + a] = j->x[a * n + z] = v;
    }
}

static void join_last(struct joining *j, struct nt_tree *tree)
{
    uint32_t *v = j->active;
    size_t n = j->groups;
    if (j->count == 2)
        add_edge(tree, j->node[v[0]], j->node[v[1]], j->x[v[0] * n + v[1]]);
    if (j->count != 3)
        return;
    uint32_t node = (uint32_t)tree->nodes++;
    double ab = j->x[v[0] * n + v[1]], ac = j->x[v[0] * n + v[2]], bc = j->x[v[1] * n + v[2]];
    add_edge(tree, j->node[v[0]], node, 0.5 * (ab + ac - bc));
    add_edge(tree, j->node[v[1]], node, 0.5 * (ab + bc - ac));
    add_edge(tree, j->node[v[2]], node, 0.5 * (ac + bc - ab));
}

int nt_neighbor_joining(size_t n, const float *distance, struct nt_tree *tree, struct nt_err *err)
{
    if (tree_init(tree, n, err) < 0)
        return -1;
    NT_SCOPED struct nt_arena memory = {0};
    struct joining j = {n,
                        n,
                        nt_arena_array(&memory, n * n, sizeof *j.x),
                        nt_arena_array(&memory, n, sizeof *j.sum),
                        nt_arena_array(&memory, n, sizeof *j.node),
                        nt_arena_array(&memory, n, sizeof *j.active)};
    if (nt_arena_check(&memory, err) != 0) {
        nt_tree_fini(tree);
        return -1;
    }
    for (size_t k = 0; k < n * n; k++)
        j.x[k] = (double)distance[k];
    fill_holes(j.x, n);
    for (size_t a = 0; a < n; a++) {
        j.node[a] = j.active[a] = (uint32_t)a;
        for (size_t b = 0; b < n; b++)
            j.sum[a] += j.x[a * n + b];
    }
    while (j.count > 3)
        join_two(&j, tree);
    join_last(&j, tree);
    return 0;
}

int nt_group_tree(struct nt_work *w, struct nt_tree *out, struct nt_err *err)
{
    if (nt_neighbor_joining(w->groups, w->t, out, err) < 0)
        return -1;
    int status = nt_group_tree_contract(w, out, err);
    if (status < 0)
        nt_tree_fini(out);
    return status;
}
