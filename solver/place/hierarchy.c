/* SPDX-License-Identifier: Apache-2.0 */
#include "hierarchy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "scotch_split.h"

#define NONE UINT32_MAX

struct maker {
    const struct nt_model *model;
    const struct nt_distance *distance;
    const uint32_t *capacity;
    struct nt_hierarchy *tree;
    size_t cap;
    /* tree networks: used children of each vertex, by smallest host */
    uint32_t *start, *child, *smallest;
    /* other networks: */
    struct between {
        double where;
        uint32_t host;
    } * line;
};

static bool reserve_groups(struct maker *m, uint32_t more, uint32_t *first)
{
    struct nt_hierarchy *h = m->tree;
    if (h->groups + more > m->cap) {
        size_t cap = 2 * (h->groups + more);
        struct nt_group *grown = realloc(h->group, cap * sizeof *grown);
        if (grown == NULL)
            return false;
        h->group = grown;
        m->cap = cap;
    }
    *first = (uint32_t)h->groups;
    for (uint32_t k = 0; k < more; k++)
        h->group[h->groups++] = (struct nt_group){.host = NONE};
    return true;
}

static uint64_t mix_hash(uint64_t value)
{
    struct nt_rng rng;
    nt_rng_init(&rng, value);
    return nt_rng_next(&rng);
}

static void set_host_group(struct maker *m, uint32_t group, uint32_t host)
{
    m->tree->group[group].host = host;
    m->tree->group[group].capacity = m->capacity[host];
    m->tree->group[group].smallest = host;
    m->tree->group[group].form = mix_hash(m->capacity[host]);
}

static int by_form(const void *x, const void *y)
{
    const struct nt_group *a = x, *b = y;
    return NT_ORDER(b->capacity, a->capacity,
                    NT_ORDER(a->form, b->form, NT_ORDER(a->smallest, b->smallest, 0)));
}

/* Orders the children of a group, whose own children are complete, and sums their properties. */
static void sum_up(struct maker *m, uint32_t group)
{
    struct nt_group *g = &m->tree->group[group], *child = &m->tree->group[g->first_child];
    qsort(child, g->children, sizeof *child, by_form);
    g->form = g->children;
    g->smallest = NONE;
    for (uint32_t k = 0; k < g->children; k++) {
        g->capacity += child[k].capacity;
        g->form = mix_hash(g->form ^ child[k].form);
        g->smallest = child[k].smallest < g->smallest ? child[k].smallest : g->smallest;
    }
}

/* Fills group with the used hosts below vertex v. Skips a vertex with one used child. */
static bool fill_below(struct maker *m, uint32_t group, uint32_t v)
{
    for (;;) {
        uint32_t n = m->start[v + 1] - m->start[v];
        bool own = v < m->model->hosts && m->capacity[v] > 0;
        if (n == 0) {
            set_host_group(m, group, v);
            return true;
        }
        if (n == 1 && !own) {
            v = m->child[m->start[v]];
            continue;
        }
        uint32_t first;
        if (!reserve_groups(m, n + (own ? 1u : 0u), &first))
            return false;
        m->tree->group[group].first_child = first;
        m->tree->group[group].children = n + (own ? 1u : 0u);
        if (own)
            set_host_group(m, first++, v);
        for (uint32_t k = 0; k < n; k++)
            if (!fill_below(m, first + k, m->child[m->start[v] + k]))
                return false;
        sum_up(m, group);
        return true;
    }
}

struct by_host {
    uint32_t smallest, vertex;
};

static int by_smallest(const void *x, const void *y)
{
    const struct by_host *a = x, *b = y;
    return NT_ORDER(a->smallest, b->smallest, 0);
}

