/* SPDX-License-Identifier: Apache-2.0 */
#include "equal_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "rooted_tree.h"
#include "switch_support.h"

#define LEAST 0.08 /* relative difference; a smaller one does not matter to a placement */
#define ERRORS 4.0

/* ---- figures ---------------------------------------------------------------------------------*/

struct figure {
    uint64_t class; /* class of the link */
    double value, se;
    double *at; /* address in the copy */
};

static int by_value(const void *x, const void *y)
{
    const struct figure *a = x, *b = y;
    return NT_ORDER(a->class, b->class, NT_ORDER(a->value, b->value, NT_ORDER(a->at, b->at, 0)));
}

static bool are_apart(const struct figure *a, const struct figure *b)
{
    double off = b->value - a->value;
    return a->class != b->class ||
           (off > LEAST * a->value && off > ERRORS * sqrt(a->se * a->se + b->se * b->se));
}

static void level_figures(struct figure *figure, size_t count)
{
    qsort(figure, count, sizeof *figure, by_value);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && !are_apart(&figure[end - 1], &figure[end]);)
            end++;
        size_t n = end - first;
        /* median of sorted doubles; nt_stats_median would round them */
        double middle = (figure[first + (n - 1) / 2].value + figure[first + n / 2].value) / 2;
        for (size_t k = first; k < end; k++)
            *figure[k].at = middle;
    }
}

static void add_figure(struct figure *figure, size_t *count, uint64_t class, double *at, double se,
                       double usual_se)
{
    if (isfinite(*at))
        figure[(*count)++] = (struct figure){class, *at, isnan(se) ? usual_se : se, at};
}

