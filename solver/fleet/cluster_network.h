/* SPDX-License-Identifier: Apache-2.0 */
/* Infers the network of a cluster from aligned evidence with the model of a single job
 * (model/tiers.h), applied to the readings of all users between units. Its hosts need not be
 * equally deep.
 *
 * A unit is a cluster of the lowest level (cluster_tiers.h): a leaf switch with its hosts, or a
 * single host. A pair of units has one reading, the median over users: two users outweigh a third,
 * however many jobs the third runs. A unit is a switch of its own if its link is probably longer
 * than those of its hosts; otherwise its hosts are on the switch above.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLUSTER_NETWORK_H
#define NT_CLUSTER_NETWORK_H

#include <stdbool.h>

#include "cluster_tiers.h"
#include "err.h"
#include "evidence.h"
#include "model.h"

/* Decides whether there are few enough units for the model. */
int nt_cluster_network_fits(const struct nt_evidence *evidence,
                            const struct nt_cluster_tiers *tiers, bool *fits, struct nt_err *err);

/* Infers the network. ignored: entries that do not count. missing: hosts to omit. *out: a tree;
 * NULL: a unit was measured with no other, or there is only one unit. */
int nt_cluster_network_find(const struct nt_evidence *evidence, const bool *ignored,
                            const bool *missing, const struct nt_cluster_tiers *tiers,
                            struct nt_model **out, struct nt_err *err);

#endif