/* Lists each vertex's children that have used hosts below them; *roots of them have no parent. */
static bool list_children(struct maker *m, struct by_host *order, size_t vertices, size_t *used)
{
    for (uint32_t v = 0; v < vertices; v++)
        m->smallest[v] = NONE;
    for (uint32_t h = 0; h < m->model->hosts; h++)
        for (uint32_t v = h; m->capacity[h] > 0 && v != NONE && m->smallest[v] == NONE;
             v = nt_distance_parent(m->distance, v))
            m->smallest[v] = h; /* hosts are in ascending order, so the first is the smallest */
    size_t n = 0;
    for (uint32_t v = 0; v < vertices; v++)
        if (m->smallest[v] != NONE)
            order[n++] = (struct by_host){m->smallest[v], v};
    qsort(order, n, sizeof *order, by_smallest);
    for (size_t k = 0; k < n; k++) {
        uint32_t up = nt_distance_parent(m->distance, order[k].vertex);
        m->start[(up == NONE ? vertices : up) + 1]++;
    }
    for (size_t v = 0; v <= vertices; v++)
        m->start[v + 1] += m->start[v];
    uint32_t *at = malloc((vertices + 2) * sizeof *at);
    if (at == NULL)
        return false;
    for (size_t v = 0; v <= vertices; v++)
        at[v] = m->start[v];
    for (size_t k = 0; k < n; k++) {
        uint32_t up = nt_distance_parent(m->distance, order[k].vertex);
        m->child[at[up == NONE ? vertices : up]++] = order[k].vertex;
    }
    free(at);
    *used = n;
    return true;
}

static bool group_tree(struct maker *m)
{
    size_t vertices = m->model->hosts + m->model->switches, used;
    struct by_host *order = malloc((vertices + 1) * sizeof *order);
    m->start = calloc(vertices + 3, sizeof *m->start);
    m->child = calloc(vertices + 1, sizeof *m->child);
    m->smallest = calloc(vertices + 1, sizeof *m->smallest);
    bool done = order != NULL && m->start != NULL && m->child != NULL && m->smallest != NULL &&
                list_children(m, order, vertices, &used);
    uint32_t root;
    /* the parts of a forest are below a virtual root with the number `vertices` */
    done =
        done && used > 0 && reserve_groups(m, 1, &root) && fill_below(m, root, (uint32_t)vertices);
    free(order);
    return done;
}

static int by_where(const void *x, const void *y)
{
    const struct between *a = x, *b = y;
    return NT_ORDER(a->where, b->where, NT_ORDER(a->host, b->host, 0));
}

static uint32_t farthest_host(const struct maker *m, const struct between *line, size_t n,
                              uint32_t from)
{
    uint32_t best = line[0].host;
    double most = -1;
    for (size_t k = 0; k < n; k++) {
        double far = nt_distance_latency(m->distance, from, line[k].host);
        if (far > most) {
            most = far;
            best = line[k].host;
        }
    }
    return best;
}

static bool halve_group(struct maker *m, uint32_t group, struct between *line, size_t n)
{
    if (n == 1) {
        set_host_group(m, group, line[0].host);
        return true;
    }
    uint32_t a = farthest_host(m, line, n, line[0].host), b = farthest_host(m, line, n, a), first;
    for (size_t k = 0; k < n; k++)
        line[k].where = nt_distance_latency(m->distance, a, line[k].host) -
                        nt_distance_latency(m->distance, b, line[k].host);
    qsort(line, n, sizeof *line, by_where);
    if (!reserve_groups(m, 2, &first))
        return false;
    m->tree->group[group].first_child = first;
    m->tree->group[group].children = 2;
    if (!halve_group(m, first, line, n / 2) || !halve_group(m, first + 1, line + n / 2, n - n / 2))
        return false;
    m->tree->group[group].capacity =
        m->tree->group[first].capacity + m->tree->group[first + 1].capacity;
    return true;
}

