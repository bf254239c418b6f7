/* SPDX-License-Identifier: Apache-2.0 */
#include "link_figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_routes.h"
#include "graph.h"
#include "memory.h"
#include "stats.h"
#include "switch_support.h"

/* ---- latencies ---- */

struct fit {
    const char *const *phase; /* names of the phases to read, NULL after the last */
    const struct nt_model *model;
    size_t vertices;
    struct nt_bfs tree;
    uint32_t *path; /* links of a path */
    struct nt_routes_builder *builder;
    struct nt_routes *routes;
    struct nt_pair_index *index;
    struct nt_measured measured;
};

static void fit_fini(struct fit *f)
{
    nt_routes_builder_destroy(f->builder);
    nt_pair_index_destroy(f->index);
    nt_routes_destroy(f->routes);
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* The tree is rooted at its last switch. 0: it is none. */
static int root_tree(struct fit *f, struct nt_arena *memory, struct nt_err *err)
{
    NT_SCOPED struct nt_arena here = {0};
    struct nt_graph graph;
    if (nt_graph_init(&graph, f->model, &here, err) != 0 ||
        nt_bfs_init(&f->tree, f->vertices, memory, err) != 0)
        return -1;
    return nt_bfs_from(&f->tree, &graph, (uint32_t)f->vertices - 1) &&
           f->model->links + 1 == f->tree.reached;
}

/* ---- readings ------------------------------------------------------------------------------- */

static bool is_phase(const struct fit *f, const char *name)
{
    for (size_t k = 0; f->phase[k] != NULL; k++)
        if (strcmp(name, f->phase[k]) == 0)
            return true;
    return false;
}

static bool is_reading(const struct fit *f, const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind == NT_SAMPLE_LATENCY && x->value_us > 0 && is_phase(f, s->phase[x->phase].name);
}

static int add_route(struct fit *f, const uint32_t *vertex, const struct nt_sample *x,
                     struct nt_err *err)
{
    uint32_t a = vertex[x->a], b = vertex[x->b];
    size_t n = nt_bfs_path(&f->tree, a, b, f->path);
    struct nt_err twice = {0};
    if (n == 0)
        return 0;
    f->measured.count++;
    if (nt_routes_builder_add(f->builder, a < b ? a : b, a < b ? b : a, f->path, n, &twice) == 0)
        return 0;
    /* the pair is there already: this is another measurement of it */
    if (twice.kind == NT_ERR_INPUT)
        return 0;
    *err = twice;
    return -1;
}

static int collect_routes(struct fit *f, const struct nt_samples *s, const uint32_t *vertex,
                          struct nt_err *err)
{
    if (nt_routes_builder_create(&f->builder, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++)
        if (is_reading(f, s, &s->sample[k]) && add_route(f, vertex, &s->sample[k], err) != 0)
            return -1;
    if (f->measured.count == 0)
        return 0;
    if (nt_routes_builder_finish(f->builder, f->model->hosts, f->model->links, &f->routes, err) !=
            0 ||
        nt_pair_index_create(f->routes, &f->index, err) != 0)
        return -1;
    return 1;
}

static int collect_values(struct fit *f, const struct nt_samples *s, const uint32_t *vertex,
                          struct nt_arena *memory, struct nt_err *err)
{
    size_t n = 0;
    f->measured.pair = nt_arena_array(memory, f->measured.count, sizeof *f->measured.pair);
    f->measured.latency_us =
        nt_arena_array(memory, f->measured.count, sizeof *f->measured.latency_us);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!is_reading(f, s, x))
            continue;
        uint32_t a = vertex[x->a], b = vertex[x->b];
        uint32_t pair = nt_pair_index_find(f->index, a < b ? a : b, a < b ? b : a);
        if (pair == NT_PAIR_NONE)
            continue;
        f->measured.pair[n] = pair;
        f->measured.latency_us[n++] = x->value_us;
    }
    f->measured.count = n;
    return 0;
}

/* The lowest reading per pair: disturbances lengthen readings, and pairs that were read often,
 * because of doubts, have the same weight as others. */
static int keep_lowest(struct fit *f, struct nt_err *err)
{
    struct nt_measured *m = &f->measured;
    size_t n = 0;
    NT_SCOPED struct nt_arena memory = {0};
    double *lowest = nt_arena_array(&memory, f->routes->pairs, sizeof *lowest);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < f->routes->pairs; k++)
        lowest[k] = INFINITY;
    for (size_t k = 0; k < m->count; k++)
        lowest[m->pair[k]] = fmin(lowest[m->pair[k]], m->latency_us[k]);
    for (size_t k = 0; k < m->count; k++)
        if (m->latency_us[k] == lowest[m->pair[k]]) {
            lowest[m->pair[k]] = -INFINITY; /* once */
            m->pair[n] = m->pair[k];
            m->latency_us[n++] = m->latency_us[k];
        }
    m->count = n;
    return 0;
}

