/* SPDX-License-Identifier: Apache-2.0 */
#include "tiers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "noise_prior.h"
#include "score.h"
#include "search.h"

/* ---- readings that contradict a group ----------------------------------------------------
 *
 * In a hierarchy all units of a group are equally far from any host outside, apart from their own
 * ends, and nearer to each other. A unit contradicts the group at a host outside if its reading
 * differs from the readings of the group's other units by more than the group's link and three
 * times the noise. A pair inside contradicts it if its reading is longer by as much than the
 * group's. Noise causes that with a known probability. In rings, meshes, rows of routers and random
 * graphs, groups that are not switches are contradicted at a large share of the hosts outside. The
 * odds compare two binomials: with the probability by noise and outliers, and with an unknown
 * larger one.
 *
 * Outliers are included: outliers that agree with each other are misfit. */

/* Upper limit of the differences of paths in a hierarchy. */
static const double path_most = 0.04;
/* Standard scores that are no noise: a link may be shorter than the noise of a reading. */
static const double plain = 3;

struct view {
    const struct nt_search *search;
    struct nt_score_fit fit;
    const double *way;
    uint32_t *unit; /* hosts: the child of the group that each is below; UINT32_MAX: outside */
    uint32_t *member, members;      /* hosts below the group */
    uint32_t *number;               /* nodes: children of the group, numbered */
    double *sum, *good, *all, *bad; /* units: residuals at one host */
    uint32_t *size;                 /* units */
    uint32_t units;                 /* children of the group */
    /* length of the group's link; noise of a reading; probability of outliers */
    double link, sd, wrong;
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
static double normal_tail(double x, double sd)
{
    return erfc(x / (sd * M_SQRT2));
}

/* The mean residuals of host u's readings with each unit of the group, without outliers, or with
 * them if most of a unit's readings are outliers. *n: units with a mean. */
static double tally(struct view *v, uint32_t u, uint32_t *n)
{
    uint32_t units = v->units;
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
        if (v->fit.off[(size_t)(e - p->entry)])
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
static void count_outside(struct view *v, uint32_t u, struct trials *t)
{
    uint32_t n;
    double mean = tally(v, u, &n), contradicting = 0, expected = 0;
    double limit = 0, chance = 0, good = 0;
    if (n < 2)
        return;
    for (uint32_t a = 0; a < v->units; a++) {
        if (v->good[a] == 0)
            continue;
        if (v->good[a] != good) { /* most units have as many as the previous one */
            good = v->good[a];
            double noise = v->sd * sqrt((1 - 1.0 / n) / good);
            limit = fmax(v->link, plain * noise);
            chance = fmin(v->wrong + normal_tail(limit, noise), 1);
        }
        contradicting += fabs(v->sum[a] - mean) > limit;
        expected += chance;
    }
    t->count += 1;
    t->contradicting += contradicting / n;
    t->expected += expected / n;
}

/* The pairs inside: a trial for each unit. */
static void count_inside(struct view *v, uint32_t class, struct trials *t)
{
    const struct nt_pairs *p = v->search->pairs;
    double pairs = 0, contradicting = 0, limit = fmax(v->link, plain * v->sd);
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
    t->count += v->units;
    t->contradicting += v->units * contradicting / pairs;
    t->expected += v->units * fmin(v->wrong + normal_tail(limit, v->sd) / 2, 1);
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

static double odds_of(struct view *v, uint32_t node)
{
    const struct nt_chain_tree *t = v->fit.tree;
    struct trials trials = {0};
    uint32_t hosts = t->hosts;
    v->link = v->fit.length[node];
    v->units = v->members = 0;
    for (uint32_t a = 0; a + 1 < t->nodes; a++)
        if (t->parent[a] == node) {
            v->size[v->units] = t->size[a];
            v->number[a] = v->units++;
        }
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
            count_outside(v, u, &trials);
    count_inside(v, t->class[node], &trials);
    if (v->link <= 0)
        return (double)INFINITY;
    return trials.count > 0 ? log_ratio(&trials) : 0;
}

/* ln of the odds, for each node of the tree of the best chain, that it is not a group, without the
 * prior. odds: nodes elements. O(readings * tiers). */
static int contradiction_odds(struct nt_search *search, double *odds, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct view v = {
        .search = search, .fit = search->fit, .way = nt_score_path_lengths(search->score)};
    size_t hosts = search->pairs->hosts, nodes = v.fit.tree->nodes;
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
    /* outliers may be misfit, so their number is not used */
    v.wrong = 1 / (1 + NT_TAIL_RATE_PRIOR);
    /* the fit's own noise includes the misfit */
    double sd = fmin(search->value.sd, hypot(search->pairs->noise, NT_PATHS_SD));
    v.sd = sd / sqrt(v.fit.weight[v.fit.tree->classes - 1]);
    for (uint32_t node = 0; node < nodes; node++)
        odds[node] = node < hosts || node + 1 == nodes ? 0 : odds_of(&v, node);
    return 0;
}

/* ---- noise apart from the misfit ---- */

/* The sum of squares of readings between the same two units of the lowest tier, about their mean.
 */
static double noise_within(struct view *v, struct nt_arena *memory, double *freedom)
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
                if (b <= a || v->fit.off[k])
                    continue;
                uint32_t c = nt_chain_class(chain, i, j);
                double rest = residual(v, i, &p->entry[k], c) * sqrt(v->fit.weight[c]);
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

/* The relative noise of readings without the misfit of the fit: from readings of the same pair, or
 * readings between the same two units of the lowest tier (with the fit's own noise as one more). 0:
 * there are none. */
static int noise_apart(struct nt_search *search, double *sd, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct view v = {
        .search = search, .fit = search->fit, .way = nt_score_path_lengths(search->score)};
    double freedom = 0, square = noise_within(&v, &memory, &freedom), own = search->value.sd;
    double same = freedom > 0 ? sqrt((square + own * own) / (freedom + 1)) : 0;
    /* units that are not switches differ more inside than paths do: then it is unknown */
    if (search->pairs->noise > 0)
        same = fmin(same, hypot(search->pairs->noise, path_most));
    else if (same > path_most)
        same = 0;
    *sd = fmin(fmax(search->pairs->noise, same), own);
    return nt_arena_check(&memory, err);
}

/* Chains that weigh less than e^-12 of the best do not count. */
static const double negligible = 12;
/* Prior odds that a group of the best hierarchy does not exist because the network is not a
 * hierarchy. */
static const double no_hierarchy = 0.03;
/* Relative residuals of the best hierarchy for another network, since a hop is 5 to 20 % of a
 * latency: within a factor of two of 0.1. */
static const double other_sd = 0.1, other_spread = 0.7;

struct split {
    uint64_t key; /* sum of its hosts' keys, or of the others': the smaller */
    bool open;    /* of the best chain, but not stated: other chains may have it or not */
};

struct alternative {
    const struct nt_visit *visit;
    struct split *split; /* ascending by key */
    size_t splits;
    uint64_t key; /* of all of them */
    double weight;
};

struct table {
    struct nt_search *search;
    struct alternative *at;
    size_t count;
    double total;
    uint64_t *sum;  /* room: hosts */
    uint32_t *size; /* room: hosts */
};

static int by_key(const void *x, const void *y)
{
    const struct split *a = x, *b = y;
    return NT_ORDER(a->key, b->key, 0);
}

static const struct split *find(const struct alternative *a, uint64_t key)
{
    struct split wanted = {.key = key};
    return bsearch(&wanted, a->split, a->splits, sizeof *a->split, by_key);
}

static void add_splits(struct table *t, struct alternative *a, const uint32_t *label)
{
    uint32_t hosts = t->search->pairs->hosts, groups = 0;
    uint64_t all = 0;
    memset(t->sum, 0, hosts * sizeof *t->sum);
    memset(t->size, 0, hosts * sizeof *t->size);
    for (uint32_t i = 0; i < hosts; i++) {
        uint64_t key = nt_pairs_mix(i);
        all += key;
        uint32_t number = nt_chain_number(label[i]);
        t->sum[number] += key;
        t->size[number] += label[i] & NT_CHAIN_FLAT ? 0 : 1; /* flat groups do not count */
        groups = number >= groups ? number + 1 : groups;
    }
    for (uint32_t g = 0; g < groups; g++) {
        uint64_t key = t->sum[g] < all - t->sum[g] ? t->sum[g] : all - t->sum[g];
        if (t->size[g] >= 2 && t->size[g] + 2 <= hosts)
            a->split[a->splits++] = (struct split){.key = key};
    }
}

/* The splits of a visited chain, each once. */
static int list_splits(struct table *t, struct alternative *a, struct nt_arena *memory)
{
    const struct nt_visit *v = a->visit;
    uint32_t hosts = t->search->pairs->hosts;
    a->split = nt_arena_array(memory, v->tiers * (size_t)(hosts / 2), sizeof *a->split);
    if (a->split == NULL)
        return -1;
    for (uint32_t k = 0; k < v->tiers; k++)
        add_splits(t, a, t->search->labels + v->labels + (size_t)k * hosts);
    qsort(a->split, a->splits, sizeof *a->split, by_key);
    size_t n = 0;
    for (size_t k = 0; k < a->splits; k++)
        if (n == 0 || a->split[n - 1].key != a->split[k].key)
            a->split[n++] = a->split[k];
    a->splits = n;
    a->key = 0;
    for (size_t k = 0; k < n; k++)
        a->key = nt_pairs_mix(a->key ^ a->split[k].key);
    return 0;
}

static int by_weight(const void *x, const void *y)
{
    const struct alternative *a = x, *b = y;
    return NT_ORDER(b->weight, a->weight, NT_ORDER(a->visit->hash, b->visit->hash, 0));
}

static int make_table(struct table *t, struct nt_arena *memory, struct nt_err *err)
{
    const struct nt_search *s = t->search;
    t->at = nt_arena_array(memory, s->visits + 1, sizeof *t->at);
    t->sum = nt_arena_array(memory, s->pairs->hosts, sizeof *t->sum);
    t->size = nt_arena_array(memory, s->pairs->hosts, sizeof *t->size);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < s->room; k++) {
        const struct nt_visit *v = &s->visit[k];
        if (v->hash == 0 || !(v->score > s->best_score - negligible))
            continue;
        struct alternative *a = &t->at[t->count++];
        *a = (struct alternative){.visit = v, .weight = exp(v->score - s->best_score)};
        if (list_splits(t, a, memory) != 0)
            return nt_arena_check(memory, err);
        t->total += a->weight;
    }
    qsort(t->at, t->count, sizeof *t->at, by_weight);
    return 0;
}

/* The set of splits with the largest weight: its heaviest chain. */
static const struct alternative *choose_best(const struct table *t, double *weight)
{
    const struct alternative *best = NULL;
    *weight = -1;
    for (size_t k = 0; k < t->count && t->at[k].weight > 0.02; k++) {
        double sum = 0;
        for (size_t j = k; j < t->count; j++)
            sum += t->at[j].key == t->at[k].key ? t->at[j].weight : 0;
        if (sum > *weight) {
            *weight = sum;
            best = &t->at[k];
        }
    }
    return best;
}

static double support_of(const struct table *t, uint64_t key, double chosen)
{
    double with = 0;
    for (size_t k = 0; k < t->count; k++)
        with += find(&t->at[k], key) != NULL ? t->at[k].weight : 0;
    if (t->search->wide)
        return with / t->total;
    return chosen / (chosen + t->total - with);
}

struct locus {
    uint64_t key;
    double odds;
};

static int by_locus(const void *x, const void *y)
{
    const struct locus *a = x, *b = y;
    return NT_ORDER(a->key, b->key, 0);
}

/* Where a chain differs from the splits that are stated: the first that it breaks, or the first
 * that it has and is not stated; 0: nowhere. */
static uint64_t locus_of(const struct alternative *a, const struct alternative *stated)
{
    for (size_t k = 0; k < stated->splits; k++)
        if (!stated->split[k].open && find(a, stated->split[k].key) == NULL)
            return stated->split[k].key;
    for (size_t k = 0; k < a->splits; k++)
        if (find(stated, a->split[k].key) == NULL)
            return a->split[k].key;
    return 0;
}

/* The probability that exactly the reported splits exist, except open ones. */
static double confidence_of(const struct table *t, const struct alternative *stated,
                            struct locus *locus)
{
    double agree = 0, odds = 0, p = 1;
    size_t n = 0;
    for (size_t k = 0; k < t->count; k++) {
        uint64_t key = locus_of(&t->at[k], stated);
        if (key == 0)
            agree += t->at[k].weight;
        else
            locus[n++] = (struct locus){key, t->at[k].weight};
    }
    if (t->search->wide)
        return agree / t->total;
    qsort(locus, n, sizeof *locus, by_locus);
    for (size_t k = 0; k < n; k++) {
        odds += locus[k].odds / agree;
        if (k + 1 == n || locus[k + 1].key != locus[k].key) {
            p /= 1 + odds;
            odds = 0;
        }
    }
    return p;
}

/* ---- pairs that decide ---- */

/* How much nearer two hosts are than hosts that meet at the root, in sd of a reading, and the
 * number of tiers in which they are together. */
struct nearness {
    double sds;
    uint32_t tiers;
};

static struct nearness nearness_of(const struct nt_search *s, const struct nt_visit *v, uint32_t i,
                                   uint32_t j)
{
    const uint32_t *label = s->labels + v->labels;
    struct nearness near = {0};
    for (uint32_t k = 0; k < v->tiers; k++, label += s->pairs->hosts)
        if (label[i] == label[j] && !(label[i] & NT_CHAIN_FLAT)) {
            near.sds += (double)v->step[k];
            near.tiers++;
        }
    return near;
}

/* A key of each host, which is another one if it is with other hosts. */
static void key_hosts(struct table *t, const struct nt_visit *v, uint64_t *key)
{
    uint32_t hosts = t->search->pairs->hosts;
    const uint32_t *label = t->search->labels + v->labels;
    memset(key, 0, hosts * sizeof *key);
    for (uint32_t k = 0; k < v->tiers; k++, label += hosts) {
        memset(t->sum, 0, hosts * sizeof *t->sum);
        for (uint32_t i = 0; i < hosts; i++)
            t->sum[nt_chain_number(label[i])] += nt_pairs_mix(i);
        for (uint32_t i = 0; i < hosts; i++) {
            uint64_t sum = t->sum[nt_chain_number(label[i])];
            if (sum != nt_pairs_mix(i) && !(label[i] & NT_CHAIN_FLAT))
                key[i] = nt_pairs_mix(key[i] ^ sum);
        }
    }
}

/* The hosts that are with others than in the best chain: in a rival, [host * rivals + rival]; in
 * any. */
struct moved {
    bool *in, *any;
};

static int find_moved(struct table *t, const struct alternative *best, struct moved *moved,
                      struct nt_arena *memory)
{
    uint32_t hosts = t->search->pairs->hosts;
    uint64_t *own = nt_arena_array(memory, hosts, sizeof *own);
    uint64_t *key = nt_arena_array(memory, hosts, sizeof *key);
    moved->in = nt_arena_array(memory, t->count * hosts, sizeof *moved->in);
    moved->any = nt_arena_array(memory, hosts, sizeof *moved->any);
    if (memory->failed != 0)
        return -1;
    key_hosts(t, best->visit, own);
    for (size_t k = 0; k < t->count; k++) {
        key_hosts(t, t->at[k].visit, key);
        for (uint32_t i = 0; i < hosts; i++) {
            moved->in[i * t->count + k] = key[i] != own[i];
            moved->any[i] = moved->any[i] || key[i] != own[i];
        }
    }
    return 0;
}

/* The expected gain of a reading of a pair in ln odds of the network against its rivals: half of
 * the square of its deviation under one of the two. */
static double expected_gain(const struct table *t, const struct alternative *best,
                            const struct moved *moved, uint32_t i, uint32_t j)
{
    if (!moved->any[i] && !moved->any[j])
        return 0;
    const struct nearness ours = nearness_of(t->search, best->visit, i, j);
    const bool *here = moved->in + i * t->count, *there = moved->in + j * t->count;
    double sum = 0;
    for (size_t k = 0; k < t->count; k++) {
        if (!here[k] && !there[k])
            continue;
        const struct nearness theirs = nearness_of(t->search, t->at[k].visit, i, j);
        double off = theirs.sds - ours.sds;
        sum += theirs.tiers != ours.tiers ? t->at[k].weight * off * off / 2 : 0;
    }
    return sum;
}

static int by_gain(const void *x, const void *y)
{
    const struct nt_tiers_pair *a = x, *b = y;
    return NT_ORDER(b->gain, a->gain, NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, 0)));
}

