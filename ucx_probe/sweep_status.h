/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a finished sweep, why it is not ok, and what to do about that.
 * Tests: bats/deaths.bats. */
#ifndef NT_SWEEP_STATUS_H
#define NT_SWEEP_STATUS_H

#include "campaign.h"
#include "coordinator.h"
#include "map.h"
#include "measured_pairs.h"
#include "membership.h"
#include "pair_failures.h"

/* A host on which UCX finds nothing to use. */
extern const char nt_no_network_advice[];

struct nt_sweep_status {
    enum nt_status status;
    char reason[NT_REASON_BYTES]; /* "" when the status is ok */
    char advice[NT_REASON_BYTES]; /* "" when there is nothing */
    bool named;                   /* the map's own warnings say more (pair_failures.h) */
};

/* All borrowed. */
struct nt_sweep_facts {
    const struct nt_campaign *campaign;
    const struct nt_membership *membership;
    const struct nt_measured_pairs *measured;
    size_t pairs_total;
    const char *first_failure; /* why the first pair failed; "": none did */
    const struct nt_samples *samples;
    const struct nt_pair_failures *failures; /* between hosts that are not missing in the samples */
    const char *broken;                      /* what ended the sweep early; NULL: nothing */
};

void nt_sweep_status_find(const struct nt_sweep_facts *facts, struct nt_sweep_status *out);

#endif
