/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a cluster from aligned evidence: the model of a single job (model/tiers.h) on what
 * all users read between its units. Its hosts need not be equally deep.
 *
 * A unit is a cluster of the lowest level (cluster_tiers.h): a leaf with its hosts, or a host that
 * is with no other. A pair of units has one reading, the median over users: two users outweigh a
 * third one, however many jobs that one runs. A unit is a switch of its own if its link
 * is rather longer than those of its hosts than not; else these are on the switch above.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLUSTER_NETWORK_H
#define NT_CLUSTER_NETWORK_H

#include <stdbool.h>

#include "cluster_tiers.h"
#include "err.h"
#include "evidence.h"
#include "model.h"

/* Whether there are few enough units for the model. */
int nt_cluster_network_fits(const struct nt_evidence *evidence,
                            const struct nt_cluster_tiers *tiers, bool *fits, struct nt_err *err);

/* ignored: entries that do not count. missing: hosts that are left out. *out: a tree; NULL: a unit
 * was read with no other, or there is one alone. */
int nt_cluster_network_find(const struct nt_evidence *evidence, const bool *ignored,
                            const bool *missing, const struct nt_cluster_tiers *tiers,
                            struct nt_model **out, struct nt_err *err);

#endif
