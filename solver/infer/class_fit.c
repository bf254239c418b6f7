/* SPDX-License-Identifier: Apache-2.0 */
#include "class_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

enum { PEAKS_MAX = 20, FEW_VALUES = 40, ITERATIONS = 30 };

static const double BINS_A_SD = 4;
static const double OUTLIER_DENSITY = 0.8; /* in a unit of ln on each side: factors up to 3.5 */
static const double FEW_GAP_SDS = 3.5;
static const double RESOLVED_SDS = 6;
static const double FLOOR = 1e-12; /* of a density, so that its logarithm exists */

/* Values in bins, the empty ones left out. */
struct bins {
    size_t count;
    double *at;     /* middle of the bin */
    double *values; /* how many */
};

static int bins_init(struct bins *b, const double *value, size_t n, double width,
                     struct nt_arena *memory, struct nt_err *err)
{
    *b = (struct bins){.at = nt_arena_array(memory, n, sizeof *b->at),
                       .values = nt_arena_array(memory, n, sizeof *b->values)};
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < n; k++) {
        double at = (floor(value[k] / width) + 0.5) * width;
        if (b->count == 0 || at > b->at[b->count - 1] + width / 2)
            b->at[b->count++] = at;
        b->values[b->count - 1]++;
    }
    return 0;
}

static double normal_density(double x, double mean, double sd)
{
    double z = (x - mean) / sd;
    if (z * z > 100) /* 1e-22: nothing beside the outliers */
        return 0;
    return exp(-0.5 * z * z) / (sd * NT_SQRT_2_PI);
}

static double sd_of(double noise, double spread_us, double mean)
{
    double spread = spread_us / exp(mean);
    return sqrt(noise * noise + spread * spread);
}

/* Kernels of 0.6 sd resolve classes two sd apart. A peak of at most one and a half values is a
 * single value, and peaks nearer than 1.5 sd belong to one class. */
static const double KERNEL_SDS = 0.6, PEAK_LEAST = 1.4, PEAK_SDS = 1.5;

/* ---- where classes could be ------------------------------------------------------------------ */

struct peak {
    double at, height;
};

/* Estimated number of values within one sd of x. bins are sorted: only near ones are visited. */
static double heap_at(const struct bins *b, size_t near, double noise)
{
    double width = KERNEL_SDS * noise, sum = 0, x = b->at[near];
    for (size_t k = near + 1; k-- > 0 && x - b->at[k] < 4 * width;)
        sum += b->values[k] * exp(-0.5 * pow((x - b->at[k]) / width, 2));
    for (size_t k = near + 1; k < b->count && b->at[k] - x < 4 * width; k++)
        sum += b->values[k] * exp(-0.5 * pow((x - b->at[k]) / width, 2));
    return sum;
}

static int higher_peak(const void *a, const void *b)
{
    const struct peak *p = a, *q = b;
    return NT_ORDER(q->height, p->height, NT_ORDER(p->at, q->at, 0));
}

/* The highest peaks that are at least PEAK_SDS from each other. */
static int find_peaks(const struct bins *b, double noise, double *mean, size_t *found,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct peak *peak = nt_arena_array(&memory, b->count, sizeof *peak);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < b->count; k++)
        peak[k] = (struct peak){b->at[k], heap_at(b, k, noise)};
    qsort(peak, b->count, sizeof *peak, higher_peak);
    size_t n = 0;
    for (size_t k = 0; k < b->count && n < PEAKS_MAX && (n == 0 || peak[k].height > PEAK_LEAST);
         k++) {
        bool own = true;
        for (size_t i = 0; i < n; i++)
            own &= fabs(mean[i] - peak[k].at) > PEAK_SDS * noise;
        if (own)
            mean[n++] = peak[k].at;
    }
    qsort(mean, n, sizeof *mean, nt_compare_doubles);
    *found = n;
    return 0;
}

/* ---- the mixture ---- */

struct mixture {
    size_t count;
    double mean[PEAKS_MAX], weight[PEAKS_MAX];
    double us[PEAKS_MAX]; /* exp(mean), while adapting */
    double noise, spread_us, outliers;
};

