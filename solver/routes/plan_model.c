/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_model.h"

#include <string.h>

#include "choice.h"
#include "graph.h"
#include "memory.h"
#include "plan_routes.h"

/* ---- a tree, by a closed form --------------------------------------------------------------- */

enum { NONE = UINT32_MAX };

/* The tree below a root switch, without branches that lead to no host. */
struct tree {
    const struct nt_model *model;
    size_t vertices;
    struct nt_graph graph;
    struct nt_bfs bfs; /* from the root */
    uint32_t root;
    uint32_t *hosts;     /* by vertex: hosts below, itself included */
    uint32_t *height;    /* per vertex: links to its nearest host that can represent it */
    uint32_t *gauge;     /* per vertex: number of hosts that can represent it */
    size_t *child_start; /* vertices + 1 */
    uint32_t *child; /* children with hosts below; of two the one that represents both is first */
    uint32_t *next;  /* per vertex: the child that represents it next */
    struct nt_routes_builder *builder;
    uint32_t (*pair)[2];
    size_t pairs;
};

static void tree_fini(struct tree *t)
{
    nt_routes_builder_destroy(t->builder);
}

static bool is_host(const struct tree *t, uint32_t vertex)
{
    return vertex < t->model->hosts;
}

static int tree_init(struct tree *t, const struct nt_model *model, struct nt_arena *memory,
                     struct nt_err *err)
{
    size_t n = model->hosts + model->switches, m = model->links;
    *t = (struct tree){.model = model, .vertices = n, .root = NONE};
    t->hosts = nt_arena_array(memory, n + 1, sizeof *t->hosts);
    t->height = nt_arena_array(memory, n + 1, sizeof *t->height);
    t->gauge = nt_arena_array(memory, n + 1, sizeof *t->gauge);
    t->child_start = nt_arena_array(memory, n + 2, sizeof *t->child_start);
    t->child = nt_arena_array(memory, n + 1, sizeof *t->child);
    t->next = nt_arena_array(memory, n + 1, sizeof *t->next);
    t->pair = nt_arena_array(memory, m + 1, sizeof *t->pair);
    if (nt_graph_init(&t->graph, model, memory, err) != 0)
        return -1;
    return nt_bfs_init(&t->bfs, n, memory, err);
}

/* Roots the tree and counts the hosts below; false when a link closes a cycle. */
static bool root_at(struct tree *t, uint32_t root)
{
    nt_bfs_clear(&t->bfs);
    if (!nt_bfs_from(&t->bfs, &t->graph, root))
        return false;
    memset(t->hosts, 0, t->vertices * sizeof *t->hosts);
    for (size_t k = t->bfs.reached; k-- > 0;) {
        uint32_t v = t->bfs.order[k];
        t->hosts[v] += is_host(t, v);
        if (v != root)
            t->hosts[t->bfs.parent[v]] += t->hosts[v];
    }
    return true;
}

/* Whether every host is on one link, to a switch, and all that are linked are connected. */
static bool has_hosts_at_the_ends(const struct tree *t, uint32_t *first)
{
    *first = NONE;
    for (uint32_t h = 0; h < t->model->hosts; h++) {
        size_t links = nt_graph_degree(&t->graph, h);
        if (links == 0)
            continue;
        if (links > 1 || is_host(t, t->graph.to[t->graph.start[h]]))
            return false;
        *first = *first == NONE ? h : *first;
    }
    return *first != NONE;
}

/* The root: the first switch with three branches that lead to hosts; when there is none, the tree
 * is a path between two hosts. */
static bool find_root(struct tree *t)
{
    uint32_t first, linked = 0;
    if (!has_hosts_at_the_ends(t, &first))
        return false;
    for (uint32_t h = 0; h < t->model->hosts; h++)
        linked += nt_graph_degree(&t->graph, h) > 0;
    uint32_t start = t->graph.to[t->graph.start[first]];
    if (!root_at(t, start) || t->hosts[start] != linked)
        return false;
    t->root = start;
    for (uint32_t v = (uint32_t)t->model->hosts; v < t->vertices; v++) {
        size_t branches = 0;
        for (size_t k = t->graph.start[v]; k < t->graph.start[v + 1]; k++) {
            uint32_t w = t->graph.to[k];
            branches += t->graph.link[k] == t->bfs.up[v] ? t->hosts[v] < linked : t->hosts[w] > 0;
        }
        if (branches >= 3 && t->hosts[v] > 0) {
            t->root = v;
            break;
        }
    }
    return root_at(t, t->root);
}

static size_t count_children(const struct tree *t, uint32_t v)
{
    return t->child_start[v + 1] - t->child_start[v];
}

/* From the leaves up: the hosts that can represent a subtree. If three or more branches meet, any
 * host; if two meet, hosts of one branch only, because equations from outside distinguish them. */
