/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "lattice.h"
#include "memory.h"
#include "rng.h"

enum { ITERATIONS_MAX = 300 };

/* a spring of a vertex: the other vertex and the desired distance */
struct spring {
    uint32_t to;
    float length, weight;
};

struct work {
    const struct nt_model *model;
    size_t n;
    struct nt_arena memory; /* of the arrays below */
    struct nt_graph graph;
    double *link_us; /* by link: length in the picture */
    struct nt_shortest shortest;
    size_t *start; /* springs at each vertex: spring[start[v]..start[v+1]) */
    struct spring *spring;
    size_t springs;
};

/* Returns the shortest positive latency of a link. Links without a latency, or with zero, are drawn
 * with this length. */
static double shortest_link_us(const struct nt_model *m)
{
    double least = INFINITY, most = 0;
    for (size_t k = 0; k < m->links; k++) {
        double us = m->link[k].latency_us;
        if (isfinite(us) && us > 0) {
            least = fmin(least, us);
            most = fmax(most, us);
        }
    }
    return isfinite(least) ? fmax(least, most / 20) : 1;
}

static double link_us(const struct nt_model *m, uint32_t k, double least)
{
    double us = m->link[k].latency_us;
    return isfinite(us) && us > least ? us : least;
}

static void add_spring(struct work *w, uint32_t to, double us)
{
    if (us > 0 && isfinite(us))
        w->spring[w->springs++] = (struct spring){to, (float)us, (float)(1 / (us * us))};
}

/* Creates springs between all vertices. */
static void hold_against_all(struct work *w)
{
    for (uint32_t v = 0; v < w->n; v++) {
        w->start[v] = w->springs;
        nt_shortest_from(&w->shortest, &w->graph, w->link_us, v);
        for (uint32_t u = 0; u < w->n; u++)
            if (u != v)
                add_spring(w, u, w->shortest.distance[u]);
    }
}

/* Creates springs of every vertex to its neighbours and to pivots; each new pivot is far from the
 * previous ones. */
static int hold_against_pivots(struct work *w, struct nt_err *err)
{
    const double *far = w->shortest.distance;
    enum { PIVOTS = NT_LAYOUT_PIVOTS };
    NT_SCOPED struct nt_arena memory = {0};
    float *to_pivot = nt_arena_array(&memory, PIVOTS * w->n, sizeof *to_pivot);
    double *near = nt_arena_array(&memory, w->n, sizeof *near);
    uint32_t pivot[PIVOTS], next = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t v = 0; v < w->n; v++)
        near[v] = INFINITY;
    for (size_t p = 0; p < PIVOTS; p++) {
        pivot[p] = next;
        nt_shortest_from(&w->shortest, &w->graph, w->link_us, next);
        for (uint32_t v = 0; v < w->n; v++) {
            to_pivot[p * w->n + v] = (float)far[v];
            near[v] = fmin(near[v], far[v]);
            if (isfinite(near[v]) && near[v] > near[next])
                next = v;
        }
    }
    for (uint32_t v = 0; v < w->n; v++) {
        w->start[v] = w->springs;
        for (uint32_t k = w->graph.start[v]; k < w->graph.start[v + 1]; k++)
            add_spring(w, w->graph.to[k], w->link_us[w->graph.link[k]]);
        for (size_t p = 0; p < PIVOTS; p++)
            if (pivot[p] != v)
                add_spring(w, pivot[p], (double)to_pivot[p * w->n + v]);
    }
    return 0;
}

/* One pass of the localised update: moves each vertex to the optimum of its springs, with all
 * others fixed. Returns the largest move. */
static double relax_stress(const struct work *w, int dims, double *at)
{
    double most = 0;
    for (size_t v = 0; v < w->n; v++) {
        double sum[3] = {0, 0, 0}, weights = 0;
        for (size_t k = w->start[v]; k < w->start[v + 1]; k++) {
            const struct spring *s = &w->spring[k];
            const double *to = at + (size_t)s->to * (size_t)dims;
            double delta[3], norm = 0;
            for (int d = 0; d < dims; d++) {
                delta[d] = at[v * (size_t)dims + (size_t)d] - to[d];
                norm += delta[d] * delta[d];
            }
            double stretch = norm > 0 ? (double)s->length / sqrt(norm) : 0;
            for (int d = 0; d < dims; d++)
                sum[d] += (double)s->weight * (to[d] + stretch * delta[d]);
            weights += (double)s->weight;
        }
        if (!(weights > 0))
            continue;
        double moved = 0;
        for (int d = 0; d < dims; d++) {
            double *x = &at[v * (size_t)dims + (size_t)d], to = sum[d] / weights;
            moved += (to - *x) * (to - *x);
            *x = to;
        }
        most = fmax(most, moved);
    }
    return sqrt(most);
}

static double stress_of(const struct work *w, int dims, const double *at)
{
    double sum = 0;
    for (size_t v = 0; v < w->n; v++) {
        for (size_t k = w->start[v]; k < w->start[v + 1]; k++) {
            const struct spring *s = &w->spring[k];
            double norm = 0;
            for (int d = 0; d < dims; d++) {
                double delta =
                    at[v * (size_t)dims + (size_t)d] - at[(size_t)s->to * (size_t)dims + (size_t)d];
                norm += delta * delta;
            }
            double off = sqrt(norm) / (double)s->length - 1;
            sum += off * off;
        }
    }
    return w->springs > 0 ? sum / (double)w->springs : 0;
}

