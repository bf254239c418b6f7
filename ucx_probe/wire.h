/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between the probes of one sweep over the out-of-band exchange: contributions (each
 * host to rank 0) and broadcasts (rank 0 to all). Bytes from a peer are bounded and checked here
 * and nowhere else.
 *
 *   every rank  GREETING   name, machine, cores, hardware, address on the measured network
 *   rank 0      TABLE   from where the hosts connect (guard.h); over a transport without unicasts
 *                       also the addresses of all ranks, and which have a core of their own
 *   rank 0      ROUND   an order of the planner, by ranks, with its timeouts; over a transport
 *                       with unicasts only the rank's own pair, with its addresses
 *   every rank  READY   connected to the partner of the round, or why not
 *   rank 0      GO      measure now; these ranks skip the round
 *   every rank  RESULT  what was measured, or why not
 *   every rank  SERIES  the same of each of its turns, where the ROUND was one of turns: there is
 *                       neither READY nor GO, and a rank goes on as soon as a turn is over
 *   rank 0      END     the sweep is over
 *
 * Pure: no I/O, no clock. Little-endian, version in GREETING. */
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
    NT_WIRE_COUNT_MAX = 100000, /* pings in a batch, messages in a train */
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

/* An encoded message; owned by the caller, free(data). */
struct nt_bytes {
    unsigned char *data;
    size_t bytes;
};

struct nt_greeting {
    char host[NT_WIRE_HOST_BYTES];
    unsigned char machine[NT_WIRE_MACHINE_BYTES]; /* equal: the same kernel, hence the same cores */
    uint32_t cores;                               /* that this probe may run on */
    char hardware[NT_MACHINE_TEXT_BYTES];         /* machine_text.h; "": not known */
    char networks[NT_WIRE_NETWORKS_BYTES];        /* device_network.h; "": not known */
    double core_us[NT_BETWEEN_END];               /* between two of its cores; 0: not measured */
    char reason[NT_WIRE_REASON_BYTES];            /* why there is no address, or "" */
    size_t sources;
    struct nt_source source[NT_SOURCES_MAX]; /* from which its connections may come */
    const unsigned char *address;            /* decoded: points into the contribution */
    size_t address_bytes;                    /* 0: cannot take part */
};

struct nt_peer {
    bool own_core;
    const unsigned char *address; /* NULL: does not take part */
    size_t bytes;
};

struct nt_peer_table {
    size_t ranks;
    struct nt_peer *peer; /* ranks of them; decoded: addresses point into the message */
    size_t sources;
    struct nt_source *source; /* of all hosts, one after the other */
    struct nt_arena memory;   /* of both lists, where they are owned */
};

/* An order with ranks for hosts. */
struct nt_round {
    uint32_t number;
    double connect_s; /* to connect, from the moment it is read */
    struct nt_order order;
    bool *kept;     /* order.pairs of them: the pair uses the connection that it has (pairing.h);
                       encoded, NULL: none does */
    uint32_t turns; /* 0: the pairs measure together, after GO */
    uint32_t *turn; /* else, order.pairs of them, rising from 0: when the pair's is, under the
                       number of the round + turn; a rank has at most one pair a turn */
    double measure_s, give_up_s; /* of each turn, as of a GO; connect_s too */
    double series_s;             /* no turn goes on after this */
    size_t gone; /* ranks that were lost since the last round: connections with them end */
    uint32_t *gone_rank;
    size_t peers; /* addresses of ranks in it, where there is no table */
    uint32_t *peer_rank;
    struct nt_peer *peer;   /* decoded: addresses point into the message */
    struct nt_arena memory; /* decoded: of all lists; nt_arena_fini */
};

/* In a text for one rank alone: the rank that reads it. */
#define NT_WIRE_YOU UINT32_MAX

/* Times are from the moment it is read. */
struct nt_go {
    double measure_s; /* stop measuring and report what there is */
    double give_up_s; /* fail */
    size_t skips;
    uint32_t *skip;         /* ranks that skip the round, rising */
    struct nt_arena memory; /* decoded: of the list; nt_arena_fini */
};

/* READY and RESULT of this rank. idle: it had nothing to do. */
struct nt_report {
    bool idle, ok;
    bool kept;                          /* RESULT: the connection stays for later rounds */
    char reason[NT_WIRE_REASON_BYTES];  /* when neither */
    struct nt_result result;            /* RESULT with ok: a and b are ignored, sent[0] is what this
                                           rank sent. READY with ok: value_us is the last untimed
                                           round trip */
    double seconds;                     /* that the measuring took */
    char used[NT_TRANSPORT_USED_BYTES]; /* READY, once a rank: what its connections go over */
};

/* The kind of a message; 0 when there is none. */
int nt_wire_kind(const void *data, size_t bytes);

int nt_greeting_encode(const struct nt_greeting *greeting, struct nt_bytes *out,
                       struct nt_err *err);
int nt_greeting_decode(const void *data, size_t bytes, struct nt_greeting *out, struct nt_err *err);

int nt_peer_table_encode(const struct nt_peer_table *table, struct nt_bytes *out,
                         struct nt_err *err);
int nt_peer_table_decode(const void *data, size_t bytes, struct nt_peer_table *out,
                         struct nt_err *err);
void nt_peer_table_fini(struct nt_peer_table *table);

/* The address of the rank, from the round itself or else from the table; NULL: none. */
const struct nt_peer *nt_peer_find(const struct nt_round *round, const struct nt_peer_table *table,
                                   uint32_t rank);

int nt_round_encode(const struct nt_round *round, struct nt_bytes *out, struct nt_err *err);
/* ranks: how many there are; a pair outside, or a rank in two pairs, is an error. */
int nt_round_decode(const void *data, size_t bytes, size_t ranks, struct nt_round *out,
                    struct nt_err *err);

int nt_go_encode(const struct nt_go *go, struct nt_bytes *out, struct nt_err *err);
int nt_go_decode(const void *data, size_t bytes, struct nt_go *out, struct nt_err *err);

/* n reports: one READY or RESULT, or SERIES, of a rank's turns. */
int nt_reports_encode(enum nt_wire_kind kind, const struct nt_report *report, size_t n,
                      struct nt_bytes *out, struct nt_err *err);
int nt_reports_decode(enum nt_wire_kind kind, const void *data, size_t bytes,
                      struct nt_report *report, size_t n, struct nt_err *err);

#endif
