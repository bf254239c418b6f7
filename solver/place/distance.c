#include "distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct nt_distance {
    const struct nt_model *model;
    size_t vertices;
    bool tree;
    uint32_t path_max;
    uint32_t *start, *adjacent; /* links at each vertex: adjacent[start[v]..start[v+1]) */
    uint32_t *parent, *parent_link, *depth; /* tree: by vertex */
    double *above_us;                       /* tree: latency from the root */
    float *latency;                         /* else: hosts x vertices */
    uint16_t *hops;
    uint32_t *via; /* else: hosts x vertices: the link towards the source */
};

static uint32_t other_end(const struct nt_link *link, uint32_t v)
{
    return link->a == v ? link->b : link->a;
}

static double weight_us(const struct nt_link *link)
{
    return isfinite(link->latency_us) && link->latency_us > 0 ? link->latency_us
           : isfinite(link->latency_us)                       ? 1e-9
                                                              : 1;
}

static void list_links(struct nt_distance *d)
{
    const struct nt_model *m = d->model;
    uint32_t *end = d->start + 1; /* counts, then ends, then filled backwards to starts */
    for (size_t k = 0; k < m->links; k++) {
        end[m->link[k].a]++;
        end[m->link[k].b]++;
    }
    for (size_t v = 1; v < d->vertices; v++)
        end[v] += end[v - 1];
    for (size_t k = m->links; k-- > 0;) {
        d->adjacent[--end[m->link[k].a]] = (uint32_t)k;
        d->adjacent[--end[m->link[k].b]] = (uint32_t)k;
    }
    memmove(d->start, end, d->vertices * sizeof *d->start);
    d->start[d->vertices] = (uint32_t)(2 * m->links);
}

/* Breadth first from root over what is joined to it; fills parent, link and depth; returns the
 * vertex reached last. */
static uint32_t walk_down(struct nt_distance *d, uint32_t root, uint32_t *queue, size_t *reached)
{
    size_t head = 0, tail = 0;
    d->parent[root] = NONE;
    d->parent_link[root] = NONE;
    d->depth[root] = 0;
    d->above_us[root] = 0;
    queue[tail++] = root;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t k = d->start[v]; k < d->start[v + 1]; k++) {
            uint32_t e = d->adjacent[k], w = other_end(&d->model->link[e], v);
            if (e == d->parent_link[v] || tail == d->vertices)
                continue;
            d->parent[w] = v;
            d->parent_link[w] = e;
            d->depth[w] = d->depth[v] + 1;
            d->above_us[w] = d->above_us[v] + weight_us(&d->model->link[e]);
            queue[tail++] = w;
        }
    }
    *reached = tail;
    return queue[tail - 1];
}

/* Each joined part of a forest is rooted at the middle of its longest path. */
static int root_forest(struct nt_distance *d, struct nt_err *err)
{
    uint32_t *queue = calloc(d->vertices + 1, sizeof *queue);
    bool *seen = calloc(d->vertices + 1, sizeof *seen);
    if (queue == NULL || seen == NULL) {
        free(queue);
        free(seen);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for distances");
    }
    uint32_t deepest = 0;
    for (uint32_t v = 0; v < d->vertices; v++) {
        if (seen[v])
            continue;
        size_t reached;
        uint32_t end = walk_down(d, v, queue, &reached);
        for (size_t k = 0; k < reached; k++)
            seen[queue[k]] = true;
        uint32_t far = walk_down(d, end, queue, &reached);
        uint32_t up = d->depth[far] / 2, middle = far;
        for (uint32_t k = 0; k < up; k++)
            middle = d->parent[middle];
        if (middle < d->model->hosts && d->parent[middle] != NONE &&
            d->parent[middle] >= d->model->hosts)
            middle = d->parent[middle];
        far = walk_down(d, middle, queue, &reached);
        if (d->depth[far] > deepest)
            deepest = d->depth[far];
    }
    d->path_max = 2 * deepest + 1;
    free(queue);
    free(seen);
    return 0;
}

/* Dijkstra by a plain scan: these networks are small. */
static void shortest_from(struct nt_distance *d, uint32_t source, bool *done)
{
    size_t n = d->vertices;
    float *latency = d->latency + source * n;
    uint16_t *hops = d->hops + source * n;
    uint32_t *via = d->via + source * n;
    for (size_t v = 0; v < n; v++) {
        latency[v] = INFINITY;
        hops[v] = UINT16_MAX;
        via[v] = NONE;
        done[v] = false;
    }
    latency[source] = 0;
    hops[source] = 0;
    for (;;) {
        uint32_t best = NONE;
        for (uint32_t v = 0; v < n; v++)
            if (!done[v] && isfinite(latency[v]) && (best == NONE || latency[v] < latency[best]))
                best = v;
        if (best == NONE)
            return;
        done[best] = true;
        for (uint32_t k = d->start[best]; k < d->start[best + 1]; k++) {
            uint32_t e = d->adjacent[k], w = other_end(&d->model->link[e], best);
            float by = latency[best] + (float)weight_us(&d->model->link[e]);
            uint16_t far = (uint16_t)(hops[best] + 1);
            if (by < latency[w] || (by <= latency[w] && far < hops[w])) {
                latency[w] = by;
                hops[w] = far;
                via[w] = e;
            }
        }
    }
}

