/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"
#include "rooted_tree.h"
#include "stats.h"

/* Another link that explains this share of the effect of one may be the cause, and an effect in
 * this share of the pairs is in all: the others, as many as may be false (NT_FAULT_CONFIDENCE), may
 * be disturbed. */
#define CLEARLY NT_FAULT_CONFIDENCE
/* One in two links that are slow for other reasons is slow in one direction only: its odds are 50
 * times the odds of any link, so this corresponds to 0.9. */
#define WAY_CONFIDENCE 0.15
enum { PAIRS_MAX = 1 << 18, LINKS_MAX = 16, CROSSING_MIN = 3 };

struct pair {
    uint32_t a, b;
    double off_us; /* a to b less b to a, as far as no link explains it yet */
};

struct search {
    const struct nt_model *model; /* a tree */
    /* Hosts: their link in a network with cycles, of which model is a star; NT_NO_LINK: they have
     * several. NULL: model is it. */
    const uint32_t *own;
    const struct nt_model *real; /* that network, or model */
    struct nt_rooted_tree *rooted;
    struct pair *pair;
    size_t pairs;
    size_t *first;     /* links + 1: pairs across link k are across[first[k]..first[k + 1]) */
    uint32_t *across;  /* a pair, in its highest bit whether it crosses from b to a */
    double *own_us;    /* per link: excess of a to b over b to a, */
    double *sum_us;    /*   and by how much that lessens the sum of differences */
    bool *judged;      /* links */
    float *others;     /* links: scratch */
    uint32_t *channel; /* room for a path */
    float *value;      /* scratch: pairs */
};

enum { BACK = 1u << 31 };

static bool is_usable(float v)
{
    return v > 0 && isfinite(v);
}

static void list_pairs(struct search *s, const struct nt_matrix *m)
{
    size_t all = m->n * (m->n - 1) / 2, stride = all / PAIRS_MAX + 1, k = 0;
    for (uint32_t a = 1; a < m->n; a++)
        for (uint32_t b = 0; b < a; b++) {
            float there = nt_matrix_get(m, a, b), back = nt_matrix_get(m, b, a);
            if (k++ % stride == 0 && is_usable(there) && is_usable(back))
                s->pair[s->pairs++] = (struct pair){a, b, (double)there - (double)back};
        }
}

/* Counts, then fills: each link its pairs. */
static int list_across(struct search *s, struct nt_arena *memory, struct nt_err *err)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t p = 0; p < s->pairs; p++) {
            size_t hops = nt_rooted_tree_path(s->rooted, s->pair[p].a, s->pair[p].b, s->channel);
            for (size_t k = 0; k < hops; k++) {
                uint32_t link = s->channel[k] / 2;
                if (pass == 0)
                    s->first[link + 1]++;
                else
                    s->across[s->first[link]++] = (uint32_t)p | (s->channel[k] % 2 ? BACK : 0);
            }
        }
        for (size_t k = 0; k < s->model->links && pass == 0; k++)
            s->first[k + 1] += s->first[k];
        if (pass == 0)
            s->across = nt_arena_array(memory, s->first[s->model->links] + 1, sizeof *s->across);
        if (nt_arena_check(memory, err) != 0)
            return -1;
    }
    for (size_t k = s->model->links; k > 0; k--)
        s->first[k] = s->first[k - 1];
    s->first[0] = 0;
    return 0;
}

static double signed_offset(const struct search *s, size_t at)
{
    double off = s->pair[s->across[at] & ~BACK].off_us;
    return (s->across[at] & BACK) != 0 ? -off : off;
}

static double median_across(struct search *s, size_t link)
{
    size_t n = 0;
    for (size_t k = s->first[link]; k < s->first[link + 1]; k++)
        s->value[n++] = (float)signed_offset(s, k);
    return n < CROSSING_MIN ? 0 : (double)nt_stats_median(s->value, n);
}

/* By how much the sum of absolute differences falls. */
static double explains(const struct search *s, size_t link, double us)
{
    double sum = 0;
    for (size_t k = s->first[link]; k < s->first[link + 1]; k++)
        sum += fabs(signed_offset(s, k)) - fabs(signed_offset(s, k) - us);
    return sum;
}

static void measure_links(struct search *s)
{
    for (size_t k = 0; k < s->model->links; k++) {
        s->own_us[k] = median_across(s, k);
        s->sum_us[k] = explains(s, k, s->own_us[k]);
    }
}

/* The link that explains most among those not judged yet; links: none does. */
static size_t find_link(const struct search *s)
{
    size_t links = s->model->links, best = links;
    for (size_t k = 0; k < links; k++)
        if (!s->judged[k] && s->sum_us[k] > (best < links ? s->sum_us[best] : 0))
            best = k;
    return best;
}