struct sums {
    double weight[PEAKS_MAX], mean[PEAKS_MAX];
    double spread, all;
};

/* Adds one bin's share in each class; returns the density there. */
static double expectation_step(const struct mixture *m, const double *sd, double x, double values,
                               struct sums *s)
{
    double part[PEAKS_MAX], sum = m->outliers * OUTLIER_DENSITY / 2 + FLOOR;
    for (size_t c = 0; c < m->count; c++) {
        part[c] = (1 - m->outliers) * m->weight[c] * normal_density(x, m->mean[c], sd[c]);
        sum += part[c];
    }
    for (size_t c = 0; c < m->count; c++) {
        if (part[c] <= 0)
            continue;
        double share = values * part[c] / sum, off = x - m->mean[c], us = m->us[c];
        s->weight[c] += share;
        s->mean[c] += share * x;
        s->spread += share * (off * off - m->noise * m->noise) * us * us;
        s->all += share;
    }
    return sum;
}

static void maximisation_step(struct mixture *m, const struct sums *s)
{
    for (size_t c = 0; c < m->count; c++) {
        if (s->weight[c] > 0.5)
            m->mean[c] = s->mean[c] / s->weight[c];
        m->weight[c] = fmax(s->weight[c] / fmax(s->all, 1), 1e-6);
    }
    m->spread_us = s->spread > 0 ? sqrt(s->spread / s->all) : 0;
}

/* One step of expectation; returns the log-likelihood of the mixture as it is. */
static double expect_all(struct mixture *m, const struct bins *b, struct sums *s)
{
    double likelihood = 0, sd[PEAKS_MAX];
    *s = (struct sums){.all = 0};
    for (size_t c = 0; c < m->count; c++) {
        m->us[c] = exp(m->mean[c]);
        sd[c] = sd_of(m->noise, m->spread_us, m->mean[c]);
    }
    for (size_t i = 0; i < b->count; i++)
        likelihood += b->values[i] * log(expectation_step(m, sd, b->at[i], b->values[i], s));
    return likelihood;
}

/* Returns the log-likelihood. */
static double adapt_mixture(struct mixture *m, const struct bins *b)
{
    struct sums s;
    double likelihood = 0;
    for (int k = 0; k < ITERATIONS; k++) {
        double before = likelihood;
        likelihood = expect_all(m, b, &s);
        maximisation_step(m, &s);
        if (k > 3 && fabs(likelihood - before) < 1e-2)
            break;
    }
    return likelihood;
}

static struct mixture without_class(const struct mixture *m, size_t c)
{
    struct mixture w = *m;
    memmove(w.mean + c, w.mean + c + 1, (w.count - c - 1) * sizeof *w.mean);
    memmove(w.weight + c, w.weight + c + 1, (w.count - c - 1) * sizeof *w.weight);
    w.count--;
    return w;
}

/* The class without which the mixture is best before it adapts, except for those already tried. */
static size_t least_useful(const struct mixture *m, const struct bins *b, const bool *tried)
{
    size_t least = m->count;
    double most = -INFINITY;
    for (size_t c = 0; c < m->count; c++) {
        struct mixture w = without_class(m, c);
        struct sums s;
        double likelihood = tried[c] ? -INFINITY : expect_all(&w, b, &s);
        if (likelihood > most) {
            most = likelihood;
            least = c;
        }
    }
    return least;
}

/* Removes classes, least useful first, until each remaining class gains more likelihood than it
 * costs. */
static void eliminate_classes(struct mixture *m, const struct bins *b, double worth)
{
    bool tried[PEAKS_MAX] = {0};
    for (size_t c = 0; c < m->count; c++)
        m->weight[c] = 1 / (double)m->count;
    double likelihood = adapt_mixture(m, b);
    while (m->count > 1) {
        size_t c = least_useful(m, b, tried);
        if (c == m->count)
            return;
        struct mixture w = without_class(m, c);
        double less = adapt_mixture(&w, b);
        if (likelihood - less >= worth && m->count <= NT_CLASSES_MAX) {
            tried[c] = true;
            continue;
        }
        *m = w;
        likelihood = less;
        memset(tried, 0, sizeof tried);
    }
}