/* Centres the picture and scales it to the unit ball; vertices without links are placed on its rim.
 * Returns the previous radius. */
static double fit_frame(const struct work *w, int dims, double *at)
{
    double middle[3] = {0, 0, 0}, radius = 0;
    size_t joined = 0, alone = 0;
    for (size_t v = 0; v < w->n; v++) {
        if (w->start[v] == w->start[v + 1])
            continue;
        joined++;
        for (int d = 0; d < dims; d++)
            middle[d] += at[v * (size_t)dims + (size_t)d];
    }
    for (size_t v = 0; v < w->n; v++) {
        double norm = 0;
        for (int d = 0; d < dims && w->start[v] < w->start[v + 1]; d++) {
            double *x = &at[v * (size_t)dims + (size_t)d];
            *x -= middle[d] / (double)joined;
            norm += *x * *x;
        }
        radius = fmax(radius, norm);
    }
    radius = radius > 0 ? sqrt(radius) : 1;
    size_t lonely = w->n - joined;
    for (size_t v = 0; v < w->n; v++) {
        bool held = w->start[v] < w->start[v + 1];
        double turn = held ? 0 : 6.283185307179586 * (double)alone++ / (double)lonely;
        for (int d = 0; d < dims; d++) {
            double *x = &at[v * (size_t)dims + (size_t)d];
            *x = held ? *x / radius : 1.15 * (d == 0 ? cos(turn) : d == 1 ? sin(turn) : 0);
        }
    }
    return radius;
}

