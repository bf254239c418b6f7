/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

/* ---- change points of a series ---- */

/* HAZARD: prior probability that a reading starts a new run. SPREAD: prior sd of a level around 0.
 * RANGE: width of the uniform distribution of outliers. STEP: least change that counts (a link at
 * 70 % of its rate is a step of 0.36). CERTAINTY: probability of a reported change. */
static const double HAZARD = 1e-3, SPREAD = 0.7, RANGE = 3, STEP = 0.1, CERTAINTY = 0.99;

enum { FIRST_READINGS = 3 }; /* before these there is no level */

/* COMPARABLE_SHARE: prior probability that a part is comparable to the parts of its class. A level
 * is known from COMPARABLE_READINGS certain readings if it is within COMPARABLE_SDS sd of theirs.
 */
static const double COMPARABLE_SHARE = 0.95, COMPARABLE_READINGS = 0.9, COMPARABLE_SDS = 4;

/* A hypothesis: the current run started with that reading; and its level. */
struct run {
    size_t from;
    double weight;
    double mean, precision;
};

struct detector {
    double comparable_sd; /* as in nt_change_points */
    size_t runs;
    struct run run[NT_CHANGE_RUNS_MAX + 1];
    size_t from;              /* first reading of the last reported run */
    double level;             /* its level */
    struct nt_change *change; /* found entries */
    size_t found;
};

/* Returns the likelihood of the reading in this run, and updates the run. */
static double learn(struct run *run, const struct nt_change_reading *r)
{
    double variance = r->sd * r->sd + 1 / run->precision, d = r->x - run->mean;
    double own = (1 - r->doubt) * exp(-d * d / (2 * variance)) / sqrt(2 * M_PI * variance);
    double likelihood = own + r->doubt / RANGE + 1e-300;
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

/* Equation 3 of the paper: the runs grow, or a new one starts. */
static void step(struct detector *d, const struct nt_change_reading *r, size_t at)
{
    double comparable = at == 0 && d->comparable_sd > 0 ? COMPARABLE_SHARE : 0, sum = 0;
    struct run new = {at, at == 0 ? 1 - comparable : HAZARD, 0, 1 / (SPREAD * SPREAD)};
    for (size_t k = 0; k < d->runs; k++)
        d->run[k].weight *= 1 - HAZARD;
    d->run[d->runs++] = new;
    if (comparable > 0)
        d->run[d->runs++] =
            (struct run){at, comparable, 0, 1 / (d->comparable_sd * d->comparable_sd)};
    for (size_t k = 0; k < d->runs; k++) {
        d->run[k].weight *= learn(&d->run[k], r);
        sum += d->run[k].weight;
    }
    for (size_t k = 0; k < d->runs; k++)
        d->run[k].weight /= sum;
    if (d->runs > NT_CHANGE_RUNS_MAX)
        drop_least_likely(d);
}

/* Updates the level from the most probable run that started with the last reported one. */
static void follow_level(struct detector *d)
{
    const struct run *best = NULL;
    for (size_t k = 0; k < d->runs; k++)
        if (d->run[k].from == d->from && (best == NULL || d->run[k].weight > best->weight))
            best = &d->run[k];
    if (best != NULL)
        d->level = best->mean;
}

/* Runs with another level than the last reported one. */
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
        if (fabs(run->mean - d->level) < STEP)
            continue;
        others.weight += run->weight;
        if (others.best == NULL || run->weight > others.best->weight)
            others.best = run;
    }
    return others;
}

/* Returns whether earlier readings determine the level. */
static bool is_level_known(const struct detector *d, const struct nt_change_reading *reading,
                           size_t before)
{
    double readings = 0;
    if (d->from > 0 || before >= FIRST_READINGS)
        return true;
    for (size_t k = 0; k < before; k++)
        readings += 1 - reading[k].doubt;
    return fabs(d->level) < COMPARABLE_SDS * d->comparable_sd && readings >= COMPARABLE_READINGS;
}

/* Returns whether a change of level is certain by now: to a run that started since, or to an
 * earlier run, in which the readings of the reported change are outliers; that change is then
 * withdrawn. */
