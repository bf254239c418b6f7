/* SPDX-License-Identifier: Apache-2.0 */
/* One round over the out-of-band exchange, on rank 0: broadcasts the order, gathers the outcomes.
 * Tests: test_coordinator.c. */
#ifndef NT_COORDINATOR_ROUND_H
#define NT_COORDINATOR_ROUND_H

#include "membership.h"
#include "participant.h"
#include "timeouts.h"

enum nt_pair_status {
    NT_PAIR_OK,
    NT_PAIR_FAILED,    /* both reported, but they could not measure */
    NT_PAIR_NO_REPORT, /* one of them did not report: no sign against the other */
};

struct nt_pair_outcome {
    enum nt_pair_status status;
    struct nt_result result;           /* a and b are hosts */
    char reason[NT_WIRE_REASON_BYTES]; /* NT_PAIR_FAILED */
};

struct nt_coordinator_round {
    struct nt_oob *oob; /* these three are borrowed */
    struct nt_participant *participant;
    const struct nt_membership *membership;
    struct nt_contribution *contributions; /* the rest is owned; ranks of them */
    struct nt_report *report;
    bool *reported; /* the last report of this rank is there and well-formed */
    uint32_t (*pair)[2];
    uint32_t *skip;
    struct nt_unicast *unicast;      /* of a transport that has scatter */
    struct nt_bytes *text;           /* one a pair */
    struct nt_pair_outcome *outcome; /* of the pairs of the last round */
    size_t transports;               /* of hosts that have said them, in all rounds */
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
    bool all_ok;                               /* no pair failed in it */
    bool all_reported;                         /* no host stopped answering in it */
    double round_trip_s, connect_s, measure_s; /* the longest of those that succeeded in it */
};

int nt_coordinator_round_init(struct nt_coordinator_round *round, struct nt_oob *oob,
                              struct nt_participant *participant,
                              const struct nt_membership *membership, struct nt_err *err);
void nt_coordinator_round_fini(struct nt_coordinator_round *round);

/* Runs the order (pairs are hosts). Waits no longer than the timeouts. -1: the out-of-band
 * exchange is broken. unreported (hosts of them): which hosts did not report in one of the
 * gathers. */
int nt_coordinator_round_run(struct nt_coordinator_round *round, const struct nt_order *order,
                             uint32_t number, const struct nt_timeouts *timeouts, bool *unreported,
                             struct nt_err *err);

#endif
