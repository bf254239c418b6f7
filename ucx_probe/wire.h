/* What the probes of one sweep say to each other through the meeting: pieces (each host to rank
 * 0) and casts (rank 0 to all). Bytes from a peer are bounded and checked here and nowhere else.
 *
 *   every rank  GREETING   name, machine, cores, what it is inside, address on the measured network
 *   rank 0      TABLE   everyone's address, and who has a core of its own; only in a meeting
 *                       where everybody hears the same
 *   rank 0      ROUND   an order of the planner, by ranks, with its time limits; where each can be
 *                       told apart from the others, only his own pair, with its addresses
 *   every rank  READY   connected to the partner of the round, or why not
 *   rank 0      GO      measure now; these ranks sit this one out
 *   every rank  RESULT  what was measured, or why not
 *   rank 0      END     go home
 *
 * Pure: no I/O, no clock. Little-endian, version in GREETING. */
#ifndef NT_WIRE_H
#define NT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "machine_text.h"
#include "sweep.h"

enum {
    NT_PROBE_VERSION = 3,
    NT_WIRE_HOST_BYTES = 256,
    NT_WIRE_MACHINE_BYTES = 16,
    NT_WIRE_ADDRESS_MAX = 16384,
    NT_WIRE_REASON_BYTES = 160,
    NT_WIRE_RANKS_MAX = 131072,
    NT_WIRE_COUNT_MAX = 100000, /* pings in a batch, messages in a train */
    NT_WIRE_BATCHES_MAX = 1000,
    NT_WIRE_MESSAGE_MAX = 64 * 1024 * 1024, /* bytes */
};

enum nt_wire_kind {
    NT_WIRE_GREETING = 'H',
    NT_WIRE_TABLE = 'T',
    NT_WIRE_ROUND = 'O',
    NT_WIRE_READY = 'Y',
    NT_WIRE_GO = 'G',
    NT_WIRE_RESULT = 'R',
    NT_WIRE_END = 'E',
};

/* Bytes on their way out; owned by the caller, free(data). */
struct nt_bytes {
    unsigned char *data;
    size_t bytes;
};

struct nt_greeting {
    char host[NT_WIRE_HOST_BYTES];
    unsigned char machine[NT_WIRE_MACHINE_BYTES]; /* equal: the same kernel, hence the same cores */
    uint32_t cores;                               /* that this probe may run on */
    char inside[NT_MACHINE_TEXT_BYTES];           /* machine_text.h; "": not known */
    double core_us[NT_BETWEEN_END];               /* between two of its cores; 0: not measured */
    char reason[NT_WIRE_REASON_BYTES];            /* why there is no address, or "" */
    const unsigned char *address;                 /* decoded: points into the piece */
    size_t address_bytes;                         /* 0: cannot take part */
};

struct nt_peer {
    bool own_core;
    const unsigned char *address; /* NULL: does not take part */
    size_t bytes;
};

struct nt_peer_table {
    size_t ranks;
    struct nt_peer *seat; /* ranks of them; decoded: addresses point into the cast */
};

/* An order with ranks for hosts. */
struct nt_round {
    uint32_t number;
    double warm_s; /* to connect, from the moment it is read */
    struct nt_order order;
    size_t seats; /* of ranks in it, for who has no table */
    uint32_t *seat_rank;
    struct nt_peer *seat; /* decoded: both are owned, addresses point into the cast */
};

/* In a text for one rank alone: the rank that reads it. */
#define NT_WIRE_YOU UINT32_MAX

/* Times are from the moment it is read. */
struct nt_go {
    double measure_s; /* stop measuring and say what there is */
    double give_up_s; /* fail */
    size_t skips;
    uint32_t *skip; /* ranks that sit out, rising; owned */
};

/* READY and RESULT: how this rank fared. idle: had nothing to do. */
struct nt_report {
    bool idle, ok;
    char reason[NT_WIRE_REASON_BYTES]; /* when neither */
    struct nt_result result;           /* RESULT with ok: a and b are ignored. READY with ok:
                                          value_us is the last untimed round trip */
    double seconds;                    /* that the measuring took */
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

/* Where the rank sits, by the round itself or else by the table; NULL: nowhere. */
const struct nt_peer *nt_peer_find(const struct nt_round *round, const struct nt_peer_table *table,
                                   uint32_t rank);

int nt_round_encode(const struct nt_round *round, struct nt_bytes *out, struct nt_err *err);
/* ranks: how many there are; a pair outside, or a rank in two pairs, is an error. */
int nt_round_decode(const void *data, size_t bytes, size_t ranks, struct nt_round *out,
                    struct nt_err *err);
void nt_round_fini(struct nt_round *round); /* of a decoded one */

int nt_go_encode(const struct nt_go *go, struct nt_bytes *out, struct nt_err *err);
int nt_go_decode(const void *data, size_t bytes, struct nt_go *out, struct nt_err *err);
void nt_go_fini(struct nt_go *go);

/* kind: NT_WIRE_READY or NT_WIRE_RESULT */
int nt_report_encode(enum nt_wire_kind kind, const struct nt_report *report, struct nt_bytes *out,
                     struct nt_err *err);
int nt_report_decode(enum nt_wire_kind kind, const void *data, size_t bytes, struct nt_report *out,
                     struct nt_err *err);

#endif
