/* SPDX-License-Identifier: Apache-2.0 */
/* Swap pairs of tasks while that brings partners nearer.
 * Tests: test_supported_tree.c. */
#ifndef NT_POLISH_H
#define NT_POLISH_H

#include "distance.h"
#include "traffic.h"

/* Lowers the weighted latency of rank_host in place, never raises it. Hosts keep their numbers of
 * tasks; rank[host]: hosts in an order in which neighbours are near (nt_hierarchy_rank). work
 * bounds the partners evaluated, so that the same input gives the same result. */
int nt_polish(const struct nt_distance *distance, const uint32_t *rank, size_t hosts,
              const struct nt_traffic *traffic, uint64_t work, uint32_t *rank_host,
              struct nt_err *err);

#endif
