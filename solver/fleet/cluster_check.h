/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the parts of a cluster's network that jobs contradict, and the parts that two users
 * confirm.
 *
 * A large network has one latency for all pairs whose path turns at a switch (cluster_tiers.h),
 * which is wrong if hosts are not equally deep. A pair is contradicting if its readings differ from
 * this latency by more than their error. Hosts are removed, those in most contradicting pairs
 * first, until no such pair is left. Jobs of one user cannot remove a host that two other users
 * confirm. A host is confirmed by readings with other hosts of its switch; a switch is confirmed by
 * pairs whose path turns at it and at the switch above. No I/O and no clock.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLUSTER_CHECK_H
#define NT_CLUSTER_CHECK_H

#include <stdbool.h>

#include "err.h"
#include "evidence.h"
#include "model.h"

/* The parts of a network that were found; the arrays belong to the caller. */
struct nt_checked_parts {
    bool *contradicted; /* per host */
    bool *confirmed;    /* per vertex: hosts, then switches */
};

/* model: a tree. ignored[k]: entry k is ignored. noise: relative sd of one entry. Sets all elements
 * of both arrays of parts, on success only. */
int nt_cluster_check(const struct nt_evidence *evidence, const bool *ignored,
                     const struct nt_model *model, double noise,
                     const struct nt_checked_parts *parts, struct nt_err *err);

#endif
