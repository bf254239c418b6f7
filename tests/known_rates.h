/* SPDX-License-Identifier: Apache-2.0 */
/* Trees with known bandwidths, and the bandwidth planner run against them: for tests and benches.
 */
#ifndef KNOWN_RATES_H
#define KNOWN_RATES_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "flow_links.h"
#include "flows.h"
#include "measure.h"
#include "network.h"
#include "rng.h"
#include "rooted_tree.h"

enum { RATES_TIERS_MAX = 4, RATES_ROUNDS_MAX = 512 };

struct rates_tree {
    unsigned tiers;                /* of links: 1 is a star */
    unsigned fan[RATES_TIERS_MAX]; /* from the top; the last: hosts a leaf */
    double over[RATES_TIERS_MAX];  /* [t]: oversubscription of the links at depth t + 1 */
    bool uneven;                   /* every other leaf has half of the hosts, same uplink */
    double host_MBps;
    /* how many directions of links are degraded, to 0.3..0.8 of their rate: */
    unsigned slow_hosts, slow_links;
    bool both_ways;   /* then both directions alike */
    double asymmetry; /* the way down of switch links against the way up; 0: alike */
};

static inline void rates_must(int rc, const struct nt_err *err)
{
    if (rc < 0) {
        fprintf(stderr, "known rates: %s\n", err->text);
        abort();
    }
}

struct rates_build {
    struct nt_model *m;
    const struct rates_tree *t;
    uint32_t host, vertex, link;
    unsigned leaf;
};

static inline double rates_grow(struct rates_build *b, unsigned depth, uint32_t self)
{
    double below = 0;
    unsigned n = b->t->fan[depth];
    bool leaf = depth + 1 == b->t->tiers;
    if (leaf && b->t->uneven && b->leaf++ % 2 == 1 && n > 3)
        n /= 2;
    for (unsigned k = 0; k < n; k++) {
        uint32_t child = leaf ? b->host++ : b->vertex++;
        double rate = b->t->host_MBps;
        if (!leaf) {
            double passes = rates_grow(b, depth + 1, child);
            double full = passes;
            if (b->t->uneven) { /* as wide as a full one's */
                full = b->t->host_MBps;
                for (unsigned d = depth + 1; d < b->t->tiers; d++)
                    full *= b->t->fan[d] / (d > depth + 1 ? b->t->over[d - 1] : 1);
            }
            rate = full / b->t->over[depth];
            below += fmin(passes, rate);
        } else {
            below += rate;
        }
        b->m->link[b->link++] = (struct nt_link){.a = child,
                                                 .b = self,
                                                 .latency_us = 1,
                                                 .bandwidth_MBps = rate,
                                                 .bandwidth_back_MBps = rate,
                                                 .probability = 1};
    }
    return below;
}

/* The tree as a measurement could find it; hosts in any order. degraded (may be NULL): links of
 * the result get true where one was made slower. */
