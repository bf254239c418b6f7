/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_score.h"

#include <math.h>

#include "chain.h"
#include "score.h"

/* As a tier's step (score.c). */
static const double link_sd = 0.3;

/* ln of the prior: family, which unit is where (a ring or a lattice turns and mirrors onto itself
 * at least as often as it has units, twice), or which pairs are linked. */
static double graph_prior(const struct nt_switch_graph *g)
{
    double units = g->units, pairs = units * (units - 1) / 2, links = (double)g->links;
    double p = log(NT_GRAPH_PRIOR / NT_GRAPH_FAMILIES);
    if (g->regular)
        return p - fmax(lgamma(units + 1) - log(2 * units), 0);
    return p - log(pairs + 1) - lgamma(pairs + 1) + lgamma(links + 1) + lgamma(pairs - links + 1);
}

/* ln of the prior of the units as a partition of the hosts; 0 if each host is one. */
static int partition_prior(const struct nt_pairs *pairs, const struct nt_switch_graph *g, double *p,
                           struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_chain chain;
    struct nt_chain_prior prior;
    uint32_t *room = nt_arena_array(&memory, 4 * (size_t)pairs->hosts, sizeof *room);
    if (nt_chain_init(&chain, pairs->hosts, &memory, err) != 0 ||
        nt_chain_prior_init(&prior, pairs->hosts, &memory, err) != 0 ||
        nt_arena_check(&memory, err) != 0)
        return -1;
    chain.tiers = 1;
    for (uint32_t i = 0; i < pairs->hosts; i++)
        chain.label[i].tier[0] = g->unit[pairs->origin[i]];
    nt_chain_canonicalise(&chain, room);
    *p = chain.tiers == 0 ? 0 : nt_chain_prior(&prior, &chain, room);
    return 0;
}

static double hops_between(const struct nt_switch_graph *g, const struct nt_pairs *pairs,
                           uint32_t i, uint32_t j)
{
    return g->hops[(size_t)g->unit[pairs->origin[i]] * g->units + g->unit[pairs->origin[j]]];
}

/* Takes the links off the readings, and what all have of them back on; the sum of squares of hops
 * that neither a constant nor the hosts' ends explain. */
static double take_links_off(struct nt_pairs *p, const struct nt_switch_graph *g, double *row)
{
    double link = g->link_us / p->scale_us, all = 0, count = 0, square = 0;
    for (uint32_t i = 0; i < p->hosts; i++) {
        row[i] = 0;
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++)
            row[i] += hops_between(g, p, i, p->entry[k].host);
        all += row[i];
        count += (double)(p->start[i + 1] - p->start[i]);
        row[i] /= fmax((double)(p->start[i + 1] - p->start[i]), 1);
    }
    double mean = count > 0 ? all / count : 0;
    for (uint32_t i = 0; i < p->hosts; i++)
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++) {
            uint32_t j = p->entry[k].host;
            double hops = hops_between(g, p, i, j), own = hops - row[i] - row[j] + mean;
            square += own * own / 2; /* each pair is there twice */
            p->entry[k].value -= link * (hops - mean);
            p->entry[k].upper -= (float)(link * (hops - mean));
        }
    return square;
}

int nt_graph_score(const struct nt_switch_graph *graph, const struct nt_pair_value *values,
                   size_t count, double *score, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_pairs *pairs = NULL;
    struct nt_score *s = NULL;
    struct nt_chain chain;
    double partition = 0;
    int status = nt_pairs_create(graph->hosts, values, count, &pairs, err);
    if (status == 0)
        status = partition_prior(pairs, graph, &partition, err);
    double *row = status == 0 ? nt_arena_array(&memory, pairs->hosts, sizeof *row) : NULL;
    if (status == 0)
        status = nt_chain_init(&chain, pairs->hosts, &memory, err);
    if (status == 0) {
        double square = take_links_off(pairs, graph, row), link = graph->link_us / pairs->scale_us;
        status = nt_score_create(pairs, &s, err);
        if (status == 0) {
            struct nt_score_place place = {2, 2};
            struct nt_score_value value;
            nt_score_allow_low(s);
            nt_score_set_chain(s, &chain);
            nt_score_integrate(s, &place, &value);
            *score = nt_score_full(s, &place, &value) + graph_prior(graph) + partition -
                     link * link / (2 * link_sd * link_sd) - log(link_sd) + log(value.sd) -
                     0.5 * log(fmax(square, 1e-9)) + log(2);
        }
    }
    nt_score_destroy(s);
    nt_pairs_destroy(pairs);
    return status;
}