static bool find_change(struct detector *d, const struct nt_change_reading *reading, size_t at)
{
    struct others later = find_others(d, true), earlier = find_others(d, false);
    double weight = later.weight + earlier.weight;
    bool back = earlier.weight > later.weight;
    const struct run *best = back ? earlier.best : later.best;
    if (best == NULL || weight < CERTAINTY)
        return false;
    struct nt_change change = {.at = best->from,
                               .seen = at,
                               .before = d->level,
                               .after = best->mean,
                               .confidence = weight < 1 ? weight : 1};
    /* the first readings may have been outliers */
    bool stated = !back && d->found < NT_CHANGES_MAX && is_level_known(d, reading, best->from);
    d->from = best->from;
    d->level = best->mean;
    while (back && d->found > 0 && d->change[d->found - 1].at > d->from)
        d->found--;
    if (stated)
        d->change[d->found++] = change;
    return stated;
}

/* Removes changes that are no step after their level became more certain; the previous level
 * continues. */
static size_t drop_small(struct nt_change *change, size_t found)
{
    size_t kept = 0;
    for (size_t k = 0; k < found; k++) {
        if (fabs(change[k].after - change[k].before) >= STEP)
            change[kept++] = change[k];
        else if (k + 1 < found)
            change[k + 1].before = change[k].before;
    }
    return kept;
}

int nt_change_points(const struct nt_change_reading *reading, size_t n, double comparable_sd,
                     struct nt_change_series *out, struct nt_err *err)
{
    struct detector d = {.comparable_sd = comparable_sd, .change = out->change};
    for (size_t k = 0; k < n; k++) {
        const struct nt_change_reading *r = &reading[k];
        if (!isfinite(r->x) || !(r->sd > 0) || !(r->doubt >= 0 && r->doubt <= 1))
            return nt_err_set(err, NT_ERR_INPUT, "reading %zu: %g with sd %g and doubt %g", k, r->x,
                              r->sd, r->doubt);
        follow_level(&d);
        step(&d, r, k);
        if (k == 0)
            follow_level(&d);
        if (!find_change(&d, reading, k) &&
            d.found > 0) /* later readings make its level more certain */
            d.change[d.found - 1].after = d.level;
    }
    follow_level(&d);
    if (d.found > 0)
        d.change[d.found - 1].after = d.level;
    out->changes = drop_small(d.change, d.found);
    out->level = d.level;
    return 0;
}

/* ---- changes of the parts of a cluster ---- */

enum { TIERS_KINDS = NT_FLEET_TIERS * NT_FIGURE_KINDS, MANY_PARTS = 5, PASSES = 2 };
/* Consecutive jobs of one user that count: as many as make a level certain. */
enum { IN_A_ROW = 3 };
static const double SD_LEAST = 0.01, SD_UNKNOWN = 0.03, SD_MOST = 0.3;
static const double DOUBT = 0.02, DOUBT_SHARED = 0.5;
static const double COMPARABLE_SD_MOST = 0.05; /* largest sd of the levels of comparable parts */

