/* SPDX-License-Identifier: Apache-2.0 */
#include "infer_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "merges.h"
#include "pairs.h"

/* Differences of floats that sum a few links, relative to the longest latency. */
static const double accuracy = 4e-6;

/* The tree of w->n hosts: vertices are hosts, then switches. */
struct additive {
    uint32_t n, count; /* hosts; vertices */
    uint32_t *parent;  /* vertices; the top's is itself */
    double *depth;     /* vertices: the distance from the first host; NaN: no longer there */
    uint32_t *top;     /* per host: the highest vertex of the cluster that the host represents */
    double same;       /* depths that differ by less are equal */
};

static double reading(const struct nt_work *w, size_t i, size_t j)
{
    return (double)w->d[i * w->n + j];
}

/* Whether noisy readings would hardly agree with the tree by chance. If the readings lie on a grid
 * as coarse as the noise, each independent condition is met by chance in about six of ten cases. On
 * a coarser grid nearly all are met, but then noise moves a reading by one step only. */
static int is_credible(const struct nt_work *w, const struct nt_model *m, bool *credible,
                       struct nt_err *err)
{
    enum { CONDITIONS = 14 };
    const double part = 1e-4; /* of a latency: finer grids are a fortieth of the least noise */
    float *value = malloc(2 * (w->pairs + 1) * sizeof *value);
    double shortest = (double)INFINITY;
    size_t count = 0;
    *credible = true;
    if (value == NULL)
        return nt_err_memory(err);
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++)
            value[count++] = w->d[i * w->n + j];
    double step = nt_pairs_step(value, count, part, value + w->pairs);
    free(value);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts)
            shortest = fmin(shortest, 2 * m->link[k].latency_us);
    *credible =
        step > 0 ? count >= m->links + CONDITIONS && shortest > 1.5 * step : count > m->links;
    return 0;
}

/* Joins two clusters, by their highest vertices, at a depth; the highest of both. */
static uint32_t join(struct additive *t, uint32_t a, uint32_t b, double depth)
{
    bool first = a >= t->n && fabs(t->depth[a] - depth) <= t->same;
    bool second = b >= t->n && fabs(t->depth[b] - depth) <= t->same;
    uint32_t v = first ? a : second ? b : t->count++;
    if (first && second) { /* one switch */
        for (uint32_t u = 0; u < t->count; u++)
            t->parent[u] = t->parent[u] == b ? a : t->parent[u];
        t->depth[b] = NAN;
        return v;
    }
    t->parent[a] = v;
    t->parent[b] = v;
    if (!first && !second)
        t->depth[v] = depth;
    t->parent[v] = v;
    return v;
}

/* The paths from the first host to two others are equal up to where they part: for three hosts that
 * is half of the excess of two distances over the third (Buneman 1971). In a tree these depths
 * nest. */
static int find_tree(const struct nt_work *w, struct additive *t, struct nt_arena *memory,
                     struct nt_err *err)
{
    size_t n = w->n, others = n - 1;
    size_t pitch = nt_merges_pitch((uint32_t)others);
    struct nt_merge_entry *table = nt_arena_array(memory, others * pitch, sizeof *table);
    struct nt_merge *merge = nt_arena_array(memory, n, sizeof *merge);
    uint32_t *room = nt_arena_array(memory, 2 * n, sizeof *room);
    t->parent = nt_arena_array(memory, 2 * n, sizeof *t->parent);
    t->depth = nt_arena_array(memory, 2 * n, sizeof *t->depth);
    t->top = nt_arena_array(memory, n, sizeof *t->top);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    t->n = t->count = (uint32_t)n;
    for (size_t i = 1; i < n; i++) {
        t->top[i] = (uint32_t)i;
        t->depth[i] = reading(w, i, 0);
        for (size_t j = 1; j < n; j++) {
            double shared = (reading(w, i, 0) + reading(w, j, 0) - reading(w, i, j)) / 2;
            table[(i - 1) * pitch + j - 1] = (struct nt_merge_entry){(float)-shared, 1};
        }
    }
    size_t merges = nt_merges_find((uint32_t)others, table, NULL, merge, room);
    uint32_t top = 1;
    for (size_t k = 0; k < merges; k++) {
        uint32_t a = merge[k].a + 1, b = merge[k].b + 1;
        top = join(t, t->top[a], t->top[b], -merge[k].height);
        t->top[a] = t->top[b] = top;
    }
    t->parent[0] = top;
    return 0;
}