static int fill_general(struct nt_distance *d, struct nt_err *err)
{
    size_t n = d->vertices, cells = d->model->hosts * n;
    if (n > NT_DISTANCE_VERTICES_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "a network of %zu vertices that is no tree, at most %d", n,
                          (int)NT_DISTANCE_VERTICES_MAX);
    bool *done = calloc(n + 1, sizeof *done);
    d->latency = malloc((cells + 1) * sizeof *d->latency);
    d->hops = malloc((cells + 1) * sizeof *d->hops);
    d->via = malloc((cells + 1) * sizeof *d->via);
    if (done == NULL || d->latency == NULL || d->hops == NULL || d->via == NULL) {
        free(done);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the distances of %zu hosts",
                          d->model->hosts);
    }
    for (uint32_t h = 0; h < d->model->hosts; h++)
        shortest_from(d, h, done);
    for (size_t k = 0; k < cells; k++)
        if (d->hops[k] != UINT16_MAX && d->hops[k] > d->path_max)
            d->path_max = d->hops[k];
    d->path_max++;
    free(done);
    return 0;
}

/* A forest has exactly one link less than vertices in each joined part. */
static bool is_forest(const struct nt_model *m, size_t vertices, uint32_t *root)
{
    for (uint32_t v = 0; v < vertices; v++)
        root[v] = v;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        while (root[a] != a)
            a = root[a] = root[root[a]];
        while (root[b] != b)
            b = root[b] = root[root[b]];
        if (a == b)
            return false;
        root[a] = b;
    }
    return true;
}

int nt_distance_create(const struct nt_model *model, struct nt_distance **out, struct nt_err *err)
{
    struct nt_distance *d = calloc(1, sizeof *d);
    if (d == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for distances");
    size_t n = d->vertices = model->hosts + model->switches;
    d->model = model;
    d->start = calloc(n + 2, sizeof *d->start);
    d->adjacent = calloc(2 * model->links + 1, sizeof *d->adjacent);
    d->parent = calloc(n + 1, sizeof *d->parent);
    d->parent_link = calloc(n + 1, sizeof *d->parent_link);
    d->depth = calloc(n + 1, sizeof *d->depth);
    d->above_us = calloc(n + 1, sizeof *d->above_us);
    if (!d->start || !d->adjacent || !d->parent || !d->parent_link || !d->depth || !d->above_us) {
        nt_distance_destroy(d);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the distances of %zu hosts",
                          model->hosts);
    }
    d->tree = is_forest(model, n, d->parent);
    list_links(d);
    int rc = d->tree ? root_forest(d, err) : fill_general(d, err);
    if (rc != 0) {
        nt_distance_destroy(d);
        return rc;
    }
    *out = d;
    return 0;
}

void nt_distance_destroy(struct nt_distance *d)
{
    if (d == NULL)
        return;
    free(d->start);
    free(d->adjacent);
    free(d->parent);
    free(d->parent_link);
    free(d->depth);
    free(d->above_us);
    free(d->latency);
    free(d->hops);
    free(d->via);
    free(d);
}

bool nt_distance_is_tree(const struct nt_distance *d)
{
    return d->tree;
}

uint32_t nt_distance_parent(const struct nt_distance *d, uint32_t v)
{
    return d->tree ? d->parent[v] : NONE;
}

/* The lowest vertex above both; NONE when they are not joined. */
static uint32_t meeting_point(const struct nt_distance *d, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (d->depth[a] < d->depth[b]) {
            uint32_t t = a;
            a = b;
            b = t;
        }
        a = d->parent[a];
        if (a == NONE)
            return NONE;
    }
    return a;
}

double nt_distance_latency(const struct nt_distance *d, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    double ends = d->model->overhead_us[a] + d->model->overhead_us[b];
    if (!d->tree) {
        float by = d->latency[a * d->vertices + b];
        return isfinite(by) ? (double)by + ends : (double)NAN;
    }
    uint32_t top = meeting_point(d, a, b);
    return top == NONE ? (double)NAN
                       : d->above_us[a] + d->above_us[b] - 2 * d->above_us[top] + ends;
}

/* Links between a and b; NONE when they are not joined. */
static uint32_t count_hops(const struct nt_distance *d, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    if (!d->tree) {
        uint16_t far = d->hops[a * d->vertices + b];
        return far == UINT16_MAX ? NONE : far;
    }
    uint32_t top = meeting_point(d, a, b);
    return top == NONE ? NONE : d->depth[a] + d->depth[b] - 2 * d->depth[top];
}

uint32_t nt_distance_path_max(const struct nt_distance *d)
{
    return d->path_max;
}

/* which way the link is taken when leaving v over it */
static uint32_t leaving(const struct nt_distance *d, uint32_t link, uint32_t v)
{
    return 2 * link + (d->model->link[link].a == v ? 0 : 1);
}

uint32_t nt_distance_path(const struct nt_distance *d, uint32_t a, uint32_t b, uint32_t *directed)
{
    uint32_t n = 0;
    if (a == b || count_hops(d, a, b) == NONE)
        return 0;
    if (!d->tree) { /* from b back towards the source a */
        const uint32_t *via = d->via + a * d->vertices;
        for (uint32_t v = b; v != a;) {
            uint32_t w = other_end(&d->model->link[via[v]], v);
            directed[n++] = leaving(d, via[v], w);
            v = w;
        }
        return n;
    }
    uint32_t top = meeting_point(d, a, b);
    for (uint32_t v = a; v != top; v = d->parent[v])
        directed[n++] = leaving(d, d->parent_link[v], v);
    for (uint32_t v = b; v != top; v = d->parent[v])
        directed[n++] = leaving(d, d->parent_link[v], d->parent[v]);
    return n;
}
