/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of a round that is being planned; a host is in at most one of them.
 * Tests: test_slow_hosts.c. */
#ifndef NT_ROUND_PAIRS_H
#define NT_ROUND_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nt_round_pairs {
    size_t count;
    uint32_t (*seat)[2]; /* room for half of the seats */
    bool *busy;          /* seats: in the round */
    struct {
        uint32_t block, a, b; /* a > b: clusters of that block */
    } * cell;                 /* set by round_clusters.h only */
};

static inline void nt_round_pairs_add(struct nt_round_pairs *round, uint32_t a, uint32_t b)
{
    round->busy[a] = round->busy[b] = true;
    round->seat[round->count][0] = a;
    round->seat[round->count++][1] = b;
}

#endif
