/* SPDX-License-Identifier: Apache-2.0 */
/* Divide tasks in two so that the least traffic is cut, or map all of them at once onto a direct
 * network. The only file that sees Scotch.
 * Tests: test_place.c. */
#ifndef NT_SCOTCH_SPLIT_H
#define NT_SCOTCH_SPLIT_H

#include "distance.h"
#include "model.h"
#include "traffic.h"

struct nt_scotch_split;

/* The traffic must stay while it is used, and not be NT_TRAFFIC_ALL. */
int nt_scotch_split_create(const struct nt_traffic *traffic, uint64_t seed,
                           struct nt_scotch_split **out, struct nt_err *err);
void nt_scotch_split_destroy(struct nt_scotch_split *split);

/* Reorders tasks (n of them): the first c are one side, exactly; each side ascending. */
int nt_scotch_split(struct nt_scotch_split *split, uint32_t *tasks, size_t n, size_t c,
                    struct nt_err *err);

/* Tasks and the hosts that they go to. */
struct nt_scotch_job {
    const struct nt_distance *distance;
    const struct nt_traffic *traffic;
    const uint32_t *capacity; /* hosts */
    const uint32_t *rank;     /* hosts: see nt_hierarchy_rank */
};

/* Static mapping by dual recursive bipartitioning (F. Pellegrini, "Static mapping by dual recursive
 * bipartitioning of process and architecture graphs", SHPCC 1994) onto the network itself: a model
 * without switches, whose links and latencies Scotch decomposes. Fills rank_host; no host gets more
 * tasks than its capacity, and where there is room for more tasks than there are, hosts are taken
 * in the order of rank. NT_ERR_INPUT when hosts to be used are not joined or
 * the traffic is too much. The traffic must not be NT_TRAFFIC_ALL. */
int nt_scotch_map(const struct nt_scotch_job *job, uint64_t seed, uint32_t *rank_host,
                  struct nt_err *err);

#endif
