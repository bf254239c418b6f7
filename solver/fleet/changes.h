/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed in a cluster, since when: change points in the figures of links
 * that many jobs left.
 *
 * A figure is held against the same part's in other jobs. What all parts of a job have in common (a
 * slow processor, another library) is the job's own and is taken out first; its changes are those
 * of the class. A user can influence the figures of their own jobs: nothing about a part is stated
 * on one user's jobs alone. Pure.
 * Tests: test_changes.c. */
#ifndef NT_CHANGES_H
#define NT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fleet_job.h"
#include "memory.h"

struct nt_changes_job {
    int64_t time_s;
    uint64_t job;
    uint32_t user;
};

struct nt_changes_figure {
    uint32_t job;  /* index, rising */
    uint32_t part; /* any number: the caller's name of a link */
    uint8_t tier, kind;
    bool shared;
    float value;
};

/* {0} is empty. Figures come with their jobs, jobs by time. */
struct nt_changes {
    struct nt_arena memory;
    size_t jobs, jobs_room, figures, figures_room;
    struct nt_changes_job *job;
    struct nt_changes_figure *figure;
};

enum { NT_CHANGE_CLASS = UINT32_MAX }; /* part: all links of a tier */

struct nt_fleet_change {
    uint32_t part;
    uint8_t tier, kind;
    bool worse;            /* than before: slower, or narrower */
    bool current;          /* nothing has changed since */
    bool named;            /* jobs' findings say so, not their figures */
    double from, to;       /* in the figure's unit */
    int64_t since_s;       /* of the first job that saw it */
    int64_t before_s;      /* of the last that did not; 0: none */
    uint64_t first_job;    /* id */
    uint32_t jobs, users;  /* that saw it, until it changed again */
    uint32_t jobs_to_sure; /* that crossed the part until it was certain */
    double confidence;
};

/* The next figures are of that job. */
int nt_changes_add_job(struct nt_changes *changes, struct nt_changes_job job, struct nt_err *err);
int nt_changes_add(struct nt_changes *changes, const struct nt_fleet_figure *figure, uint32_t part,
                   struct nt_err *err);
void nt_changes_fini(struct nt_changes *changes);

/* out: count of them by time, the caller's (free). Reorders the figures. */
int nt_changes_find(struct nt_changes *changes, struct nt_fleet_change **out, size_t *count,
                    struct nt_err *err);

/* Since when a figure is another one: changes of level in a series of readings, each with its
 * confidence, found as the readings come.
 *
 * Bayesian online changepoint detection (Adams, MacKay, "Bayesian Online Changepoint Detection",
 * arXiv:0710.3742, 2007, sections 2 and 2.1): the probability of each length of the current run,
 * with levels that are normal about each other. Two additions: a reading is with some probability
 * of something else (an outlier, the neighbour's link), and then says nothing; and of the lengths
 * only the likeliest are kept, so that time and memory are linear. Pure. */

enum { NT_CHANGE_RUNS_MAX = 48, NT_CHANGES_MAX = 64 };

struct nt_change_reading {
    double x;     /* a logarithm */
    double sd;    /* of x about its level, over 0 */
    double doubt; /* that it is of something else, 0..1 */
};

struct nt_change {
    size_t at;            /* first reading of the new level */
    size_t seen;          /* reading with which it was certain */
    double before, after; /* levels */
    double confidence;
};

struct nt_change_series {
    struct nt_change change[NT_CHANGES_MAX]; /* in order; of more than these the first */
    size_t changes;
    double level; /* of the last run; 0 without readings */
};

/* Fills *out, which is undefined on failure. A change whose readings were more probably outliers,
 * by those after it, is none: two slow ones, and then the level before. The first three readings
 * only give the level, or the first one of no great doubt that agrees with comparable parts.
 * like_sd: sd of the level about 0 in a part that resembles others, whose level is 0; 0: it
 * resembles none. NT_ERR_INPUT: a reading is not finite, or its sd or doubt is out of range. */
int nt_change_points(const struct nt_change_reading *reading, size_t n, double like_sd,
                     struct nt_change_series *out, struct nt_err *err);

/* Parts that jobs find worse than their like, one after the other: what was so from the first job
 * on, or is in a figure that jobs do not have alike (the latency of a link between switches), has
 * no change point.
 *
 * A part is stated when jobs in a row, of two users at least, name it in a finding: two jobs if
 * every job that crosses it so far did, three if not. It stays stated until jobs of two users that
 * cross it do not name it any more. One user alone neither states nor clears, and jobs of an
 * unknown user count for no second one. A job crosses a part when it has at least NT_NAMED_LIKE of
 * its like, among them this one: of fewer nobody can say which is worse. Of a latency between
 * switches NT_NAMED_NEAR of these are below the same switch, and what other jobs name does not
 * count: to a job that has no other switch below the same one, more switches in between look as a
 * slow link. A job that crosses a part and does not name it, but has a figure of it that is as the
 * named ones, says nothing. Pure. */

enum { NT_NAMED_LIKE = 3, NT_NAMED_NEAR = 2 };

struct nt_named_part {
    uint32_t part; /* as in changes.h */
    uint8_t tier, kind;
};

/* A part that a job has. */
struct nt_named_crossing {
    struct nt_named_part part;
    uint32_t among; /* any number: NT_NAMED_NEAR have the same */
    float value;    /* its figure, or what it has at least; 0: none */
};

struct nt_named_sight; /* a part in a job */

/* {0} is empty. First all findings, then the jobs, which count only for parts that are named. */
struct nt_named {
    struct nt_arena memory;
    size_t sights, room, named; /* named: of findings, the first ones, sorted by the first job */
    struct nt_named_sight *sight;
};

int nt_named_add(struct nt_named *named, struct nt_named_part part, struct nt_changes_job job,
                 const struct nt_fleet_finding *finding, struct nt_err *err);

/* The parts of one job, several times allowed; reordered. */
int nt_named_cross(struct nt_named *named, struct nt_changes_job job,
                   struct nt_named_crossing *crossing, size_t count, struct nt_err *err);
void nt_named_fini(struct nt_named *named);

/* Appends to *out (count of them; the caller's, free) what it finds, of parts and kinds that no
 * current change is of: worse, current, named. from: what is expected, to: what was found, the
 * medians. */
int nt_named_find(struct nt_named *named, struct nt_fleet_change **out, size_t *count,
                  struct nt_err *err);

#endif
