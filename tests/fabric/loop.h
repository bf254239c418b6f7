/* SPDX-License-Identifier: Apache-2.0 */
/* The running network: frames in at the hosts' cards, along their routes, out again in time. */
#ifndef NT_FAB_LOOP_H
#define NT_FAB_LOOP_H

#include <stdint.h>

#include "declare.h"
#include "err.h"
#include "routes.h"
#include "tap.h"

struct nt_fab_counts {
    uint64_t in, out, bytes; /* frames received and delivered; bytes delivered */
    uint64_t dropped;        /* too many frames under way */
    uint64_t lost;           /* by links that are down or lossy */
    uint64_t refused;        /* not for any host, or a card that took no frame */
    int64_t late_max_ns;     /* worst delivery after its time */
};

/* Runs until stop (a signalfd) has something to read. taps: one a port, in port order.
 * control: its socket (control.h), -1 for none; a link that is changed there takes frames from then
 * on otherwise, and those it has taken arrive as before.
 * spin_ns: how long before an event it stops sleeping and spins. -1 when the system refuses. */
int nt_fab_loop(struct nt_fab *fab, const struct nt_fab_routes *routes,
                const struct nt_fab_tap *taps, int stop, int control, int64_t spin_ns,
                struct nt_fab_counts *counts, struct nt_err *err);

#endif
