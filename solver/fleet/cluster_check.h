/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of a cluster's network its jobs contradict, and which of them two users confirm.
 *
 * A large network has one latency for all pairs that meet at a switch (cluster_tiers.h), which is
 * wrong of hosts that are not all equally deep. A pair whose readings are off its latency by more
 * than their error is contradicting; hosts are left out, those in most of such pairs first, until
 * none is left. Jobs of one user take no host out that two others confirm. A host is confirmed by
 * the readings with others that it meets at its own switch, a switch by those that meet at it, and
 * at the one above. Pure.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLUSTER_CHECK_H
#define NT_CLUSTER_CHECK_H

#include <stdbool.h>

#include "err.h"
#include "evidence.h"
#include "model.h"

/* model: a tree. ignored[k]: entry k says nothing. noise: relative sd of one entry.
 * contradicted: model->hosts of them; confirmed: of all vertices. */
int nt_cluster_check(const struct nt_evidence *evidence, const bool *ignored,
                     const struct nt_model *model, double noise, bool *contradicted,
                     bool *confirmed, struct nt_err *err);

#endif
