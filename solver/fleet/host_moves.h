/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hosts that have moved: the readings of jobs before a time contradict those after it.
 *
 * For each host and job, the log-likelihoods of its readings for each switch at the lowest level
 * are summed. A host has moved if two switches, one before a time and another after it, explain its
 * readings better than any single switch by a margin, and if at least two jobs of two users after
 * that time agree: a single user cannot move a host. It may have moved to or from a place without
 * other known hosts; then a job with hosts of other switches must show that its link is not slow
 * instead.
 *
 * Some jobs give no evidence about a host's place. If the host is farther from others than any
 * place explains, its link was slow in that job. Jobs with hosts of a single other switch do not
 * count unless a job has shown since that the host's link is sound. A job in which no two hosts
 * share a switch does not show that a host is not on another host's switch: if a job shares few
 * pairs with others, its offset may be wrong by a class. Hosts are decided in order of certainty,
 * and a host that has moved is no evidence for others. If many hosts are farther from others than
 * nested tiers of equally deep hosts allow, hosts are not equally deep, and none counts as slow.
 * Tests: test_cluster_map.c. */
#ifndef NT_HOST_MOVES_H
#define NT_HOST_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster_tiers.h"
#include "err.h"
#include "evidence.h"

struct nt_cluster_move {
    uint32_t host;
    int64_t time_s;   /* time of the first job at the new place */
    int64_t before_s; /* time of the last job at the old place */
    uint32_t beside_before,
        beside; /* another host of the old and of the new place; UINT32_MAX: none is known */
    uint32_t jobs, users; /* number of jobs that show the new place, and of known users */
};

/* Finds moves. tiers: found with all entries that are not ignored. Adds to ignored[] the entries of
 * hosts before their last move and the entries of jobs in which their link was slow (not in all
 * jobs). *moves: count moves by time, then host; the caller frees it. */
int nt_host_moves_find(const struct nt_evidence *evidence, const struct nt_cluster_tiers *tiers,
                       bool *ignored, struct nt_cluster_move **moves, size_t *count,
                       struct nt_err *err);

/* Hosts whose own link is slow in all jobs, so that all other hosts are farther by the same offset.
 * In nested tiers such a host fits only below the root. Among the switches of its partners, it is
 * on the switch for which its readings minus one offset match the readings of its hosts; then the
 * offset is removed from its readings. A host that is slow only since some day, or that has moved,
 * has no such switch. */

/* If more than one host in eight differs from the others on its switch, the hosts of the cluster
 * are not equally deep. */
enum { NT_UNEVEN_ONE_IN = 8 };

/* Changes ln of entries. extra_us: by host, the offset of such hosts, otherwise 0. *count: their
 * number. */
int nt_slow_links_correct(struct nt_evidence *evidence, const struct nt_cluster_tiers *tiers,
                          double *extra_us, size_t *count, struct nt_err *err);

#endif
