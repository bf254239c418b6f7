/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: which pairs of hosts to measure, and in which round. routes/ makes it, text/ reads and
 * writes it.
 * Tests: test_plan_routes.c, test_plan_model.c. */
#ifndef NT_PLAN_H
#define NT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_plan {
    size_t rank;         /* rank of the routes: the number of independent pairs */
    size_t pairs;        /* at least rank */
    uint32_t (*pair)[2]; /* hosts, by round, then in the order of the routes; owned */
    uint32_t *round;     /* per pair, from 0; owned */
    size_t rounds;       /* in one round no channel of a link and no host is used twice */
    size_t lower_bound;  /* every plan of this number of pairs has at least this number of rounds */
    /* Standard error of a link's latency if each pair has 1: root mean square and maximum over the
     * determined links; NaN: no link is determined, or there are too many. */
    double amplification_rms, amplification_max;
    size_t absent; /* in a plan that was read: pairs with a host that is not in the job */
};

int nt_plan_create(size_t pairs, struct nt_plan **out, struct nt_err *err);
void nt_plan_destroy(struct nt_plan *plan);

#endif