static inline struct nt_network *rates_network(const struct rates_tree *t, uint64_t seed)
{
    struct nt_err err = {0};
    struct nt_rng rng;
    size_t switches = 1, width = 1;
    for (unsigned d = 0; d + 1 < t->tiers; d++)
        switches += width *= t->fan[d];
    struct nt_model *m;
    size_t hosts = width * t->fan[t->tiers - 1];
    if (t->uneven && t->fan[t->tiers - 1] > 3)
        hosts -= width / 2 * (t->fan[t->tiers - 1] - t->fan[t->tiers - 1] / 2);
    rates_must(nt_model_create(hosts, switches, hosts + switches - 1, &m, &err), &err);
    struct rates_build b = {.m = m, .t = t, .vertex = (uint32_t)hosts + 1};
    rates_grow(&b, 0, (uint32_t)hosts);
    if (b.host != hosts || b.link != m->links)
        abort();
    nt_rng_init(&rng, seed);
    uint32_t *deal = malloc((hosts + 1) * sizeof *deal);
    for (uint32_t k = 0; k < hosts; k++)
        deal[k] = k;
    nt_rng_shuffle(&rng, deal, hosts);
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a < hosts)
            m->link[k].a = deal[m->link[k].a];
        else if (t->asymmetry > 0)
            m->link[k].bandwidth_back_MBps *= t->asymmetry;
    }
    free(deal);
    for (unsigned k = 0; k < t->slow_hosts + t->slow_links; k++) {
        struct nt_link *l;
        do
            l = &m->link[nt_rng_below(&rng, m->links)];
        while ((l->a < hosts) != (k < t->slow_hosts) || l->suspect);
        double factor = 0.3 + 0.5 * nt_rng_uniform(&rng);
        bool back = nt_rng_uniform(&rng) < 0.5;
        l->suspect = true;
        if (back || t->both_ways)
            l->bandwidth_back_MBps *= factor;
        if (!back || t->both_ways)
            l->bandwidth_MBps *= factor;
    }
    struct nt_network *net;
    rates_must(nt_network_from_model(m, &net, &err), &err);
    nt_model_destroy(m);
    return net;
}

struct rates_run {
    struct nt_model *truth, *found;
    size_t rounds, flows, announced;
    /* given to rates_record: all flows of these rounds, first to last, get that share; 0: none */
    size_t disturbed_from, disturbed_to;
    double disturbed;
};

static inline void rates_run_fini(struct rates_run *run)
{
    nt_model_destroy(run->truth);
    nt_model_destroy(run->found);
}

/* The planner's rounds for the network believed, answered by net as a probe would find it. Returns
 * how many are kept; rates_forget frees them. */
static inline size_t rates_record(const struct nt_network *net, const struct nt_model *believed,
                                  const struct nt_bandwidth_options *options,
                                  const struct nt_measure_noise *noise, struct nt_flow_round *round,
                                  struct rates_run *run)
{
    struct nt_err err = {0};
    struct nt_planner *planner;
    struct nt_order order;
    struct nt_flow *flow = malloc((net->hosts + 1) * sizeof *flow);
    struct nt_result *result = malloc((net->hosts + 1) * sizeof *result);
    rates_must(nt_bandwidth_create(believed, NULL, options, &planner, &err), &err);
    run->announced = nt_bandwidth_rounds_left(planner);
    size_t kept = 0;
    int more;
    while ((more = planner->ops->next(planner, &order, &err)) > 0) {
        struct nt_measured_flow *seen = malloc((order.pairs + 1) * sizeof *seen);
        for (size_t k = 0; k < order.pairs; k++)
            flow[k] = (struct nt_flow){order.pair[k][0], order.pair[k][1], 0};
        rates_must(nt_flows_share(net, flow, order.pairs, &err), &err);
        for (size_t k = 0; k < order.pairs; k++) {
            double rate = flow[k].rate_MBps *
                          nt_measure_factor(noise, flow[k].from, flow[k].to, (uint32_t)run->rounds);
            if (run->rounds >= run->disturbed_from && run->rounds <= run->disturbed_to &&
                run->disturbed > 0)
                rate *= run->disturbed;
            seen[k] = (struct nt_measured_flow){flow[k].from, flow[k].to, rate};
            result[k] = (struct nt_result){.a = flow[k].from,
                                           .b = flow[k].to,
                                           .ok = true,
                                           .value_us = 1e6 * order.window_s,
                                           .bytes = rate * 1e6 * order.window_s};
        }
        rates_must(planner->ops->tell(planner, result, order.pairs, &err), &err);
        run->rounds++;
        run->flows += order.pairs;
        if (strcmp(order.phase, "warm-up") == 0 || kept == RATES_ROUNDS_MAX)
            free(seen);
        else
            round[kept++] = (struct nt_flow_round){order.pairs, seen};
    }
    rates_must(more, &err);
    nt_planner_destroy(planner);
    free(flow);
    free(result);
    return kept;
}

