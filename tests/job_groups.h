/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of hosts that a tree states, and how well readings can show them: what the tests and
 * benches of small jobs compare.
 *
 * A group is the set of hosts on one side of a link between switches. It is kept as the side
 * without host 0, so that which switch is the top is nothing. */
#ifndef JOB_GROUPS_H
#define JOB_GROUPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "known_network.h"
#include "rooted_tree.h"
#include "stats.h"

struct job_group {
    uint64_t *set;
    size_t size;       /* hosts on the smaller side */
    double latency_us; /* of the link */
    double support;    /* of the link: its probability */
};

struct job_groups {
    bool tree; /* else the network states none */
    size_t hosts, words, count, room;
    struct job_group *group; /* in order of their sets, each once */
};

static inline int job_compare(const struct job_group *a, const struct job_group *b, size_t words)
{
    return memcmp(a->set, b->set, words * sizeof *a->set);
}

static inline bool job_holds(const struct job_group *g, size_t host)
{
    return g->set[host / 64] >> host % 64 & 1;
}

static inline void job_groups_init(struct job_groups *g, size_t hosts)
{
    memset(g, 0, sizeof *g);
    g->hosts = hosts;
    g->words = hosts / 64 + 1;
}

static inline void job_groups_fini(struct job_groups *g)
{
    for (size_t k = 0; k < g->count; k++)
        free(g->group[k].set);
    free(g->group);
}

/* Adds the group of these hosts behind a link. One host, or all but one, are none; the same group
 * behind a second link (a switch with two ports) is as far as both. */
static inline void job_groups_add(struct job_groups *g, const uint32_t *host, size_t count,
                                  double latency_us, double support)
{
    struct job_group add = {.size = count, .latency_us = latency_us, .support = support};
    if (count < 2 || count + 2 > g->hosts)
        return;
    add.set = calloc(g->words, sizeof *add.set);
    for (size_t k = 0; k < count; k++)
        add.set[host[k] / 64] |= (uint64_t)1 << host[k] % 64;
    if (add.set[0] & 1)
        for (size_t h = 0; h < g->hosts; h++)
            add.set[h / 64] ^= (uint64_t)1 << h % 64;
    if (2 * count > g->hosts)
        add.size = g->hosts - count;
    size_t k = 0;
    int order = 1;
    while (k < g->count && (order = job_compare(&g->group[k], &add, g->words)) < 0)
        k++;
    if (k < g->count && order == 0) {
        g->group[k].latency_us += latency_us;
        g->group[k].support = fmax(g->group[k].support, support);
        free(add.set);
        return;
    }
    if (g->count == g->room) {
        g->room = 2 * g->room + 8;
        g->group = realloc(g->group, g->room * sizeof *g->group);
    }
    memmove(g->group + k + 1, g->group + k, (g->count - k) * sizeof *g->group);
    g->group[k] = add;
    g->count++;
}

/* The groups of a model that is a tree; of another none. */
static inline void job_groups_of(const struct nt_model *m, struct job_groups *g)
{
    struct nt_rooted_tree *rooted;
    struct nt_err err;
    job_groups_init(g, m->hosts);
    known_must(nt_rooted_tree_create(m, &rooted, &err), &err);
    g->tree = rooted->tree;
    for (size_t k = 1; g->tree && k < rooted->reached; k++) {
        uint32_t v = rooted->order[k];
        const struct nt_link *l = &m->link[rooted->up[v] / 2];
        if (v >= m->hosts)
            job_groups_add(g, rooted->host + rooted->head[v], nt_rooted_tree_count(rooted, v),
                           l->latency_us, l->probability);
    }
    nt_rooted_tree_destroy(rooted);
}