static void find_gauges(struct tree *t)
{
    for (size_t k = t->bfs.reached; k-- > 0;) {
        uint32_t v = t->bfs.order[k], *child = t->child + t->child_start[v];
        size_t n = count_children(t, v);
        if (n == 0) {
            t->gauge[v] = 1;
            continue;
        }
        if (n == 2 && (t->gauge[child[1]] > t->gauge[child[0]] ||
                       (t->gauge[child[1]] == t->gauge[child[0]] &&
                        t->height[child[1]] < t->height[child[0]]))) {
            uint32_t swap = child[0];
            child[0] = child[1];
            child[1] = swap;
        }
        t->gauge[v] = 0;
        for (size_t c = 0; c < (n == 2 ? 1 : n); c++) {
            t->gauge[v] += t->gauge[child[c]];
            if (c == 0 || t->height[child[c]] + 1 < t->height[v])
                t->height[v] = t->height[child[c]] + 1;
        }
    }
}

static void find_children(struct tree *t)
{
    size_t used = 0;
    for (uint32_t v = 0; v < t->vertices; v++) {
        t->child_start[v] = used;
        for (size_t k = t->graph.start[v]; t->hosts[v] > 0 && k < t->graph.start[v + 1]; k++) {
            uint32_t w = t->graph.to[k];
            if (t->graph.link[k] != t->bfs.up[v] && t->hosts[w] > 0)
                t->child[used++] = w;
        }
    }
    t->child_start[t->vertices] = used;
}

/* The host that represents a subtree this time; the hosts take turns. */
static uint32_t stand_in(struct tree *t, uint32_t v)
{
    while (!is_host(t, v)) {
        size_t n = count_children(t, v);
        v = t->child[t->child_start[v] + (n == 2 ? 0 : t->next[v]++ % n)];
    }
    return v;
}

/* The links between two hosts, by going up to the lowest common ancestor. */
static int add_pair(struct tree *t, uint32_t a, uint32_t b, struct nt_err *err)
{
    uint32_t link[NT_ROUTE_LINKS_MAX], down[NT_ROUTE_LINKS_MAX], v = a, w = b;
    size_t n = 0, back = 0;
    while (v != w) {
        if (n + back == NT_ROUTE_LINKS_MAX)
            return nt_err_set(err, NT_ERR_INPUT, "over %d links between two hosts",
                              (int)NT_ROUTE_LINKS_MAX);
        if (t->bfs.depth[v] >= t->bfs.depth[w]) {
            link[n++] = t->bfs.up[v];
            v = t->bfs.parent[v];
        } else {
            down[back++] = t->bfs.up[w];
            w = t->bfs.parent[w];
        }
    }
    while (back > 0)
        link[n++] = down[--back];
    t->pair[t->pairs][0] = a;
    t->pair[t->pairs++][1] = b;
    return nt_routes_builder_add(t->builder, a, b, link, n, err);
}

static int add_between(struct tree *t, uint32_t v, uint32_t w, struct nt_err *err)
{
    uint32_t a = stand_in(t, v), b = stand_in(t, w);
    return add_pair(t, a, b, err);
}

/* A host outside the subtree of v, as near as a branch leaves the way up. */
static uint32_t outside_host(struct tree *t, uint32_t v)
{
    uint32_t above = t->bfs.parent[v];
    while (count_children(t, above) < 2) {
        v = above;
        above = t->bfs.parent[v];
    }
    size_t n = count_children(t, above), mine = 0;
    while (t->child[t->child_start[above] + mine] != v)
        mine++;
    return stand_in(t, t->child[t->child_start[above] + (mine + 1) % n]);
}

/* d equations at a switch with d branches below it. Two branches: their sum, and the second one
 * with a host outside; the equations further up determine the first one together with the
 * uplink. */
static int add_rows(struct tree *t, uint32_t v, struct nt_err *err)
{
    const uint32_t *child = t->child + t->child_start[v];
    size_t n = count_children(t, v);
    if (n < 2)
        return 0;
    for (size_t c = 0; c + 1 < n; c++) {
        if (add_between(t, child[c], child[c + 1], err) != 0)
            return -1;
    }
    if (n > 2)
        return add_between(t, child[0], child[2], err);
    if (v == t->root)
        return 0;
    uint32_t a = stand_in(t, child[1]);
    return add_pair(t, a, outside_host(t, v), err);
}

/* First fit, long paths first: they cross the links that most others need. */
static int place_pairs(const struct nt_routes *routes, struct nt_plan *plan, struct nt_err *err)
{
    struct nt_choice *c;
    size_t longest = 0;
    if (nt_choice_create(routes, &c, err) != 0)
        return -1;
    for (size_t p = 0; p < routes->pairs; p++)
        longest = nt_route_length(routes, p) > longest ? nt_route_length(routes, p) : longest;
    int rc = 0;
    for (size_t length = longest; length > 0 && rc == 0; length--) {
        for (uint32_t p = 0; p < routes->pairs && rc == 0; p++) {
            size_t round = 0;
            if (nt_route_length(routes, p) != length)
                continue;
            do
                rc = nt_choice_open(c, round + 1, err);
            while (rc == 0 && !nt_choice_free(c, p, round) && ++round > 0);
            if (rc == 0)
                rc = nt_choice_add(c, p, round, err);
        }
    }
    if (rc == 0)
        rc = nt_choice_write(c, plan, err);
    nt_choice_destroy(c);
    return rc;
}

