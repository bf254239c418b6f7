/* SPDX-License-Identifier: Apache-2.0 */
#include "construct.h"

#include <stdlib.h>
#include <string.h>

#include "scotch_split.h"

struct work {
    const struct nt_hierarchy *tree;
    const struct nt_traffic *traffic;
    enum nt_split_rule rule;
    uint64_t seed;
    uint32_t *rank_host;
    struct nt_scotch_split *scotch;
    struct keyed {
        uint64_t key;
        uint32_t task;
    } * sort;
};

static uint32_t task_coordinate(const struct nt_traffic *t, uint32_t task, int axis)
{
    uint32_t plane = t->dimension[1] * t->dimension[2];
    if (axis == 0)
        return task / plane;
    return axis == 1 ? task / t->dimension[2] % t->dimension[1] : task % t->dimension[2];
}

static int by_key(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

/* The side across which a box of n cells is cut with the fewest neighbours apart: a whole number
 * of slabs is a clean cut, another leaves a step in it. */
static int side_to_cut(const struct nt_traffic *t, const uint32_t *tasks, size_t n, size_t c)
{
    int best = 0;
    double least = 0;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t low = UINT32_MAX, high = 0;
        for (size_t k = 0; k < n; k++) {
            uint32_t at = task_coordinate(t, tasks[k], axis);
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        double slab = (double)n / (double)(high - low + 1);
        double steps = (double)c / slab;
        double cut = slab * (steps > (double)(size_t)steps ? 1.5 : 1.0);
        if (axis == 0 || cut < least) {
            least = cut;
            best = axis;
        }
    }
    return best;
}

/* Sorts the box's cells along the side, then along the other two. */
static void sort_along(struct work *w, uint32_t *tasks, size_t n, int axis)
{
    const struct nt_traffic *t = w->traffic;
    for (size_t k = 0; k < n; k++) {
        uint64_t key = task_coordinate(t, tasks[k], axis);
        for (int other = 0; other < 3; other++)
            if (other != axis)
                key = key << 21 | task_coordinate(t, tasks[k], other);
        w->sort[k] = (struct keyed){key, tasks[k]};
    }
    qsort(w->sort, n, sizeof *w->sort, by_key);
    for (size_t k = 0; k < n; k++)
        tasks[k] = w->sort[k].task;
}

/* Reorders tasks so that the first c of them belong together. */
static int split_tasks(struct work *w, uint32_t *tasks, size_t n, size_t c, struct nt_err *err)
{
    if (c == 0 || c == n || w->rule == NT_SPLIT_BY_RANK)
        return 0;
    if (w->rule == NT_SPLIT_BY_GRAPH)
        return nt_scotch_split(w->scotch, tasks, n, c, err);
    sort_along(w, tasks, n, side_to_cut(w->traffic, tasks, n, c));
    return 0;
}

static int divide_group(struct work *w, uint32_t group, uint32_t *tasks, size_t n,
                        struct nt_err *err);

/* Over the children first..first+many-1, halving by what they hold; count: tasks of each child. */
static int divide_range(struct work *w, uint32_t first, uint32_t many, const size_t *count,
                        uint32_t *tasks, size_t n, struct nt_err *err)
{
    if (n == 0)
        return 0;
    if (many == 1)
        return divide_group(w, first, tasks, n, err);
    size_t left = count[0];
    uint32_t mid = 1;
    while (mid + 1 < many && left + count[mid] / 2 < n / 2)
        left += count[mid++];
    if (split_tasks(w, tasks, n, left, err) != 0 ||
        divide_range(w, first, mid, count, tasks, left, err) != 0)
        return -1;
    return divide_range(w, first + mid, many - mid, count + mid, tasks + left, n - left, err);
}

/* The smallest child that holds all n tasks alone, or none: what fits together stays together. */
static uint32_t tightest_group(const struct nt_hierarchy *tree, const struct nt_group *g, size_t n)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t k = g->first_child; k < g->first_child + g->children; k++)
        if (tree->group[k].capacity >= n &&
            (best == UINT32_MAX || tree->group[k].capacity < tree->group[best].capacity))
            best = k;
    return best;
}

static int divide_group(struct work *w, uint32_t group, uint32_t *tasks, size_t n,
                        struct nt_err *err)
{
    const struct nt_group *g = &w->tree->group[group];
    if (n == 0)
        return 0;
    if (g->children == 0) {
        for (size_t k = 0; k < n; k++)
            w->rank_host[tasks[k]] = g->host;
        return 0;
    }
    uint32_t alone = tightest_group(w->tree, g, n);
    if (alone != UINT32_MAX)
        return divide_group(w, alone, tasks, n, err);
    size_t *count = malloc(g->children * sizeof *count), left = n;
    if (count == NULL)
        return nt_err_memory(err);
    for (uint32_t k = 0; k < g->children; k++) {
        uint64_t capacity = w->tree->group[g->first_child + k].capacity;
        count[k] = capacity < left ? (size_t)capacity : left;
        left -= count[k];
    }
    int rc = divide_range(w, g->first_child, g->children, count, tasks, n, err);
    free(count);
    return rc;
}

int nt_construct(const struct nt_hierarchy *hierarchy, const struct nt_traffic *traffic,
                 enum nt_split_rule rule, uint64_t seed, uint32_t *rank_host, struct nt_err *err)
{
    struct work w = {
        .tree = hierarchy, .traffic = traffic, .rule = rule, .seed = seed, .rank_host = rank_host};
    size_t n = traffic->tasks;
    if (hierarchy->group[0].capacity < n)
        return nt_err_set(err, NT_ERR_INPUT, "%zu tasks do not fit on hosts with room for %llu", n,
                          (unsigned long long)hierarchy->group[0].capacity);
    uint32_t *tasks = malloc((n + 1) * sizeof *tasks);
    w.sort = malloc((n + 1) * sizeof *w.sort);
    int rc = -1;
    if (tasks == NULL || w.sort == NULL) {
        nt_err_memory(err);
        goto out;
    }
    if (rule == NT_SPLIT_BY_GRAPH && nt_scotch_split_create(traffic, seed, &w.scotch, err) != 0)
        goto out;
    for (size_t k = 0; k < n; k++)
        tasks[k] = (uint32_t)k;
    rc = divide_group(&w, 0, tasks, n, err);
out:
    nt_scotch_split_destroy(w.scotch);
    free(w.sort);
    free(tasks);
    return rc;
}
