/* SPDX-License-Identifier: Apache-2.0 */
/* One round over the out-of-band exchange, on rank 0: broadcasts the order, gathers the outcomes.
 * Or several at once: their pairs go from turn to turn without rank 0.
 * Tests: test_coordinator.c. */
#ifndef NT_COORDINATOR_ROUND_H
#define NT_COORDINATOR_ROUND_H

#include "membership.h"
#include "pairing.h"
#include "participant.h"
#include "timeouts.h"

/* Up to so many ranks connections are kept: of each a list of 260 bytes. */
enum { NT_KEPT_RANKS_MAX = 8192 };

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

/* Rounds that are alike but for their pairs, which are hosts. */
struct nt_series {
    struct nt_order order; /* without pairs */
    uint32_t turns;
    size_t begin[NT_WIRE_TURNS_MAX + 1]; /* of the turns' pairs; that of turns: of all */
    uint32_t (*pair)[2];
};

struct nt_coordinator_round {
    struct nt_oob *oob; /* these three are borrowed */
    struct nt_participant *participant;
    const struct nt_membership *membership;
    bool own_lost;          /* UCX crashed on this rank: its host has stopped answering, too */
    struct nt_arena memory; /* of all arrays */
    struct nt_contribution *contributions; /* ranks of them */
    struct nt_report *report;              /* turns_max of each rank */
    bool *reported;      /* the last report of this rank is there and well-formed */
    uint32_t turns_max;  /* of a series; the arrays over pairs have room for so many */
    uint32_t (*pair)[2]; /* ranks; of a series those of each turn, one after another */
    uint32_t *turn;      /* of each pair */
    uint32_t (*at)[2];   /* of each pair, where in report that of each end is */
    struct nt_series series;
    uint32_t *slot;       /* turns_max of each rank: its pairs in the series */
    uint32_t *turns_of;   /* of each rank: how many it has */
    bool *pair_kept;      /* this pair of the order uses the connection that it has */
    struct nt_kept *kept; /* what each rank keeps; NULL: too many ranks, nothing is used again */
    bool *told_lost;      /* hosts of them: all ranks know that it is */
    uint32_t *gone;       /* ranks of those that are lost since the last round */
    uint32_t *skip;
    struct nt_unicast *unicast;      /* of a transport that has scatter */
    struct nt_bytes *text;           /* one a pair */
    struct nt_pair_outcome *outcome; /* of the pairs of the last round */
    size_t transports;               /* of hosts that have said them, in all rounds */
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
    bool all_ok;                               /* no pair failed in it */
    bool all_reported;                         /* no host stopped answering in it */
    double round_trip_s, connect_s, measure_s; /* the longest of those that succeeded in it;
                                                  connect_s: of those that connected anew */
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

/* A series of rounds begins with this one. */
void nt_coordinator_series_begin(struct nt_coordinator_round *round, const struct nt_order *order);

/* And has this one more; only while series.turns is below turns_max. */
void nt_coordinator_series_add(struct nt_coordinator_round *round, const struct nt_order *order);

/* Runs it; the outcomes are those of all its pairs. number: of its first round. Else as above.
 * Where a pair failed, others may have failed for it: only what is good says something. */
int nt_coordinator_series_run(struct nt_coordinator_round *round, uint32_t number,
                              const struct nt_timeouts *timeouts, bool *unreported,
                              struct nt_err *err);

/* The turn as an order; its pairs are the series'. */
struct nt_order nt_coordinator_series_turn(const struct nt_coordinator_round *round, size_t turn);

/* Leaves only those pairs that were not good in each turn. */
void nt_coordinator_series_keep_failed(struct nt_coordinator_round *round);

#endif