/* Lists the most informative pair of each host, or among equal ones the pair with the next host, so
 * that many can be read at a time. */
static int fill_deciding(struct nt_tiers *out, struct table *t, const struct alternative *best,
                         struct nt_arena *memory)
{
    const struct nt_pairs *p = t->search->pairs;
    struct moved moved;
    int status = find_moved(t, best, &moved, memory);
    out->deciding_pair = nt_arena_array(&out->memory, p->hosts, sizeof *out->deciding_pair);
    if (status != 0 || out->deciding_pair == NULL)
        return -1;
    for (uint32_t i = 0; t->count > 1 && i < p->hosts; i++) {
        struct nt_tiers_pair most = {.a = p->origin[i]};
        for (uint32_t k = 1; k < p->hosts; k++) {
            uint32_t j = (i + k) % p->hosts;
            double gain = expected_gain(t, best, &moved, i, j);
            if (gain > most.gain) {
                most.gain = gain;
                most.b = p->origin[j];
            }
        }
        if (most.gain > 0)
            out->deciding_pair[out->deciding++] = most;
    }
    qsort(out->deciding_pair, out->deciding, sizeof *out->deciding_pair, by_gain);
    return 0;
}

/* ---- the result ---- */

/* For the nodes of the tree: their splits, and their probabilities to be groups. */
struct nodes {
    uint64_t *key;
    double *support, *error;
};

