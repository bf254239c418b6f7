/* SPDX-License-Identifier: Apache-2.0 */
#include "contradiction.h"

#include <math.h>
#include <string.h>

#include "noise_prior.h"

/* What paths of a hierarchy differ by at most. */
static const double path_most = 0.04;
/* Standard scores that are no noise: a link may be shorter than the noise of a reading. */
static const double plain = 3;

struct view {
    const struct nt_search *search;
    const struct nt_chain_tree *tree;
    const double *way, *weight, *length;
    const bool *off;
    uint32_t *unit; /* hosts: the child of the group that each is below; UINT32_MAX: outside */
    uint32_t *member, members;      /* hosts below the group */
    uint32_t *number;               /* nodes: children of the group, numbered */
    double *sum, *good, *all, *bad; /* units: residuals at one host */
    uint32_t *size;                 /* units */
};

struct trials {
    double count, contradicting;
    double expected; /* sum of the probabilities by noise and outliers */
};

static double residual(const struct view *v, uint32_t i, const struct nt_pair_entry *e, uint32_t c)
{
    return (double)e->value - v->way[i * NT_CHAIN_CLASSES + c] -
           v->way[e->host * NT_CHAIN_CLASSES + c];
}

/* P(|normal| > x sd). */
static double beyond(double x, double sd)
{
    return erfc(x / (sd * M_SQRT2));
}

/* The residuals of host u's readings with each unit of the group: their means, of those that are no
 * outliers, or of all where most of a unit of several are. *n: units that have one. */
static double tally(struct view *v, uint32_t u, uint32_t units, uint32_t *n)
{
    const struct nt_pairs *p = v->search->pairs;
    uint32_t c = nt_chain_class(&v->search->best, u, v->member[0]); /* of all of them */
    double mean = 0, own = v->way[u * NT_CHAIN_CLASSES + c];
    memset(v->sum, 0, units * sizeof *v->sum);
    memset(v->bad, 0, units * sizeof *v->bad);
    memset(v->good, 0, units * sizeof *v->good);
    memset(v->all, 0, units * sizeof *v->all);
    for (uint32_t m = 0; m < v->members; m++) {
        uint32_t i = v->member[m], a = v->unit[i];
        const struct nt_pair_entry *e = nt_pairs_find(p, i, u); /* rows of few hosts: in cache */
        if (e == NULL)
            continue;
        double rest = (double)e->value - own - v->way[i * NT_CHAIN_CLASSES + c];
        v->all[a]++;
        v->bad[a] += rest;
        if (v->off[(size_t)(e - p->entry)])
            continue;
        v->good[a]++;
        v->sum[a] += rest;
    }
    *n = 0;
    for (uint32_t a = 0; a < units; a++) {
        bool single = v->size[a] == 1, any = v->good[a] >= (single ? 1 : v->all[a] / 2);
        if (!any && (single || v->all[a] == 0)) {
            v->good[a] = 0;
            continue;
        }
        v->sum[a] = any ? v->sum[a] / v->good[a] : v->bad[a] / v->all[a];
        v->good[a] = any ? v->good[a] : v->all[a];
        mean += v->sum[a];
        ++*n;
    }
    return *n > 0 ? mean / *n : 0;
}

/* One outside host: the share of the units that contradict, and the share by noise. */
static void look(struct view *v, uint32_t u, uint32_t units, double link, double sd, double wrong,
                 struct trials *t)
{
    uint32_t n;
    double mean = tally(v, u, units, &n), contradicting = 0, expected = 0;
    double limit = 0, chance = 0, good = 0;
    if (n < 2)
        return;
    for (uint32_t a = 0; a < units; a++) {
        if (v->good[a] == 0)
            continue;
        if (v->good[a] != good) { /* most units have as many as the one before */
            good = v->good[a];
            double noise = sd * sqrt((1 - 1.0 / n) / good);
            limit = fmax(link, plain * noise);
            chance = fmin(wrong + beyond(limit, noise), 1);
        }
        contradicting += fabs(v->sum[a] - mean) > limit;
        expected += chance;
    }
    t->count += 1;
    t->contradicting += contradicting / n;
    t->expected += expected / n;
}

/* The pairs inside: a trial for each unit. */
static void look_inside(struct view *v, uint32_t class, uint32_t units, double link, double sd,
                        double wrong, struct trials *t)
{
    const struct nt_pairs *p = v->search->pairs;
    double pairs = 0, contradicting = 0, limit = fmax(link, plain * sd);
    for (uint32_t m = 0; m < v->members; m++)
        for (uint32_t n = m + 1; n < v->members; n++) {
            uint32_t i = v->member[m], j = v->member[n];
            const struct nt_pair_entry *e =
                nt_chain_class(&v->search->best, i, j) == class ? nt_pairs_find(p, i, j) : NULL;
            if (e == NULL)
                continue;
            pairs++;
            contradicting += residual(v, i, e, class) > limit;
        }
    if (pairs == 0)
        return;
    t->count += units;
    t->contradicting += units * contradicting / pairs;
    t->expected += units * fmin(wrong + beyond(limit, sd) / 2, 1);
}

/* ln of the ratio of the binomial with a share from p to 1/2 or more, uniform, to that with p. */
static double log_ratio(const struct trials *t)
{
    enum { STEPS = 32 };
    double p = fmin(fmax(t->expected / t->count, 1e-3), 0.5), sum = 0;
    double m = t->contradicting, n = t->count, top = -INFINITY, value[STEPS];
    for (int k = 0; k < STEPS; k++) {
        double q = p + (1 - p) * (k + 0.5) / STEPS;
        value[k] = m * log(q) + (n - m) * log(1 - q);
        top = fmax(top, value[k]);
    }
    for (int k = 0; k < STEPS; k++)
        sum += exp(value[k] - top) / STEPS;
    return top + log(sum) - m * log(p) - (n - m) * log(1 - p);
}