/* The same group in another network's; NULL: it is not there. */
static inline const struct job_group *job_groups_find(const struct job_groups *in,
                                                      const struct job_group *group)
{
    size_t low = 0, high = in->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = job_compare(&in->group[middle], group, in->words);
        if (order == 0)
            return &in->group[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static inline bool job_groups_same(const struct job_groups *a, const struct job_groups *b)
{
    if (!a->tree || !b->tree || a->count != b->count)
        return false;
    for (size_t k = 0; k < a->count; k++)
        if (job_compare(&a->group[k], &b->group[k], a->words) != 0)
            return false;
    return true;
}

/* ---- what readings can show ---- */

/* ln of how many sets of m hosts there are among n, for each that is a group. */
static inline double job_ways(size_t n, size_t m, size_t planted)
{
    return lgamma((double)n + 1) - lgamma((double)m + 1) - lgamma((double)(n - m) + 1) -
           log((double)planted);
}

/* Readings of sd 1 that tell a group of m hosts from one switch for all n: the pairs inside, less
 * what the hosts' own links explain, which have to be found too (the residual of the pairs inside,
 * regressed on the hosts). */
static inline double job_pairs(size_t n, size_t m)
{
    double N = (double)n, M = (double)m, inside = M * (M - 1) / 2;
    return inside - (M - 1) * (M - 1) * (M - M * M / (2 * N - 2)) / (N - 2);
}

/* Chance that the best test finds a signal of z sd whose odds before are 1 to exp(ways): it asks
 * for odds of 1 after. */
static inline double job_seen(double z, double ways)
{
    return z > 0 ? nt_normal_cdf(z - (z / 2 + fmax(ways, 0) / z)) : 0;
}

/* Chance that the best test finds exactly this group: that some group of m is there (z: its whole
 * signal in sd), and, over two hosts, that each of them is in it. gap: how much nearer two hosts
 * of it are than others, in sd of a reading. */
static inline double job_chance(size_t n, size_t m, size_t planted, double z, double gap)
{
    double chance = job_seen(z, job_ways(n, m, planted)), N = (double)n, M = (double)m;
    if (m > 2) {
        double one = gap * sqrt((M - 1) * (N - M) / (N - 1));
        chance *= pow(job_seen(one, log(N / M)), M);
    }
    return chance;
}

#define JOB_SHOWN 0.98 /* a group with at least this chance can be shown */

/* Which part of a pair's readings can be used. */
static inline double job_used(const struct nt_matrix *x, size_t i, size_t j)
{
    return 0.5 * !isnan(nt_matrix_get(x, i, j)) + 0.5 * !isnan(nt_matrix_get(x, j, i));
}

/* Cholesky of a, c*c by rows, lower triangle. A column without a reading gets a pivot so small that
 * its variance is beyond all. */
static inline void job_factor(double *a, size_t c)
{
    for (size_t k = 0; k < c; k++)
        for (size_t l = 0; l <= k; l++) {
            double sum = a[k * c + l];
            for (size_t p = 0; p < l; p++)
                sum -= a[k * c + p] * a[l * c + p];
            a[k * c + l] = k == l ? sqrt(fmax(sum, 1e-9)) : sum / a[l * c + l];
        }
}

/* The variance of each group's link in sd^2 of a reading, where every other link is to be found
 * from the same readings. NULL when that is too much to compute, and for what is no tree: see
 * job_pairs. Owned by the caller. */
static inline double *job_variances(const struct job_groups *g, const struct nt_matrix *x)
{
    size_t n = g->hosts, c = n + g->count;
    if (n < 4 || n > 64 || !g->tree)
        return NULL;
    double *a = calloc(c * c, sizeof *a), *row = malloc(c * sizeof *row);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            for (size_t k = 0; k < c; k++)
                row[k] = k < n ? k == i || k == j
                               : job_holds(&g->group[k - n], i) != job_holds(&g->group[k - n], j);
            double used = job_used(x, i, j);
            for (size_t k = 0; k < c && used > 0; k++)
                for (size_t l = 0; l <= k && row[k] > 0; l++)
                    a[k * c + l] += used * row[k] * row[l];
        }
    job_factor(a, c);
    double *variance = calloc(g->count + 1, sizeof *variance);
    for (size_t e = n; e < c; e++) { /* e' inverse(A) e = |inverse(L) e|^2 */
        memset(row, 0, c * sizeof *row);
        for (size_t k = e; k < c; k++) {
            double sum = k == e;
            for (size_t p = e; p < k; p++)
                sum -= a[k * c + p] * row[p];
            row[k] = sum / a[k * c + k];
            variance[e - n] += row[k] * row[k];
        }
    }
    free(a);
    free(row);
    return variance;
}

/* Share of the readings of pairs inside the smaller side that can be used. */
static inline double job_share(const struct job_group *g, const struct nt_matrix *x)
{
    uint32_t *in = malloc((x->n + 1) * sizeof *in);
    size_t m = 0, holds = 0;
    double used = 0;
    for (size_t h = 0; h < x->n; h++)
        holds += job_holds(g, h);
    for (size_t h = 0; h < x->n; h++)
        if (job_holds(g, h) == (holds == g->size))
            in[m++] = (uint32_t)h;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < i; j++)
            used += job_used(x, in[i], in[j]);
    free(in);
    return 2 * used / (double)(m * (m - 1));
}

/* The chance of each of the truth's groups. x: readings, NaN where there is none or it was
 * disturbed, for the best test knows which; sd_us: of all readings of a pair. Owned by the caller.
 */
static inline double *job_chances(const struct job_groups *truth, const struct nt_matrix *x,
                                  double sd_us)
{
    size_t n = truth->hosts;
    double *chance = calloc(truth->count + 1, sizeof *chance);
    double *variance = job_variances(truth, x);
    for (size_t k = 0; k < truth->count; k++) {
        const struct job_group *g = &truth->group[k];
        size_t planted = 0;
        double gap = 2 * g->latency_us / sd_us * sqrt(job_share(g, x));
        for (size_t l = 0; l < truth->count; l++)
            planted += truth->group[l].size == g->size;
        double z = gap * sqrt(job_pairs(n, g->size));
        if (variance != NULL)
            z = fmin(z, g->latency_us / sd_us / sqrt(variance[k]));
        chance[k] = job_chance(n, g->size, planted, z, gap);
    }
    free(variance);
    return chance;
}

#endif
