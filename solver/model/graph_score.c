/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_score.h"

#include <math.h>
#include <string.h>

#include "chain.h"
#include "noise_prior.h"
#include "score.h"
#include "stats.h"

/* As a tier's step (score.c). */
static const double link_sd = 0.3;
/* In one of ten switches paths differ by levels, or noise has another distribution than the
 * score's. */
static const double levels = 0.1;

/* Number of equivalent places of a unit of a lattice: all with the fewest links, twice in lattices
 * without ends, which also mirror onto themselves. */
static double turns_of(const struct nt_switch_graph *g)
{
    uint32_t least = UINT32_MAX, count = 0;
    for (uint32_t a = 0; a < g->units; a++) {
        uint32_t links = 0;
        for (uint32_t b = 0; b < g->units; b++)
            links += g->hops[(size_t)a * g->units + b] == 1;
        count = links < least ? 1 : count + (links == least);
        least = links < least ? links : least;
    }
    return count == g->units ? 2 * count : count;
}

/* ln of the prior of the hops of some pairs, which are from 1 to some most: Dirichlet's, uniform.
 */
static double hops_prior(const double count[NT_GRAPH_HOPS_MAX + 1])
{
    double pairs = 0, most = 1, p = 0;
    for (size_t k = 1; k <= NT_GRAPH_HOPS_MAX; k++) {
        pairs += count[k];
        most = count[k] > 0 ? (double)k : most;
        p += lgamma(count[k] + 1);
    }
    return p + lgamma(most) - lgamma(pairs + most) - log(NT_GRAPH_HOPS_MAX);
}

/* The fewest hops of a pair over a third unit; 0: there is none. */
static unsigned hops_over(const struct nt_switch_graph *g, size_t a, size_t b)
{
    const uint16_t *row = g->hops + a * g->units, *other = g->hops + b * g->units;
    unsigned least = 0;
    for (size_t k = 0; k < g->units; k++) {
        unsigned hops = row[k] > 0 && other[k] > 0 ? (unsigned)row[k] + other[k] : 0;
        least = hops > 0 && (least == 0 || hops < least) ? hops : least;
    }
    return least;
}

/* ln of the prior of a table of hops, of two families. Either all pairs' hops are any (*any). Or
 * some pairs are linked and the others have the hops of the shortest path over links, but for as
 * many exceptions as readings are wrong; links and exceptions have any hops. */
static double table_prior(const struct nt_switch_graph *g, double *any)
{
    enum { LINKS, PATHS, EXCEPTIONS, KINDS };
    double all[NT_GRAPH_HOPS_MAX + 1] = {0}, hop[KINDS][NT_GRAPH_HOPS_MAX + 1] = {{0}};
    double count[KINDS] = {0};
    for (size_t a = 1; a < g->units; a++)
        for (size_t b = 0; b < a; b++) {
            unsigned hops = g->hops[a * g->units + b], over = hops_over(g, a, b);
            if (hops == 0 || hops > NT_GRAPH_HOPS_MAX)
                continue;
            size_t k = over == 0 || over > hops ? LINKS : over < hops ? EXCEPTIONS : PATHS;
            all[hops]++;
            hop[k][hops]++;
            count[k]++;
        }
    *any = hops_prior(all);
    double p =
        nt_log_beta(1 + count[EXCEPTIONS], NT_TAIL_RATE_PRIOR + count[LINKS] + count[PATHS]) -
        nt_log_beta(1, NT_TAIL_RATE_PRIOR) + nt_log_beta(1 + count[LINKS], 1 + count[PATHS]);
    p += hops_prior(hop[LINKS]) + (count[EXCEPTIONS] > 0 ? hops_prior(hop[EXCEPTIONS]) : 0);
    return nt_log_sum(*any, p);
}

/* ln of the prior: family, which unit is where (up to how the lattice turns and mirrors onto
 * itself, at least), or which pairs are linked. */
static double graph_prior(const struct nt_switch_graph *g)
{
    double units = g->units, pairs = units * (units - 1) / 2, links = (double)g->links;
    double p = log(NT_GRAPH_PRIOR / NT_GRAPH_FAMILIES), any;
    if (g->any)
        return p + table_prior(g, &any);
    if (g->regular)
        return p - fmax(lgamma(units + 1) - log(turns_of(g)), 0);
    return p - log(pairs + 1) - lgamma(pairs + 1) + lgamma(links + 1) + lgamma(pairs - links + 1);
}