static double odds_of(struct view *v, uint32_t node, double sd, double wrong)
{
    const struct nt_chain_tree *t = v->tree;
    struct trials trials = {0};
    uint32_t units = 0, hosts = t->hosts;
    double link = v->length[node], noise = sd / sqrt(v->weight[t->classes - 1]);
    for (uint32_t a = 0; a + 1 < t->nodes; a++)
        if (t->parent[a] == node) {
            v->size[units] = t->size[a];
            v->number[a] = units++;
        }
    v->members = 0;
    for (uint32_t i = 0; i < hosts; i++) {
        uint32_t a = i;
        while (a < node && t->parent[a] != node)
            a = t->parent[a];
        v->unit[i] = a < node ? v->number[a] : UINT32_MAX;
        if (a < node)
            v->member[v->members++] = i;
    }
    for (uint32_t u = 0; u < hosts; u++)
        if (v->unit[u] == UINT32_MAX)
            look(v, u, units, link, noise, wrong, &trials);
    look_inside(v, t->class[node], units, link, noise, wrong, &trials);
    if (link <= 0)
        return (double)INFINITY;
    return trials.count > 0 ? log_ratio(&trials) : 0;
}

int nt_contradiction_odds(struct nt_search *search, double *odds, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct view v = {.search = search,
                     .tree = nt_score_tree(search->score),
                     .way = nt_score_ways(search->score),
                     .weight = nt_score_weights(search->score),
                     .length = nt_score_lengths(search->score),
                     .off = nt_score_off(search->score)};
    size_t hosts = search->pairs->hosts, nodes = v.tree->nodes;
    v.unit = nt_arena_array(&memory, hosts, sizeof *v.unit);
    v.sum = nt_arena_array(&memory, hosts, sizeof *v.sum);
    v.good = nt_arena_array(&memory, hosts, sizeof *v.good);
    v.all = nt_arena_array(&memory, hosts, sizeof *v.all);
    v.bad = nt_arena_array(&memory, hosts, sizeof *v.bad);
    v.size = nt_arena_array(&memory, hosts, sizeof *v.size);
    v.member = nt_arena_array(&memory, hosts, sizeof *v.member);
    v.number = nt_arena_array(&memory, nodes, sizeof *v.number);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    double wrong =
        1 / (1 + NT_TAIL_RATE_PRIOR); /* outliers may be misfit: their number is no guide */
    /* the fit's own noise has taken up the misfit */
    double sd = fmin(search->value.sd, hypot(search->pairs->noise, NT_PATHS_SD));
    for (uint32_t node = 0; node < nodes; node++)
        odds[node] = node < hosts || node + 1 == nodes ? 0 : odds_of(&v, node, sd, wrong);
    return 0;
}

/* ---- noise apart from the misfit ---- */

/* The sum of squares of readings between the same two units of the lowest tier, about their mean.
 */
static double within(struct view *v, struct nt_arena *memory, double *freedom)
{
    const struct nt_pairs *p = v->search->pairs;
    const struct nt_chain *chain = &v->search->best;
    uint32_t units = chain->tiers > 0 ? chain->groups[0] : 0;
    double *moment = nt_arena_array(memory, 3 * (size_t)units + 1, sizeof *moment);
    double square = 0;
    for (uint32_t a = 0; a < units && moment != NULL; a++) {
        memset(moment, 0, 3 * (size_t)units * sizeof *moment);
        for (uint32_t i = 0; i < p->hosts; i++)
            for (size_t k = p->start[i];
                 nt_chain_number(chain->label[i].tier[0]) == a && k < p->start[i + 1]; k++) {
                uint32_t j = p->entry[k].host, b = nt_chain_number(chain->label[j].tier[0]);
                if (b <= a || v->off[k])
                    continue;
                uint32_t c = nt_chain_class(chain, i, j);
                double rest = residual(v, i, &p->entry[k], c) * sqrt(v->weight[c]);
                moment[(size_t)3 * b]++;
                moment[(size_t)3 * b + 1] += rest;
                moment[(size_t)3 * b + 2] += rest * rest;
            }
        for (uint32_t b = a + 1; b < units; b++)
            if (moment[(size_t)3 * b] > 1) {
                square += moment[(size_t)3 * b + 2] - moment[(size_t)3 * b + 1] *
                                                          moment[(size_t)3 * b + 1] /
                                                          moment[(size_t)3 * b];
                *freedom += moment[(size_t)3 * b] - 1;
            }
    }
    return fmax(square, 0);
}

int nt_contradiction_noise(struct nt_search *search, double *sd, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct view v = {.search = search,
                     .tree = nt_score_tree(search->score),
                     .way = nt_score_ways(search->score),
                     .weight = nt_score_weights(search->score),
                     .off = nt_score_off(search->score)};
    double freedom = 0, square = within(&v, &memory, &freedom), own = search->value.sd;
    double same = freedom > 0 ? sqrt((square + own * own) / (freedom + 1)) : 0;
    /* units that are no switches have more within than paths differ by: then nothing is known */
    if (search->pairs->noise > 0)
        same = fmin(same, hypot(search->pairs->noise, path_most));
    else if (same > path_most)
        same = 0;
    *sd = fmin(fmax(search->pairs->noise, same), own);
    return nt_arena_check(&memory, err);
}