int nt_equal_figures_create(const struct nt_model *model, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_model *m;
    struct figure *figure = nt_arena_array(&memory, 3 * model->links + 1, sizeof *figure);
    double resolution = isfinite(model->resolution_us) ? model->resolution_us / 2 : 0;
    size_t count = 0;
    if (nt_arena_check(&memory, err) != 0 || nt_model_copy(model, &m, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        uint64_t a = nt_model_tier(m, l->a), b = nt_model_tier(m, l->b);
        uint64_t tiers = (a < b ? a : b) * ((uint64_t)m->tiers + 2) + (a < b ? b : a);
        if (l->suspect)
            continue;
        /* both directions of a link are in one class, so that equal directions stay equal */
        add_figure(figure, &count, 2 * tiers, &l->latency_us, l->latency_se_us, resolution);
        add_figure(figure, &count, 2 * tiers + 1, &l->bandwidth_MBps, l->bandwidth_se_MBps, 0);
        add_figure(figure, &count, 2 * tiers + 1, &l->bandwidth_back_MBps,
                   l->bandwidth_back_se_MBps, 0);
    }
    level_figures(figure, count);
    *out = m;
    return 0;
}

/* ---- equivalent parts -----------------------------------------------------------------------*/

/* The tree rooted at the middle of its longest path, which may be the middle of a link. */
struct rooted {
    const struct nt_model *model;
    const uint32_t *capacity;
    size_t vertices;       /* vertices of the model, and one in the middle of a link */
    uint32_t *parent, *up; /* NT_NO_VERTEX, NT_NO_LINK at the root */
    uint32_t *order;       /* parents before children */
    size_t reached;
    uint64_t *kind;     /* parts of one kind are equivalent */
    uint32_t *low_rank; /* lowest rank placed in the part; UINT32_MAX: none */
    uint32_t *low_host;
    uint32_t *first, *child; /* children of v: child[first[v]..first[v + 1]) */
    uint32_t *image;         /* by vertex: the vertex that replaces it */
};

static uint32_t farthest(const struct nt_bfs *bfs)
{
    return bfs->order[bfs->reached - 1];
}

/* Roots the tree; false if the model is not a connected tree. */
static int root_tree(struct rooted *h, struct nt_arena *memory, struct nt_err *err)
{
    const struct nt_model *m = h->model;
    struct nt_graph graph;
    struct nt_bfs bfs;
    size_t v = m->hosts + m->switches;
    if (m->links == 0 || nt_graph_init(&graph, m, memory, err) != 0 ||
        nt_bfs_init(&bfs, v, memory, err) != 0)
        return m->links == 0 ? 0 : -1;
    if (!nt_bfs_from(&bfs, &graph, m->link[0].a) || bfs.reached != m->links + 1)
        return 0;
    uint32_t end = farthest(&bfs);
    nt_bfs_clear(&bfs);
    nt_bfs_from(&bfs, &graph, end);
    uint32_t other = farthest(&bfs), at = other, steps = bfs.depth[other] / 2;
    for (uint32_t k = 0; k < steps; k++)
        at = bfs.parent[at];
    uint32_t across = bfs.depth[other] % 2 == 1 ? bfs.parent[at] : NT_NO_VERTEX;
    uint32_t middle = across == NT_NO_VERTEX ? NT_NO_LINK : bfs.up[at];
    nt_bfs_clear(&bfs);
    nt_bfs_from(&bfs, &graph, at);
    h->vertices = v + 1;
    for (uint32_t k = 0; k < v; k++) {
        h->parent[k] = bfs.parent[k];
        h->up[k] = bfs.up[k];
    }
    h->parent[v] = NT_NO_VERTEX;
    h->up[v] = NT_NO_LINK;
    if (across != NT_NO_VERTEX) { /* two halves below the middle of a link */
        h->parent[at] = h->parent[across] = (uint32_t)v;
        h->up[at] = h->up[across] = middle;
        h->order[h->reached++] = (uint32_t)v;
    }
    for (size_t k = 0; k < bfs.reached; k++)
        h->order[h->reached++] = bfs.order[k];
    return 1;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    if (isnan(value))
        return 1;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns a hash of the uplink, upward direction first. */
static uint64_t link_kind(const struct rooted *h, uint32_t v)
{
    if (h->up[v] == NT_NO_LINK)
        return 0;
    const struct nt_link *l = &h->model->link[h->up[v]];
    bool rises = l->a == v;
    uint64_t kind =
        mix(bits_of(l->latency_us), bits_of(rises ? l->bandwidth_MBps : l->bandwidth_back_MBps));
    return mix(kind, bits_of(rises ? l->bandwidth_back_MBps : l->bandwidth_MBps));
}

/* Computes kinds from the leaves upwards. The sum of the children's kinds does not depend on their
 * order. */
static void find_kinds(struct rooted *h)
{
    const struct nt_model *m = h->model;
    for (size_t k = h->reached; k-- > 0;) {
        uint32_t v = h->order[k], up = h->parent[v];
        uint64_t own =
            v < m->hosts ? 2 + (uint64_t)h->capacity[v] + (m->missing[v] ? 1u << 30 : 0) : 1;
        h->kind[v] = mix(mix(h->kind[v], own), link_kind(h, v));
        if (v < m->hosts)
            h->low_host[v] = v;
        if (up == NT_NO_VERTEX)
            continue;
        h->kind[up] += mix(h->kind[v], 7);
        h->low_rank[up] = h->low_rank[v] < h->low_rank[up] ? h->low_rank[v] : h->low_rank[up];
        h->low_host[up] = h->low_host[v] < h->low_host[up] ? h->low_host[v] : h->low_host[up];
    }
}

static void list_children(struct rooted *h)
{
    memset(h->first, 0, (h->vertices + 1) * sizeof *h->first);
    for (size_t k = 0; k < h->reached; k++)
        if (h->parent[h->order[k]] != NT_NO_VERTEX)
            h->first[h->parent[h->order[k]] + 1]++;
    for (size_t v = 0; v < h->vertices; v++)
        h->first[v + 1] += h->first[v];
    for (size_t k = h->reached; k-- > 0;) {
        uint32_t up = h->parent[h->order[k]];
        if (up != NT_NO_VERTEX)
            h->child[--h->first[up + 1]] = h->order[k];
    }
    for (size_t v = 0; v < h->vertices; v++)
        h->first[v] = h->first[v + 1];
    h->first[h->vertices] = (uint32_t)(h->reached - 1);
}

static int by_rank(const void *x, const void *y, void *context)
{
    const struct rooted *h = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const int low_host = NT_ORDER(h->low_host[a], h->low_host[b], 0);
    return NT_ORDER(h->kind[a], h->kind[b], NT_ORDER(h->low_rank[a], h->low_rank[b], low_host));
}

static int by_host(const void *x, const void *y, void *context)
{
    const struct rooted *h = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return NT_ORDER(h->kind[a], h->kind[b], NT_ORDER(h->low_host[a], h->low_host[b], 0));
}

/* Moves the ranks below v below its image: among children of one kind, the one with the lowest rank
 * goes to the one with the lowest host, and so on. */
static void move_children(struct rooted *h, uint32_t v, uint32_t *from, uint32_t *to)
{
    uint32_t w = h->image[v];
    size_t n = h->first[v + 1] - h->first[v];
    memcpy(from, h->child + h->first[v], n * sizeof *from);
    memcpy(to, h->child + h->first[w], n * sizeof *to);
    qsort_r(from, n, sizeof *from, by_rank, h);
    qsort_r(to, n, sizeof *to, by_host, h);
    for (size_t k = 0; k < n; k++)
        h->image[from[k]] = to[k];
}

int nt_equal_parts_order(const struct nt_model *equalised, const uint32_t *capacity, size_t ntasks,
                         uint32_t *rank_host, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t v = equalised->hosts + equalised->switches + 2;
    struct rooted h = {.model = equalised, .capacity = capacity};
    h.parent = nt_arena_array(&memory, v, sizeof *h.parent);
    h.up = nt_arena_array(&memory, v, sizeof *h.up);
    h.order = nt_arena_array(&memory, v, sizeof *h.order);
    h.kind = nt_arena_array(&memory, v, sizeof *h.kind);
    h.low_rank = nt_arena_array(&memory, v, sizeof *h.low_rank);
    h.low_host = nt_arena_array(&memory, v, sizeof *h.low_host);
    h.first = nt_arena_array(&memory, v + 1, sizeof *h.first);
    h.child = nt_arena_array(&memory, v, sizeof *h.child);
    h.image = nt_arena_array(&memory, v, sizeof *h.image);
    uint32_t *from = nt_arena_array(&memory, v, sizeof *from);
    uint32_t *to = nt_arena_array(&memory, v, sizeof *to);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = root_tree(&h, &memory, err);
    if (rc <= 0)
        return rc;
    memset(h.low_rank, 0xff, v * sizeof *h.low_rank);
    memset(h.low_host, 0xff, v * sizeof *h.low_host);
    for (size_t r = ntasks; r-- > 0;)
        h.low_rank[rank_host[r]] = (uint32_t)r;
    find_kinds(&h);
    list_children(&h);
    h.image[h.order[0]] = h.order[0];
    for (size_t k = 0; k < h.reached; k++)
        move_children(&h, h.order[k], from, to);
    for (size_t r = 0; r < ntasks; r++)
        rank_host[r] = h.image[rank_host[r]];
    return 0;
}

/* ---- groups that may not exist ---- */

static bool is_sure(const struct nt_model *m, const double *support, uint32_t v)
{
    return v < m->hosts || !(support[v - m->hosts] < NT_SUPPORT_USED);
}

/* Joins the link of a vertex to its parent with the parent's uplink. */
static void lengthen_link(struct nt_link *low, const struct nt_link *high, uint32_t middle)
{
    bool low_up = low->b == middle, high_up = high->a == middle;
    double up = high_up ? high->bandwidth_MBps : high->bandwidth_back_MBps;
    double down = high_up ? high->bandwidth_back_MBps : high->bandwidth_MBps;
    *(low_up ? &low->b : &low->a) = high_up ? high->b : high->a;
    low->latency_us += high->latency_us;
    low->bandwidth_MBps = fmin(low->bandwidth_MBps, low_up ? up : down);
    low->bandwidth_back_MBps = fmin(low->bandwidth_back_MBps, low_up ? down : up);
}

/* Parents come first, so the link of a removed parent has been lengthened already. */
static int dissolve_switches(const struct nt_rooted_tree *h, const double *support,
                             struct nt_model *m, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *removed = nt_arena_array(&memory, m->links + 1, sizeof *removed);
    size_t kept = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t v = h->order[k], above = h->parent[v];
        if (above != h->root && !is_sure(m, support, above))
            lengthen_link(&m->link[h->up[v] / 2], &m->link[h->up[above] / 2], above);
        removed[h->up[v] / 2] = !is_sure(m, support, v);
    }
    for (size_t k = 0; k < m->links; k++)
        if (!removed[k])
            m->link[kept++] = m->link[k];
    m->links = kept;
    return 0;
}

int nt_supported_tree_create(const struct nt_model *model, struct nt_model **out,
                             struct nt_err *err)
{
    struct nt_rooted_tree *rooted = NULL;
    struct nt_model *certain = NULL;
    double *support;
    bool all = true;
    if (nt_support_create(model, &support, err) != 0)
        return -1;
    for (size_t s = 0; s < model->switches; s++)
        all = all && is_sure(model, support, (uint32_t)(model->hosts + s));
    int rc = all ? 0 : nt_rooted_tree_create(model, &rooted, err);
    if (rc == 0 && !all)
        rc = nt_model_copy(model, &certain, err);
    if (rc == 0 && !all)
        rc = dissolve_switches(rooted, support, certain, err);
    nt_rooted_tree_destroy(rooted);
    free(support);
    if (rc != 0) {
        nt_model_destroy(certain);
        return -1;
    }
    *out = certain;
    return 0;
}