/* ---- the links ------------------------------------------------------------------------------ */

/* Sets all latencies or none: values of two kinds would not add up to the pairs' latencies. Maps
 * have no links without latency. better: only if their variances add up to less than those of the
 * model's latencies, which a disturbed phase does not reach. */
static int set_latencies(struct nt_model *model, const struct nt_estimate *e, bool better)
{
    double gained = 0;
    if (e->links != model->links)
        return 0;
    for (size_t k = 0; k < e->links; k++) {
        const struct nt_figure *latency = &e->link[k].latency;
        double se_us = model->link[e->link[k].link].latency_se_us;
        if (!isfinite(latency->us) || !(latency->us > 0))
            return 0;
        gained += se_us * se_us - latency->se_us * latency->se_us;
    }
    if (better && gained < 0) /* NaN: the model has no standard errors */
        return 0;
    for (size_t k = 0; k < e->links; k++) {
        struct nt_link *l = &model->link[e->link[k].link];
        l->latency_us = e->link[k].latency.us;
        l->latency_se_us = e->link[k].latency.se_us;
    }
    nt_resolution_lower(model);
    return 1;
}

static bool has_phase(const struct fit *f, const struct nt_samples *s)
{
    for (size_t k = 0; k < s->phases; k++)
        if (is_phase(f, s->phase[k].name))
            return true;
    return false;
}

int nt_link_latency(const struct nt_samples *samples, const uint32_t *vertex,
                    const char *const *phase, bool lowest, struct nt_model *model,
                    struct nt_err *err)
{
    struct fit f = {.phase = phase, .model = model, .vertices = model->hosts + model->switches};
    struct nt_estimate *estimate = NULL;
    if (!has_phase(&f, samples) || model->switches == 0 || model->links > NT_LINK_LATENCY_LINKS_MAX)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    f.path = nt_arena_array(&memory, f.vertices, sizeof *f.path);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = root_tree(&f, &memory, err);
    if (rc == 1)
        rc = collect_routes(&f, samples, vertex, err);
    if (rc == 1 && collect_values(&f, samples, vertex, &memory, err) != 0)
        rc = -1;
    if (rc == 1 && lowest && keep_lowest(&f, err) != 0)
        rc = -1;
    if (rc == 1 && nt_estimate_routes(f.routes, &f.measured, &estimate, err) != 0)
        rc = -1;
    if (rc == 1)
        rc = set_latencies(model, estimate, !lowest);
    nt_estimate_destroy(estimate);
    fit_fini(&f);
    return rc;
}

/* ---- bandwidths ---- */

/* Two bandwidths of one path differ only beyond this: repeated runs of one flow differ by a few
 * percent, which does not make a link the narrower one. */
static const double clearly_narrower = 0.95;

#define MEDIAN_VARIANCE 1.57
#define NOISE_MOST 0.2   /* more is not noise */
enum { SPREAD_MIN = 4 }; /* with fewer values the spread is unknown */

/* The tree, rooted at a vertex of each part; a channel is a link in one direction: 2 * link going
 * up, 2 * link + 1 going down. */
struct tree {
    size_t vertices;
    struct nt_bfs bfs; /* from a vertex of each part */
    double *most;      /* of each channel: the most that a pair reached, without noise */
    size_t *pairs;     /*   and how many went through it */
    bool *host;        /*   whether it is of a host's link */
    double noise;      /* relative sd of a pair's bandwidth; 0: unknown */
    size_t *from;      /* of each channel: where its values begin; then its end */
    float *value;
};

static int tree_init(struct tree *t, const struct nt_model *m, struct nt_arena *memory,
                     struct nt_err *err)
{
    size_t v = m->hosts + m->switches, channels = 2 * m->links;
    *t = (struct tree){.vertices = v};
    t->most = nt_arena_array(memory, channels + 1, sizeof *t->most);
    t->pairs = nt_arena_array(memory, channels + 1, sizeof *t->pairs);
    t->host = nt_arena_array(memory, channels + 1, sizeof *t->host);
    t->from = nt_arena_array(memory, channels + 2, sizeof *t->from);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < channels; k++)
        t->host[k] = m->link[k / 2].a < m->hosts || m->link[k / 2].b < m->hosts;
    return 0;
}

