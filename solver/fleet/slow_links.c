/* SPDX-License-Identifier: Apache-2.0 */
#include "slow_links.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

/* A reading says no more than MOST, ln of likelihoods; a place has to be better than any other by
 * GAIN, as for moves (host_moves.c), and is known by two hosts there. */
enum { READINGS_LEAST = 4, THERE_LEAST = 2 };
static const double MOST = 12, GAIN = 15;
/* At the right place a reading says 0.5 of a square, and MOST if it is one of two in a hundred that
 * are outliers: mean and sd of that. More than three sds of n of them are not by chance. */
static const double FITS = 0.74, FITS_SD = 1.8;

struct reading {
    uint32_t partner, place;
    double us;
};

struct host {
    const struct nt_cluster_tiers *t;
    struct reading *at;
    size_t n;
    float *scratch;
};

/* The lowest level at which two hosts are together. */
static size_t level_of(const struct nt_cluster_tiers *t, uint32_t a, uint32_t b)
{
    size_t level = 0;
    while (level + 1 < t->classes.count && t->up[level][a] != t->up[level][b])
        level++;
    return level;
}

/* How badly the readings fit a host that is beside that one, on a link longer by offset. */
static double misfit(const struct host *h, uint32_t beside, double offset)
{
    double sum = 0;
    for (size_t k = 0; k < h->n; k++) {
        size_t level = level_of(h->t, beside, h->at[k].partner);
        double us = exp(h->t->classes.mean[level]);
        double sd = us * nt_classes_sd(&h->t->classes, level) + offset * h->t->classes.noise;
        double off = (h->at[k].us - us - offset) / sd;
        sum += fmin(off * off / 2, MOST);
    }
    return sum;
}

static double best_offset(const struct host *h, uint32_t beside)
{
    for (size_t k = 0; k < h->n; k++)
        h->scratch[k] = (float)(h->at[k].us -
                                exp(h->t->classes.mean[level_of(h->t, beside, h->at[k].partner)]));
    return (double)nt_stats_median(h->scratch, h->n);
}

static bool is_first_of_place(const struct host *h, size_t k)
{
    size_t there = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (i < k && h->at[i].place == h->at[k].place)
            return false;
        there += h->at[i].place == h->at[k].place && h->at[i].partner != h->at[k].partner;
    }
    return there + 1 >= THERE_LEAST;
}

static double fits(const struct host *h)
{
    double n = (double)h->n;
    return FITS * n + 3 * FITS_SD * sqrt(n);
}

/* The offset of its link; 0: it is not slow, or nobody can say where it is. */
static double find_offset(const struct host *h, uint32_t self)
{
    double best = INFINITY, second = INFINITY, offset = 0;
    if (h->n < READINGS_LEAST || misfit(h, self, 0) < fits(h))
        return 0;
    for (size_t k = 0; k < h->n; k++) {
        if (!is_first_of_place(h, k))
            continue;
        double own = best_offset(h, h->at[k].partner);
        double bad = own > 0 ? misfit(h, h->at[k].partner, own) : INFINITY;
        if (bad < best) {
            second = best;
            best = bad;
            offset = own;
        } else {
            second = fmin(second, bad);
        }
    }
    bool found = best < fits(h) && best + GAIN < second && best + GAIN < misfit(h, self, 0);
    return found ? offset : 0;
}

int nt_slow_links_take_out(struct nt_evidence *e, const struct nt_cluster_tiers *t,
                           double *extra_us, size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t *from = nt_arena_array(&memory, e->hosts + 2, sizeof *from), most = 0;
    uint32_t *entry = nt_arena_array(&memory, 2 * e->entries + 1, sizeof *entry);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++) {
        from[e->entry[k].a + 2]++;
        from[e->entry[k].b + 2]++;
    }
    for (size_t h = 0; h < e->hosts; h++) {
        most = from[h + 2] > most ? from[h + 2] : most;
        from[h + 2] += from[h + 1];
    }
    for (size_t k = 0; k < e->entries; k++) { /* from[h + 1] ends where those of h end */
        entry[from[e->entry[k].a + 1]++] = (uint32_t)k;
        entry[from[e->entry[k].b + 1]++] = (uint32_t)k;
    }
    struct host host = {.t = t,
                        .at = nt_arena_array(&memory, most + 1, sizeof *host.at),
                        .scratch = nt_arena_array(&memory, most + 1, sizeof *host.scratch)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    *count = 0;
    for (uint32_t h = 0; h < e->hosts; h++) {
        host.n = 0;
        for (size_t k = from[h]; k < from[h + 1]; k++) {
            const struct nt_evidence_entry *one = &e->entry[entry[k]];
            uint32_t other = one->a == h ? one->b : one->a;
            host.at[host.n++] = (struct reading){other, t->up[0][other], exp((double)one->ln)};
        }
        extra_us[h] = find_offset(&host, h);
        *count += extra_us[h] > 0;
    }
    if (*count * NT_UNEVEN_ONE_IN > e->hosts) { /* another network than one of equally deep hosts */
        memset(extra_us, 0, e->hosts * sizeof *extra_us);
        *count = 0;
    }
    for (size_t k = 0; *count > 0 && k < e->entries; k++) {
        struct nt_evidence_entry *one = &e->entry[k];
        double us = exp((double)one->ln) - extra_us[one->a] - extra_us[one->b];
        if (us > 0 && extra_us[one->a] + extra_us[one->b] > 0)
            one->ln = (float)log(us);
    }
    return 0;
}
