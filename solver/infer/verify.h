/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the network that an adaptive sweep found is the one that was measured.
 *
 * The sweep looks for nested tiers, and finds some in all latencies: in a ring, in a chain of
 * switches, among hosts on links of different length. What it found says of every pair which class
 * of latencies it is of, so pairs that it was not found from are measured: of every host with some
 * others at each tier, chosen at random. A pair contradicts when at least three readings (four
 * where outliers are many) agree with each other and not with its class, outnumber those that do,
 * and are together off by more than chance makes one of all pairs; a pair with one reading off, or
 * with some that could be chance, is read again until that is decided. One such pair refutes the
 * network, and so do all readings of a host at a tier when together they are off. A host that was
 * read with those of one cluster alone is read with one outside it, or it could as well hang at
 * that cluster's switch by a long link.
 *
 * Where there is but one class of latencies, every pair is tested, of few hosts: else two hosts on
 * a switch of their own could be missed among the others.
 *
 * A right network is refuted by three outliers of one pair that agree within 4 sd (tests/bench
 * sweep counts such sweeps as unsure). A wrong one, of whose pairs at a tier the share f is off, is
 * accepted with a probability of (1-f)^m where m pairs of that tier are read (about 3/2 a host at
 * the lowest, 1 a host above).
 * Tests: test_slow_hosts.c, test_adaptive_parts.c. */
#ifndef NT_VERIFY_H
#define NT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "slow.h"

/* Where all latencies are alike so many hosts are asked for every pair of them: few hosts of a job
 * that share a switch show in few of its pairs, and in none of those that were chosen at random. */
enum { NT_VERIFY_ALL_SEATS = 256 };

struct nt_seat_pair {
    uint32_t a, b; /* seats */
};

struct nt_finding {
    struct nt_arena memory; /* of its arrays */
    size_t tested;          /* pairs that the network was not found from, and that were read */
    size_t contradicting;   /* pairs that contradict */
    size_t rechecks;        /* pairs to be read again */
    struct nt_seat_pair *recheck;
    struct nt_seat_pair first; /* that contradicts */
    uint32_t *contradictions;  /* seats: how much each has to do with */
    size_t wanted;             /* tests of hosts at a tier that are still to be made */
    uint8_t *want;             /* [level * seats + seat] */
};

bool nt_verify_asks_all(const struct nt_found_tree *claim);

/* What its readings say of the claim. */
int nt_verify_judge(const struct nt_found_tree *claim, struct nt_finding *out, struct nt_err *err);
void nt_finding_fini(struct nt_finding *finding);

#endif
