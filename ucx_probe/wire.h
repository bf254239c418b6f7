/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between the probes of one sweep over the out-of-band exchange: contributions (each
 * host to rank 0) and broadcasts (rank 0 to all). Data from a peer are bounded and checked here and
 * nowhere else. No I/O and no clock. Little-endian; the version is in GREETING.
 *
 *   every rank  GREETING  name, machine, cores, hardware, address on the measured network
 *   rank 0      TABLE     source addresses of the hosts' connections (guard.h); over a transport
 *                         without unicasts also the addresses of all ranks, and which of them have
 *                         an own core
 *   rank 0      ROUND     an order of the planner, by ranks, with its timeouts; over a transport
 *                         with unicasts only the rank's own pair, with its addresses
 *   every rank  READY     connected to the partner of the round, or why not
 *   rank 0      GO        measure now; lists the ranks that skip the round
 *   every rank  RESULT    the measurement, or why there is none
 *   every rank  SERIES    the results of all its turns, if the ROUND was a series: without READY
 *                         and GO; a rank continues as soon as a turn is over
 *   rank 0      END       the sweep is over */
#ifndef NT_WIRE_H
#define NT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "guard.h"
#include "machine_text.h"
#include "map.h"
#include "memory.h"
#include "sweep.h"

enum {
    NT_PROBE_VERSION = 6,
    NT_WIRE_HOST_BYTES = 256,
    NT_WIRE_MACHINE_BYTES = 16,
    NT_WIRE_ADDRESS_MAX = 16384,
    NT_WIRE_REASON_BYTES = 160,
    NT_WIRE_NETWORKS_BYTES = 128,
    NT_WIRE_RANKS_MAX = 131072,
    NT_WIRE_COUNT_MAX = 100000, /* pings per batch, messages per train */
    NT_WIRE_BATCHES_MAX = 1000,
    NT_WIRE_TURNS_MAX = 16,
    NT_WIRE_MESSAGE_MAX = 64 * 1024 * 1024, /* bytes */
};

enum nt_wire_kind {
    NT_WIRE_GREETING = 'H',
    NT_WIRE_TABLE = 'T',
    NT_WIRE_ROUND = 'O',
    NT_WIRE_READY = 'Y',
    NT_WIRE_GO = 'G',
    NT_WIRE_RESULT = 'R',
    NT_WIRE_SERIES = 'S',
    NT_WIRE_END = 'E',
};

/* An encoded message; the caller frees data. */
struct nt_bytes {
    unsigned char *data;
    size_t bytes;
};

struct nt_greeting {
    char host[NT_WIRE_HOST_BYTES];
    /* Boot id; equal for processes on the same kernel, hence on the same cores */
    unsigned char machine[NT_WIRE_MACHINE_BYTES];
    uint32_t cores;                        /* number of cores that this probe may use */
    char hardware[NT_MACHINE_TEXT_BYTES];  /* machine_text.h; "": not known */
    char networks[NT_WIRE_NETWORKS_BYTES]; /* device_network.h; "": not known */
    double core_us[NT_BETWEEN_END];        /* latency between two of its cores; 0: not measured */
    char reason[NT_WIRE_REASON_BYTES];     /* why there is no address; "": there is one */
    size_t sources;
    struct nt_source source[NT_SOURCES_MAX]; /* source addresses of its connections */
    const unsigned char *address;            /* if decoded: points into the contribution */
    size_t address_bytes;                    /* 0: cannot take part */
};

struct nt_peer {
    bool own_core;
    const unsigned char *address; /* NULL: does not take part */
    size_t bytes;
};

struct nt_peer_table {
    size_t ranks;
    struct nt_peer *peer; /* by rank; if decoded, addresses point into the message */
    size_t sources;
    struct nt_source *source; /* source addresses of all hosts */
    struct nt_arena memory;   /* both lists if they are owned */
};

/* An order whose pairs are ranks. */
struct nt_round {
    uint32_t number;
    double connect_s; /* time limit to connect, from the time when the message is read */
    struct nt_order order;
    /* By pair: it uses the connection that both ends kept (pairing.h); NULL for encoding: none
     * does */
    bool *kept;
    uint32_t turns; /* turns of a series; 0: the pairs measure together, after GO */
    /* Series: by pair, its turn, ascending from 0; its round is number + turn; a rank has at most
     * one pair per turn */
    uint32_t *turn;
    double measure_s, give_up_s; /* series: limits of each turn, as in GO; connect_s too */
    double series_s;             /* series: limit of all turns */
    size_t lost; /* number of ranks lost since the last round; connections to them end */
    uint32_t *lost_rank;
    size_t peers; /* number of addresses in it, if the table has none */
    uint32_t *peer_rank;
    struct nt_peer *peer;   /* if decoded: addresses point into the message */
    struct nt_arena memory; /* if decoded: all lists; the caller calls nt_arena_fini */
};

/* In a text for one rank: the rank that reads it. */
#define NT_WIRE_YOU UINT32_MAX

/* Times start when the message is read. */
struct nt_go {
    double measure_s; /* stop measuring and report the results so far */
    double give_up_s; /* fail after this time */
    size_t skips;
    uint32_t *skip;         /* ranks that skip the round, ascending */
    struct nt_arena memory; /* if decoded: the list; the caller calls nt_arena_fini */
};

/* READY and RESULT of one rank. idle: it had no pair. */
struct nt_report {
    bool idle, ok;
    bool kept;                         /* RESULT: the connection is kept for later rounds */
    char reason[NT_WIRE_REASON_BYTES]; /* set if neither idle nor ok */
    /* RESULT with ok: a and b are ignored, and sent[0] counts this rank's segments. READY with ok:
     * value_us is the last untimed round trip. */
    struct nt_result result;
    double seconds;                     /* duration of connecting or measuring */
    char used[NT_TRANSPORT_USED_BYTES]; /* once per rank: transports of its connections */
};

/* Returns the kind of a message; 0: it is empty. */
int nt_wire_kind(const void *data, size_t bytes);

int nt_greeting_encode(const struct nt_greeting *greeting, struct nt_bytes *out,
                       struct nt_err *err);
int nt_greeting_decode(const void *data, size_t bytes, struct nt_greeting *out, struct nt_err *err);

int nt_peer_table_encode(const struct nt_peer_table *table, struct nt_bytes *out,
                         struct nt_err *err);
int nt_peer_table_decode(const void *data, size_t bytes, struct nt_peer_table *out,
                         struct nt_err *err);
void nt_peer_table_fini(struct nt_peer_table *table);

/* Returns the address of a rank, from the round or else from the table; NULL: none. */
const struct nt_peer *nt_peer_find(const struct nt_round *round, const struct nt_peer_table *table,
                                   uint32_t rank);

int nt_round_encode(const struct nt_round *round, struct nt_bytes *out, struct nt_err *err);
/* ranks: number of ranks. -1 for a pair outside them, or for a rank in two pairs. */
int nt_round_decode(const void *data, size_t bytes, size_t ranks, struct nt_round *out,
                    struct nt_err *err);

int nt_go_encode(const struct nt_go *go, struct nt_bytes *out, struct nt_err *err);
int nt_go_decode(const void *data, size_t bytes, struct nt_go *out, struct nt_err *err);

/* n reports: one for READY or RESULT, one per turn of the rank for SERIES. */
int nt_reports_encode(enum nt_wire_kind kind, const struct nt_report *report, size_t n,
                      struct nt_bytes *out, struct nt_err *err);
int nt_reports_decode(enum nt_wire_kind kind, const void *data, size_t bytes,
                      struct nt_report *report, size_t n, struct nt_err *err);

#endif