int nt_changes_add_job(struct nt_changes *changes, struct nt_changes_job job, struct nt_err *err)
{
    struct nt_changes_job *grown = nt_arena_grow(
        &changes->memory, changes->job, &changes->jobs_room, changes->jobs + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(&changes->memory, err);
    changes->job = grown;
    changes->job[changes->jobs++] = job;
    return 0;
}

int nt_changes_add(struct nt_changes *changes, const struct nt_fleet_figure *figure, uint32_t part,
                   struct nt_err *err)
{
    struct nt_changes_figure *grown =
        nt_arena_grow(&changes->memory, changes->figure, &changes->figures_room,
                      changes->figures + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(&changes->memory, err);
    changes->figure = grown;
    changes->figure[changes->figures++] =
        (struct nt_changes_figure){.job = (uint32_t)(changes->jobs - 1),
                                   .part = part,
                                   .tier = figure->tier,
                                   .kind = figure->kind,
                                   .shared = figure->shared,
                                   .value = figure->value};
    return 0;
}

void nt_changes_fini(struct nt_changes *changes)
{
    nt_arena_fini(&changes->memory);
    *changes = (struct nt_changes){0};
}

/* ---- what is common to a job ---- */

struct work {
    struct nt_changes *c;
    struct nt_arena memory;
    double *x;              /* by value: logarithm, minus the job's own deviation */
    double *base;           /* by value: the part's median level */
    double *common;         /* jobs * TIERS_KINDS: the job's own deviation; NaN: too few parts */
    double sd[TIERS_KINDS]; /* sd of a value around its part's level */
    double centre[TIERS_KINDS];        /* the parts' median level */
    double comparable_sd[TIERS_KINDS]; /* sd of the levels around the median; 0: they differ */
    float *some;                       /* room for the largest median */
    struct nt_change_reading *reading;
    uint32_t *of; /* by reading: index of its value */
    struct nt_fleet_change *out;
    size_t count, room;
};

static size_t class_of(const struct nt_changes_figure *f)
{
    return (size_t)f->tier * NT_FIGURE_KINDS + f->kind;
}

static int compare_parts(const void *x, const void *y)
{
    const struct nt_changes_figure *p = x, *q = y;
    return NT_ORDER(p->part, q->part,
                    NT_ORDER(class_of(p), class_of(q), NT_ORDER(p->job, q->job, 0)));
}

static bool same_series(const struct nt_changes_figure *p, const struct nt_changes_figure *q)
{
    return p->part == q->part && class_of(p) == class_of(q);
}

static size_t series_end(const struct nt_changes *c, size_t from)
{
    size_t to = from;
    while (to < c->figures && same_series(&c->figure[from], &c->figure[to]))
        to++;
    return to;
}

static double median_of(float *some, size_t n)
{
    return (double)nt_stats_median(some, n);
}

static void find_bases(struct work *w)
{
    for (size_t from = 0, to; from < w->c->figures; from = to) {
        size_t n = 0;
        to = series_end(w->c, from);
        for (size_t k = from; k < to; k++)
            w->some[n++] = (float)w->x[k];
        double base = median_of(w->some, n);
        for (size_t k = from; k < to; k++)
            w->base[k] = base;
    }
}

struct deviation {
    uint32_t job, class;
    double value;
};

static int compare_deviations(const void *x, const void *y)
{
    const struct deviation *p = x, *q = y;
    return NT_ORDER(p->job, q->job, NT_ORDER(p->class, q->class, 0));
}

/* Finds the median of a job's values around their bases; with few parts it might be the change
 * itself. It remains for link types with comparable parts. */
static int find_common(struct work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_changes *c = w->c;
    struct deviation *d = nt_arena_array(&memory, c->figures, sizeof *d);
    if (d == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < c->figures; k++)
        d[k] = (struct deviation){c->figure[k].job, (uint32_t)class_of(&c->figure[k]),
                                  log((double)c->figure[k].value) - w->base[k]};
    qsort(d, c->figures, sizeof *d, compare_deviations);
    for (size_t from = 0, to; from < c->figures; from = to) {
        size_t n = 0;
        for (to = from; to < c->figures && compare_deviations(&d[from], &d[to]) == 0; to++)
            w->some[n++] = (float)d[to].value;
        if (n >= MANY_PARTS && !(w->comparable_sd[d[from].class] > 0))
            w->common[(size_t)d[from].job * TIERS_KINDS + d[from].class] = median_of(w->some, n);
    }
    return 0;
}

static void take_common_out(struct work *w)
{
    for (size_t k = 0; k < w->c->figures; k++) {
        const struct nt_changes_figure *f = &w->c->figure[k];
        double common = w->common[(size_t)f->job * TIERS_KINDS + class_of(f)];
        w->x[k] = log((double)f->value) - (isfinite(common) ? common : 0);
    }
}

/* Estimates the noise by the differences of neighbours, of which a change of level affects only one
 * (the median ignores outliers as well). */
static void find_noise(struct work *w)
{
    for (size_t class = 0; class < TIERS_KINDS; class ++) {
        size_t n = 0;
        for (size_t k = 1; k < w->c->figures; k++)
            if (class_of(&w->c->figure[k]) == class &&
                same_series(&w->c->figure[k - 1], &w->c->figure[k]))
                w->some[n++] = (float)fabs(w->x[k] - w->x[k - 1]);
        double sd = 1.4826 * median_of(w->some, n) / sqrt(2);
        w->sd[class] = isfinite(sd) ? fmin(fmax(sd, SD_LEAST), SD_MOST) : SD_UNKNOWN;
    }
}

/* Lists the levels of all parts of a link type, by their medians, because most parts have not
 * changed. */
static size_t list_bases(struct work *w, size_t class)
{
    size_t n = 0;
    for (size_t k = 0; k < w->c->figures; k++)
        if (class_of(&w->c->figure[k]) == class &&
            (k == 0 || !same_series(&w->c->figure[k - 1], &w->c->figure[k])))
            w->some[n++] = (float)w->base[k];
    return n;
}

static void find_alike(struct work *w)
{
    for (size_t class = 0; class < TIERS_KINDS; class ++) {
        size_t n = list_bases(w, class);
        double centre = median_of(w->some, n);
        for (size_t k = 0; k < n; k++)
            w->some[k] = (float)fabs((double)w->some[k] - centre);
        double sd = fmax(1.4826 * median_of(w->some, n), SD_LEAST);
        w->centre[class] = centre;
        w->comparable_sd[class] = n >= MANY_PARTS && sd < COMPARABLE_SD_MOST ? sd : 0;
    }
}

/* If the parts of each job are comparable, the job's own deviation is that of most of its parts,
 * however few jobs each part has been in: a part's own level would be that of these jobs. */
static int align_alike(struct work *w, struct nt_err *err)
{
    if (find_common(w, err) != 0) /* bases are 0 */
        return -1;
    for (size_t class = 0; class < TIERS_KINDS; class ++) {
        size_t n = 0;
        for (size_t j = 0; j < w->c->jobs; j++)
            if (isfinite(w->common[j * TIERS_KINDS + class]))
                w->some[n++] = (float)w->common[j * TIERS_KINDS + class];
        double usual = n > 0 ? median_of(w->some, n) : 0;
        for (size_t j = 0; j < w->c->jobs; j++)
            w->common[j * TIERS_KINDS + class] -= usual;
    }
    take_common_out(w);
    find_bases(w);
    find_alike(w);
    return 0;
}

/* ---- changes of one series ---- */

static int add_change(struct work *w, struct nt_fleet_change change, struct nt_err *err)
{
    if (w->count == w->room) {
        size_t room = w->room == 0 ? 64 : w->room * 2;
        struct nt_fleet_change *grown = realloc(w->out, room * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(err);
        w->out = grown;
        w->room = room;
    }
    w->out[w->count++] = change;
    return 0;
}

/* Counts jobs of [from, to) whose reading is nearer to the new level. An unknown user may be one of
 * the others. */
static int count_witnesses(const struct work *w, const struct nt_change *c, size_t to,
                           struct nt_fleet_change *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *user = nt_arena_array(&memory, to - c->at, sizeof *user);
    if (user == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = c->at; k < to; k++)
        if (fabs(w->reading[k].x - c->after) < fabs(w->reading[k].x - c->before))
            user[out->jobs++] = w->c->job[w->of[k]].user;
    qsort(user, out->jobs, sizeof *user, nt_compare_u32);
    for (size_t k = 0; k < out->jobs; k++)
        out->users += user[k] != NT_NO_USER && (k == 0 || user[k] != user[k - 1]);
    return 0;
}

/* Adds changes. base: subtracted from the readings; comparable_sd: see nt_change_points. A change
 * that only jobs of one user show is not reported, and does not end the previous one. */
static int state_changes(struct work *w, size_t n, struct nt_fleet_change like, double base,
                         double comparable_sd, struct nt_err *err)
{
    struct nt_change_series series;
    const struct nt_change *found = series.change;
    size_t stated = w->count;
    if (nt_change_points(w->reading, n, comparable_sd, &series, err) != 0)
        return -1;
    for (size_t k = 0; k < series.changes; k++) {
        struct nt_fleet_change c = like;
        const struct nt_changes_job *first = &w->c->job[w->of[found[k].at]];
        bool up = found[k].after > found[k].before;
        c.worse = like.kind == NT_FIGURE_LATENCY ? up : !up;
        c.from = exp(found[k].before + base);
        c.to = exp(found[k].after + base);
        c.since_s = first->time_s;
        c.first_job = first->job;
        c.before_s = found[k].at > 0 ? w->c->job[w->of[found[k].at - 1]].time_s : 0;
        c.jobs_to_sure = (uint32_t)(found[k].seen - found[k].at + 1);
        c.confidence = found[k].confidence;
        if (count_witnesses(w, &found[k], k + 1 < series.changes ? found[k + 1].at : n, &c, err) !=
            0)
            return -1;
        if (c.users >= 2 && add_change(w, c, err) != 0)
            return -1;
    }
    for (size_t k = stated; k < w->count; k++)
        w->out[k].current = k + 1 == w->count;
    return 0;
}

/* Returns the noise of a part if it exceeds the noise of its link type. */
static double own_noise(struct work *w, size_t from, size_t to, double sd)
{
    size_t n = 0;
    for (size_t k = from + 1; k < to; k++)
        w->some[n++] = (float)fabs(w->x[k] - w->x[k - 1]);
    double own = n >= 8 ? 1.4826 * median_of(w->some, n) / sqrt(2) : 0;
    return fmin(fmax(own, sd), SD_MOST);
}

/* Drops the oldest of too many consecutive jobs of one user. Returns the remaining number of n
 * readings. */
static size_t drop_oldest_in_a_row(struct work *w, size_t n, uint32_t user)
{
    size_t from = n;
    while (from > 0 && n - from < IN_A_ROW && w->c->job[w->of[from - 1]].user == user)
        from--;
    if (n - from < IN_A_ROW)
        return n;
    memmove(&w->of[from], &w->of[from + 1], (IN_A_ROW - 1) * sizeof *w->of);
    memmove(&w->reading[from], &w->reading[from + 1], (IN_A_ROW - 1) * sizeof *w->reading);
    return n - 1;
}

/* Reads one series and returns its number of readings. In a job with few parts a latency may
 * include that of other switches, which a job with one host per leaf switch cannot distinguish:
 * without a comparison it does not count. */
static size_t read_series(struct work *w, size_t from, size_t to, double base)
{
    const struct nt_changes_figure *first = &w->c->figure[from];
    double sd = own_noise(w, from, to, w->sd[class_of(first)]);
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        const struct nt_changes_figure *f = &w->c->figure[k];
        bool alone = !isfinite(w->common[(size_t)f->job * TIERS_KINDS + class_of(f)]);
        if (alone && f->kind == NT_FIGURE_LATENCY)
            continue;
        n = drop_oldest_in_a_row(w, n, w->c->job[f->job].user);
        w->of[n] = f->job;
        w->reading[n++] = (struct nt_change_reading){.x = w->x[k] - base,
                                                     .sd = alone ? sd * sqrt(2) : sd,
                                                     .doubt = f->shared ? DOUBT_SHARED : DOUBT};
    }
    return n;
}

static int find_in_parts(struct work *w, struct nt_err *err)
{
    for (size_t from = 0, to; from < w->c->figures; from = to) {
        const struct nt_changes_figure *first = &w->c->figure[from];
        to = series_end(w->c, from);
        double sd = w->comparable_sd[class_of(first)];
        double base = sd > 0 ? w->centre[class_of(first)] : w->base[from];
        size_t n = read_series(w, from, to, base);
        struct nt_fleet_change like = {
            .part = first->part, .tier = first->tier, .kind = first->kind};
        if (n > 0 && state_changes(w, n, like, base, sd, err) != 0)
            return -1;
    }
    return 0;
}

/* Finds the common deviation of the values of a link type in each job. */
static int find_in_classes(struct work *w, struct nt_err *err)
{
    for (size_t class = 0; class < TIERS_KINDS; class ++) {
        size_t n = 0;
        for (size_t j = 0; j < w->c->jobs; j++) {
            double x = w->common[j * TIERS_KINDS + class];
            if (!isfinite(x))
                continue;
            w->of[n] = (uint32_t)j;
            w->reading[n] = (struct nt_change_reading){.x = x, .doubt = DOUBT};
            if (n > 0)
                w->some[n - 1] = (float)fabs(x - w->reading[n - 1].x);
            n++;
        }
        double sd = n > 1 ? 1.4826 * median_of(w->some, n - 1) / sqrt(2) : SD_UNKNOWN;
        for (size_t k = 0; k < n; k++)
            w->reading[k].sd = fmin(fmax(sd, SD_LEAST), SD_MOST);
        struct nt_fleet_change like = {.part = NT_CHANGE_CLASS,
                                       .tier = (uint8_t)(class / NT_FIGURE_KINDS),
                                       .kind = (uint8_t)(class % NT_FIGURE_KINDS)};
        if (n > 0 && state_changes(w, n, like, w->centre[class], 0, err) != 0)
            return -1;
    }
    return 0;
}

static int compare_changes(const void *x, const void *y)
{
    const struct nt_fleet_change *p = x, *q = y;
    const int by_kind = NT_ORDER(p->tier, q->tier, NT_ORDER(p->kind, q->kind, 0));
    return NT_ORDER(p->since_s, q->since_s, NT_ORDER(p->part, q->part, by_kind));
}

static int prepare(struct work *w, struct nt_err *err)
{
    size_t room = (w->c->figures > w->c->jobs ? w->c->figures : w->c->jobs) + 1;
    w->x = nt_arena_array(&w->memory, room, sizeof *w->x);
    w->base = nt_arena_array(&w->memory, room, sizeof *w->base);
    w->some = nt_arena_array(&w->memory, room, sizeof *w->some);
    w->common = nt_arena_array(&w->memory, w->c->jobs * TIERS_KINDS, sizeof *w->common);
    w->reading = nt_arena_array(&w->memory, room, sizeof *w->reading);
    w->of = nt_arena_array(&w->memory, room, sizeof *w->of);
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    if (w->c->figures > 0)
        qsort(w->c->figure, w->c->figures, sizeof *w->c->figure, compare_parts);
    for (size_t k = 0; k < w->c->jobs * TIERS_KINDS; k++)
        w->common[k] = NAN;
    if (align_alike(w, err) != 0)
        return -1;
    for (size_t k = 0; k < w->c->figures; k++)
        if (!(w->comparable_sd[class_of(&w->c->figure[k])] > 0))
            w->x[k] = log((double)w->c->figure[k].value);
    for (int pass = 0; pass < PASSES; pass++) {
        find_bases(w);
        if (find_common(w, err) != 0)
            return -1;
        take_common_out(w);
    }
    find_bases(w);
    find_noise(w);
    find_alike(w);
    return 0;
}

int nt_changes_find(struct nt_changes *changes, struct nt_fleet_change **out, size_t *count,
                    struct nt_err *err)
{
    struct work w = {.c = changes};
    int rc = prepare(&w, err);
    if (rc == 0)
        rc = find_in_parts(&w, err);
    if (rc == 0)
        rc = find_in_classes(&w, err);
    nt_arena_fini(&w.memory);
    if (rc != 0) {
        free(w.out);
        return -1;
    }
    if (w.count > 0)
        qsort(w.out, w.count, sizeof *w.out, compare_changes);
    *out = w.out;
    *count = w.count;
    return 0;
}

/* ---- parts that jobs find worse than comparable parts ---- */

enum { JOBS_ALWAYS = 2, JOBS_SINCE = 3, USERS = 2 };

struct nt_reported_in_job {
    struct nt_reported_part part;
    bool named, crossed;
    struct nt_changes_job job;
    float found, expected, confidence;
    float value; /* as in nt_reported_use */
};

static int compare_named(const struct nt_reported_part *p, const struct nt_reported_part *q)
{
    return NT_ORDER(p->part, q->part, NT_ORDER(p->tier, q->tier, NT_ORDER(p->kind, q->kind, 0)));
}

/* By part and time; for one job, reports first. */
static int compare_sights(const void *x, const void *y)
{
    const struct nt_reported_in_job *p = x, *q = y;
    int parts = compare_named(&p->part, &q->part);
    if (parts != 0)
        return parts;
    return NT_ORDER(p->job.time_s, q->job.time_s,
                    NT_ORDER(p->job.job, q->job.job, NT_ORDER(q->named, p->named, 0)));
}

static int add_sight(struct nt_reported *n, struct nt_reported_in_job sight, struct nt_err *err)
{
    struct nt_reported_in_job *grown =
        nt_arena_grow(&n->memory, n->sight, &n->room, n->sights + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(&n->memory, err);
    n->sight = grown;
    n->sight[n->sights++] = sight;
    return 0;
}

int nt_reported_add(struct nt_reported *n, struct nt_reported_part part, struct nt_changes_job job,
                    const struct nt_fleet_finding *finding, struct nt_err *err)
{
    return add_sight(n,
                     (struct nt_reported_in_job){.part = part,
                                                 .named = true,
                                                 .job = job,
                                                 .found = finding->found,
                                                 .expected = finding->expected,
                                                 .confidence = finding->confidence},
                     err);
}

static bool is_named(const struct nt_reported *n, const struct nt_reported_part *part)
{
    size_t low = 0, high = n->named;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_named(&n->sight[middle].part, part) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->named && compare_named(&n->sight[low].part, part) == 0;
}

static bool are_alike(const struct nt_reported_use *p, const struct nt_reported_use *q)
{
    return p->part.tier == q->part.tier && p->part.kind == q->part.kind;
}

static int order_alike(const void *x, const void *y)
{
    const struct nt_reported_use *p = x, *q = y;
    int kind = (p->part.tier * NT_FIGURE_KINDS + p->part.kind) -
               (q->part.tier * NT_FIGURE_KINDS + q->part.kind);
    if (kind != 0)
        return kind;
    return NT_ORDER(p->among, q->among, compare_named(&p->part, &q->part));
}

static size_t count_parts(const struct nt_reported_use *crossing, size_t n)
{
    size_t parts = 0;
    for (size_t k = 0; k < n; k++)
        parts += k == 0 || order_alike(&crossing[k - 1], &crossing[k]) != 0;
    return parts;
}

/* Adds the uses of one tier and kind. */
static int cross_alike(struct nt_reported *named, struct nt_changes_job job,
                       const struct nt_reported_use *crossing, size_t n, struct nt_err *err)
{
    if (count_parts(crossing, n) < NT_REPORTED_COMPARABLE)
        return 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && crossing[to].among == crossing[from].among; to++)
            ;
        bool near = count_parts(crossing + from, to - from) >= NT_REPORTED_NEAR;
        for (size_t k = from; near && k < to; k++) {
            struct nt_reported_in_job sight = {
                .part = crossing[k].part, .crossed = true, .job = job, .value = crossing[k].value};
            if (is_named(named, &sight.part) && add_sight(named, sight, err) != 0)
                return -1;
        }
    }
    return 0;
}

int nt_reported_add_uses(struct nt_reported *named, struct nt_changes_job job,
                         struct nt_reported_use *crossing, size_t count, struct nt_err *err)
{
    if (named->named == 0) {
        named->named = named->sights;
        if (named->named > 0)
            qsort(named->sight, named->named, sizeof *named->sight, compare_sights);
    }
    if (named->named == 0 || count == 0)
        return 0;
    qsort(crossing, count, sizeof *crossing, order_alike);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && are_alike(&crossing[from], &crossing[to]); to++)
            ;
        if (cross_alike(named, job, crossing + from, to - from, err) != 0)
            return -1;
    }
    return 0;
}