/* 1: no link closes a cycle; else 0. */
static int root_trees(struct tree *t, const struct nt_model *m, struct nt_arena *memory,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena here = {0};
    struct nt_graph graph;
    bool forest = true;
    if (nt_graph_init(&graph, m, &here, err) != 0 ||
        nt_bfs_init(&t->bfs, t->vertices, memory, err) != 0)
        return -1;
    for (uint32_t v = 0; v < t->vertices; v++)
        if (t->bfs.depth[v] == UINT32_MAX)
            forest = nt_bfs_from(&t->bfs, &graph, v) && forest;
    return forest;
}

/* The channels on the way from a to b, in any order; count 0 when there is none. */
static size_t tree_path(const struct tree *t, uint32_t a, uint32_t b, uint32_t *channel)
{
    size_t count = 0;
    while (a != b) {
        if (t->bfs.depth[a] >= t->bfs.depth[b]) {
            if (t->bfs.up[a] == NT_NO_LINK)
                return 0;
            channel[count++] = 2 * t->bfs.up[a];
            a = t->bfs.parent[a];
        } else {
            channel[count++] = 2 * t->bfs.up[b] + 1;
            b = t->bfs.parent[b];
        }
    }
    return count;
}

static double measured_rate(const struct nt_matrix *m, size_t i, size_t j)
{
    float value = nt_matrix_get(m, i, j);
    return (double)(isnan(value) ? nt_matrix_get(m, j, i) : value);
}

/* Called for each pair: its bandwidth and its channels. */
typedef void (*visit)(struct tree *t, double value, const uint32_t *channel, size_t count);

static void note_most(struct tree *t, double value, const uint32_t *channel, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        t->pairs[channel[k]]++;
        if (!(t->most[channel[k]] >= value))
            t->most[channel[k]] = value;
    }
}

/* The most of a channel that could still be the narrowest of this path. */
static double narrowest_channel(const struct tree *t, const uint32_t *channel, size_t count)
{
    double least = t->most[channel[0]];
    for (size_t k = 1; k < count; k++)
        least = fmin(least, t->most[channel[k]]);
    return least / fmin(clearly_narrower, 1 - t->noise);
}

/* Whether a tied channel is used. All tied channels are, because only one of them could be wider
 * and it is unknown which. But if a link between switches ties with a host's, and other hosts share
 * it, it does not determine the host's. */
static bool counts(const struct tree *t, const uint32_t *channel, size_t count, size_t which,
                   double most)
{
    bool between = false;
    for (size_t k = 0; k < count; k++)
        between = between || (!t->host[channel[k]] && t->most[channel[k]] <= most);
    return t->most[channel[which]] <= most && !(t->host[channel[which]] && between);
}

static void count_narrowest(struct tree *t, double value, const uint32_t *channel, size_t count)
{
    double most = narrowest_channel(t, channel, count);
    (void)value;
    for (size_t k = 0; k < count; k++)
        if (counts(t, channel, count, k, most))
            t->from[channel[k] + 2]++;
}

static void keep_narrowest(struct tree *t, double value, const uint32_t *channel, size_t count)
{
    double most = narrowest_channel(t, channel, count);
    for (size_t k = 0; k < count; k++)
        if (counts(t, channel, count, k, most))
            t->value[t->from[channel[k] + 1]++] = (float)value;
}

static int visit_pairs(struct tree *t, const struct nt_matrix *m, visit each, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *channel = nt_arena_array(&memory, 2 * t->vertices + 1, sizeof *channel);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t i = 0; i < m->n; i++) {
        for (uint32_t j = 0; j < m->n; j++) {
            double value = i == j ? (double)NAN : measured_rate(m, i, j);
            size_t count = isnan(value) ? 0 : tree_path(t, i, j, channel);
            if (count > 0)
                each(t, value, channel, count);
        }
    }
    return 0;
}

struct rate {
    double MBps, se_MBps;
    bool bound; /* only a lower bound */
    uint32_t pairs;
};

/* The median of the pairs, and its standard error (a median of normal values has 1.57 times the
 * variance of a mean); noise is from all channels, of a few values it would be chance. */
