/* Who is in: the bookkeeping of gathers at the leader, apart from any connection.
 *
 * Every host owes one piece per gather. Pieces may come before rank 0 asks for them; once a
 * gather is closed, its late pieces are dropped and hosts that owe it are no longer waited for,
 * until one has a whole piece in time again. */
#ifndef NT_GATHER_H
#define NT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_gather {
    size_t hosts, awaited;  /* awaited: hosts that still owe the open one */
    uint32_t *complete_seq; /* per host: the last seq whose piece is in whole; owned */
    bool *lost;             /* per host: not waited for; owned */
    uint32_t open_seq, closed_seq;
    bool is_open;
    double until; /* when the open one is closed at the latest */
};

int nt_gather_init(struct nt_gather *gather, size_t hosts, struct nt_err *err);
void nt_gather_fini(struct nt_gather *gather);

/* A part of a host's piece came (more: not the last). true: pass it on to rank 0; false: it is
 * late, or that piece was whole already. */
bool nt_gather_contribution(struct nt_gather *gather, size_t host, uint32_t seq, bool more);

/* Rank 0 asks. -1 (NT_ERR_INPUT) when one is open or seq does not rise. */
int nt_gather_open(struct nt_gather *gather, uint32_t seq, double until, struct nt_err *err);

/* Nobody need wait for this host, until it is heard again. */
void nt_gather_set_lost(struct nt_gather *gather, size_t host);

/* One is open, and all are in or its time is over. */
bool nt_gather_is_over(const struct nt_gather *gather, double now);

/* Closes the open one; hosts that owe it are away from now on. Returns how many just became so. */
size_t nt_gather_close(struct nt_gather *gather);

#endif