static void take_classes(const struct mixture *m, struct nt_classes *out)
{
    size_t order[PEAKS_MAX];
    double sum = 0;
    for (size_t c = 0; c < m->count; c++) { /* means may have passed each other */
        size_t k = c;
        for (; k > 0 && m->mean[order[k - 1]] > m->mean[c]; k--)
            order[k] = order[k - 1];
        order[k] = c;
        sum += m->weight[c];
    }
    *out = (struct nt_classes){
        .count = m->count, .noise = m->noise, .spread_us = m->spread_us, .outliers = m->outliers};
    for (size_t c = 0; c < m->count; c++) {
        out->mean[c] = m->mean[order[c]];
        out->weight[c] = m->weight[order[c]] / sum;
    }
}

/* ---- few values ---- */

/* Too few values for a density: splits at the widest gaps. */
static void split_at_gaps(const double *value, size_t n, struct mixture *m)
{
    size_t from = 0;
    for (size_t k = 1; k <= n; k++) {
        if (k < n && value[k] - value[k - 1] <= FEW_GAP_SDS * m->noise)
            continue;
        double sum = 0;
        for (size_t i = from; i < k; i++)
            sum += value[i];
        if (m->count < NT_CLASSES_MAX) {
            m->mean[m->count] = sum / (double)(k - from);
            m->weight[m->count++] = (double)(k - from) / (double)n;
        }
        from = k;
    }
}

int nt_classes_fit(double *value, size_t n, double noise, double outliers, struct nt_classes *out,
                   struct nt_err *err)
{
    struct mixture m = {.noise = noise, .outliers = outliers};
    NT_SCOPED struct nt_arena memory = {0};
    struct bins b;
    qsort(value, n, sizeof *value, nt_compare_doubles);
    if (n < FEW_VALUES) {
        split_at_gaps(value, n, &m);
        take_classes(&m, out);
        return 0;
    }
    if (bins_init(&b, value, n, noise / BINS_A_SD, &memory, err) < 0 ||
        find_peaks(&b, noise, m.mean, &m.count, err) < 0)
        return -1;
    eliminate_classes(&m, &b, log((double)n) + 4);
    take_classes(&m, out);
    return 0;
}

/* ---- readings ---- */

double nt_classes_sd(const struct nt_classes *k, size_t c)
{
    return sd_of(k->noise, k->spread_us, k->mean[c]);
}

static double log_density(const struct nt_classes *k, double ln, size_t c)
{
    double p = (1 - k->outliers) * normal_density(ln, k->mean[c], nt_classes_sd(k, c));
    double side = ln < k->mean[c] ? k->low_share : 1 - k->low_share;
    return log(p + k->outliers * side * OUTLIER_DENSITY + FLOOR);
}

/* Counts which one of two disagreeing readings of a pair is an outlier, and on which side, into low
 * and high. */
static void count_side(const struct nt_classes *k, double ln, double other, double *low,
                       double *high)
{
    double off, others;
    nt_classes_nearest(k, ln, &off);
    nt_classes_nearest(k, other, &others);
    if ((off > others) == (ln > other))
        (*high)++;
    else
        (*low)++;
}

double nt_classes_llr(const struct nt_classes *k, double ln, size_t level)
{
    double below = -INFINITY, above = -INFINITY;
    if (level + 1 >= k->count)
        return 0;
    for (size_t c = 0; c < k->count; c++) {
        double p = log_density(k, ln, c);
        if (c <= level)
            below = fmax(below, p);
        else
            above = fmax(above, p);
    }
    return fmin(fmax(below - above, -7), 12);
}

size_t nt_classes_nearest(const struct nt_classes *k, double ln, double *sds)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t c = 0; c < k->count; c++) {
        double off = fabs(ln - k->mean[c]) / nt_classes_sd(k, c);
        if (off < least) {
            least = off;
            best = c;
        }
    }
    if (sds != NULL)
        *sds = least;
    return best;
}

double nt_classes_resolution_us(const struct nt_classes *k)
{
    return RESOLVED_SDS * nt_classes_sd(k, 0) * exp(k->mean[0]);
}

