/* SPDX-License-Identifier: Apache-2.0 */
/* A class of near pairs among many: how many sd nearer, how many, and with which odds. Private to
 * infer/.
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_NEAR_CLASS_H
#define NT_INFER_NEAR_CLASS_H

#include <stddef.h>

#include "err.h"

/* Pairs are distinguished by how many sd nearer a reading is than one switch makes expect. Most are
 * about 0; those of the class lie about `gap`, or further where they have switches of their own;
 * readings that are wrong lie anywhere, hardly ever below. */
struct nt_near_class {
    double gap;         /* sd */
    double share;       /* of the pairs */
    double early, late; /* shares of readings that are far too low, and far too high */
    double range;       /* sd in which wrong readings lie */
    double ln_odds;     /* that there is such a class at all */
};

/* near: how much nearer each of count pairs is, sd. range: sd in which wrong readings lie. early:
 * the share of readings that are far too low where that is known, or less than 0. */
int nt_near_class(const float *near, size_t count, double range, double early,
                  struct nt_near_class *out, struct nt_err *err);

/* ln of how much likelier a reading is inside the class than outside. */
double nt_near_evidence(const struct nt_near_class *c, double near);

#endif
