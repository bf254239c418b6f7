/* SPDX-License-Identifier: Apache-2.0 */
/* The running network, and how it is changed while it runs. */
#ifndef NT_FAB_LOOP_H
#define NT_FAB_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "card.h"
#include "err.h"
#include "network.h"

/* What is to happen when: a binary heap of frames by time, first in first out among equals. */

struct nt_fab_event {
    int64_t at_ns;
    uint64_t order; /* the heap's: breaks ties, so equal times keep their order */
    void *what;     /* the caller's */
};

struct nt_fab_heap {
    struct nt_fab_event *events;
    size_t count, capacity;
    uint64_t pushed;
};

/* All zero is an empty heap. Frees the events, not what they point to. */
void nt_fab_heap_fini(struct nt_fab_heap *heap);

/* -1: no memory, and nothing changed. */
int nt_fab_heap_push(struct nt_fab_heap *heap, int64_t at_ns, void *what);

/* The earliest; the heap must not be empty. */
struct nt_fab_event nt_fab_heap_pop(struct nt_fab_heap *heap);

/* The control socket of a running fabric: a datagram is a change (nt_fab_change), the answer is
 * empty, or the sentence that says what is wrong with it. Its file is for root only. */

/* The socket, bound to path, which must not exist; -1 with NT_ERR_SYSTEM. */
int nt_fab_control_open(const char *path, struct nt_err *err);

/* Makes the change that has arrived, and answers. */
void nt_fab_control_serve(int control, struct nt_fab *fab);

/* The other side: has the fabric at path make the change of these words.
 * NT_ERR_INPUT: it refused; NT_ERR_SYSTEM: there is none, or it does not answer. */
int nt_fab_control_ask(const char *path, char *const *words, int count, struct nt_err *err);

/* The running network: frames in at the hosts' cards, along their routes, out again in time. */

struct nt_fab_counts {
    uint64_t in, out, bytes; /* frames received and delivered; bytes delivered */
    uint64_t dropped;        /* too many frames under way */
    uint64_t lost;           /* by links that are down or lossy */
    uint64_t refused;        /* not for any host, or a card that took no frame */
    int64_t late_max_ns;     /* worst delivery after its time */
};

/* Runs until stop (a signalfd) has something to read. taps: one a port, in port order.
 * control: its socket, -1 for none; a link that is changed there takes frames from then
 * on otherwise, and those it has taken arrive as before.
 * spin_ns: how long before an event it stops sleeping and spins. -1 when the system refuses. */
int nt_fab_loop(struct nt_fab *fab, const struct nt_fab_routes *routes,
                const struct nt_fab_tap *taps, int stop, int control, int64_t spin_ns,
                struct nt_fab_counts *counts, struct nt_err *err);

#endif
