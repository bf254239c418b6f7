/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change_point.h"
#include "stats.h"

enum { TIERS_KINDS = NT_FLEET_TIERS * NT_FIGURE_KINDS, MANY_PARTS = 5, PASSES = 2 };
/* Jobs in a row of one user that count: as many as a level takes to be certain. */
enum { IN_A_ROW = 3 };
static const double SD_LEAST = 0.01, SD_UNKNOWN = 0.03, SD_MOST = 0.3;
static const double DOUBT = 0.02, DOUBT_SHARED = 0.5;
static const double ALIKE_MOST = 0.05; /* sd of the levels of parts, else they are not alike */

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
    double *x;                  /* figures of them: logarithm, less what is the job's */
    double *base;               /* figures of them: the part's usual level */
    double *common;             /* jobs * TIERS_KINDS: what is the job's; NaN: too few parts */
    double sd[TIERS_KINDS];     /* of a figure about its part's level */
    double centre[TIERS_KINDS]; /* the parts' median level */
    double alike[TIERS_KINDS];  /* sd of the parts' levels about that; 0: they differ */
    float *some;                /* room for the largest median */
    struct nt_change_reading *reading;
    uint32_t *of; /* figure of each reading */
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
    if (p->part != q->part)
        return p->part < q->part ? -1 : 1;
    if (class_of(p) != class_of(q))
        return class_of(p) < class_of(q) ? -1 : 1;
    return (p->job > q->job) - (p->job < q->job);
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
    if (p->job != q->job)
        return p->job < q->job ? -1 : 1;
    return (p->class > q->class) - (p->class < q->class);
}

/* The median of a job's figures about their bases; of few parts it might be the change itself. Of
 * classes that are known to be alike it stays. */
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
        if (n >= MANY_PARTS && !(w->alike[d[from].class] > 0))
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

/* By the differences of neighbours, which a change of level moves once (median: so do outliers). */
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

/* The levels of all parts of a class, by their medians: most parts have not changed. */
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
        w->alike[class] = n >= MANY_PARTS && sd < ALIKE_MOST ? sd : 0;
    }
}

/* Where the parts of each job are alike, what is the job's is what most of its parts have, however
 * few jobs each part has been in: a part's own level would be that of these jobs. */
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

/* Jobs of [from, to) whose reading is nearer to the new level. An unknown user may be one of the
 * others. */
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

/* base: taken off the readings; alike: as in change_point.h. What jobs of one user alone show is no
 * change, and does not end the one before. */
static int state_changes(struct work *w, size_t n, struct nt_fleet_change like, double base,
                         double alike, struct nt_err *err)
{
    struct nt_change found[NT_CHANGES_MAX];
    struct nt_change_options options = nt_change_default;
    size_t count, stated = w->count;
    double level;
    options.alike = alike;
    if (nt_change_points(w->reading, n, &options, found, &count, &level, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
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
        if (count_witnesses(w, &found[k], k + 1 < count ? found[k + 1].at : n, &c, err) != 0)
            return -1;
        if (c.users >= 2 && add_change(w, c, err) != 0)
            return -1;
    }
    for (size_t k = stated; k < w->count; k++)
        w->out[k].current = k + 1 == w->count;
    return 0;
}

/* A part that is noisier than its class is so by itself. */
static double own_noise(struct work *w, size_t from, size_t to, double sd)
{
    size_t n = 0;
    for (size_t k = from + 1; k < to; k++)
        w->some[n++] = (float)fabs(w->x[k] - w->x[k - 1]);
    double own = n >= 8 ? 1.4826 * median_of(w->some, n) / sqrt(2) : 0;
    return fmin(fmax(own, sd), SD_MOST);
}

/* Of more jobs of one user in a row the last ones count: of readings n, as many as are left. */
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

/* The readings of one series; their number. In a job of few parts a latency may be that of other
 * switches too, which a job that sees one host a leaf cannot tell: without anything to hold it
 * against it does not count. */
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
        double alike = w->alike[class_of(first)];
        double base = alike > 0 ? w->centre[class_of(first)] : w->base[from];
        size_t n = read_series(w, from, to, base);
        struct nt_fleet_change like = {
            .part = first->part, .tier = first->tier, .kind = first->kind};
        if (n > 0 && state_changes(w, n, like, base, alike, err) != 0)
            return -1;
    }
    return 0;
}

/* What the figures of a class have in common in each job, about what it usually is. */
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
    if (p->since_s != q->since_s)
        return p->since_s < q->since_s ? -1 : 1;
    if (p->part != q->part)
        return p->part < q->part ? -1 : 1;
    return p->tier != q->tier ? p->tier - q->tier : p->kind - q->kind;
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
    qsort(w->c->figure, w->c->figures, sizeof *w->c->figure, compare_parts);
    for (size_t k = 0; k < w->c->jobs * TIERS_KINDS; k++)
        w->common[k] = NAN;
    if (align_alike(w, err) != 0)
        return -1;
    for (size_t k = 0; k < w->c->figures; k++)
        if (!(w->alike[class_of(&w->c->figure[k])] > 0))
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
