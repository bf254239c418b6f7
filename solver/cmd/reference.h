/* SPDX-License-Identifier: Apache-2.0 */
/* A reference network, from any of the files that describe one.
 * Tests: bats/commands.bats. */
#ifndef NT_REFERENCE_H
#define NT_REFERENCE_H

#include "err.h"
#include "map.h"

/* The latency of links that have none in the description: the figures of `simulate`'s topologies.
 */
struct nt_assumed {
    double host_link_us, switch_link_us;
    size_t links; /* out: how many got one */
};

/* The format is recognised by the text: a map (JSON), DOT, ibnetdiscover, topology.yaml or
 * topology.conf. */
int nt_reference_read(const char *path, struct nt_map **out, struct nt_err *err);

/* The same with a latency for every link, so that it can be simulated. */
int nt_reference_read_whole(const char *path, struct nt_assumed *assumed, struct nt_map **out,
                            struct nt_err *err);

#endif
