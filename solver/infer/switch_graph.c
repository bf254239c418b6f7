/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of switches against the best hierarchy: the hosts of a leaf are one vertex, or each host
 * is one. The search among graphs is direct.h; what decides is the score (graph_score.h). */
#include <stdlib.h>
#include <string.h>

#include "confidence.h"
#include "direct.h"
#include "graph_score.h"
#include "memory.h"
#include "merges.h"
#include "stats.h"
#include "tiers_model.h"

enum {
    FEW_UNITS = 8, /* for which the search among graphs has too few readings */
    CUTS = 3,      /* of the linkage of all hosts, at its widest gaps */
    CANDIDATES = CUTS + 2
};

struct units {
    uint32_t *of; /* hosts of the input; UINT32_MAX: without readings */
    uint32_t count;
    double *end_us; /* hosts of the input: link to the leaf, less the unit's mean */
};

struct candidate {
    struct units units;
    struct nt_work readings; /* between the units */
    struct nt_direct graph;
    double score; /* ln p(readings, graph); -INFINITY: there is none */
};

static int centre_ends(struct units *u, size_t hosts, struct nt_arena *memory, struct nt_err *err)
{
    double *sum = nt_arena_array(memory, u->count + 1, sizeof *sum);
    double *count = nt_arena_array(memory, u->count + 1, sizeof *count);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t h = 0; h < hosts; h++)
        if (u->of[h] != UINT32_MAX) {
            sum[u->of[h]] += u->end_us[h];
            count[u->of[h]]++;
        }
    for (size_t h = 0; h < hosts; h++)
        if (u->of[h] != UINT32_MAX)
            u->end_us[h] -= sum[u->of[h]] / count[u->of[h]];
    return 0;
}

/* The leaf of each host: a switch with one link to another is one unit. own: each host is one. */
static int find_units(const struct nt_model *m, bool own, struct nt_arena *memory, struct units *u,
                      struct nt_err *err)
{
    uint32_t *links = nt_arena_array(memory, m->switches + 1, sizeof *links);
    uint32_t *number = nt_arena_array(memory, m->switches + 1, sizeof *number);
    u->of = nt_arena_array(memory, m->hosts + 1, sizeof *u->of);
    u->end_us = nt_arena_array(memory, m->hosts + 1, sizeof *u->end_us);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    memset(u->of, 0xff, m->hosts * sizeof *u->of);
    memset(number, 0xff, m->switches * sizeof *number);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts) {
            links[m->link[k].a - m->hosts]++;
            links[m->link[k].b - m->hosts]++;
        }
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < l->b ? l->a : l->b, at = l->a < l->b ? l->b : l->a;
        if (host >= m->hosts)
            continue;
        at -= (uint32_t)m->hosts;
        u->end_us[host] = l->latency_us;
        bool leaf = !own && links[at] == 1;
        if (leaf && number[at] == UINT32_MAX)
            number[at] = u->count++;
        u->of[host] = leaf ? number[at] : u->count++;
    }
    return centre_ends(u, m->hosts, memory, err);
}

/* Ends of the hosts of a unit differ as their mean readings to all other units do. */
static void ends_by_readings(const struct nt_work *w, struct units *u)
{
    for (size_t i = 0; i < w->n; i++) {
        double sum = 0, count = 0;
        for (size_t j = 0; j < w->n; j++) {
            float v = w->d[i * w->n + j];
            bool other = u->of[w->host[i]] != u->of[w->host[j]] && v == v;
            sum += other ? (double)v : 0;
            count += other;
        }
        u->end_us[w->host[i]] = count > 0 ? sum / count : 0;
    }
}

/* The clusters of a linkage after some merges. */
static int cut_units(const struct nt_work *w, size_t hosts, const struct nt_merge *merge,
                     size_t merges, struct nt_arena *memory, struct units *u, struct nt_err *err)
{
    uint32_t *group = nt_arena_array(memory, w->n, sizeof *group);
    uint32_t *number = nt_arena_array(memory, w->n, sizeof *number);
    u->of = nt_arena_array(memory, hosts + 1, sizeof *u->of);
    u->end_us = nt_arena_array(memory, hosts + 1, sizeof *u->end_us);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    nt_merges_cut(merge, merges, (uint32_t)w->n, group);
    memset(u->of, 0xff, hosts * sizeof *u->of);
    memset(number, 0xff, w->n * sizeof *number);
    for (size_t i = 0; i < w->n; i++) {
        if (number[group[i]] == UINT32_MAX)
            number[group[i]] = u->count++;
        u->of[w->host[i]] = number[group[i]];
    }
    ends_by_readings(w, u);
    return centre_ends(u, hosts, memory, err);
}

