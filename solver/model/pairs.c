/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "stats.h"

/* Relative values as integers, whose sums do not depend on their order */
#define FIXED_POINT 16777216.0

struct one { /* small, since many are sorted */
    uint32_t a, b;
    double us;
    float se_us, weight, upper_us;
};

double nt_pairs_tail_limit(double sd)
{
    double odds = M_PI * NT_TAIL_SCALE * (1 + NT_TAIL_RATE_PRIOR) / (2 * sd * sqrt(2 * M_PI));
    return odds > 1 ? sqrt(2 * log(odds)) : 0;
}

static int by_pair(const void *x, const void *y)
{
    const struct one *a = x, *b = y;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return (a->us > b->us) - (a->us < b->us);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(float *values, size_t n)
{
    return n > 0 ? (double)nt_stats_select(values, n, n / 2) : 0;
}

static int take(uint32_t hosts, const struct nt_pair_value *values, size_t count, struct one *at,
                struct nt_err *err)
{
    for (size_t k = 0; k < count; k++) {
        const struct nt_pair_value *v = &values[k];
        if (v->a >= hosts || v->b >= hosts || v->a == v->b)
            return nt_err_set(err, NT_ERR_INPUT, "reading %zu: hosts %u and %u: expected two of %u",
                              k, v->a, v->b, hosts);
        if (!isfinite(v->us) || v->us <= 0)
            return nt_err_set(err, NT_ERR_INPUT, "reading %zu: %g us: expected a positive number",
                              k, v->us);
        at[k] = (struct one){.a = v->a < v->b ? v->a : v->b,
                             .b = v->a < v->b ? v->b : v->a,
                             .us = v->us,
                             .se_us = v->se_us > 0 ? (float)v->se_us : 0,
                             .weight = v->weight > 0 && v->weight < 1 ? (float)v->weight : 1};
    }
    qsort(at, count, sizeof *at, by_pair);
    return 0;
}

static size_t end_of_pair(const struct one *at, size_t count, size_t from)
{
    size_t to = from + 1;
    while (to < count && at[to].a == at[from].a && at[to].b == at[from].b)
        to++;
    return to;
}

/* The sd of one reading: from differences of a pair's two lowest, and from standard errors, which
 * count as a few more pairs. */
static double noise_of(const struct one *at, size_t count, float *room)
{
    const double errors = 3 / NT_MAD_WORTH;
    size_t pairs = 0, n = 0;
    for (size_t k = 0; k < count; k = end_of_pair(at, count, k))
        if (end_of_pair(at, count, k) > k + 1)
            room[pairs++] = (float)(at[k + 1].us - at[k].us);
    double apart = pairs > 0 ? NT_SD_OF_MEDIAN * median(room, pairs) / M_SQRT2 : 0;
    for (size_t k = 0; k < count; k++)
        if (at[k].se_us > 0)
            room[n++] = at[k].se_us;
    double own = median(room, n), share = (double)pairs / ((double)pairs + errors);
    if (!(apart > 0) || !(own > 0))
        return fmax(apart, own);
    return exp(share * log(apart) + (1 - share) * log(own));
}

/* Readings whose standard error is well over the noise of most weigh less. */
static void weigh(struct one *at, size_t count, double sd, float *room)
{
    const double far = 2; /* smaller errors are part of the noise of all readings */
    size_t n = 0;
    for (size_t k = 0; k < count; k++)
        if (at[k].se_us > 0)
            room[n++] = at[k].se_us;
    double usual = fmax(sd, median(room, n));
    for (size_t k = 0; k < count; k++) {
        double se = (double)at[k].se_us;
        if (se > far * usual)
            at[k].weight *= (float)(usual * usual / (usual * usual + se * se));
    }
}

/* The largest step of which all values are multiples (Euclid's algorithm); 0: none over
 * a thousandth of the largest, under which a timer is no part of the noise. Readings have six
 * digits or seven, and remainders add up their errors. */
static double step_of_sorted(const double *value, size_t count)
{
    double step = 0, largest = count > 0 ? value[count - 1] : 0;
    double least = largest * 1e-3, accuracy = least / 50;
    for (size_t k = 0; k < count; k++) {
        double a = value[k], b = step;
        while (b > accuracy) {
            double rest = fabs(a - b * round(a / b));
            a = b;
            b = rest;
        }
        double steps = round(largest / a); /* its error is the least with the largest */
        step = fabs(largest - a * steps) < 10 * accuracy ? largest / steps : a;
        if (step < least)
            return 0;
    }
    return count > 1 ? step : 0;
}

/* Multiples of more than this part of a latency are exact readings of few levels: no timer is so
 * coarse. */
static const double coarsest = 0.125;

/* Few readings show that there is none. */
static double step_of(double *value, size_t count)
{
    enum { FEW = 64 };
    double few[FEW] = {0};
    if (count == 0)
        return 0;
    size_t n = count < FEW ? count : FEW;
    for (size_t k = 0; k < n; k++)
        few[k] = value[k * (count / n)];
    qsort(few, n, sizeof *few, by_value);
    if (step_of_sorted(few, n) <= 0 && few[0] < few[n - 1])
        return 0;
    qsort(value, count, sizeof *value, by_value);
    return step_of_sorted(value, count);
}

/* One value per pair into at[], from the front; their number. Tails are upward: readings over the
 * lowest by more than the tail's limit do not count. */
static size_t merge(struct one *at, size_t count, double sd, double scale)
{
    double limit = sd > 0 ? nt_pairs_tail_limit(sd * M_SQRT2 / scale) * sd * M_SQRT2 : 0;
    size_t pairs = 0;
    for (size_t k = 0, end; k < count; k = end) {
        double sum = 0, weight = 0, all = 0;
        size_t kept = 0;
        end = end_of_pair(at, count, k);
        for (size_t r = k; r < end; r++) {
            all += at[r].us;
            if (sd <= 0 || at[r].us <= at[k].us + limit) {
                sum += at[r].us;
                weight += (double)at[r].weight;
                kept++;
            }
        }
        struct one value = at[k];
        value.upper_us =
            k + kept < end ? (float)((all - sum) / (double)(end - k - kept)) : (float)NAN;
        value.us = sum / (double)kept;
        value.weight = (float)(weight / (double)kept);
        at[pairs++] = value;
    }
    return pairs;
}

uint64_t nt_pairs_mix(uint64_t z)
{
    struct nt_rng rng = {z};
    return nt_rng_next(&rng);
}

struct key {
    double mean;
    uint64_t colour;
    uint32_t host;
};

static int by_key(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    if (a->mean != b->mean)
        return a->mean < b->mean ? -1 : 1;
    if (a->colour != b->colour)
        return a->colour < b->colour ? -1 : 1;
    return a->host < b->host ? -1 : 1;
}

static int64_t fixed(double us, double scale)
{
    return llround(us / scale * FIXED_POINT);
}

/* key[hosts] in the order of readings; hosts without any have mean infinity. */
static void order(const struct one *at, size_t pairs, uint32_t hosts, double scale, struct key *key,
                  int64_t *sum, uint64_t *next)
{
    uint32_t *degree = (uint32_t *)next; /* used before next is */
    for (uint32_t h = 0; h < hosts; h++)
        key[h] = (struct key){.host = h};
    for (size_t k = 0; k < pairs; k++) {
        int64_t v = fixed(at[k].us, scale);
        sum[at[k].a] += v;
        sum[at[k].b] += v;
        degree[at[k].a]++;
        degree[at[k].b]++;
    }
    for (uint32_t h = 0; h < hosts; h++)
        key[h].mean = degree[h] > 0 ? (double)sum[h] / degree[h] : (double)INFINITY;
    for (int round = 0; round < 3; round++) {
        memset(next, 0, hosts * sizeof *next);
        for (size_t k = 0; k < pairs; k++) {
            uint64_t v = (uint64_t)fixed(at[k].us, scale);
            next[at[k].a] += nt_pairs_mix(v ^ nt_pairs_mix(key[at[k].b].colour));
            next[at[k].b] += nt_pairs_mix(v ^ nt_pairs_mix(key[at[k].a].colour));
        }
        for (uint32_t h = 0; h < hosts; h++)
            key[h].colour = next[h];
    }
    qsort(key, hosts, sizeof *key, by_key);
}

static int by_host(const void *x, const void *y)
{
    const struct nt_pair_entry *a = x, *b = y;
    return (a->host > b->host) - (a->host < b->host);
}

static int fill(struct nt_pairs *p, const struct one *at, const struct key *key, uint32_t hosts,
                uint32_t *seat, struct nt_err *err)
{
    while (p->hosts < hosts && isfinite(key[p->hosts].mean))
        p->hosts++;
    p->start = nt_arena_array(&p->memory, p->hosts + 2, sizeof *p->start);
    p->entry = nt_arena_array(&p->memory, 2 * p->count, sizeof *p->entry);
    p->origin = nt_arena_array(&p->memory, p->hosts, sizeof *p->origin);
    if (nt_arena_check(&p->memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < p->hosts; h++) {
        p->origin[h] = key[h].host;
        seat[key[h].host] = h;
    }
    size_t *end =
        p->start + 1; /* counted one further, so that start is right when they are filled */
    for (size_t k = 0; k < p->count; k++) {
        end[seat[at[k].a] + 1]++;
        end[seat[at[k].b] + 1]++;
    }
    for (uint32_t h = 0; h < p->hosts; h++)
        end[h + 1] += end[h];
    for (size_t k = 0; k < p->count; k++) {
        uint32_t a = seat[at[k].a], b = seat[at[k].b];
        struct nt_pair_entry e = {.weight = at[k].weight,
                                  .upper = at[k].upper_us / (float)p->scale_us - 1,
                                  .value = at[k].us / p->scale_us - 1};
        e.host = b;
        p->entry[end[a]++] = e;
        e.host = a;
        p->entry[end[b]++] = e;
    }
    for (uint32_t h = 0; h < p->hosts; h++)
        qsort(p->entry + p->start[h], p->start[h + 1] - p->start[h], sizeof *p->entry, by_host);
    return 0;
}

static int make(struct nt_pairs *p, uint32_t hosts, const struct nt_pair_value *values,
                size_t count, struct nt_arena *memory, struct nt_err *err)
{
    struct one *at = nt_arena_array(memory, count, sizeof *at);
    double *us = nt_arena_array(memory, count, sizeof *us);
    float *room = nt_arena_array(memory, count, sizeof *room);
    struct key *key = nt_arena_array(memory, hosts, sizeof *key);
    int64_t *sum = nt_arena_array(memory, hosts, sizeof *sum);
    uint64_t *next = nt_arena_array(memory, hosts, sizeof *next);
    uint32_t *seat = nt_arena_array(memory, hosts, sizeof *seat);
    if (nt_arena_check(memory, err) != 0 || take(hosts, values, count, at, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        us[k] = at[k].us;
        room[k] = (float)at[k].us;
    }
    p->scale_us = median(room, count);
    double step = step_of(us, count), sd = noise_of(at, count, room);
    weigh(at, count, sd, room);
    p->count = merge(at, count, sd, p->scale_us);
    /* directions that never differ are one reading, given twice */
    double per_pair = p->count > 0 && sd > 0 ? (double)count / (double)p->count : 1;
    p->noise = count > 0 ? sd / sqrt(per_pair) / p->scale_us : 0;
    if (step > coarsest * p->scale_us)
        step = 0;
    p->quantum = count > 0 ? step / sqrt(per_pair) / p->scale_us : 0;
    order(at, p->count, hosts, p->scale_us, key, sum, next);
    return fill(p, at, key, hosts, seat, err);
}

int nt_pairs_create(uint32_t hosts, const struct nt_pair_value *values, size_t count,
                    struct nt_pairs **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_pairs *p = nt_object_create(sizeof *p, err);
    if (p == NULL)
        return -1;
    if (make(p, hosts, values, count, &memory, err) != 0) {
        nt_pairs_destroy(p);
        return -1;
    }
    *out = p;
    return 0;
}

void nt_pairs_destroy(struct nt_pairs *pairs)
{
    nt_object_destroy(pairs);
}

const struct nt_pair_entry *nt_pairs_find(const struct nt_pairs *pairs, uint32_t a, uint32_t b)
{
    size_t low = pairs->start[a], high = pairs->start[a + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs->entry[middle].host < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pairs->start[a + 1] && pairs->entry[low].host == b ? &pairs->entry[low] : NULL;
}