double nt_graph_levels_odds(const struct nt_switch_graph *g, const struct nt_pairs *readings,
                            double sd_us)
{
    double link = g->link_us / readings->scale_us, any, table = table_prior(g, &any);
    double level = nt_log_normal(link, NT_PATHS_SD, NT_PATHS_SPREAD);
    /* a histogram: normal around each level against uniform between two */
    double even = (double)readings->count * log(sd_us / g->link_us * sqrt(2 * M_PI * M_E));
    if (!(readings->noise > 0))
        level = nt_log_sum(level, nt_noise_log_prior(readings, link) + even);
    double hop = -link * link / (2 * link_sd * link_sd) - log(link_sd * sqrt(M_PI / 2));
    return level - log(link) - hop + any - table +
           log(NT_CHAIN_ONE_SWITCH * levels / (NT_GRAPH_PRIOR / NT_GRAPH_FAMILIES));
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

/* Subtracts the links from the readings, and adds back their common part. Returns the sum of
 * squares of hops that neither a constant nor the hosts' ends explain. */
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
            p->entry[k].value -= (float)(link * (hops - mean));
            if (p->upper != NULL)
                p->upper[k] -= (float)(link * (hops - mean));
        }
    return square;
}

/* ---- a screen, in O(readings) ---- */

/* The readings of a host less both ends; how many. */
static size_t list_rests(const struct nt_pairs *p, const float *end, uint32_t host, float *rest)
{
    size_t n = 0;
    for (size_t k = p->start[host]; k < p->start[host + 1]; k++)
        rest[n++] = p->entry[k].value - end[p->entry[k].host] - end[host];
    return n;
}

/* Sets each end by the median of its host's readings; returns the noise of most readings. */
static double sweep_medians(const struct nt_pairs *p, float *end, float *rest)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->hosts; i++) {
        size_t n = list_rests(p, end, i, rest);
        end[i] += nt_stats_median(rest, n);
        sum += (double)nt_stats_mad(rest, n);
    }
    return sum / p->hosts;
}

/* Sets each end by the mean of its host's readings within a limit; returns the noise of these. */
static double sweep_means(const struct nt_pairs *p, double limit, float *end, float *rest)
{
    double square = 0, count = 0;
    for (uint32_t i = 0; i < p->hosts; i++) {
        size_t n = list_rests(p, end, i, rest);
        double weight = 0, sum = 0;
        for (size_t k = 0; k < n; k++) {
            double w = nt_pairs_weight(p, p->start[i] + k), x = (double)rest[k];
            if (w * x * x > limit * limit)
                continue;
            weight += w;
            sum += w * x;
            square += w * x * x;
            count++;
        }
        if (weight > 0) {
            end[i] += (float)(sum / weight);
            square -= sum * sum / weight;
        }
    }
    return sqrt(fmax(square, 0) / fmax(count, 1));
}

/* ln of the integral over normal ends by Laplace's method, relative to the value at the ends; few
 * far ends do not count. */
static double ends_prior(const struct nt_pairs *p, const float *end, double sd, float *room)
{
    memcpy(room, end, p->hosts * sizeof *room);
    double hosts = p->hosts, ratio = (double)nt_stats_mad(room, p->hosts) / sd;
    return -hosts / 2 * (1 + log1p(2 * (double)p->count / hosts * ratio * ratio));
}

/* ln p(readings), about, at ends and noise that make them likely; each reading is noise or an
 * outlier, whichever is likelier. Starts from medians, or from means of all readings. end, rest:
 * room for as many as hosts. */
