/* SPDX-License-Identifier: Apache-2.0 */
/* Rails: the network devices of this host, and one of them alone.
 * Tests: bats/loggp.bats. */
#ifndef NT_PAIR_RAIL_H
#define NT_PAIR_RAIL_H

#include "pair_ucx.h"

void nt_pair_find_rails(struct nt_pair *pair);
/* Of the connection that stands; nothing where it is known already. */
void nt_pair_find_used(struct nt_pair *pair);
/* With the connected partner, which does the same: from now to nt_pair_close everything goes over
 * this device. */
int nt_pair_use_rail(struct nt_pair *pair, const char *name, double deadline_s, struct nt_err *err);
void nt_pair_close_rails(struct nt_pair *pair);

#endif
