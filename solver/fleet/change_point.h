/* SPDX-License-Identifier: Apache-2.0 */
/* Since when a figure is another one: changes of level in a series of readings, each with its
 * confidence, found as the readings come.
 *
 * Bayesian online changepoint detection (Adams, MacKay, "Bayesian Online Changepoint Detection",
 * arXiv:0710.3742, 2007, sections 2 and 2.1): the probability of each length of the current run,
 * with levels that are normal about each other. Two additions: a reading is with some probability
 * of something else (an outlier, the neighbour's link), and then says nothing; and of the lengths
 * only the likeliest are kept, so that time and memory are linear. Pure.
 * Tests: test_change_point.c. */
#ifndef NT_CHANGE_POINT_H
#define NT_CHANGE_POINT_H

#include <stddef.h>

#include "err.h"

enum { NT_CHANGE_RUNS_MAX = 48, NT_CHANGES_MAX = 64 };

struct nt_change_reading {
    double x;     /* a logarithm */
    double sd;    /* of x about its level, over 0 */
    double doubt; /* that it is of something else, 0..1 */
};

struct nt_change_options {
    double hazard;    /* that a reading begins a new run */
    double spread;    /* sd of a level about 0 before anything is known */
    double alike;     /* the same of what is like others, whose level is 0; 0: nothing is */
    double range;     /* over which what is of something else is even */
    double step;      /* the least change that counts */
    double certainty; /* of a change that is stated */
};

/* hazard 1e-3, spread 0.7, alike 0, range 3, step 0.1, certainty 0.99: a link at 70 % of its rate
 * is a step of 0.36. */
extern const struct nt_change_options nt_change_default;

struct nt_change {
    size_t at;            /* first reading of the new level */
    size_t seen;          /* reading with which it was certain */
    double before, after; /* levels */
    double confidence;
};

/* At most NT_CHANGES_MAX changes, in order (of more the first). One whose readings were more
 * probably outliers, by those after it, is none: two slow ones, and then the level before.
 * *level: of the last run; 0 without readings. The first three readings only say what the level is,
 * or the first one of no great doubt that is as those of what it is like. */
int nt_change_points(const struct nt_change_reading *reading, size_t n,
                     const struct nt_change_options *options, struct nt_change *change,
                     size_t *changes, double *level, struct nt_err *err);

#endif
