#include "layout.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { ITERATIONS_MAX = 300 };

/* what a vertex is held against: another one and the length that its line should have */
struct spring {
    uint32_t to;
    float length, weight;
};

struct work {
    const struct nt_model *model;
    size_t n;
    size_t *link_start; /* links at each vertex */
    uint32_t *link_at;
    size_t *start; /* springs at each vertex: spring[start[v]..start[v+1]) */
    struct spring *spring;
    size_t springs, cap;
};

/* A link without a figure, or one of nothing, is drawn like the shortest that has one. */
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

static int list_links(struct work *w, struct nt_err *err)
{
    const struct nt_model *m = w->model;
    w->link_start = calloc(w->n + 2, sizeof *w->link_start);
    w->link_at = calloc(2 * m->links + 1, sizeof *w->link_at);
    if (w->link_start == NULL || w->link_at == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a picture of %zu vertices", w->n);
    size_t *end = w->link_start + 1;
    for (size_t k = 0; k < m->links; k++) {
        end[m->link[k].a]++;
        end[m->link[k].b]++;
    }
    for (size_t v = 1; v < w->n; v++)
        end[v] += end[v - 1];
    for (size_t k = m->links; k-- > 0;) {
        w->link_at[--end[m->link[k].a]] = (uint32_t)k;
        w->link_at[--end[m->link[k].b]] = (uint32_t)k;
    }
    memmove(w->link_start, end, w->n * sizeof *end);
    w->link_start[w->n] = 2 * m->links;
    return 0;
}

struct heap_item {
    double far;
    uint32_t v;
};

static void heap_push(struct heap_item *heap, size_t *n, struct heap_item item)
{
    size_t k = (*n)++;
    for (; k > 0 && heap[(k - 1) / 2].far > item.far; k = (k - 1) / 2)
        heap[k] = heap[(k - 1) / 2];
    heap[k] = item;
}

static struct heap_item heap_pop(struct heap_item *heap, size_t *n)
{
    struct heap_item top = heap[0], last = heap[--*n];
    size_t k = 0;
    for (;;) {
        size_t c = 2 * k + 1;
        if (c >= *n)
            break;
        if (c + 1 < *n && heap[c + 1].far < heap[c].far)
            c++;
        if (heap[c].far >= last.far)
            break;
        heap[k] = heap[c];
        k = c;
    }
    heap[k] = last;
    return top;
}

/* Dijkstra from source; far[] is INFINITY where nothing leads. heap holds 2*links+1 items. */
static void distances_from(const struct work *w, uint32_t source, double least, double *far,
                           struct heap_item *heap)
{
    size_t queued = 0;
    for (size_t v = 0; v < w->n; v++)
        far[v] = INFINITY;
    far[source] = 0;
    heap_push(heap, &queued, (struct heap_item){0, source});
    while (queued > 0) {
        struct heap_item item = heap_pop(heap, &queued);
        if (item.far > far[item.v])
            continue;
        for (size_t k = w->link_start[item.v]; k < w->link_start[item.v + 1]; k++) {
            uint32_t e = w->link_at[k];
            uint32_t to = w->model->link[e].a == item.v ? w->model->link[e].b : w->model->link[e].a;
            double by = item.far + link_us(w->model, e, least);
            if (by < far[to]) {
                far[to] = by;
                heap_push(heap, &queued, (struct heap_item){by, to});
            }
        }
    }
}

static bool add_spring(struct work *w, uint32_t to, double length, double weight)
{
    if (w->springs == w->cap) {
        size_t cap = 2 * w->cap + 1024;
        struct spring *grown = realloc(w->spring, cap * sizeof *grown);
        if (grown == NULL)
            return false;
        w->spring = grown;
        w->cap = cap;
    }
    w->spring[w->springs++] = (struct spring){to, (float)length, (float)weight};
    return true;
}

/* Every vertex against every other. */
static bool hold_against_all(struct work *w, double least, double *far, struct heap_item *heap)
{
    for (uint32_t v = 0; v < w->n; v++) {
        w->start[v] = w->springs;
        distances_from(w, v, least, far, heap);
        for (uint32_t u = 0; u < w->n; u++)
            if (u != v && isfinite(far[u]) && !add_spring(w, u, far[u], 1 / (far[u] * far[u])))
                return false;
    }
    w->start[w->n] = w->springs;
    return true;
}

/* Every vertex against its links and against pivots, each new pivot far from those before. */
static bool hold_against_pivots(struct work *w, double least, double *far, struct heap_item *heap)
{
    size_t pivots = NT_LAYOUT_PIVOTS;
    float *to_pivot = malloc(pivots * w->n * sizeof *to_pivot);
    uint32_t *pivot = malloc(pivots * sizeof *pivot);
    double *near = malloc(w->n * sizeof *near);
    bool done = to_pivot != NULL && pivot != NULL && near != NULL;
    for (size_t v = 0; done && v < w->n; v++)
        near[v] = INFINITY;
    uint32_t next = 0;
    for (size_t p = 0; done && p < pivots; p++) {
        pivot[p] = next;
        distances_from(w, next, least, far, heap);
        for (uint32_t v = 0; v < w->n; v++) {
            to_pivot[p * w->n + v] = (float)far[v];
            near[v] = fmin(near[v], far[v]);
            if (isfinite(near[v]) && near[v] > near[next])
                next = v;
        }
    }
    for (uint32_t v = 0; done && v < w->n; v++) {
        w->start[v] = w->springs;
        for (size_t k = w->link_start[v]; done && k < w->link_start[v + 1]; k++) {
            uint32_t e = w->link_at[k];
            double us = link_us(w->model, e, least);
            done =
                add_spring(w, w->model->link[e].a == v ? w->model->link[e].b : w->model->link[e].a,
                           us, 1 / (us * us));
        }
        for (size_t p = 0; done && p < pivots; p++) {
            double us = (double)to_pivot[p * w->n + v];
            if (pivot[p] != v && us > 0 && isfinite(us))
                done = add_spring(w, pivot[p], us, 1 / (us * us));
        }
    }
    w->start[w->n] = w->springs;
    free(to_pivot);
    free(pivot);
    free(near);
    return done;
}

/* One pass of the localised update: each vertex goes where its springs want it, the others held.
 * Returns the largest move. */
static double relax(const struct work *w, int dims, double *at)
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

/* Centres the picture and scales it into the unit ball; what nothing joins goes on the rim. */
static void frame(const struct work *w, int dims, double *at)
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
}