/* A node is a group if no chain that breaks it is right, and no other network; prior: its odds. */
static int support_nodes(const struct table *t, double chosen, double prior, struct nodes *n,
                         struct nt_arena *memory, struct nt_err *err)
{
    const struct nt_chain_tree *tree = t->search->fit.tree;
    double *odds = nt_arena_array(memory, tree->nodes, sizeof *odds);
    uint32_t root = tree->nodes - 1;
    n->key = nt_arena_array(memory, tree->nodes, sizeof *n->key);
    n->support = nt_arena_array(memory, tree->nodes, sizeof *n->support);
    n->error = nt_arena_array(memory, tree->nodes, sizeof *n->error);
    if (nt_arena_check(memory, err) != 0 || contradiction_odds(t->search, odds, err) != 0)
        return -1;
    for (uint32_t v = 0; v < root; v++) {
        n->key[v] += v < tree->hosts ? nt_pairs_mix(v) : 0;
        n->key[tree->parent[v]] += n->key[v];
    }
    for (uint32_t v = tree->hosts; v < root; v++) {
        uint64_t rest = n->key[root] - n->key[v];
        n->key[v] = n->key[v] < rest ? n->key[v] : rest;
        if (tree->size[v] + 2 <= tree->hosts && (tree->mask[v] & ~tree->flat[v]) != 0)
            n->support[v] =
                support_of(t, n->key[v], chosen) / (1 + prior * exp(fmin(odds[v], 500)));
    }
    nt_score_errors(t->search->score, &t->search->value, n->error);
    return 0;
}

