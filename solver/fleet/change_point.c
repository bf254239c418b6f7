/* SPDX-License-Identifier: Apache-2.0 */
#include "change_point.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const struct nt_change_options nt_change_default = {
    .hazard = 1e-3, .spread = 0.7, .range = 3, .step = 0.1, .certainty = 0.99};

enum { FIRST_READINGS = 3 }; /* before these there is no level to change from */

/* That something is like others, of those that should be; readings that show that it is; by how
 * many sd it is. */
static const double ALIKE_SHARE = 0.95, ALIKE_READINGS = 0.9, ALIKE_SDS = 4;

/* That the current run began with that reading, and what its level then is. */
struct run {
    size_t from;
    double weight;
    double mean, precision;
};

struct detector {
    const struct nt_change_options *options;
    size_t runs;
    struct run run[NT_CHANGE_RUNS_MAX + 1];
    size_t from;              /* the run that was stated last began there */
    double level;             /* its level */
    struct nt_change *change; /* found of them */
    size_t found;
};

/* How likely the reading is in this run, which learns from it. */
static double learn(struct run *run, const struct nt_change_reading *r,
                    const struct nt_change_options *o)
{
    double variance = r->sd * r->sd + 1 / run->precision, d = r->x - run->mean;
    double own = (1 - r->doubt) * exp(-d * d / (2 * variance)) / sqrt(2 * M_PI * variance);
    double likelihood = own + r->doubt / o->range + 1e-300;
    double gain = own / likelihood / (r->sd * r->sd);
    run->precision += gain;
    run->mean += d * gain / run->precision;
    return likelihood;
}

static void drop_least_likely(struct detector *d)
{
    size_t least = 0;
    for (size_t k = 1; k < d->runs; k++)
        if (d->run[k].weight < d->run[least].weight)
            least = k;
    d->runs--;
    memmove(&d->run[least], &d->run[least + 1], (d->runs - least) * sizeof *d->run);
}

/* Equation 3 of the paper: the runs grow, or a new one begins. */
static void step(struct detector *d, const struct nt_change_reading *r, size_t at)
{
    const struct nt_change_options *o = d->options;
    double alike = at == 0 && o->alike > 0 ? ALIKE_SHARE : 0, sum = 0;
    struct run new = {at, at == 0 ? 1 - alike : o->hazard, 0, 1 / (o->spread * o->spread)};
    for (size_t k = 0; k < d->runs; k++)
        d->run[k].weight *= 1 - o->hazard;
    d->run[d->runs++] = new;
    if (alike > 0)
        d->run[d->runs++] = (struct run){at, alike, 0, 1 / (o->alike * o->alike)};
    for (size_t k = 0; k < d->runs; k++) {
        d->run[k].weight *= learn(&d->run[k], r, o);
        sum += d->run[k].weight;
    }
    for (size_t k = 0; k < d->runs; k++)
        d->run[k].weight /= sum;
    if (d->runs > NT_CHANGE_RUNS_MAX)
        drop_least_likely(d);
}

/* The likeliest run that began with the one stated last says what its level is. */
static void follow_level(struct detector *d)
{
    const struct run *best = NULL;
    for (size_t k = 0; k < d->runs; k++)
        if (d->run[k].from == d->from && (best == NULL || d->run[k].weight > best->weight))
            best = &d->run[k];
    if (best != NULL)
        d->level = best->mean;
}

/* Runs of another level than that of the one stated last. */
struct others {
    double weight;
    const struct run *best;
};

static struct others find_others(const struct detector *d, bool later)
{
    struct others others = {0};
    for (size_t k = 0; k < d->runs; k++) {
        const struct run *run = &d->run[k];
        if (later ? run->from <= d->from : run->from >= d->from)
            continue;
        if (fabs(run->mean - d->level) < d->options->step)
            continue;
        others.weight += run->weight;
        if (others.best == NULL || run->weight > others.best->weight)
            others.best = run;
    }
    return others;
}

/* Whether the readings before say what the level was. */
static bool is_level_known(const struct detector *d, const struct nt_change_reading *reading,
                           size_t before)
{
    double readings = 0;
    if (d->from > 0 || before >= FIRST_READINGS)
        return true;
    for (size_t k = 0; k < before; k++)
        readings += 1 - reading[k].doubt;
    return fabs(d->level) < ALIKE_SDS * d->options->alike && readings >= ALIKE_READINGS;
}

/* Whether it is certain by now that the level is another one: of a run that began since, or of one
 * before, of which what was stated were outliers; then that is taken back. */
static bool find_change(struct detector *d, const struct nt_change_reading *reading, size_t at)
{
    struct others later = find_others(d, true), earlier = find_others(d, false);
    double weight = later.weight + earlier.weight;
    bool back = earlier.weight > later.weight;
    const struct run *best = back ? earlier.best : later.best;
    if (best == NULL || weight < d->options->certainty)
        return false;
    struct nt_change change = {.at = best->from,
                               .seen = at,
                               .before = d->level,
                               .after = best->mean,
                               .confidence = weight < 1 ? weight : 1};
    /* the first readings may themselves have been of something else */
    bool stated = !back && d->found < NT_CHANGES_MAX && is_level_known(d, reading, best->from);
    d->from = best->from;
    d->level = best->mean;
    while (back && d->found > 0 && d->change[d->found - 1].at > d->from)
        d->found--;
    if (stated)
        d->change[d->found++] = change;
    return stated;
}

/* What turned out to be no step once its level was surer: the level before goes on. */
static size_t drop_small(struct nt_change *change, size_t found, double least)
{
    size_t kept = 0;
    for (size_t k = 0; k < found; k++) {
        if (fabs(change[k].after - change[k].before) >= least)
            change[kept++] = change[k];
        else if (k + 1 < found)
            change[k + 1].before = change[k].before;
    }
    return kept;
}

int nt_change_points(const struct nt_change_reading *reading, size_t n,
                     const struct nt_change_options *options, struct nt_change *change,
                     size_t *changes, double *level, struct nt_err *err)
{
    struct detector d = {.options = options, .change = change};
    for (size_t k = 0; k < n; k++) {
        const struct nt_change_reading *r = &reading[k];
        if (!isfinite(r->x) || !(r->sd > 0) || !(r->doubt >= 0 && r->doubt <= 1))
            return nt_err_set(err, NT_ERR_INPUT, "reading %zu: %g with sd %g and doubt %g", k, r->x,
                              r->sd, r->doubt);
        follow_level(&d);
        step(&d, r, k);
        if (k == 0)
            follow_level(&d);
        if (!find_change(&d, reading, k) && d.found > 0) /* what follows makes its level surer */
            change[d.found - 1].after = d.level;
    }
    follow_level(&d);
    if (d.found > 0)
        change[d.found - 1].after = d.level;
    *changes = drop_small(change, d.found, options->step);
    *level = d.level;
    return 0;
}