void nt_reported_fini(struct nt_reported *n)
{
    nt_arena_fini(&n->memory);
    *n = (struct nt_reported){0};
}

static bool is_known(const struct nt_fleet_change *c, size_t count,
                     const struct nt_reported_part *part)
{
    for (size_t k = 0; k < count; k++)
        if (c[k].part == part->part && c[k].tier == part->tier && c[k].kind == part->kind &&
            c[k].current)
            return true;
    return false;
}

/* Counts the users that report the part; an unknown user may be one of the others. */
static uint32_t count_users(const struct nt_reported_in_job *sight, size_t n, uint32_t *user)
{
    uint32_t users = 0;
    size_t known = 0;
    for (size_t k = 0; k < n; k++)
        if (sight[k].named && sight[k].job.user != NT_NO_USER)
            user[known++] = sight[k].job.user;
    qsort(user, known, sizeof *user, nt_compare_u32);
    for (size_t k = 0; k < known; k++)
        users += k == 0 || user[k] != user[k - 1];
    return users;
}

enum figure { FIGURE_FOUND, FIGURE_EXPECTED };

static double median_named(const struct nt_reported_in_job *sight, size_t n, enum figure which,
                           float *some)
{
    size_t named = 0;
    for (size_t k = 0; k < n; k++)
        if (sight[k].named)
            some[named++] = which == FIGURE_FOUND ? sight[k].found : sight[k].expected;
    return (double)nt_stats_median(some, named);
}

