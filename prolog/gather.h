/* SPDX-License-Identifier: Apache-2.0 */
/* The state of gathers at the leader: which hosts have contributed. Does not use connections.
 *
 * Each host sends one contribution per gather, in one or more frames, possibly before rank 0 opens
 * the gather. A gather is closed when all hosts that are not lost have contributed, or at its
 * deadline. Later contributions to it are discarded. A host that did not contribute in time is
 * lost: the next gathers do not wait for it until it completes a contribution in time again. */
#ifndef NT_GATHER_H
#define NT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_gather {
    size_t hosts, awaited; /* awaited: number of hosts that the open gather waits for */
    /* Per host: number of the last gather to which its contribution is complete; owned */
    uint32_t *complete_seq;
    bool *lost; /* per host: gathers do not wait for it; owned */
    uint32_t open_seq, closed_seq;
    bool is_open;
    double until; /* deadline of the open gather (nt_clock_s) */
};

int nt_gather_init(struct nt_gather *gather, size_t hosts, struct nt_err *err);
void nt_gather_fini(struct nt_gather *gather);

/* Records a part of a host's contribution; more: further parts follow. Returns whether to forward
 * it to rank 0; false: it is late or a duplicate. */
bool nt_gather_contribution(struct nt_gather *gather, size_t host, uint32_t seq, bool more);

/* Opens a gather for rank 0. -1 (NT_ERR_INPUT) if one is open or seq does not increase. */
int nt_gather_open(struct nt_gather *gather, uint32_t seq, double until, struct nt_err *err);

/* Marks a host as lost: gathers do not wait for it until it contributes again. */
void nt_gather_set_lost(struct nt_gather *gather, size_t host);

/* Returns whether a gather is open that is complete or past its deadline. */
bool nt_gather_is_over(const struct nt_gather *gather, double now);

/* Closes the open gather and marks the hosts that did not contribute as lost. Returns their
 * number. */
size_t nt_gather_close(struct nt_gather *gather);

#endif