/* Collects the splits of nodes that are more probable than not. *rest: the probability that the
 * others are not groups. */
static int list_nodes(const struct nt_chain_tree *tree, const struct nodes *n,
                      struct alternative *stated, double *rest, struct nt_arena *memory,
                      struct nt_err *err)
{
    stated->split = nt_arena_array(memory, tree->nodes, sizeof *stated->split);
    stated->splits = 0;
    *rest = 1;
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (uint32_t v = tree->hosts; v + 1 < tree->nodes; v++) {
        bool open = n->support[v] < 0.5;
        *rest *= open ? 1 - n->support[v] : 1;
        if (n->support[v] > 0)
            stated->split[stated->splits++] = (struct split){n->key[v], open};
    }
    qsort(stated->split, stated->splits, sizeof *stated->split, by_key);
    return 0;
}

/* Groups, from the nodes that are stated. */
static int fill_groups(struct nt_tiers *out, const struct nt_search *s, const struct nodes *n)
{
    const struct nt_chain_tree *tree = s->fit.tree;
    const double *length = s->fit.length;
    double scale = s->pairs->scale_us;
    uint32_t *id = nt_arena_array(&out->memory, tree->nodes, sizeof *id), root = tree->nodes - 1;
    double *more = nt_arena_array(&out->memory, tree->nodes, sizeof *more);
    out->group = nt_arena_array(&out->memory, tree->nodes, sizeof *out->group);
    if (out->memory.failed != 0)
        return -1;
    for (uint32_t v = 0; v < tree->nodes; v++) {
        id[v] = NT_TIERS_NONE;
        if (v < tree->hosts || v == root || n->support[v] < 0.5)
            continue;
        id[v] = (uint32_t)out->groups;
        out->group[out->groups++] =
            (struct nt_tiers_group){.error_us = n->error[v] * scale, .support = n->support[v]};
    }
    double rest = 0; /* the link of all hosts but one is that host's */
    for (uint32_t v = tree->hosts; v < root; v++)
        rest += tree->size[v] + 1 == tree->hosts ? length[v] : 0;
    for (uint32_t v = root;
         v-- > 0;) { /* a node that is not reported lengthens the links below it */
        uint32_t p = tree->parent[v];
        bool stays = id[v] != NT_TIERS_NONE || v < tree->hosts;
        double own = v < tree->hosts || tree->size[v] + 1 < tree->hosts ? length[v] : 0;
        own += v < tree->hosts && p == root && rest > 0 ? rest : 0;
        more[v] = own + (p != root && id[p] == NT_TIERS_NONE ? more[p] : 0);
        while (p != root && id[p] == NT_TIERS_NONE)
            p = tree->parent[p];
        if (!stays)
            continue;
        if (v >= tree->hosts) {
            out->group[id[v]].parent = id[p];
            out->group[id[v]].length_us = more[v] * scale;
        } else {
            uint32_t host = s->pairs->origin[v];
            out->group_of[host] = id[p];
            out->end_us[host] = (0.5 + more[v]) * scale;
            out->end_error_us[host] = n->error[v] * scale;
        }
    }
    return 0;
}

