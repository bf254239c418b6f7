/* SPDX-License-Identifier: Apache-2.0 */
#include "deviation.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

static const double WIDE = 10; /* from this ratio on bins grow by a factor */

/* The mean of both directions, or the only one. NaN: none. */
static float either_way(const struct nt_matrix *m, size_t a, size_t b)
{
    float there = nt_matrix_get(m, a, b), back = nt_matrix_get(m, b, a);
    return isnan(there) ? back : isnan(back) ? there : (there + back) / 2;
}

static bool both_ways(const struct nt_matrix *m, size_t a, size_t b)
{
    return !isnan(nt_matrix_get(m, a, b)) && !isnan(nt_matrix_get(m, b, a));
}

/* Writes the pairs to pair, unless NULL, and returns their number. */
static size_t list_pairs(const struct nt_matrix *first, const struct nt_matrix *second,
                         struct nt_deviating_pair *pair)
{
    size_t n = 0;
    for (uint32_t a = 0; a < first->n; a++) {
        for (uint32_t b = a + 1; b < first->n; b++) {
            bool both = both_ways(first, a, b) && both_ways(second, a, b);
            float x = both ? nt_matrix_get(first, a, b) : either_way(first, a, b);
            float y = both ? nt_matrix_get(second, a, b) : either_way(second, a, b);
            if (isnan(x) || isnan(y))
                continue;
            if (pair != NULL)
                pair[n] = (struct nt_deviating_pair){a, b, x, y};
            if (pair != NULL && both)
                pair[n + 1] = (struct nt_deviating_pair){b, a, nt_matrix_get(first, b, a),
                                                         nt_matrix_get(second, b, a)};
            n += both ? 2 : 1;
        }
    }
    return n;
}

static double difference_of(const struct nt_deviating_pair *p)
{
    return (double)p->first - (double)p->second;
}

static void add_up(struct nt_deviation *d, const struct nt_deviating_pair *pair)
{
    double sum = 0, absolute = 0, squares = 0;
    for (size_t k = 0; k < d->pairs; k++) {
        double x = difference_of(&pair[k]);
        sum += x;
        absolute += fabs(x);
        squares += x * x;
        if (k == 0 || fabs(x) > fabs(d->greatest)) {
            d->greatest = x;
            d->at = pair[k];
        }
    }
    d->mean = sum / (double)d->pairs;
    d->mean_absolute = absolute / (double)d->pairs;
    d->quadratic_mean = sqrt(squares / (double)d->pairs);
}

/* values is reordered. */
static void summarise(float *values, size_t n, double five[NT_DEVIATION_FIVE])
{
    for (int k = 0; k < NT_DEVIATION_FIVE; k++)
        five[k] = (double)nt_stats_quantile(values, n, (double)k / (NT_DEVIATION_FIVE - 1));
}

static void set_edges(struct nt_deviation *d)
{
    double least = fmin(d->first[0], d->second[0]);
    double most = fmax(d->first[NT_DEVIATION_FIVE - 1], d->second[NT_DEVIATION_FIVE - 1]);
    d->factors = least > 0 && most > WIDE * least;
    for (int k = 0; k <= NT_DEVIATION_BINS; k++) {
        double share = (double)k / NT_DEVIATION_BINS;
        d->edge[k] = d->factors ? least * pow(most / least, share) : least + (most - least) * share;
    }
    d->edge[NT_DEVIATION_BINS] = most;
}

static size_t bin_of(const struct nt_deviation *d, double value)
{
    size_t k = 0;
    while (k + 1 < NT_DEVIATION_BINS && value >= d->edge[k + 1])
        k++;
    return k;
}

static double share_of(const struct nt_deviating_pair *p)
{
    double least = fmin((double)p->first, (double)p->second);
    return fabs(difference_of(p)) / fmax(least, 1e-30);
}

static int by_share(const void *x, const void *y)
{
    const struct nt_deviating_pair *a = x, *b = y;
    double s = share_of(a), t = share_of(b);
    return NT_ORDER(t, s, NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, 0)));
}

int nt_deviation_init(struct nt_deviation *d, const struct nt_matrix *first,
                      const struct nt_matrix *second, double tolerance, struct nt_err *err)
{
    *d = (struct nt_deviation){.pairs = list_pairs(first, second, NULL)};
    if (d->pairs == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no pair of hosts is measured in both");
    d->pair = nt_arena_array(&d->memory, d->pairs, sizeof *d->pair);
    float *values = nt_arena_array(&d->memory, d->pairs, sizeof *values);
    if (nt_arena_check(&d->memory, err) != 0)
        return -1;
    list_pairs(first, second, d->pair);
    add_up(d, d->pair);
    for (size_t k = 0; k < d->pairs; k++)
        values[k] = d->pair[k].first;
    summarise(values, d->pairs, d->first);
    for (size_t k = 0; k < d->pairs; k++)
        values[k] = d->pair[k].second;
    summarise(values, d->pairs, d->second);
    for (size_t k = 0; k < d->pairs; k++)
        values[k] = (float)difference_of(&d->pair[k]);
    summarise(values, d->pairs, d->difference);
    set_edges(d);
    for (size_t k = 0; k < d->pairs; k++) {
        struct nt_deviating_pair p = d->pair[k];
        d->bin[bin_of(d, (double)p.first)][0]++;
        d->bin[bin_of(d, (double)p.second)][1]++;
        if (fabs(difference_of(&p)) > tolerance * (double)p.second)
            d->pair[d->differing++] = p;
    }
    qsort(d->pair, d->differing, sizeof *d->pair, by_share);
    return 0;
}

void nt_deviation_fini(struct nt_deviation *d)
{
    nt_arena_fini(&d->memory);
}
