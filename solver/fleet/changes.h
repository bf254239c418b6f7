/* SPDX-License-Identifier: Apache-2.0 */
/* Finds changes in a cluster and their start: change points in the values of links from many jobs.
 *
 * A value is compared with the value of the same part in other jobs. A deviation that all parts of
 * a job share (a slow processor, another library) belongs to the job and is removed first; a change
 * of it is a change of the link type. Users can influence the values of their own jobs, so nothing
 * about a part is reported from one user's jobs only. No I/O and no clock.
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
    uint32_t job;  /* index, ascending */
    uint32_t part; /* the caller's number of a link */
    uint8_t tier, kind;
    bool shared;
    float value;
};

/* {0} is empty. Values are added after their job, jobs in order of time. */
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
    bool worse;            /* slower or narrower than before */
    bool current;          /* no later change */
    bool named;            /* from findings of jobs, not from values */
    double from, to;       /* before and after, in the unit of the value */
    int64_t since_s;       /* time of the first job with the change */
    int64_t before_s;      /* time of the last job without it; 0: none */
    uint64_t first_job;    /* id of the first job with the change */
    uint32_t jobs, users;  /* number of jobs and users with the change, until the next change */
    uint32_t jobs_to_sure; /* number of jobs that used the part until the change was certain */
    double confidence;
};

/* Adds a job; the next values belong to it. */
int nt_changes_add_job(struct nt_changes *changes, struct nt_changes_job job, struct nt_err *err);
int nt_changes_add(struct nt_changes *changes, const struct nt_fleet_figure *figure, uint32_t part,
                   struct nt_err *err);
void nt_changes_fini(struct nt_changes *changes);

/* Finds changes. *out: count changes by time, which the caller frees. Reorders the values. */
int nt_changes_find(struct nt_changes *changes, struct nt_fleet_change **out, size_t *count,
                    struct nt_err *err);

/* Change points of one value: changes of level in a series of readings, each with its confidence,
 * found in the order of the readings.
 *
 * Bayesian online changepoint detection (Adams, MacKay, "Bayesian Online Changepoint Detection",
 * arXiv:0710.3742, 2007, sections 2 and 2.1): the probability of each length of the current run,
 * with normally distributed differences between levels. Two additions: with some probability a
 * reading is an outlier or belongs to something else (the neighbour's link), and then carries no
 * information; and only the most probable lengths are kept, so that time and memory are linear. No
 * I/O and no clock. */

enum { NT_CHANGE_RUNS_MAX = 48, NT_CHANGES_MAX = 64 };

struct nt_change_reading {
    double x;     /* logarithm of the value */
    double sd;    /* sd of x around its level, above 0 */
    double doubt; /* probability that it belongs to something else, 0..1 */
};

struct nt_change {
    size_t at;            /* first reading of the new level */
    size_t seen;          /* reading with which the change was certain */
    double before, after; /* levels */
    double confidence;
};

struct nt_change_series {
    struct nt_change change[NT_CHANGES_MAX]; /* in order; only the first if there are more */
    size_t changes;
    double level; /* level of the last run; 0 without readings */
};

/* Finds change points; *out is undefined on failure. A change whose readings are more probably
 * outliers, judged by later readings, is not reported: for example two slow readings followed by
 * the old level. The first three readings only determine the level, or only the first reading if
 * its doubt is low and it agrees with comparable parts. comparable_sd: sd of the level around 0 for
 * a part with comparable parts, whose level is 0; 0: there are none. NT_ERR_INPUT: a reading is not
 * finite, or its sd or doubt is out of range. */
int nt_change_points(const struct nt_change_reading *reading, size_t n, double comparable_sd,
                     struct nt_change_series *out, struct nt_err *err);

/* Parts that jobs report as worse than comparable parts, one job after another. A part that was bad
 * from the first job on has no change point, nor has a value that differs between jobs (the latency
 * of a link between switches).
 *
 * A part is reported if consecutive jobs of at least two users report it in a finding: two jobs if
 * every job that used it so far did, otherwise three. It remains reported until jobs of two users
 * that use it do not report it any more. A single user neither sets nor clears a report, and jobs
 * of an unknown user do not count as a second user.
 *
 * A job uses a part for this purpose if it has at least NT_REPORTED_COMPARABLE comparable parts
 * including this one: with fewer, nobody can decide which is worse. For a latency between switches,
 * NT_REPORTED_NEAR of these must be below the same switch, and reports of other jobs do not count:
 * for a job without another switch below the same one, additional switches on the path look like a
 * slow link. A job that uses a part without reporting it, but whose value agrees with the reported
 * ones, is ignored. No I/O and no clock. */

enum { NT_REPORTED_COMPARABLE = 3, NT_REPORTED_NEAR = 2 };

struct nt_reported_part {
    uint32_t part; /* as in changes.h */
    uint8_t tier, kind;
};

/* A part that a job uses. */
struct nt_reported_use {
    struct nt_reported_part part;
    uint32_t among; /* group number, shared by at least NT_REPORTED_NEAR parts */
    float value;    /* its value or lower bound; 0: none */
};

struct nt_reported_in_job; /* a part in a job */

/* {0} is empty. Add all findings first, then the jobs, which count only for reported parts. */
struct nt_reported {
    struct nt_arena memory;
    size_t sights, room,
        named; /* named: number of findings, which are first and sorted after the first job */
    struct nt_reported_in_job *sight;
};

int nt_reported_add(struct nt_reported *named, struct nt_reported_part part,
                    struct nt_changes_job job, const struct nt_fleet_finding *finding,
                    struct nt_err *err);

/* Adds the parts of a job, which may appear several times. Reorders them. */
int nt_reported_add_uses(struct nt_reported *named, struct nt_changes_job job,
                         struct nt_reported_use *crossing, size_t count, struct nt_err *err);
void nt_reported_fini(struct nt_reported *named);

/* Appends the reported parts to *out (count entries; the caller frees it), except parts and kinds
 * with a current change: worse, current, named. from: the median of the expected values, to: of the
 * values found. */
int nt_reported_find(struct nt_reported *named, struct nt_fleet_change **out, size_t *count,
                     struct nt_err *err);

#endif