static void fill_figures(struct nt_tiers *out, const struct nt_search *s)
{
    double scale = s->pairs->scale_us;
    out->noise_us = s->value.sd * scale;
    out->noise_known = s->pairs->noise > 0;
    out->quantum_us = s->pairs->quantum * scale;
    out->scale_us = scale;
    out->power = s->power;
}

/* The odds that the network is not a hierarchy, by the misfit of the best one: its residuals
 * relative to the noise of the readings. If the noise is unknown, the residuals are all noise or
 * all misfit. */
static double other_odds(const struct nt_search *s, double noise)
{
    double sd = s->value.sd, misfit = sqrt(fmax(sd * sd - noise * noise, 0)), odds;
    misfit = fmax(misfit, NT_PATHS_SD); /* less is not more likely another network's */
    if (noise > 0)
        odds = nt_log_normal(misfit, other_sd, other_spread) -
               nt_log_normal(misfit, NT_PATHS_SD, NT_PATHS_SPREAD);
    else
        odds = nt_log_normal(sd, other_sd, other_spread) - nt_noise_log_prior(s->pairs, sd);
    return no_hierarchy * exp(fmin(odds, 500));
}

static int solve_tiers(struct nt_tiers *out, struct nt_search *s, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct table t = {.search = s};
    double chosen, rest, noise;
    if (make_table(&t, &memory, err) != 0)
        return -1;
    const struct alternative *best = choose_best(&t, &chosen);
    struct alternative stated = {0};
    struct nodes nodes = {0};
    struct locus *locus = nt_arena_array(&memory, t.count, sizeof *locus);
    nt_search_adopt(s, best->visit);
    if (nt_arena_check(&memory, err) != 0 || noise_apart(s, &noise, err) != 0)
        return -1;
    double odds = other_odds(s, noise);
    if (support_nodes(&t, chosen, fmax(no_hierarchy, fmin(odds, 1)), &nodes, &memory, err) != 0 ||
        list_nodes(s->fit.tree, &nodes, &stated, &rest, &memory, err) != 0)
        return -1;
    out->hierarchy = 1 / (1 + odds);
    out->confidence = confidence_of(&t, &stated, locus) * rest * out->hierarchy;
    if (fill_groups(out, s, &nodes) != 0 || fill_deciding(out, &t, best, &memory) != 0)
        return nt_err_memory(err);
    for (size_t k = 0; k < out->groups; k++)
        out->confidence = fmin(out->confidence, out->group[k].support);
    fill_figures(out, s);
    out->evidence = s->best_score + s->host_prior + log(t.total);
    return 0;
}