/* Removes jobs that do not report the part but whose value agrees with the reports: with few hosts
 * no map shows which part is worse. */
static size_t drop_agreeing(struct nt_reported_in_job *sight, size_t n, float *some)
{
    double found = log(median_named(sight, n, FIGURE_FOUND, some));
    double expected = log(median_named(sight, n, FIGURE_EXPECTED, some));
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        double value = log((double)sight[k].value);
        if (sight[k].named || !(fabs(value - found) < fabs(value - expected)))
            sight[kept++] = sight[k];
    }
    return kept;
}

/* Up to two different users. */
struct two {
    uint32_t user;
    unsigned count;
};

static void see_user(struct two *t, uint32_t user)
{
    if (user == NT_NO_USER || (t->count > 0 && user == t->user) || t->count == USERS)
        return;
    t->user = user;
    t->count++;
}

/* Returns whether jobs of two users have not reported the part since jobs of two users last did: a
 * single user neither clears a report nor keeps it. */
static bool is_cleared(const struct nt_reported_in_job *sight, size_t n)
{
    struct two without = {0}, with = {0};
    for (size_t k = n; k-- > 0 && with.count < USERS && without.count < USERS;)
        see_user(sight[k].named ? &with : &without, sight[k].job.user);
    return without.count == USERS;
}