static inline void rates_forget(struct nt_flow_round *round, size_t kept)
{
    for (size_t k = 0; k < kept; k++)
        free((void *)(uintptr_t)round[k].flow);
}

/* Without the bandwidths that are to be found. */
static inline struct nt_model *rates_blank(const struct nt_model *model)
{
    struct nt_err err = {0};
    struct nt_model *blank;
    rates_must(nt_model_copy(model, &blank, &err), &err);
    for (size_t k = 0; k < blank->links; k++) {
        blank->link[k].bandwidth_MBps = blank->link[k].bandwidth_back_MBps = NAN;
        blank->link[k].suspect = false;
    }
    return blank;
}

/* Noise sd relative. */
static inline void rates_sweep_into(const struct nt_network *net,
                                    const struct nt_bandwidth_options *options, double sd,
                                    uint64_t seed, struct rates_run *run)
{
    struct nt_err err = {0};
    struct nt_measure_noise noise = {.sd = sd, .seed = seed};
    static struct nt_flow_round round[RATES_ROUNDS_MAX];
    rates_must(nt_network_truth(net, &run->truth, &err), &err);
    struct nt_model *blank = rates_blank(run->truth);
    size_t kept = rates_record(net, blank, options, &noise, round, run);
    rates_must(nt_infer_flows(blank, round, kept, &run->found, &err), &err);
    rates_forget(round, kept);
    nt_model_destroy(blank);
}

static inline struct rates_run rates_sweep(const struct nt_network *net,
                                           const struct nt_bandwidth_options *options, double sd,
                                           uint64_t seed)
{
    struct rates_run run = {0};
    rates_sweep_into(net, options, sd, seed, &run);
    return run;
}

/* How right a run is. Directions are counted, links only if stated. */
struct rates_verdict {
    size_t hosts, values, bounds;  /* directions of host links; of switch links */
    double host_sum, host_worst;   /* relative errors */
    double value_sum, value_worst; /* of switch links that are given as values */
    size_t wrong;                  /* of those, more than 6 % off */
    size_t false_bounds;           /* more than 3 % over the truth */
    size_t hidden;                 /* switch links that traffic could fill, left as bounds */
    size_t effective;              /* links */
    size_t slow, missed, invented; /* links: degraded; not named; named and not degraded */
    size_t ratios, ratios_wrong;   /* of switches; more than 10 % off, or not given */
    double ratio_worst;
};

static inline double rates_way(const struct nt_link *l, bool back)
{
    return back ? l->bandwidth_back_MBps : l->bandwidth_MBps;
}

/* What could come up from below each vertex (down: go down). sound: if no host were degraded; these
 * hosts were made alike. */
static inline void rates_demand(const struct nt_rooted_tree *h, const struct nt_model *m,
                                uint32_t down, bool sound, double *below)
{
    double widest = 0;
    memset(below, 0, h->vertices * sizeof *below);
    for (uint32_t c = 0; sound && c < h->hosts; c++)
        widest = fmax(widest, rates_way(&m->link[h->up[c] / 2], (h->up[c] ^ down) % 2));
    for (size_t k = h->reached; k-- > 1;) {
        uint32_t c = h->order[k], channel = h->up[c] ^ down;
        double rate = rates_way(&m->link[channel / 2], channel % 2);
        below[h->parent[c]] += c < h->hosts ? fmax(rate, widest) : fmin(rate, below[c]);
    }
}

static inline void rates_judge_link(const struct nt_link *is, const struct nt_link *was, bool host,
                                    double below, bool back, struct rates_verdict *v)
{
    double truth = rates_way(was, back), found = rates_way(is, back);
    double off = fabs(found / truth - 1);
    if (isnan(found)) {
        v->hidden++;
    } else if (host) {
        v->hosts++;
        v->host_sum += off;
        v->host_worst = fmax(v->host_worst, off);
    } else if (is->at_least || (back ? is->back_at_least : is->forth_at_least)) {
        v->bounds++;
        v->false_bounds += found > 1.03 * truth;
        v->hidden += truth < 0.9 * below;
    } else {
        v->values++;
        v->value_sum += off;
        v->value_worst = fmax(v->value_worst, off);
        v->wrong += off > 0.06;
    }
}