static int make_tiers(struct nt_tiers *out, struct nt_pairs *pairs, struct nt_err *err)
{
    out->group_of = nt_arena_array(&out->memory, out->hosts, sizeof *out->group_of);
    out->end_us = nt_arena_array(&out->memory, out->hosts, sizeof *out->end_us);
    out->end_error_us = nt_arena_array(&out->memory, out->hosts, sizeof *out->end_error_us);
    if (nt_arena_check(&out->memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < out->hosts; h++) {
        out->group_of[h] = NT_TIERS_NONE;
        out->end_us[h] = out->end_error_us[h] = (double)NAN;
    }
    out->confidence = out->hierarchy = 1;
    struct nt_search *search = NULL;
    if (pairs->count == 0)
        return 0;
    int status = nt_search_create(pairs, &search, err);
    if (status == 0)
        status = solve_tiers(out, search, err);
    nt_search_destroy(search);
    return status;
}

int nt_tiers_solve(struct nt_pairs *pairs, struct nt_tiers **out, struct nt_err *err)
{
    struct nt_tiers *t = nt_object_create(sizeof *t, err);
    if (t == NULL)
        return -1;
    t->hosts = pairs->all;
    if (make_tiers(t, pairs, err) != 0) {
        nt_tiers_destroy(t);
        return -1;
    }
    *out = t;
    return 0;
}

void nt_tiers_destroy(struct nt_tiers *tiers)
{
    nt_object_destroy(tiers);
}
