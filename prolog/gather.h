/* SPDX-License-Identifier: Apache-2.0 */
/* The state of gathers at the leader, without any connection: which hosts have contributed.
 *
 * Every host sends one contribution per gather, in one or more frames, possibly before rank 0 opens
 * the gather. A gather is closed when all hosts that are not lost have contributed, or at its
 * deadline; later contributions to it are discarded. A host that did not contribute in time is
 * lost: the next gathers do not wait for it, until a complete contribution of it is in time again.
 */
#ifndef NT_GATHER_H
#define NT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_gather {
    size_t hosts, awaited;  /* awaited: hosts that the open gather waits for */
    uint32_t *complete_seq; /* per host: the last seq with a complete contribution; owned */
    bool *lost;             /* per host: not waited for; owned */
    uint32_t open_seq, closed_seq;
    bool is_open;
    double until; /* deadline of the open gather (nt_clock_s) */
};

int nt_gather_init(struct nt_gather *gather, size_t hosts, struct nt_err *err);
void nt_gather_fini(struct nt_gather *gather);

/* A part of a host's contribution arrived (more: not the last). true: forward it to rank 0; false:
 * it is late, or a duplicate. */
bool nt_gather_contribution(struct nt_gather *gather, size_t host, uint32_t seq, bool more);

/* Rank 0 opens a gather. -1 (NT_ERR_INPUT) when one is open or seq does not increase. */
int nt_gather_open(struct nt_gather *gather, uint32_t seq, double until, struct nt_err *err);

/* The host is lost: gathers do not wait for it until it contributes again. */
void nt_gather_set_lost(struct nt_gather *gather, size_t host);

/* A gather is open, and is complete or past its deadline. */
bool nt_gather_is_over(const struct nt_gather *gather, double now);

/* Closes the open gather; hosts that did not contribute become lost. Returns how many. */
size_t nt_gather_close(struct nt_gather *gather);

#endif