static struct rate settle_channel(struct tree *t, size_t channel)
{
    size_t from = channel == 0 ? 0 : t->from[channel], n = t->from[channel + 1] - from;
    struct rate rate = {t->most[channel], (double)NAN, n == 0, (uint32_t)n};
    if (n == 0)
        return rate;
    qsort(t->value + from, n, sizeof *t->value, nt_compare_floats);
    rate.MBps = (double)t->value[from + n / 2];
    rate.se_MBps = rate.MBps * t->noise * sqrt(n > 2 ? MEDIAN_VARIANCE / (double)n : 1 / (double)n);
    return rate;
}

static void set_bandwidths(struct tree *t, struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        struct rate up = settle_channel(t, 2 * k), down = settle_channel(t, 2 * k + 1);
        bool a_below = t->bfs.up[l->a] == k; /* up is the direction from a to b */
        struct rate forth = a_below ? up : down, back = a_below ? down : up;
        l->bandwidth_MBps = forth.MBps;
        l->bandwidth_se_MBps = forth.se_MBps;
        l->bandwidth_back_MBps = back.MBps;
        l->bandwidth_back_se_MBps = back.se_MBps;
        l->pairs = forth.pairs;
        l->back_pairs = back.pairs;
        bool known = !isnan(forth.MBps) && !isnan(back.MBps);
        l->at_least = known && forth.bound && back.bound;
        l->forth_at_least = !isnan(forth.MBps) && forth.bound && !l->at_least;
        l->back_at_least = !isnan(back.MBps) && back.bound && !l->at_least;
    }
}

/* The maximum of n normal values exceeds their mean by about this number of sd (G. Blom, 1958). */
static double largest_of(size_t n)
{
    return n < 2 ? 0 : nt_normal_quantile(((double)n - 0.375) / ((double)n + 0.25));
}

/* Collects the values of pairs for the channels that are their narrowest. */
static int collect_narrowest(struct tree *t, const struct nt_matrix *bandwidth, size_t channels,
                             struct nt_arena *memory, struct nt_err *err)
{
    memset(t->from, 0, (channels + 2) * sizeof *t->from);
    for (size_t k = 0; k < channels; k++) {
        t->most[k] = NAN;
        t->pairs[k] = 0;
    }
    if (visit_pairs(t, bandwidth, note_most, err) != 0)
        return -1;
    for (size_t k = 0; k < channels; k++)
        t->most[k] /= 1 + t->noise * largest_of(t->pairs[k]);
    if (visit_pairs(t, bandwidth, count_narrowest, err) != 0)
        return -1;
    for (size_t k = 2; k < channels + 2; k++)
        t->from[k] += t->from[k - 1];
    t->value = nt_arena_array(memory, t->from[channels + 1] + 1, sizeof *t->value);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    return visit_pairs(t, bandwidth, keep_narrowest, err);
}

/* By how much pairs of one narrowest channel differ: the median of the channels with enough. */
static int find_noise(struct tree *t, size_t channels, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = 0, most = t->from[channels + 1] + 1;
    float *noise = nt_arena_array(&memory, channels + 1, sizeof *noise);
    float *copy = nt_arena_array(&memory, most, sizeof *copy);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < channels; k++) {
        size_t from = k == 0 ? 0 : t->from[k], count = t->from[k + 1] - from;
        if (count < SPREAD_MIN)
            continue;
        memcpy(copy, t->value + from, count * sizeof *copy);
        float middle = nt_stats_median(copy, count);
        noise[n++] = nt_stats_mad(copy, count) / middle;
    }
    t->noise = n == 0 ? 0 : fmin(NOISE_MOST, (double)nt_stats_median(noise, n));
    return 0;
}

int nt_link_bandwidth(struct nt_model *model, const struct nt_matrix *bandwidth, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0}, first = {0};
    struct tree t;
    size_t channels = 2 * model->links;
    if (tree_init(&t, model, &memory, err) != 0)
        return -1;
    int rc = root_trees(&t, model, &memory, err);
    if (rc <= 0)
        return rc;
    if (collect_narrowest(&t, bandwidth, channels, &first, err) != 0 ||
        find_noise(&t, channels, err) != 0 ||
        collect_narrowest(&t, bandwidth, channels, &memory, err) != 0)
        return -1;
    set_bandwidths(&t, model);
    return 1;
}

size_t nt_link_bandwidth_bound(struct nt_model *model, bool hosts)
{
    size_t bound = 0;
    for (size_t k = 0; k < model->links; k++) {
        struct nt_link *l = &model->link[k];
        if ((!hosts && (l->a < model->hosts || l->b < model->hosts)) || isnan(l->bandwidth_MBps))
            continue;
        l->at_least = true;
        l->forth_at_least = l->back_at_least = false;
        bound++;
    }
    return bound;
}
