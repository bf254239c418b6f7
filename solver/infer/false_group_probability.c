/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that outliers alone could make. A reading that is far too low makes its two hosts look
 * like a switch of their own; with enough of them some sets of three or four do. A small group is
 * accepted when there are more groups like it than the low outliers seen elsewhere would make. */
#include "work.h"

#include "lanes.h"
#include "memory.h"
#include "stats.h"

static double ln_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

struct low {
    size_t low, all;
};

/* Readings of one host to the members of a group, offset not counted, that are under limit. */
static void count_low(struct low *c, const float *row, const float *offset, const uint32_t *member,
                      size_t size, float limit)
{
    size_t first = member[0], k = 0;
    nt_floats_are low = {0}, all = {0};
    if (member[size - 1] - first + 1 == size) /* one after the other, as in linkage */
        for (; k + NT_FLOATS <= size; k += NT_FLOATS) {
            nt_floats v = nt_floats_load(row + first + k) - nt_floats_load(offset + first + k);
            low -= v < limit;
            all -= v == v;
        }
    c->low += (size_t)(low[0] + low[1] + low[2] + low[3]);
    c->all += (size_t)(all[0] + all[1] + all[2] + all[3]);
    for (; k < size; k++) {
        float v = row[member[k]] - offset[member[k]];
        c->low += v < limit;
        c->all += v == v;
    }
}

double nt_low_share(const struct nt_work *w, double depth_us)
{
    struct low inside = {0, 0}, between = {0, 0};
    for (size_t a = 0; a < w->groups; a++)
        for (size_t k = w->start[a]; k < w->start[a + 1]; k++) {
            size_t i = w->member[k], na = nt_work_size(w, a);
            for (size_t b = 0; b <= a; b++) {
                size_t nb = nt_work_size(w, b);
                if (a == b ? na < 5 : na * nb < 8)
                    continue;
                float below = fmaxf(4 * w->sd[a * w->groups + b], (float)depth_us);
                float limit = w->offset[i] + w->t[a * w->groups + b] - below;
                count_low(a == b ? &inside : &between, w->d + i * w->n, w->offset,
                          w->member + w->start[b], nb, limit);
            }
        }
    /* each pair inside a group was seen from both ends */
    double low = 0.5 * (double)inside.low + (double)between.low;
    double all = 0.5 * (double)inside.all + (double)between.all;
    return (low + 0.02) / (all + 1);
}

/* Under which a reading of host i of group a to a host of group b, its offset taken off, is far too
 * low; NaN: the groups have too few pairs. */
static float false_low_limit(const struct nt_work *w, size_t a, size_t i, size_t b)
{
    size_t na = nt_work_size(w, a), nb = nt_work_size(w, b), at = a * w->groups + b;
    return na >= 2 && nb >= 2 && na * nb >= 8 ? w->offset[i] + w->t[at] - 4 * w->sd[at] : NAN;
}

double nt_false_low_share(const struct nt_work *w, double *pairs)
{
    struct low c = {0, 0};
    for (size_t a = 0; a < w->groups; a++)
        for (size_t k = w->start[a]; k < w->start[a + 1]; k++)
            for (size_t b = 0; b < a; b++) {
                size_t i = w->member[k];
                float limit = false_low_limit(w, a, i, b);
                if (limit == limit)
                    count_low(&c, w->d + i * w->n, w->offset, w->member + w->start[b],
                              nt_work_size(w, b), limit);
            }
    *pairs = (double)c.all;
    return c.all > 0 ? (double)c.low / (double)c.all : 0;
}

double nt_false_low_part(const struct nt_work *w)
{
    const double BEFORE = 30; /* readings anywhere, as if they had been seen */
    double sum = 0.5 * BEFORE, low = BEFORE;
    for (size_t a = 0; a < w->groups; a++)
        for (size_t k = w->start[a]; k < w->start[a + 1]; k++)
            for (size_t b = 0; b < a; b++) {
                size_t i = w->member[k];
                float limit = false_low_limit(w, a, i, b);
                for (size_t l = w->start[b]; l < w->start[b + 1] && limit == limit; l++) {
                    size_t j = w->member[l];
                    float v = w->d[i * w->n + j];
                    float fitted = w->offset[i] + w->offset[j] + w->t[a * w->groups + b];
                    if (v - w->offset[j] < limit) {
                        sum += 1 - (double)(v / fitted);
                        low++;
                    }
                }
            }
    return fmin(2 * sum / low, 1);
}