static void subtract_effect(struct search *s, size_t link, double us)
{
    for (size_t k = s->first[link]; k < s->first[link + 1]; k++)
        s->pair[s->across[k] & ~BACK].off_us -= (s->across[k] & BACK) != 0 ? -us : us;
}

/* Confidence that the directions of the link differ by more than the directions of others, after
 * its effect is subtracted. */
static double confidence_of(struct search *s, size_t link)
{
    size_t n = 0, links = s->model->links;
    const struct nt_link *l = s->model->link;
    double us = l[link].latency_us;
    for (size_t k = 0; k < links; k++)
        s->others[k] = (float)(median_across(s, k) / l[k].latency_us);
    for (size_t k = 0; k < links; k++)
        if (k != link && l[k].latency_us > 0)
            s->value[n++] = s->others[k];
    if (n < 2)
        return 0;
    double mad = (double)nt_stats_mad(s->value, n), worth = NT_MAD_EFFICIENCY * (double)n;
    /* standard error of a median over that of a mean: sqrt(pi / 2) */
    const double MEDIAN_ERROR = 1.25;
    n = 0;
    for (size_t k = s->first[link]; k < s->first[link + 1]; k++)
        s->value[n++] = (float)signed_offset(s, k);
    double spread = (double)nt_stats_mad(s->value, n); /* of few pairs: by chance hardly any, */
    for (size_t k = 0; k < s->pairs; k++)              /*   so that all pairs' is the least */
        s->value[k] = (float)s->pair[k].off_us;
    spread = fmax(spread, (double)nt_stats_mad(s->value, s->pairs));
    double se = MEDIAN_ERROR * spread / sqrt((double)n) / us;
    double prior = NT_FAULT_PRIOR_MEMBERS;
    double all = (prior * NT_FAULT_PRIOR_SPREAD * NT_FAULT_PRIOR_SPREAD + worth * mad * mad) /
                 (prior + worth);
    return nt_fault_probability(log1p(fabs(s->own_us[link]) / us), sqrt(all + se * se),
                                prior + worth);
}

static struct nt_fault_part part_of(const struct search *s, size_t link)
{
    uint32_t host = (uint32_t)link;
    if (s->own == NULL)
        return nt_fault_part_of(s->model, link, NT_FAULT_LINK_SLOW);
    return s->own[host] != NT_NO_LINK ? nt_fault_part_of(s->real, s->own[host], NT_FAULT_LINK_SLOW)
                                      : (struct nt_fault_part){NT_FAULT_HOST_SLOW, host, host};
}

static void add_fault(struct search *s, size_t link, double confidence, struct nt_fault *fault,
                      size_t *count)
{
    struct nt_fault_part part = part_of(s, link);
    double off = s->own_us[link], us = s->model->link[link].latency_us;
    bool forth = (off > 0) == (part.a == s->model->link[link].a);
    enum nt_fault_way way = forth ? NT_FAULT_UP : NT_FAULT_DOWN;
    for (size_t k = 0; k < *count; k++)
        if (fault[k].part.kind == part.kind && fault[k].part.a == part.a &&
            fault[k].part.b == part.b) {
            fault[k].way = way;
            fault[k].found = fmax(fault[k].found, fault[k].expected + fabs(off));
            return;
        }
    if (confidence < NT_FAULT_CONFIDENCE)
        return;
    size_t at = *count;
    for (; at > 0 && fault[at - 1].part.kind > part.kind; at--)
        fault[at] = fault[at - 1];
    ++*count;
    fault[at] = (struct nt_fault){.part = part,
                                  .found = us + fabs(off),
                                  .expected = us,
                                  .confidence = confidence,
                                  .way = way};
    if (part.kind == NT_FAULT_LINK_SLOW && part.a < s->model->hosts)
        fault[at].other[fault[at].others++] =
            (struct nt_fault_part){NT_FAULT_HOST_SLOW, part.a, part.a};
}

/* Whether another link explains as much as this one, and explains nothing more once this one is
 * subtracted. */
static bool is_ambiguous(struct search *s, size_t link)
{
    for (size_t k = 0; k < s->model->links; k++)
        if (k != link && s->sum_us[k] > CLEARLY * s->sum_us[link] &&
            explains(s, k, median_across(s, k)) < s->sum_us[k] / 2)
            return true;
    return false;
}

/* In a network with cycles, whose paths are not used: a host's own link affects all its pairs,
 * another link the pairs across it. */
static bool is_in_all(const struct search *s, size_t link)
{
    size_t n = s->first[link + 1] - s->first[link], so = 0;
    for (size_t k = s->first[link]; k < s->first[link + 1]; k++)
        so += signed_offset(s, k) / s->own_us[link] > 0.5; /* nearer to the link's than to none */
    return (double)so >= CLEARLY * (double)n;
}

