/* SPDX-License-Identifier: Apache-2.0 */
/* Divides tasks into two parts with the least traffic between them, or maps all tasks at once onto
 * a direct network. The only file that uses Scotch.
 * Tests: test_place.c. */
#ifndef NT_SCOTCH_SPLIT_H
#define NT_SCOTCH_SPLIT_H

#include "distance.h"
#include "model.h"
#include "traffic.h"

struct nt_scotch_split;

/* Creates a splitter. The traffic must outlive it and must not be NT_TRAFFIC_ALL. */
int nt_scotch_split_create(const struct nt_traffic *traffic, uint64_t seed,
                           struct nt_scotch_split **out, struct nt_err *err);
void nt_scotch_split_destroy(struct nt_scotch_split *split);

/* Reorders the n tasks: exactly the first c are one part; each part is ascending. */
int nt_scotch_split(struct nt_scotch_split *split, uint32_t *tasks, size_t n, size_t c,
                    struct nt_err *err);

/* Tasks and the hosts to map them to. */
struct nt_scotch_job {
    const struct nt_distance *distance;
    const struct nt_traffic *traffic;
    const uint32_t *capacity; /* hosts */
    const uint32_t *rank;     /* by host: see nt_hierarchy_rank */
};

/* Maps tasks by dual recursive bipartitioning (F. Pellegrini, "Static mapping by dual recursive
 * bipartitioning of process and architecture graphs", SHPCC 1994) onto the network itself: a model
 * without switches, whose links and latencies Scotch decomposes. Sets rank_host. No host gets more
 * tasks than its capacity; if there is room for more tasks, hosts are used in the order of rank.
 * NT_ERR_INPUT: the hosts are not connected, or there is too much traffic. The traffic must not be
 * NT_TRAFFIC_ALL. */
int nt_scotch_map(const struct nt_scotch_job *job, uint64_t seed, uint32_t *rank_host,
                  struct nt_err *err);

#endif