static double screen_ends(const struct nt_pairs *p, bool medians, float *end, float *rest)
{
    enum { STARTS = 2, SWEEPS = 64 };
    double sd = 0, sum = 0, gain = INFINITY, least = nt_noise_prior_of(p).least;
    size_t high = 0, low = 0;
    memset(end, 0, p->hosts * sizeof *end);
    for (int sweep = 0; sweep < SWEEPS && (sweep <= STARTS || gain > 1); sweep++) {
        double before = sd, limit = sweep < STARTS ? INFINITY : nt_pairs_tail_limit(sd) * sd;
        bool middle = medians && sweep < STARTS;
        sd = middle ? sweep_medians(p, end, rest) : sweep_means(p, limit, end, rest);
        sd = fmax(sd, least);
        gain = (double)p->count * fabs(log(before / sd));
    }
    double even = log(sd * NT_SQRT_2_PI), limit = nt_pairs_tail_limit(sd);
    for (uint32_t i = 0; i < p->hosts; i++)
        for (size_t k = p->start[i + 1]; k-- > p->start[i] && p->entry[k].host > i;) {
            double own = sd / sqrt(nt_pairs_weight(p, k)); /* no weight in the score's constants */
            double x = (double)(p->entry[k].value - end[i] - end[p->entry[k].host]), z = x / own;
            double noise = fmax(-z * z / 2 - even, nt_wide_noise_log(&p->wide, x, own));
            double outlier = fabs(z) > limit ? nt_log_outlier(x, 1) : -INFINITY;
            bool out = outlier - log(NT_TAIL_RATE_PRIOR) > noise;
            high += out && x > 0;
            low += out && x <= 0;
            sum += out ? outlier : noise;
        }
    return sum + nt_log_outliers(p, high, low) + nt_noise_log_prior(p, sd) +
           ends_prior(p, end, sd, rest);
}

/* ln p(readings), as of trees (search.h): hosts may be far. */
static int score_ends(struct nt_score *s, uint32_t hosts, double *score, double *sd,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *far = nt_arena_array(&memory, hosts, sizeof *far);
    double *longer = nt_arena_array(&memory, hosts, sizeof *longer);
    struct nt_score_place place = {2, 2};
    struct nt_score_value value;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    nt_score_locate(s, &place, true);
    *score = nt_score_thorough(s, &place, &value);
    *sd = value.sd;
    double prior = 0;
    for (uint32_t host, count = 0;; count++) {
        if ((host = nt_score_farthest(s, place, value.sd, longer)) == UINT32_MAX)
            return 0;
        far[host] = true;
        struct nt_far_prior all = nt_far_prior_of(longer, far, hosts);
        nt_score_set_far(s, far, all.sd / value.sd);
        prior += nt_far_odds(count, hosts);
        double now = nt_score_thorough(s, &place, &value) + prior + all.log_ratio;
        if (!(now > *score))
            return 0;
        *score = now;
        *sd = value.sd;
    }
}

int nt_graph_score(const struct nt_switch_graph *graph, const struct nt_pairs *readings,
                   double least, double *score, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_pairs pairs = *readings; /* with values of its own */
    struct nt_score *s = NULL;
    struct nt_chain chain;
    double partition = 0, *row = nt_arena_array(&memory, pairs.hosts, sizeof *row);
    float *end = nt_arena_array(&memory, 2 * (size_t)pairs.hosts, sizeof *end);
    size_t entries = 2 * pairs.count;
    pairs.entry = nt_arena_array(&memory, entries, sizeof *pairs.entry);
    if (pairs.upper != NULL)
        pairs.upper = nt_arena_array(&memory, entries, sizeof *pairs.upper);
    if (nt_arena_check(&memory, err) != 0 || partition_prior(&pairs, graph, &partition, err) != 0 ||
        nt_chain_init(&chain, pairs.hosts, &memory, err) != 0)
        return -1;
    memcpy(pairs.entry, readings->entry, entries * sizeof *pairs.entry);
    if (pairs.upper != NULL)
        memcpy(pairs.upper, readings->upper, entries * sizeof *pairs.upper);
    double square = take_links_off(&pairs, graph, row), link = graph->link_us / pairs.scale_us;
    double prior = graph_prior(graph) + partition - link * link / (2 * link_sd * link_sd) -
                   log(link_sd) - 0.5 * log(fmax(square, 1e-9)) + log(2);
    if (isfinite(least)) { /* an end with an error of its own sd changes ln p by less than 1 */
        *score = prior + fmax(screen_ends(&pairs, true, end, end + pairs.hosts),
                              screen_ends(&pairs, false, end, end + pairs.hosts));
        if (*score + pairs.hosts < least)
            return 0;
    }
    if (nt_score_create(&pairs, &s, err) != 0)
        return -1;
    double sd = 1;
    nt_score_allow_low(s);
    nt_score_set_chain(s, &chain);
    int status = score_ends(s, pairs.hosts, score, &sd, err);
    *score += prior + log(sd);
    nt_score_destroy(s);
    return status;
}