static void find_links(struct search *s, struct nt_fault *fault, size_t *count)
{
    measure_links(s);
    for (int k = 0; k < LINKS_MAX && *count < NT_FAULTS_MAX; k++) {
        size_t link = find_link(s);
        if (link == s->model->links)
            return;
        double us = s->model->link[link].latency_us;
        s->judged[link] = true;
        if (!(us > 0) || fabs(s->own_us[link]) < (NT_FAULT_SLOWER - 1) * us ||
            (s->own != NULL && !is_in_all(s, link)))
            continue;
        subtract_effect(s, link, s->own_us[link]);
        double confidence = confidence_of(s, link);
        if (confidence < WAY_CONFIDENCE) {
            subtract_effect(s, link, -s->own_us[link]);
            continue;
        }
        if (!is_ambiguous(s, link))
            add_fault(s, link, confidence, fault, count);
        measure_links(s);
    }
}

static int search(struct search *s, const struct nt_matrix *latency, struct nt_fault *fault,
                  size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *model = s->model;
    size_t all = latency->n * (latency->n - 1) / 2, most = all < PAIRS_MAX ? all : PAIRS_MAX;
    s->pair = nt_arena_array(&memory, most + 1, sizeof *s->pair);
    s->first = nt_arena_array(&memory, model->links + 2, sizeof *s->first);
    s->own_us = nt_arena_array(&memory, model->links + 1, sizeof *s->own_us);
    s->sum_us = nt_arena_array(&memory, model->links + 1, sizeof *s->sum_us);
    s->others = nt_arena_array(&memory, model->links + 1, sizeof *s->others);
    s->judged = nt_arena_array(&memory, model->links + 1, sizeof *s->judged);
    s->channel = nt_arena_array(&memory, nt_rooted_tree_room(s->rooted), sizeof *s->channel);
    s->value = nt_arena_array(&memory, most + model->links + 1, sizeof *s->value);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    list_pairs(s, latency);
    if (list_across(s, &memory, err) != 0)
        return -1;
    find_links(s, fault, count);
    return 0;
}

/* Makes a star of the hosts of a network with cycles around one switch, with link k for host k: as
 * long as its own link, else as its overhead, else as the shortest of its links. */
static int make_star(const struct nt_model *m, const struct nt_graph *g, uint32_t *own,
                     struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(m->hosts, 1, m->hosts, out, err) != 0)
        return -1;
    for (uint32_t h = 0; h < m->hosts; h++) {
        uint32_t at = g->start[h];
        bool leaf = nt_graph_degree(g, h) == 1 && g->to[at] >= m->hosts;
        own[h] = leaf ? g->link[at] : NT_NO_LINK;
        (*out)->link[h] = (struct nt_link){.a = h, .b = (uint32_t)m->hosts, .latency_us = INFINITY};
    }
    for (size_t k = 0; k < m->links; k++)
        for (int e = 0; e < 2; e++) {
            uint32_t h = e == 0 ? m->link[k].a : m->link[k].b;
            if (h >= m->hosts)
                continue;
            double *us = &(*out)->link[h].latency_us;
            *us = fmin(*us, m->link[k].latency_us);
        }
    for (uint32_t h = 0; h < m->hosts; h++)
        if (own[h] == NT_NO_LINK && m->overhead_us[h] > 0)
            (*out)->link[h].latency_us = m->overhead_us[h];
    return 0;
}

static int search_star(const struct nt_model *model, const struct nt_graph *graph,
                       const struct nt_matrix *latency, struct nt_fault *fault, size_t *count,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *own = nt_arena_array(&memory, model->hosts, sizeof *own);
    struct search s = {.real = model, .own = own};
    struct nt_model *star;
    if (nt_arena_check(&memory, err) != 0 || make_star(model, graph, own, &star, err) != 0)
        return -1;
    s.model = star;
    int rc = nt_rooted_tree_create(star, &s.rooted, err);
    if (rc == 0)
        rc = search(&s, latency, fault, count, err);
    nt_rooted_tree_destroy(s.rooted);
    nt_model_destroy(star);
    return rc;
}

int nt_one_way_slow_find(const struct nt_model *model, const struct nt_matrix *latency,
                         struct nt_fault *fault, size_t *count, struct nt_err *err)
{
    struct search s = {.model = model, .real = model};
    if (model->links == 0 || latency->n != model->hosts || latency->n < 3)
        return 0;
    if (nt_rooted_tree_create(model, &s.rooted, err) != 0)
        return -1;
    int rc = s.rooted->tree ? search(&s, latency, fault, count, err)
                            : search_star(model, &s.rooted->graph, latency, fault, count, err);
    nt_rooted_tree_destroy(s.rooted);
    return rc;
}