static int make_plan(struct tree *t, struct nt_plan **out, struct nt_err *err)
{
    struct nt_routes *routes;
    struct nt_plan *plan = NULL;
    size_t n = t->pairs, at_once = t->hosts[t->root] / 2;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *all = nt_arena_array(&memory, n + 1, sizeof *all);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (nt_routes_builder_finish(t->builder, t->model->hosts, t->model->links, &routes, err) != 0)
        return -1;
    for (uint32_t p = 0; p < n; p++)
        all[p] = p;
    int rc = nt_plan_create(n, &plan, err);
    if (rc == 0) {
        plan->rank = n;
        plan->lower_bound = (n + at_once - 1) / at_once;
        rc = place_pairs(routes, plan, err);
    }
    if (rc == 0)
        rc = nt_choice_measure_noise(routes, all, n, plan, err);
    nt_routes_destroy(routes);
    if (rc == 0)
        *out = plan;
    else
        nt_plan_destroy(plan);
    return rc;
}

bool nt_plan_is_tree(const struct nt_model *model)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct tree t;
    return tree_init(&t, model, &memory, NULL) == 0 && find_root(&t) && t.hosts[t.root] >= 2;
}

int nt_plan_tree(const struct nt_model *model, struct nt_plan **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct tree t;
    if (tree_init(&t, model, &memory, err) != 0)
        return -1;
    if (!find_root(&t) || t.hosts[t.root] < 2)
        return nt_err_set(err, NT_ERR_INPUT, "expected a tree with two hosts or more, found none");
    int rc = nt_routes_builder_create(&t.builder, err);
    if (rc == 0) {
        find_children(&t);
        find_gauges(&t);
        for (size_t k = 0; k < t.bfs.reached && rc == 0; k++)
            rc = add_rows(&t, t.bfs.order[k], err);
    }
    if (rc == 0)
        rc = make_plan(&t, out, err);
    tree_fini(&t);
    return rc;
}

/* ---- any model, by its shortest paths ------------------------------------------------------- */

struct paths {
    const struct nt_model *model;
    struct nt_graph graph;
    struct nt_bfs bfs;
    uint32_t link[NT_ROUTE_LINKS_MAX];
};

static int add_from(struct paths *p, uint32_t from, struct nt_routes_builder *b, struct nt_err *err)
{
    nt_bfs_clear(&p->bfs);
    nt_bfs_from(&p->bfs, &p->graph, from);
    for (uint32_t to = from + 1; to < p->model->hosts; to++) {
        size_t n = 0;
        for (uint32_t v = to; p->bfs.up[v] != NT_NO_LINK; v = p->bfs.parent[v]) {
            if (n == NT_ROUTE_LINKS_MAX)
                return nt_err_set(err, NT_ERR_INPUT, "over %d links between two hosts",
                                  (int)NT_ROUTE_LINKS_MAX);
            p->link[n++] = p->bfs.up[v];
        }
        for (size_t k = 0; k < n / 2; k++) { /* it came from the far end */
            uint32_t swap = p->link[k];
            p->link[k] = p->link[n - 1 - k];
            p->link[n - 1 - k] = swap;
        }
        if (n > 0 && nt_routes_builder_add(b, from, to, p->link, n, err) != 0)
            return -1;
    }
    return 0;
}

int nt_plan_model_routes(const struct nt_model *model, struct nt_routes **out, struct nt_err *err)
{
    size_t n = model->hosts;
    if (n > 0 && n * (n - 1) / 2 > NT_PLAN_PAIRS_MAX)
        return nt_err_set(
            err, NT_ERR_INPUT,
            "%zu hosts have over %d pairs. Use a tree without --redundancy, or fewer hosts.", n,
            (int)NT_PLAN_PAIRS_MAX);
    struct nt_routes_builder *b;
    NT_SCOPED struct nt_arena memory = {0};
    struct paths *p = nt_arena_array(&memory, 1, sizeof *p);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    p->model = model;
    if (nt_graph_init(&p->graph, model, &memory, err) != 0 ||
        nt_bfs_init(&p->bfs, p->graph.vertices, &memory, err) != 0 ||
        nt_routes_builder_create(&b, err) != 0)
        return -1;
    int rc = 0;
    for (uint32_t from = 0; from < n && rc == 0; from++)
        rc = add_from(p, from, b, err);
    if (rc == 0)
        rc = nt_routes_builder_finish(b, n, model->links, out, err);
    nt_routes_builder_destroy(b);
    return rc;
}

int nt_plan_model(const struct nt_model *model, double redundancy, uint64_t seed,
                  struct nt_plan **out, struct nt_err *err)
{
    struct nt_routes *routes;
    if (redundancy <= 1 && nt_plan_is_tree(model))
        return nt_plan_tree(model, out, err);
    if (nt_plan_model_routes(model, &routes, err) != 0)
        return -1;
    int rc = nt_plan_routes(routes, redundancy, seed, out, err);
    nt_routes_destroy(routes);
    return rc;
}