/* Units at the widest gaps of the hosts' linkage: between hosts of one switch and all others. */
static int find_cuts(const struct nt_work *w, size_t hosts, struct candidate *c,
                     struct nt_arena *memory, struct nt_err *err)
{
    size_t n = w->n, after[CUTS] = {0};
    double gap[CUTS] = {0};
    float *sum = nt_arena_array(memory, n * n, sizeof *sum);
    float *count = nt_arena_array(memory, n * n, sizeof *count);
    struct nt_merge *merge = nt_arena_array(memory, n, sizeof *merge);
    uint32_t *room = nt_arena_array(memory, n, sizeof *room);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t p = 0; p < n * n; p++) {
        count[p] = w->d[p] == w->d[p] ? 1 : 0;
        sum[p] = w->d[p] == w->d[p] ? w->d[p] : 0;
    }
    size_t merges = nt_merges_find((uint32_t)n, sum, count, NULL, merge, room);
    for (size_t k = 1; k < merges && n - k > 3; k++) { /* four units and more */
        double own = merge[k].height - merge[k - 1].height;
        size_t at = CUTS;
        for (; at > 0 && own > gap[at - 1]; at--)
            if (at < CUTS) {
                gap[at] = gap[at - 1];
                after[at] = after[at - 1];
            }
        if (at < CUTS) {
            gap[at] = own;
            after[at] = k;
        }
    }
    int status = 0;
    for (size_t k = 0; k < CUTS && status == 0; k++)
        if (after[k] > 0)
            status = cut_units(w, hosts, merge, after[k], memory, &c[k].units, err);
    return status;
}

/* Mean readings between units. */
static int sum_readings(const struct nt_work *w, struct candidate *c, struct nt_arena *memory,
                        struct nt_err *err)
{
    const struct units *u = &c->units;
    size_t n = u->count;
    struct nt_work *q = &c->readings;
    *q = (struct nt_work){.n = n, .noise = w->noise, .rng = w->rng};
    q->host = nt_arena_array(memory, n + 1, sizeof *q->host);
    q->d = nt_arena_array(memory, n * n + 1, sizeof *q->d);
    q->offset = nt_arena_array(memory, n + 1, sizeof *q->offset);
    uint32_t *count = nt_arena_array(memory, n * n + 1, sizeof *count);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            uint32_t a = w->host[i], b = w->host[j];
            float v = w->d[i * w->n + j];
            if (v != v || u->of[a] == u->of[b])
                continue;
            size_t at = (size_t)u->of[a] * n + u->of[b];
            if (u->of[a] < u->of[b])
                at = (size_t)u->of[b] * n + u->of[a];
            q->d[at] += v - (float)(u->end_us[a] + u->end_us[b]);
            count[at]++;
        }
    for (size_t a = 0; a < n; a++) {
        q->host[a] = (uint32_t)a;
        q->d[a * n + a] = NAN;
        for (size_t b = 0; b < a; b++) {
            size_t at = a * n + b;
            q->d[at] = count[at] > 0 ? q->d[at] / (float)count[at] : NAN;
            q->d[b * n + a] = q->d[at];
            q->pairs += count[at] > 0;
        }
    }
    q->holes = 2 * q->pairs != n * (n - 1);
    return 0;
}

/* Takes the graph if it scores better than the candidate's; else frees it. */
static int consider(struct candidate *c, struct nt_direct *d,
                    const struct nt_tiers_readings *readings, struct nt_err *err)
{
    struct nt_switch_graph g = {.hosts = readings->hosts,
                                .units = c->units.count,
                                .unit = c->units.of,
                                .hops = d->hops,
                                .link_us = d->hop,
                                .links = d->links,
                                .regular = d->regular};
    double score = -(double)INFINITY;
    int status = 0;
    if (isfinite(d->hop) && d->hop > 0)
        status = nt_graph_score(&g, readings->value, readings->count, &score, err);
    if (status == 0 && score > c->score) {
        struct nt_direct swap = c->graph;
        c->graph = *d;
        *d = swap;
        c->score = score;
    }
    nt_direct_fini(d);
    return status;
}