static int hold(struct work *w, double least, struct nt_err *err)
{
    double *far = malloc((w->n + 1) * sizeof *far);
    struct heap_item *heap = malloc((2 * w->model->links + 2) * sizeof *heap);
    w->start = calloc(w->n + 2, sizeof *w->start);
    bool done = far != NULL && heap != NULL && w->start != NULL &&
                (w->n <= NT_LAYOUT_EXACT ? hold_against_all(w, least, far, heap)
                                         : hold_against_pivots(w, least, far, heap));
    free(far);
    free(heap);
    return done ? 0
                : nt_err_set(err, NT_ERR_SYSTEM, "no memory for a picture of %zu vertices", w->n);
}

int nt_layout_create(const struct nt_model *model, int dimensions, uint64_t seed,
                     struct nt_layout **out, struct nt_err *err)
{
    struct work w = {.model = model, .n = model->hosts + model->switches};
    struct nt_layout *l = calloc(1, sizeof *l);
    double *at = calloc(w.n * (size_t)dimensions + 1, sizeof *at);
    int rc = -1;
    if (l == NULL || at == NULL) {
        nt_err_set(err, NT_ERR_SYSTEM, "no memory for a picture of %zu vertices", w.n);
        goto out;
    }
    double least = shortest_link_us(model);
    if (list_links(&w, err) != 0 || hold(&w, least, err) != 0)
        goto out;
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t k = 0; k < w.n * (size_t)dimensions; k++)
        at[k] = least * nt_rng_normal(&rng) * sqrt((double)w.n);
    for (int k = 0; k < ITERATIONS_MAX && relax(&w, dimensions, at) > 1e-3 * least; k++)
        ;
    l->stress = stress_of(&w, dimensions, at);
    frame(&w, dimensions, at);
    l->vertices = w.n;
    l->dimensions = dimensions;
    l->at = at;
    *out = l;
    at = NULL;
    l = NULL;
    rc = 0;
out:
    free(w.link_start);
    free(w.link_at);
    free(w.start);
    free(w.spring);
    free(at);
    free(l);
    return rc;
}

void nt_layout_destroy(struct nt_layout *layout)
{
    if (layout == NULL)
        return;
    free(layout->at);
    free(layout);
}
