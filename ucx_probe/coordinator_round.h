/* SPDX-License-Identifier: Apache-2.0 */
/* One round over the out-of-band exchange, on rank 0: broadcasts the order and gathers the
 * outcomes. Or a series of rounds: their pairs go from turn to turn without rank 0. Does not decide
 * which pairs are measured or which host is at fault.
 * Tests: test_coordinator.c. */
#ifndef NT_COORDINATOR_ROUND_H
#define NT_COORDINATOR_ROUND_H

#include "membership.h"
#include "pairing.h"
#include "participant.h"
#include "timeouts.h"

/* With more ranks no connections are kept: rank 0 needs a list of 260 bytes per rank. */
enum { NT_KEPT_RANKS_MAX = 8192 };

enum nt_pair_status {
    NT_PAIR_OK,
    NT_PAIR_FAILED,    /* both ends reported, but could not measure */
    NT_PAIR_NO_REPORT, /* one end did not report, which is no evidence against the other */
};

struct nt_pair_outcome {
    enum nt_pair_status status;
    struct nt_result result;           /* a and b are host indices */
    char reason[NT_WIRE_REASON_BYTES]; /* set with NT_PAIR_FAILED */
};

/* A series: rounds that differ only in their pairs, which are host indices. */
struct nt_series {
    struct nt_order order; /* common order, without pairs */
    uint32_t turns;
    size_t begin[NT_WIRE_TURNS_MAX +
                 1]; /* by turn: index of its first pair; begin[turns]: number of all pairs */
    uint32_t (*pair)[2];
};

struct nt_coordinator_round {
    struct nt_oob *oob; /* borrowed, as the next two */
    struct nt_participant *participant;
    const struct nt_membership *membership;
    bool own_lost;          /* UCX crashed on this rank, whose host counts as not responding */
    struct nt_arena memory; /* all arrays */
    struct nt_contribution *contributions; /* by rank */
    struct nt_report *report;              /* turns_max per rank */
    bool *reported;                        /* by rank: its last report arrived and is valid */
    uint32_t turns_max; /* maximum turns in a series; arrays of pairs have room for them */
    uint32_t (
        *pair)[2];     /* the order's pairs as ranks; for a series those of all turns in sequence */
    uint32_t *turn;    /* by pair: its turn */
    uint32_t (*at)[2]; /* by pair: index in report of the report of each end */
    struct nt_series series;
    uint32_t *slot;       /* turns_max per rank: indices of its pairs in the series */
    uint32_t *rank_turns; /* by rank: number of its turns */
    bool *pair_kept;      /* by pair: uses the connection that both ends kept */
    struct nt_kept
        *kept; /* by rank: the connections that it keeps; NULL: too many ranks, none are kept */
    bool *loss_announced; /* by host: all ranks have been informed that it is lost */
    uint32_t *lost_rank;  /* ranks that were lost since the last round */
    uint32_t *skip;
    struct nt_unicast *unicast;      /* used if the transport supports scatter */
    struct nt_bytes *text;           /* one per pair */
    struct nt_pair_outcome *outcome; /* by pair: outcome in the last round */
    size_t transports;               /* number of different transports that hosts have reported */
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
    bool all_ok;       /* last round: no pair failed */
    bool all_reported; /* last round: every host reported */
    /* Last round: the longest among successful pairs; connect_s: among pairs with a new
     * connection */
    double round_trip_s, connect_s, measure_s;
};

int nt_coordinator_round_init(struct nt_coordinator_round *round, struct nt_oob *oob,
                              struct nt_participant *participant,
                              const struct nt_membership *membership, struct nt_err *err);
void nt_coordinator_round_fini(struct nt_coordinator_round *round);

/* Runs the order, whose pairs are host indices, within the timeouts. Sets unreported (one per host)
 * to the hosts that did not report in one of the gathers. -1: the out-of-band exchange is
 * broken. */
int nt_coordinator_round_run(struct nt_coordinator_round *round, const struct nt_order *order,
                             uint32_t number, const struct nt_timeouts *timeouts, bool *unreported,
                             struct nt_err *err);

/* Begins a series with this round. */
void nt_coordinator_series_begin(struct nt_coordinator_round *round, const struct nt_order *order);

/* Adds a round to the series. Call only if series.turns is below turns_max. */
void nt_coordinator_series_add(struct nt_coordinator_round *round, const struct nt_order *order);

/* Runs the series; outcome contains all of its pairs. number: of its first round. Otherwise as
 * nt_coordinator_round_run. A failed pair may have caused other failures, so only successful
 * measurements are evidence. */
int nt_coordinator_series_run(struct nt_coordinator_round *round, uint32_t number,
                              const struct nt_timeouts *timeouts, bool *unreported,
                              struct nt_err *err);

/* Returns a turn of the series as an order, whose pairs are borrowed from the series. */
struct nt_order nt_coordinator_series_turn(const struct nt_coordinator_round *round, size_t turn);

/* Removes the pairs that were measured successfully from each turn. */
void nt_coordinator_series_keep_failed(struct nt_coordinator_round *round);

#endif
