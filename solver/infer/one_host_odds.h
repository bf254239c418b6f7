/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that differ from a stated one by a single host, against the readings. Private to infer/.
 *
 * A host of the switch above, or of another branch of it, may belong to the group, and one of its
 * own hosts to these. Its readings to the hosts concerned are then longer or shorter by twice the
 * link's latency, but for what its own link takes up; a reading is normal or, at a small share
 * estimated from the residuals, wrong. How often a host stands alone, and how often with as many
 * others, is known from the switch above (W. J. Ewens, The sampling theory of selectively neutral
 * alleles, Theoretical Population Biology 3, 1972).
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_ONE_HOST_ODDS_H
#define NT_INFER_ONE_HOST_ODDS_H

#include "work.h"

/* Limits the support of each switch of a fitted tree by the odds of those groups together; not
 * below NT_SUPPORT_STATED, as most of the hosts stand together all the same. Other networks stay,
 * and those of over 512 hosts: at 1,024 it would double the time. */
int nt_one_host_limit(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

#endif