/* The graph of all pairs of units up to a reading. d->hop: NaN if it does not connect them. */
static int near_graph(const struct nt_work *q, float cut, struct nt_direct *d, struct nt_err *err)
{
    size_t n = q->n;
    float values[FEW_UNITS * 9];
    uint32_t queue[FEW_UNITS], neighbour[FEW_UNITS * FEW_UNITS];
    size_t start[FEW_UNITS + 1];
    if (nt_direct_init(d, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            d->linked[i * n + j] = i != j && q->d[i * n + j] <= cut;
            d->links += j < i && d->linked[i * n + j];
        }
    d->hop = NAN;
    if (!nt_direct_count_hops(d, queue, neighbour, start))
        return 0;
    nt_direct_fit(q, d, values);
    struct nt_model *named;
    if (nt_model_create(n, 0, 0, &named, err) < 0) {
        nt_direct_fini(d);
        return -1;
    }
    int status = nt_direct_family(d, named, err);
    d->regular = status == 0 && named->family != NT_FAMILY_IRREGULAR;
    nt_model_destroy(named);
    return status;
}

/* Few units: the graphs of all pairs up to each reading. */
static int find_near_graphs(const struct nt_tiers_readings *readings, struct candidate *c,
                            struct nt_err *err)
{
    const struct nt_work *q = &c->readings;
    int status = 0;
    for (size_t i = 1; i < q->n && status == 0; i++)
        for (size_t j = 0; j < i && status == 0; j++) {
            struct nt_direct d;
            float cut = q->d[i * q->n + j];
            if (cut == cut)
                status = near_graph(q, cut, &d, err);
            if (cut == cut && status == 0)
                status = consider(c, &d, readings, err);
        }
    return status;
}

/* The best graph of the units, and its score. */
static int find_graph(const struct nt_work *w, const struct nt_tiers_readings *readings,
                      struct nt_direct_effort *effort, struct candidate *c, struct nt_arena *memory,
                      struct nt_err *err)
{
    const struct units *u = &c->units;
    struct nt_direct d;
    c->score = -(double)INFINITY;
    if (u->count < 4 || u->count > NT_DIRECT_HOSTS_MAX)
        return 0;
    if (sum_readings(w, c, memory, err) < 0 ||
        (u->count <= FEW_UNITS && find_near_graphs(readings, c, err) < 0) ||
        nt_direct_find(&c->readings, INFINITY, effort, &d, err) < 0)
        return -1;
    if (isfinite(d.score))
        return consider(c, &d, readings, err);
    nt_direct_fini(&d);
    return 0;
}

/* What the fit leaves over. */
static int fit_quality(const struct nt_work *w, struct nt_model *m, struct nt_err *err)
{
    struct nt_matrix *p;
    double sum = 0, square = 0, rest = 0, fits = 0, left = 0, count = (double)w->pairs;
    /* one in a hundred networks of good pairs has such a one (nt_links_quality) */
    double off = -nt_normal_quantile(0.005 / (count > 1 ? count : 1));
    if (nt_model_latencies(m, &p, err) < 0)
        return -1;
    free(m->pair_off);
    m->pair_off = malloc((w->n * 16 + 1) * sizeof *m->pair_off);
    for (size_t i = 1; i < w->n && m->pair_off != NULL; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double modelled = (double)nt_matrix_get(p, w->host[i], w->host[j]), r = v - modelled;
            if (v != v)
                continue;
            sum += v;
            square += v * v;
            rest += r * r;
            if (fabs(r) > off * nt_noise_sd(&w->noise, modelled) && m->pairs_off < w->n * 16) {
                m->pair_off[m->pairs_off][0] = w->host[i];
                m->pair_off[m->pairs_off++][1] = w->host[j];
            } else {
                left += r * r;
                fits++;
            }
        }
    nt_matrix_destroy(p);
    if (m->pair_off == NULL)
        return nt_err_memory(err);
    double spread = square - sum * sum / count;
    m->rms_us = sqrt(left / fmax(fits, 1));
    m->r2 = spread > 1e-9 * square ? 1 - rest / spread : (double)NAN;
    return 0;
}

/* Adds the hosts to the model of the units. */
static int attach_hosts(const struct nt_work *w, const struct candidate *c,
                        const struct nt_model *units, size_t hosts, struct nt_model **out,
                        struct nt_err *err)
{
    const struct nt_direct *d = &c->graph;
    const struct units *u = &c->units;
    struct nt_model *m;
    size_t k = 0;
    if (nt_model_create(hosts, u->count, w->n + units->links, &m, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t h = w->host[i], a = u->of[h];
        double us = 0.5 * d->base + (double)d->offset[a] + u->end_us[h];
        m->link[k].a = h;
        m->link[k].b = (uint32_t)hosts + a;
        m->link[k++].latency_us = fmax(us, 1e-6);
    }
    for (size_t l = 0; l < units->links; l++, k++) {
        m->link[k] = units->link[l];
        m->link[k].a += (uint32_t)hosts;
        m->link[k].b += (uint32_t)hosts;
    }
    bool line = units->links + 1 == u->count; /* without a cycle: a tree */
    m->family = line ? NT_FAMILY_TREE : units->family;
    m->dimensions = line ? 0 : units->dimensions;
    memcpy(m->dimension, units->dimension, sizeof m->dimension);
    m->twist = units->twist;
    m->confidence = units->confidence;
    m->resolution_us = units->resolution_us;
    *out = m;
    return 0;
}

static int graph_model(const struct nt_work *w, const struct candidate *c, size_t hosts,
                       struct nt_model **out, struct nt_err *err)
{
    struct nt_model *units;
    if (c->units.count == w->n)
        return nt_direct_model(w, &c->graph, hosts, out, err);
    if (nt_direct_model(&c->readings, &c->graph, c->units.count, &units, err) < 0)
        return -1;
    int status = attach_hosts(w, c, units, hosts, out, err);
    nt_model_destroy(units);
    if (status == 0)
        status = fit_quality(w, *out, err);
    return status;
}

/* Whether a graph is worth the time that it takes to look for one: the tree is less likely than
 * not, or a direct network is worth it. */
static int is_plausible(const struct nt_work *w, const struct nt_model *m, bool *plausible,
                        struct nt_err *err)
{
    double misfit;
    struct nt_matrix *p;
    if (nt_model_latencies(m, &p, err) < 0)
        return -1;
    int status = nt_misfit(w, p, &misfit, err);
    nt_matrix_destroy(p);
    *plausible = status == 0 && (m->confidence < 0.5 || nt_direct_is_plausible(w, m, misfit));
    return status;
}

int nt_switch_graph_judge(const struct nt_work *w, const struct nt_tiers_readings *readings,
                          double evidence, struct nt_model **model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_direct_effort effort = {.most = NT_DIRECT_STEPS_MAX};
    struct candidate c[CANDIDATES] = {0};
    bool plausible;
    if (w->n < 4)
        return 0;
    int status = is_plausible(w, *model, &plausible, err);
    if (status == 0 && plausible) { /* hosts, leaves of the tree, and clusters */
        if (find_units(*model, true, &memory, &c[0].units, err) < 0 ||
            find_units(*model, false, &memory, &c[1].units, err) < 0 ||
            find_cuts(w, (*model)->hosts, c + 2, &memory, err) < 0)
            return -1;
    }
    const struct candidate *best = &c[0];
    for (size_t k = 0; k < CANDIDATES; k++) {
        bool seen = c[k].units.count == 0;
        c[k].score = -(double)INFINITY;
        for (size_t l = 0; l < k && !seen; l++)
            seen =
                c[k].units.count == c[l].units.count &&
                memcmp(c[k].units.of, c[l].units.of, readings->hosts * sizeof *c[k].units.of) == 0;
        if (status == 0 && !seen)
            status = find_graph(w, readings, &effort, &c[k], &memory, err);
        best = c[k].score > best->score ? &c[k] : best;
    }
    double odds = exp(fmin(best->score - evidence, 500));
    if (status == 0 && odds > 1) {
        struct nt_model *graph = NULL;
        status = graph_model(w, best, (*model)->hosts, &graph, err);
        if (status == 0) {
            graph->confidence *= odds / (1 + odds);
            for (size_t k = 0; k < graph->links; k++)
                if (graph->link[k].a >= graph->hosts && graph->link[k].b >= graph->hosts)
                    graph->link[k].probability = graph->confidence;
            nt_model_destroy(*model);
            *model = graph;
        }
    } else if (status == 0) {
        (*model)->confidence /= 1 + odds;
    }
    for (size_t k = 0; k < CANDIDATES; k++)
        nt_direct_fini(&c[k].graph);
    return status;
}
