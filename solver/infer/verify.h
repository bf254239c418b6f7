/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the network that an adaptive sweep found is the measured one.
 *
 * The sweep finds nested tiers in any latencies, also in a ring, in a chain of switches, or among
 * hosts on links of different length. Its result predicts the class of latencies of every pair. So
 * pairs that it was not found from are measured: each host with some others at each tier, chosen at
 * random. A pair contradicts the network if at least three readings (four if there are many
 * outliers) agree with each other and not with the predicted class. They must be more than the
 * readings that agree with the class, and deviate together by more than chance explains for any of
 * all pairs. A pair with one deviating reading, or with some that could be chance, is read again
 * until it is decided. One contradicting pair refutes the network. So do all readings of a host at
 * a tier if they deviate together. A host that was read with hosts of one cluster only is read with
 * one outside it, since otherwise it could be attached to the switch of that cluster by a long
 * link.
 *
 * With a single class of latencies, every pair of few hosts is tested, because otherwise two hosts
 * with a switch of their own could be missed.
 *
 * A right network is refuted by three outliers of one pair that agree within 4 sd (tests/bench
 * sweep counts such sweeps as unsure). A wrong one, in which the share f of the pairs of a tier
 * deviates, is accepted with probability (1-f)^m if m pairs of this tier are read (about 3/2 per
 * host at the lowest, 1 per host above).
 * Tests: test_slow_hosts.c, test_adaptive_parts.c. */
#ifndef NT_VERIFY_H
#define NT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "slow.h"

/* With a single class of latencies, up to this number of hosts all pairs are read. A few hosts that
 * share a switch show in few of the pairs, and possibly in no pair that was chosen at random. */
enum { NT_VERIFY_ALL_SEATS = 256 };

struct nt_seat_pair {
    uint32_t a, b; /* seats */
};

struct nt_finding {
    struct nt_arena memory; /* of its arrays */
    size_t tested;          /* pairs that were read and that the network was not found from */
    size_t contradicting;   /* pairs that contradict the network */
    size_t rechecks;        /* pairs to read again */
    struct nt_seat_pair *recheck;
    struct nt_seat_pair first; /* the first contradicting pair */
    uint32_t *contradictions;  /* per seat: contradicting pairs */
    size_t wanted;             /* tests of hosts at a tier that are still to be made */
    uint8_t *want;             /* [level * seats + seat] */
};

bool nt_verify_needs_all_pairs(const struct nt_found_tree *claim);

/* Compares the readings with the network claim. The caller frees out with nt_finding_fini. */
int nt_verify_judge(const struct nt_found_tree *claim, struct nt_finding *out, struct nt_err *err);
void nt_finding_fini(struct nt_finding *finding);

#endif