static int hold_apart(struct work *w, double least, struct nt_err *err)
{
    const struct nt_model *m = w->model;
    bool exact = w->n <= NT_LAYOUT_EXACT;
    w->link_us = nt_arena_array(&w->memory, m->links, sizeof *w->link_us);
    w->start = nt_arena_array(&w->memory, w->n + 1, sizeof *w->start);
    w->spring =
        nt_arena_array(&w->memory, exact ? w->n * w->n : w->n * NT_LAYOUT_PIVOTS + 2 * m->links,
                       sizeof *w->spring);
    if (nt_graph_init(&w->graph, m, &w->memory, err) != 0 ||
        nt_shortest_init(&w->shortest, w->n, &w->memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++)
        w->link_us[k] = link_us(m, (uint32_t)k, least);
    if (exact)
        hold_against_all(w);
    else if (hold_against_pivots(w, err) != 0)
        return -1;
    w->start[w->n] = w->springs;
    return 0;
}

/* ---- grids ---- */

/* In units of the grid: distance of planes, length of a short end, distance of a host from its
 * switch; ASPECT: width of a window over its height. */
static const double PLANES_APART = 2.2, SHORT_END = 0.36, HOST = 0.42, ASPECT = 1.4;

struct grid {
    const struct nt_model *model;
    struct nt_lattice lattice;
    const uint32_t *place;
    size_t planes, a_row; /* number of planes, and of planes per row */
    double width, height; /* size of a plane including the gap after it */
};

static size_t coordinate(const struct grid *g, uint32_t number, size_t k)
{
    size_t stride = 1;
    for (size_t j = 0; j < k; j++)
        stride *= g->lattice.size[j];
    return number / stride % g->lattice.size[k];
}

/* Chooses the number of planes per row for which the grid is largest in a window. */
static void arrange_planes(struct grid *g)
{
    double best = 0;
    g->planes = 1;
    for (size_t k = 2; k < g->lattice.dimensions; k++)
        g->planes *= g->lattice.size[k];
    g->width = (double)g->lattice.size[0] - 1 + PLANES_APART;
    g->height = (double)g->lattice.size[1] - 1 + PLANES_APART;
    for (size_t row = 1; row <= g->planes; row++) {
        size_t rows = (g->planes + row - 1) / row;
        double scale = fmin(ASPECT / ((double)row * g->width), 1 / ((double)rows * g->height));
        if (scale > best) {
            best = scale;
            g->a_row = row;
        }
    }
}

static void place_vertex(const struct grid *g, uint32_t number, double at[2])
{
    size_t plane = number / (g->lattice.size[0] * g->lattice.size[1]);
    size_t column = plane % g->a_row, row = plane / g->a_row;
    at[0] = (double)column * g->width + (double)coordinate(g, number, 0);
    at[1] = (double)row * g->height + (double)coordinate(g, number, 1);
}

/* Places the hosts of a switch in a fan below it and to its right, where the grid has no line. */
static void place_hosts(const struct grid *g, const struct nt_graph *graph, uint32_t sw, double *at)
{
    size_t count = 0, k = 0;
    for (uint32_t p = graph->start[sw]; p < graph->start[sw + 1]; p++)
        count += graph->to[p] < g->model->hosts;
    for (uint32_t p = graph->start[sw]; p < graph->start[sw + 1]; p++) {
        if (graph->to[p] >= g->model->hosts)
            continue;
        double angle = M_PI / 2 * ((double)k++ + 0.5) / (double)count;
        at[2 * (size_t)graph->to[p]] = at[2 * (size_t)sw] + HOST * cos(angle);
        at[2 * (size_t)graph->to[p] + 1] = at[2 * (size_t)sw + 1] + HOST * sin(angle);
    }
}

/* Returns the direction of the short end of a link at a: along its dimension, or at a slope for
 * each dimension after the first two. NAN: the link is a line between neighbours. */
static double stub_turn(const struct grid *g, const struct nt_link *l)
{
    static const double slope[NT_DIMENSIONS_MAX] = {0,     0.5,   -0.25, -0.36,
                                                    -0.14, -0.42, -0.08, -0.3};
    uint32_t a = g->place[l->a], b = g->place[l->b];
    size_t k = 0;
    if (a == NT_NO_VERTEX || b == NT_NO_VERTEX)
        return NAN;
    /* The last dimension that differs: a twist also shifts the first. */
    for (size_t j = 0; j < g->lattice.dimensions; j++)
        k = coordinate(g, a, j) != coordinate(g, b, j) ? j : k;
    size_t from = coordinate(g, a, k), to = coordinate(g, b, k);
    bool beside = from + 1 == to || to + 1 == from, up = beside ? to > from : to < from;
    if (k < 2 && beside)
        return NAN;
    return M_PI * (slope[k] + (up ? 0 : 1));
}

static int lay_grid(const struct grid *g, struct work *w, struct nt_layout *l, struct nt_err *err)
{
    const struct nt_model *m = g->model;
    if (nt_graph_init(&w->graph, m, &w->memory, err) != 0)
        return -1;
    w->start = nt_arena_array(&w->memory, w->n + 1, sizeof *w->start);
    l->turn = calloc(m->links + 1, sizeof *l->turn);
    if (l->turn == NULL || nt_arena_check(&w->memory, err) != 0)
        return nt_err_memory(err);
    for (size_t v = 0; v < w->n; v++) /* the vertices with a link are connected (fit_frame) */
        w->start[v + 1] = w->graph.start[v + 1];
    for (uint32_t v = 0; v < w->n; v++)
        if (g->place[v] != NT_NO_VERTEX)
            place_vertex(g, g->place[v], l->at + 2 * (size_t)v);
    for (uint32_t v = (uint32_t)m->hosts; v < w->n; v++)
        place_hosts(g, &w->graph, v, l->at);
    l->unit = 1 / fit_frame(w, 2, l->at);
    for (size_t k = 0; k < m->links; k++)
        l->turn[k] = stub_turn(g, &m->link[k]);
    return 0;
}

static int lay_by_stress(struct work *w, uint64_t seed, struct nt_layout *l, struct nt_err *err)
{
    double least = shortest_link_us(w->model);
    struct nt_rng rng;
    if (hold_apart(w, least, err) != 0)
        return -1;
    nt_rng_init(&rng, seed);
    for (size_t k = 0; k < w->n * (size_t)l->dimensions; k++)
        l->at[k] = least * nt_rng_normal(&rng) * sqrt((double)w->n);
    for (int k = 0; k < ITERATIONS_MAX && relax_stress(w, l->dimensions, l->at) > 1e-3 * least; k++)
        ;
    l->stress = stress_of(w, l->dimensions, l->at);
    fit_frame(w, l->dimensions, l->at);
    return 0;
}

int nt_layout_create(const struct nt_model *model, int dimensions, uint64_t seed,
                     struct nt_layout **out, struct nt_err *err)
{
    struct work w = {.model = model, .n = model->hosts + model->switches};
    struct grid g = {.model = model};
    struct nt_layout *l = calloc(1, sizeof *l);
    if (l == NULL)
        return nt_err_memory(err);
    *l = (struct nt_layout){.vertices = w.n, .dimensions = dimensions};
    l->at = calloc(w.n * (size_t)dimensions + 1, sizeof *l->at);
    int rc = l->at == NULL ? nt_err_memory(err) : 0;
    if (rc == 0 && dimensions == 2)
        rc = nt_lattice_place(model, &w.memory, &g.lattice, &g.place, err);
    if (rc == 0 && g.place != NULL) {
        arrange_planes(&g);
        rc = lay_grid(&g, &w, l, err);
    } else if (rc == 0) {
        rc = lay_by_stress(&w, seed, l, err);
    }
    nt_arena_fini(&w.memory);
    if (rc == 0)
        *out = l;
    else
        nt_layout_destroy(l);
    return rc;
}

void nt_layout_destroy(struct nt_layout *layout)
{
    if (layout == NULL)
        return;
    free(layout->at);
    free(layout->turn);
    free(layout);
}

bool nt_layout_short_end(const struct nt_layout *layout, size_t link, double end[2])
{
    if (layout->turn == NULL || isnan(layout->turn[link]))
        return false;
    end[0] = SHORT_END * layout->unit * cos(layout->turn[link]);
    end[1] = SHORT_END * layout->unit * sin(layout->turn[link]);
    return true;
}
