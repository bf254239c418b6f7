/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed in a cluster, since when: change points (change_point.h) in the figures of links
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
    bool named;            /* jobs' findings say so (named_faults.h), not their figures */
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

#endif