/* Chance of at least k events where e are expected. */
static double poisson_tail(double e, size_t k)
{
    double term = exp(-e), below = 0;
    for (size_t x = 0; x < k; x++) {
        below += term;
        term *= e / (double)(x + 1);
    }
    if (below < 0.999999)
        return 1 - below;
    return term; /* the first term beyond, all that is left of it */
}

size_t nt_agreeing_pairs(const struct nt_work *w, const uint32_t *hosts, size_t m)
{
    float value[NT_WEAK_SIZES * NT_WEAK_SIZES / 2], sorted[NT_WEAK_SIZES * NT_WEAK_SIZES / 2];
    size_t count = 0, agreeing = 0;
    float level = 0;
    for (size_t k = 1; k < m; k++)
        for (size_t l = 0; l < k; l++) {
            float v = w->d[hosts[k] * w->n + hosts[l]];
            if (v != v)
                continue;
            level = v;
            value[count] = sorted[count] = v - w->offset[hosts[k]] - w->offset[hosts[l]];
            count++;
        }
    float middle = nt_stats_median(sorted, count),
          reach = 4 * (float)nt_noise_sd(&w->noise, (double)level);
    for (size_t k = 0; k < count; k++)
        agreeing += fabsf(value[k] - middle) < reach;
    return agreeing;
}

/* A small group stands within a switch of the usual size, at least twice as large as itself. */
static double chance_around(const struct nt_work *w, size_t m)
{
    return fmin((double)w->n, fmax(w->usual_size, 2 * (double)m));
}

double nt_false_groups_expected(const struct nt_work *w, size_t m, size_t agreeing)
{
    double n = (double)w->n, size = (double)m, k = (double)agreeing;
    double among = chance_around(w, m);
    double window = fmin(1, 20 * w->noise_share); /* of the range of outliers, to agree in */
    double x = log(n / among) + ln_choose(among, size) + ln_choose(size * (size - 1) / 2, k) +
               k * log(w->low_share) + (k - 1) * log(window);
    return x > 10 ? 22000 : exp(x);
}

bool nt_false_groups_explain(double expected, size_t seen)
{
    return expected > 500 || poisson_tail(expected, seen) > 0.02;
}

int nt_false_groups_mark(struct nt_work *w, struct nt_err *err)
{
    double squares = 0, level = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint16_t *agreeing = nt_arena_array(&memory, w->groups + 1, sizeof *agreeing);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t g = 0; g < w->groups; g++) {
        size_t m = nt_work_size(w, g);
        squares += (double)m * (double)m;
        level += 2 * (double)w->offset[w->member[w->start[g]]] * (double)m;
        agreeing[g] = 0;
        if (m > 1 && m < NT_WEAK_SIZES)
            agreeing[g] = (uint16_t)nt_agreeing_pairs(w, w->member + w->start[g], m);
    }
    w->usual_size = squares / (double)w->n;
    w->noise_share = nt_noise_sd(&w->noise, level / (double)w->n) / (level / (double)w->n + 1e-9);
    w->low_share = nt_low_share(w, 0);
    for (size_t g = 0; g < w->groups; g++) {
        size_t m = nt_work_size(w, g), seen = 0;
        w->weak[g] = m < 2;
        if (m < 2 || m >= NT_WEAK_SIZES || 2 * m > w->n)
            continue;
        for (size_t b = 0; b < w->groups; b++)
            seen += nt_work_size(w, b) == m && agreeing[b] >= agreeing[g];
        w->weak[g] = nt_false_groups_explain(nt_false_groups_expected(w, m, agreeing[g]), seen);
        /* outliers leave low pairs over that found no place in a group; switches do not */
        double pairs = (double)seen * agreeing[g], near = 0.5 * (double)w->n * chance_around(w, m);
        w->weak[g] |= m <= 3 && seen >= 20 && w->low_share > 0.25 * pairs / near;
    }
    return 0;
}