/* The model; *out NULL: a link is not longer than 0. */
static int model_of(const struct nt_work *w, const struct additive *t, size_t hosts,
                    struct nt_model **out, struct nt_arena *memory, struct nt_err *err)
{
    uint32_t switches = 0, *number = nt_arena_array(memory, t->count, sizeof *number);
    size_t k = 0;
    *out = NULL;
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (uint32_t v = 0; v < t->count; v++)
        number[v] = v < t->n ? w->host[v] : (uint32_t)hosts + (isnan(t->depth[v]) ? 0 : switches++);
    if (nt_model_create(hosts, switches, t->n + switches - 1, out, err) < 0)
        return -1;
    for (uint32_t v = 0; v < t->count; v++) {
        uint32_t up = t->parent[v];
        double us = t->depth[v] - t->depth[up];
        if (up == v || isnan(t->depth[v]))
            continue;
        us = v == 0 ? t->depth[up] : us;
        if (!(us > t->same)) {
            nt_model_destroy(*out);
            *out = NULL;
            return 0;
        }
        (*out)->link[k].a = number[v];
        (*out)->link[k].b = number[up];
        (*out)->link[k++].latency_us = us;
    }
    (*out)->family = switches == 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
    (*out)->confidence = 1;
    return 0;
}

/* Destroys the model unless it has the readings. */
static int check(const struct nt_work *w, double same, struct nt_model **model, struct nt_err *err)
{
    struct nt_matrix *p;
    bool agrees = true;
    if (nt_model_latencies(*model, &p, err) < 0) {
        nt_model_destroy(*model);
        *model = NULL;
        return -1;
    }
    for (size_t i = 1; i < w->n && agrees; i++)
        for (size_t j = 0; j < i && agrees; j++)
            agrees =
                fabs(reading(w, i, j) - (double)nt_matrix_get(p, w->host[i], w->host[j])) <= same;
    nt_matrix_destroy(p);
    if (!agrees) {
        nt_model_destroy(*model);
        *model = NULL;
    }
    return 0;
}

/* Whether readings have standard errors, so that they are no distances to the last digit. Those of
 * four hosts, of which a tree asks one condition, meet it by chance in one map of a thousand. */
static bool has_noise(const struct nt_work *w, double same)
{
    for (size_t i = 0; w->error != NULL && i < w->n; i++)
        for (size_t j = 0; j < w->n; j++) /* one direction may be unknown */
            if (i != j && (double)nt_matrix_get(w->error, w->host[i], w->host[j]) > same)
                return true;
    return false;
}

int nt_additive_find(const struct nt_work *w, size_t hosts, struct nt_model **out,
                     struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct additive t = {0};
    bool credible;
    *out = NULL;
    if (w->n < 4 || w->directions || w->holes)
        return 0;
    for (size_t k = 0; k < w->n * w->n; k++)
        t.same = (double)w->d[k] > t.same ? (double)w->d[k] : t.same;
    t.same *= accuracy;
    if (has_noise(w, t.same))
        return 0;
    if (find_tree(w, &t, &memory, err) < 0 || model_of(w, &t, hosts, out, &memory, err) < 0)
        return -1;
    if (*out != NULL && check(w, t.same, out, err) < 0)
        return -1;
    if (*out == NULL)
        return 0;
    if (is_credible(w, *out, &credible, err) < 0 || !credible) {
        nt_model_destroy(*out);
        *out = NULL;
        return credible ? -1 : 0;
    }
    return 0;
}