/* Links that have less, in a direction, than the widest of their depth: in these trees all links of
 * a depth were made equal. */
static inline void rates_find_slow(const struct rates_run *run, const struct nt_rooted_tree *h,
                                   bool *slow)
{
    for (uint32_t down = 0; down < 2; down++)
        for (size_t k = 1; k < h->reached; k++) {
            double most = 0, own = 0;
            uint32_t v = h->order[k];
            for (size_t j = 1; j < h->reached; j++) {
                uint32_t c = h->order[j], channel = h->up[c] ^ down;
                if ((c < h->hosts) != (v < h->hosts) ||
                    (c >= h->hosts &&
                     run->truth->tier[c - h->hosts] != run->truth->tier[v - h->hosts]))
                    continue;
                most = fmax(most, rates_way(&run->truth->link[channel / 2], channel % 2));
            }
            own = rates_way(&run->truth->link[h->up[v] / 2], (h->up[v] ^ down) % 2);
            slow[h->up[v] / 2] |= own < 0.95 * most;
        }
}

static inline double rates_ratio(const struct nt_link *l, bool back, double up, double down)
{
    return fmax(1, fmax(up / rates_way(l, back), down / rates_way(l, !back)));
}

/* Adds to *v. named: whether degraded links are to be named (needs more than two of a kind). */
static inline void rates_judge(const struct rates_run *run, bool named, struct rates_verdict *v)
{
    bool *slow = calloc(run->truth->links + 1, sizeof *slow);
    struct nt_rooted_tree *h;
    struct nt_err err = {0};
    double *below[2], *sound[2];
    rates_must(nt_rooted_tree_create(run->truth, &h, &err), &err);
    if (named)
        rates_find_slow(run, h, slow);
    for (uint32_t down = 0; down < 2; down++) {
        below[down] = malloc((h->vertices + 1) * sizeof **below);
        sound[down] = malloc((h->vertices + 1) * sizeof **sound);
        rates_demand(h, run->truth, down, false, below[down]);
        rates_demand(h, run->truth, down, true, sound[down]);
    }
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t c = h->order[k], l = h->up[c] / 2;
        const struct nt_link *is = &run->found->link[l], *was = &run->truth->link[l];
        for (uint32_t down = 0; down < 2; down++)
            rates_judge_link(is, was, c < h->hosts, below[down][c], (h->up[c] ^ down) % 2, v);
        v->effective += is->effective;
        if (named) {
            v->slow += slow[l];
            v->missed += slow[l] && !is->suspect;
            v->invented += !slow[l] && is->suspect;
        }
        if (c < h->hosts)
            continue;
        double sent = rates_ratio(was, h->up[c] % 2, below[0][c], below[1][c]);
        double ratio = rates_ratio(was, h->up[c] % 2, sound[0][c], sound[1][c]);
        double got = run->found->oversubscription[c - h->hosts];
        /* two degraded hosts that are alike may be an older generation, which sends less */
        double off = fmin(fabs(got / ratio - 1), fabs(got / sent - 1));
        v->ratios++;
        /* what a sound host below would have filled is not known */
        bool degraded = below[0][c] < 0.99 * sound[0][c] || below[1][c] < 0.99 * sound[1][c];
        v->ratios_wrong += isnan(got) ? !degraded : !(off <= 0.1);
        if (!isnan(got))
            v->ratio_worst = fmax(v->ratio_worst, off);
    }
    free(slow);
    for (uint32_t down = 0; down < 2; down++) {
        free(below[down]);
        free(sound[down]);
    }
    nt_rooted_tree_destroy(h);
}

#endif