/* The uses of one part, one per job, from the first one of the report. */
struct statement {
    size_t first, jobs_to_sure;
    bool stated;
};

static struct statement find_run(const struct nt_reported_in_job *sight, size_t n)
{
    struct statement r = {0};
    struct two users = {0};
    for (size_t k = 0; k < n; k++) {
        if (sight[k].named && !r.stated) {
            see_user(&users, sight[k].job.user);
            r.jobs_to_sure = k + 1 - r.first;
            r.stated =
                users.count == USERS && r.jobs_to_sure >= (r.first == 0 ? JOBS_ALWAYS : JOBS_SINCE);
        } else if (!sight[k].named && (!r.stated || is_cleared(sight + r.first, k + 1 - r.first))) {
            r = (struct statement){.first = k + 1};
            users = (struct two){0};
        }
    }
    return r;
}

static bool state_run(const struct nt_reported_in_job *sight, size_t n, float *some, uint32_t *user,
                      struct nt_fleet_change *out)
{
    struct statement r = find_run(sight, n);
    const struct nt_reported_in_job *run = sight + r.first;
    uint32_t jobs = 0;
    double confidence = 0;
    if (!r.stated)
        return false;
    for (size_t k = r.first; k < n; k++)
        if (sight[k].named) {
            confidence += (double)sight[k].confidence;
            jobs++;
        }
    *out = (struct nt_fleet_change){.part = sight->part.part,
                                    .tier = sight->part.tier,
                                    .kind = sight->part.kind,
                                    .worse = true,
                                    .current = true,
                                    .named = true,
                                    .from = median_named(run, n - r.first, FIGURE_EXPECTED, some),
                                    .to = median_named(run, n - r.first, FIGURE_FOUND, some),
                                    .since_s = run->job.time_s,
                                    .before_s = r.first > 0 ? sight[r.first - 1].job.time_s : 0,
                                    .first_job = run->job.job,
                                    .jobs = jobs,
                                    .users = count_users(run, n - r.first, user),
                                    .jobs_to_sure = (uint32_t)r.jobs_to_sure,
                                    .confidence = confidence / jobs};
    return true;
}