double nt_classes_gap_sds(const struct nt_classes *k)
{
    double least = INFINITY;
    for (size_t c = 0; c + 1 < k->count; c++)
        least = fmin(least, (k->mean[c + 1] - k->mean[c]) / nt_classes_sd(k, c));
    return least;
}

/* ---- calibration ---- */

static const double LEAST_SD = 0.01;        /* relative: paths of one class differ by that */
static const double LEAST_AGREEING = 0.005; /* share of agreeing pairs that are wrong twice */
static const double DISAGREE_SDS = 4.5;
/* If two readings disagree, one is an outlier, rarely both: WRONG_A_PAIR outliers per reading of
 * such a pair. Above OUTLIERS_MOST nothing can be distinguished from outliers, and the fit assumes
 * no more. */
static const double WRONG_A_PAIR = 0.65, OUTLIERS_MOST = 0.3;

static double reading_difference(const struct nt_double_reading *t)
{
    return fabs((double)t->first - (double)t->second); /* NaN when one is */
}

static bool readings_disagree(const struct nt_calibration *c, const struct nt_double_reading *t)
{
    return reading_difference(t) > DISAGREE_SDS * sqrt(2) * c->noise;
}

bool nt_calibration_agrees(const struct nt_calibration *c, const struct nt_double_reading *t)
{
    return !isnan(reading_difference(t)) && !readings_disagree(c, t);
}

static int find_noise(struct nt_calibration *c, struct nt_err *err)
{
    size_t n = 0, apart = 0;
    NT_SCOPED struct nt_arena memory = {0};
    float *off = nt_arena_array(&memory, c->count + 1, sizeof *off);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < c->count; k++)
        if (!isnan(reading_difference(&c->at[k])))
            off[n++] = (float)reading_difference(&c->at[k]);
    double sd = n > 0 ? (double)nt_stats_median(off, n) / (NT_MEDIAN_OF_SD * sqrt(2)) : 0;
    if (n == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no pair of hosts could be measured twice");
    c->noise = fmax(sd, LEAST_SD);
    for (size_t k = 0; k < c->count; k++)
        apart += readings_disagree(c, &c->at[k]);
    c->outliers = fmin(WRONG_A_PAIR * ((double)apart + 1) / (double)n, OUTLIERS_MOST);
    return 0;
}

/* Outliers are mostly slow; the share of fast ones decides how much a fast reading proves. */
static void find_sides(const struct nt_calibration *c, struct nt_classes *classes)
{
    double low = 0.5, high = 0.5;
    for (size_t k = 0; k < c->count; k++)
        if (readings_disagree(c, &c->at[k]))
            count_side(classes, (double)c->at[k].first, (double)c->at[k].second, &low, &high);
    classes->low_share = low / (low + high);
}

int nt_calibration_classes(struct nt_calibration *c, struct nt_readings *ledger,
                           struct nt_classes *classes, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    double *value = nt_arena_array(&memory, c->count + 1, sizeof *value);
    size_t n = 0;
    int rc = 0;
    if (find_noise(c, err) < 0 || nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < c->count && rc == 0; k++) {
        const struct nt_double_reading *t = &c->at[k];
        if (nt_calibration_agrees(c, t)) {
            value[n++] = ((double)t->first + (double)t->second) / 2;
            c->random_pairs += t->a + 1 != t->b && t->b + 1 != t->a; /* no neighbours */
        }
        if (!isnan(t->first))
            rc = nt_readings_add(ledger, t->a, t->b, 0, t->first, err);
        if (!isnan(t->second) && rc == 0)
            rc = nt_readings_add(ledger, t->a, t->b, 0, t->second, err);
    }
    if (rc == 0 && n == 0)
        rc = nt_err_set(err, NT_ERR_INPUT,
                        "no pair of hosts had the same latency in two measurements");
    if (rc == 0)
        rc = nt_classes_fit(value, n, fmax(c->noise / sqrt(2), LEAST_SD),
                            fmax(LEAST_AGREEING, c->outliers * c->outliers), classes, err);
    if (rc == 0) {
        classes->noise = c->noise;
        classes->outliers = c->outliers;
        find_sides(c, classes);
    }
    return rc;
}
