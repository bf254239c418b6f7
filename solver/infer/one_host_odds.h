/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that differ from a stated one by a single host, against the readings. Private to infer/.
 *
 * A host of the switch above, or of another branch of it, may belong to the group, and one of its
 * own hosts to these. Its readings to the hosts concerned are then longer or shorter by twice the
 * link's latency, but for what its own link takes up; a reading is normal or, at a small share
 * estimated from the residuals, wrong. How often a host stands alone is known from the switch
 * above, how often with as many others from the groups of the tree, besides what is expected before
 * (W. J. Ewens, The sampling theory of selectively neutral alleles, Theoretical Population Biology
 * 3, 1972).
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_ONE_HOST_ODDS_H
#define NT_INFER_ONE_HOST_ODDS_H

#include "work.h"

/* Moves hosts, one after the other, while that makes the fitted tree likelier; *changed: some were,
 * and the tree is fitted. Where none is, limits the support of each switch by the odds of the moves
 * that are left. Other networks stay, and those of over 512 hosts: at 1,024 it would double the
 * time. */
int nt_one_host_settle(struct nt_work *w, struct nt_model **model, bool *changed,
                       struct nt_err *err);

#endif