static bool is_same_job(const struct nt_reported_in_job *p, const struct nt_reported_in_job *q)
{
    return compare_named(&p->part, &q->part) == 0 && p->job.job == q->job.job &&
           p->job.time_s == q->job.time_s;
}

/* Keeps one entry per job: its report, if that counts. */
static size_t fold_jobs(struct nt_reported_in_job *sight, size_t n)
{
    size_t kept = 0;
    for (size_t k = 0, end; k < n; k = end) {
        struct nt_reported_in_job one = sight[k];
        for (end = k; end < n && is_same_job(&sight[k], &sight[end]); end++)
            one.crossed |= sight[end].crossed;
        if (one.crossed || one.part.tier == 0 || one.part.kind != NT_FIGURE_LATENCY)
            sight[kept++] = one;
    }
    return kept;
}

int nt_reported_find(struct nt_reported *n, struct nt_fleet_change **out, size_t *count,
                     struct nt_err *err)
{
    size_t known = *count;
    if (n->sights == 0)
        return 0;
    float *some = nt_arena_array(&n->memory, n->sights, sizeof *some);
    uint32_t *user = nt_arena_array(&n->memory, n->sights, sizeof *user);
    if (nt_arena_check(&n->memory, err) != 0)
        return -1;
    qsort(n->sight, n->sights, sizeof *n->sight, compare_sights);
    n->sights = fold_jobs(n->sight, n->sights);
    for (size_t from = 0, to; from < n->sights; from = to) {
        struct nt_reported_in_job *sight = n->sight + from;
        struct nt_fleet_change change;
        for (to = from;
             to < n->sights && compare_named(&n->sight[from].part, &n->sight[to].part) == 0; to++)
            ;
        if (is_known(*out, known, &n->sight[from].part) ||
            !state_run(sight, drop_agreeing(sight, to - from, some), some, user, &change))
            continue;
        struct nt_fleet_change *grown = realloc(*out, (*count + 1) * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(err);
        *out = grown;
        grown[(*count)++] = change;
    }
    return 0;
}
