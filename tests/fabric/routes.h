/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a frame goes, and how long it takes when nothing is in its way.
 *
 * Fewest hops; among equals the destination's index chooses, so a route is
 * fixed. The time of a path is store and forward: at every link the frame's serialisation at that
 * link's rate, then the link's latency. Knows nothing of devices and of the clock. */
#ifndef NT_FAB_ROUTES_H
#define NT_FAB_ROUTES_H

#include <stdint.h>

#include "declare.h"
#include "err.h"

struct nt_fab_routes {
    int16_t next[NT_FAB_NODES_MAX][NT_FAB_PORTS_MAX]; /* link to take; -1: none, or arrived */
};

/* NT_ERR_INPUT when two ports of one rail are not connected; file names the text. */
int nt_fab_routes_find(const char *file, const struct nt_fab *fab, struct nt_fab_routes *routes,
                       struct nt_err *err);

/* When a frame that is ready at at_ns, and counts bytes with all its framing, comes out of the
 * link's far end. *free_ns is when the link's sender is next idle: the whole state of its FIFO. */
int64_t nt_fab_link_pass(const struct nt_fab_link *link, int64_t *free_ns, int64_t at_ns,
                         uint32_t bytes);

/* One way, alone on the network, in ns. */
int64_t nt_fab_path_ns(const struct nt_fab *fab, const struct nt_fab_routes *routes, int from_port,
                       int to_port, uint32_t bytes);

#endif
