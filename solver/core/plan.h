/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: which pairs of hosts to measure, and in which round. Made by plan/, read by text/.
 * Tests: test_plan_routes.c, test_plan_model.c. */
#ifndef NT_PLAN_H
#define NT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_plan {
    size_t rank;         /* independent pairs: the rank of the routes */
    size_t pairs;        /* at least rank of them */
    uint32_t (*pair)[2]; /* hosts; by round, then by their place in the routes; owned */
    uint32_t *round;     /* pairs of them, from 0; owned */
    size_t rounds;       /* in a round no link and no host is used twice, in both directions */
    size_t lower_bound;  /* no plan of so many pairs has fewer rounds */
    /* Standard error of a link's latency when each pair's is 1: root mean square and largest over
     * the links that can be distinguished; NaN when none can or there are too many to compute. */
    double amplification_rms, amplification_max;
    size_t absent; /* one that was read: pairs of its text with a host that is not there */
};

int nt_plan_create(size_t pairs, struct nt_plan **out, struct nt_err *err);
void nt_plan_destroy(struct nt_plan *plan);

#endif
