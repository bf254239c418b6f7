/* SPDX-License-Identifier: Apache-2.0 */
/* The class of near pairs by maximum likelihood over its position. */
#include "near_class.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats.h"

enum { STEPS = 12, CANDIDATES = 48, LISTED = 400 };

/* Share of the class that is nearer than the class: pairs with a switch of their own. */
static const double DEEPER = 0.02;
/* Least shares of wrong readings: a matrix without any hardly changes the share expected. */
static const double LATE_LEAST = 0.005, EARLY_LEAST = 1e-5;
/* Causes are clocks that step back, and readings of another pair: one network in thirty has
 * readings that are far too low, and many of them seldom. */
static const double EARLY_EVER = 1.0 / 30;
/* One switch in three has hosts that are nearer to each other. */
static const double CLASS_EVER = 1.0 / 3;
/* Of readings that are too low fewer are expected than would show one in twenty times. */
static const double EARLY_SHOWN = 0.05;
/* Listed are those beyond a sd and a half, or as many as noise makes NOISE_LISTED of, beside which
 * a few of a class count; never more than 0.4 of all, which is the upper half but for ties. */
static const double LISTED_SDS = 1.5, NOISE_LISTED = 200, TAIL_MOST = 0.4;
/* The nearest of noise alone is nearer than this in one network of three. */
static const double NEAREST_EXPECTED = 0.3;
/* A gap is found to 2.5 sd: so many places it could have had in the range. */
static const double GAP_SDS = 2.5;

static double normal_density(double x)
{
    return 0.3989422804014327 * exp(-0.5 * x * x); /* 1 / sqrt(2 pi) */
}

/* Densities at `near` of pairs inside the class and of pairs outside, wrong ones apart. */
static double inside_density(const struct nt_near_class *c, double near)
{
    return (1 - DEEPER) * normal_density(near - c->gap) + (near > c->gap ? DEEPER / c->range : 0);
}

double nt_near_evidence(const struct nt_near_class *c, double near)
{
    double wrong = (near > 0 ? c->early : c->late) / c->range;
    /* a pair of the class that is late may look like any other */
    double late = c->late / c->range;
    return log((inside_density(c, near) + (near < c->gap ? late : c->early / c->range)) /
               (normal_density(near) + wrong));
}

/* The log-likelihood of a class at gap, from the listed readings, all beyond `least`, and the
 * number of the others; finds its share and that of early ones by expectation and maximisation. */
static double fit_near_class(const float *near, size_t listed, double total, double early,
                             struct nt_near_class *c, bool of_class)
{
    double ln = -INFINITY;
    c->share = of_class ? 1 / total : 0;
    c->early = early >= 0 ? fmax(early, EARLY_LEAST) : 0.5 / total;
    for (int step = 0; step < STEPS; step++) {
        double in = 0, wrongs = 0, sum = 0;
        for (size_t k = 0; k < listed; k++) {
            double x = (double)near[k], of_class = c->share * inside_density(c, x);
            double wrong = c->early / c->range, all = of_class + wrong + normal_density(x);
            in += of_class / all;
            wrongs += wrong / all;
            sum += log(all);
        }
        ln = sum + (total - (double)listed) * log1p(-c->share - c->early);
        c->share = of_class ? fmax(in, 1e-3) / total : 0;
        if (early < 0)
            c->early = fmax(wrongs / total, EARLY_LEAST);
    }
    double expected = c->early * total;
    if (early < 0 && expected > EARLY_SHOWN)
        ln += log(EARLY_EVER) - 2 * log1p(expected);
    return ln;
}

int nt_near_class(const float *near, size_t count, double range, double early,
                  struct nt_near_class *out, struct nt_err *err)
{
    struct nt_near_class none = {.range = range}, best = none;
    size_t listed = 0, late = 0;
    double nearest = 0;
    float *list = malloc((count + 1) * sizeof *list);
    if (list == NULL)
        return nt_err_memory(err);
    double counted = fmax((double)count, 1);
    double least =
        fmax(LISTED_SDS, nt_normal_quantile(1 - fmin(TAIL_MOST, NOISE_LISTED / counted)));
    for (size_t k = 0; k < count; k++) {
        nearest = fmax(nearest, (double)near[k]);
        late += near[k] < -4;
        if ((double)near[k] > least)
            list[listed++] = near[k];
    }
    *out = none;
    out->ln_odds = -INFINITY;
    if (nearest < nt_normal_quantile(1 - fmin(TAIL_MOST, NEAREST_EXPECTED / counted))) {
        free(list);
        return 0; /* the nearest is no nearer than that of as many without a class */
    }
    double most = -INFINITY,
           without = fit_near_class(list, listed, (double)count, early, &none, false);
    for (size_t t = 0; t < CANDIDATES && listed > 0; t++) {
        struct nt_near_class c = none;
        c.gap = (double)nt_stats_quantile(list, listed, ((double)t + 0.5) / CANDIDATES);
        if (c.gap < 2)
            continue;
        for (int again = 0; again < 2; again++) { /* the middle of what it holds */
            double sum = 0, weight = 0;
            for (size_t k = 0; k < listed; k++) {
                double v = normal_density((double)list[k] - c.gap);
                sum += v * (double)list[k];
                weight += v;
            }
            c.gap = weight > 0 ? sum / weight : c.gap;
        }
        double ln = fit_near_class(list, listed, (double)count, early, &c, true);
        if (ln > most) {
            most = ln;
            best = c;
        }
    }
    free(list);
    *out = best;
    out->late = fmax((double)late / counted, LATE_LEAST);
    /* the gap could lie anywhere in the range */
    out->ln_odds = most - without + log(CLASS_EVER) - log(range / GAP_SDS);
    return 0;
}
