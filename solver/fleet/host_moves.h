/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that stand elsewhere since some day: what jobs read of them before contradicts what jobs
 * read after.
 *
 * Of each host and each job what its readings say of each switch at the lowest level is summed; a
 * host has moved when two switches, one before a time and another after it, explain its readings
 * better than any one by a margin, and at least two jobs of two users after that time say so: one
 * user alone moves no host. It may have gone to, or come from, where nobody else is known: then a
 * job with hosts of other switches has to show that its link is not slow instead. A job in which
 * the host is farther from others than any place would have it says that its link was slow, and
 * nothing of where it was; nor do jobs of hosts of one switch alone that it is away from, unless a
 * job has shown since that its link is sound. One in which no two hosts are on one switch says of
 * none that it is not on another's: where a job shares few pairs with others its offset may be
 * wrong by a class. Hosts are decided on from the surest on, and one that has moved says nothing of
 * where others are.
 *
 * If many hosts are farther from others than nested tiers of equally deep hosts allow, hosts are
 * not equally deep, and none counts as slow.
 *
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
    int64_t time_s;                 /* of the first job that saw it at the new place */
    int64_t before_s;               /* of the last that saw it at the old one */
    uint32_t beside_before, beside; /* a host of each place; UINT32_MAX: none is known */
    uint32_t jobs, users;           /* that say so since; users: of those that are known */
};

/* tiers: found with all entries that are not ignored. ignored[]: gets those of hosts before their
 * last move, and those of jobs in which their link was slow (not in all jobs). *moves: count of
 * them by time, then host; the caller's (free). */
int nt_host_moves_find(const struct nt_evidence *evidence, const struct nt_cluster_tiers *tiers,
                       bool *ignored, struct nt_cluster_move **moves, size_t *count,
                       struct nt_err *err);

/* Hosts whose own link is slow in all jobs: everything is farther from them by the same.
 *
 * Among nested tiers such a host fits nowhere but at the top. Of the switches of its partners it is
 * at the one where all its readings, less one offset, are what that place has; then the offset is
 * taken out of its readings. A host that is slow since some day, or has moved, has no such place.
 */

/* If more than one host in eight differs from the others of its place, the hosts of the cluster are
 * not equally deep. */
enum { NT_UNEVEN_ONE_IN = 8 };

/* Changes ln of entries. extra_us[hosts]: of such hosts their offset, else 0. *count: of them. */
int nt_slow_links_take_out(struct nt_evidence *evidence, const struct nt_cluster_tiers *tiers,
                           double *extra_us, size_t *count, struct nt_err *err);

#endif