static bool group_by_halving(struct maker *m)
{
    size_t n = 0;
    uint32_t root;
    m->line = malloc((m->model->hosts + 1) * sizeof *m->line);
    if (m->line == NULL)
        return false;
    for (uint32_t h = 0; h < m->model->hosts; h++)
        if (m->capacity[h] > 0)
            m->line[n++] = (struct between){0, h};
    return n > 0 && reserve_groups(m, 1, &root) && halve_group(m, root, m->line, n);
}

int nt_hierarchy_create(const struct nt_distance *distance, const uint32_t *capacity,
                        struct nt_hierarchy **out, struct nt_err *err)
{
    const struct nt_model *model = nt_distance_model(distance);
    bool any = false;
    for (size_t h = 0; h < model->hosts; h++)
        any = any || capacity[h] > 0;
    if (!any)
        return nt_err_set(err, NT_ERR_INPUT, "no host has room for a task");
    struct maker m = {.model = model, .distance = distance, .capacity = capacity};
    m.tree = calloc(1, sizeof *m.tree);
    bool done =
        m.tree != NULL && (nt_distance_is_tree(distance) ? group_tree(&m) : group_by_halving(&m));
    free(m.start);
    free(m.child);
    free(m.smallest);
    free(m.line);
    if (!done) {
        nt_hierarchy_destroy(m.tree);
        return nt_err_memory(err);
    }
    *out = m.tree;
    return 0;
}

static void walk_groups(const struct nt_hierarchy *h, uint32_t group, uint32_t *rank,
                        uint32_t *next)
{
    const struct nt_group *g = &h->group[group];
    if (g->children == 0)
        rank[g->host] = (*next)++;
    for (uint32_t k = 0; k < g->children; k++)
        walk_groups(h, g->first_child + k, rank, next);
}

void nt_hierarchy_rank(const struct nt_hierarchy *hierarchy, uint32_t *rank, size_t hosts)
{
    uint32_t next = 0;
    for (size_t k = 0; k < hosts; k++)
        rank[k] = NONE;
    walk_groups(hierarchy, 0, rank, &next);
    for (size_t k = 0; k < hosts; k++)
        if (rank[k] == NONE)
            rank[k] = next++;
}

void nt_hierarchy_destroy(struct nt_hierarchy *h)
{
    if (h == NULL)
        return;
    free(h->group);
    free(h);
}

/* ---- tasks divided over the groups ---- */

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
    return NT_ORDER(a->key, b->key, NT_ORDER(a->task, b->task, 0));
}

/* Returns the side across which a box of n cells is divided with the fewest separated neighbours: a
 * whole number of slabs is a clean cut, otherwise the cut has a step. */
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

/* Reorders tasks so that the first c form one part. */
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

/* Consecutive groups, and how many tasks each of them gets. */
struct range {
    uint32_t first, many;
    const size_t *count; /* many of them */
};

/* Divides tasks over the groups, halving by their capacities. */
static int divide_range(struct work *w, struct range r, uint32_t *tasks, size_t n,
                        struct nt_err *err)
{
    if (n == 0)
        return 0;
    if (r.many == 1)
        return divide_group(w, r.first, tasks, n, err);
    size_t left = r.count[0];
    uint32_t mid = 1;
    while (mid + 1 < r.many && left + r.count[mid] / 2 < n / 2)
        left += r.count[mid++];
    struct range lower = {r.first, mid, r.count};
    struct range upper = {r.first + mid, r.many - mid, r.count + mid};
    if (split_tasks(w, tasks, n, left, err) != 0 || divide_range(w, lower, tasks, left, err) != 0)
        return -1;
    return divide_range(w, upper, tasks + left, n - left, err);
}

/* Returns the smallest child with room for all n tasks, or none: tasks that fit in one child stay
 * together. */
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
    int rc = divide_range(w, (struct range){g->first_child, g->children, count}, tasks, n, err);
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
        return nt_err_set(err, NT_ERR_INPUT, "%zu tasks do not fit: the hosts have room for %llu",
                          n, (unsigned long long)hierarchy->group[0].capacity);
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
