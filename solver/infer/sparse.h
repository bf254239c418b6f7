/* SPDX-License-Identifier: Apache-2.0 */
/* Infers a network of nested tiers from the latencies of few of its pairs, as infer.h does from all
 * pairs. Time and memory are about linear in the readings.
 *
 * Readings have three parts (readings.h). Calibration reads pairs twice, some of them chosen at
 * random; they determine the classes of latencies (class_fit.h). Planning determines which hosts
 * are together at each tier (clustering.h) and where hosts on longer links are attached (slow.h).
 * Verification reads pairs that were chosen independently of the result; they support or contradict
 * it (verify.h).
 *
 * A caller with all readings uses nt_infer_sparse. A planner that chooses the next reading
 * (plan/sweep_adaptive.h) adds readings to a state and queries it for open pairs. Its final network
 * equals that of nt_infer_sparse with the same readings, to the last bit.
 * Tests: test_slow_hosts.c, test_sweep_adaptive.c. */
#ifndef NT_SPARSE_H
#define NT_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "clustering.h"
#include "err.h"
#include "memory.h"
#include "model.h"
#include "readings.h"
#include "slow.h"
#include "verify.h"

enum nt_sparse_verdict {
    NT_SPARSE_OPEN,    /* not verified, or not completely */
    NT_SPARSE_SOUND,   /* no pair contradicts it */
    NT_SPARSE_REFUTED, /* the latencies are not those of nested tiers */
};

struct nt_sparse_check {
    enum nt_sparse_verdict verdict;
    size_t tested;        /* pairs that were read for verification */
    size_t contradicting; /* pairs that contradict the network */
    uint32_t a, b;        /* hosts of the first contradicting pair */
};

/* Hosts are in the order of their names, which suggests neighbours and proves nothing. readings: of
 * these hosts, in the order of measurement. missing[hosts] (may be NULL): hosts that take no part;
 * their readings are ignored. *out as for nt_sparse_model. NT_ERR_INPUT: too few pairs were read
 * twice to calibrate. */
int nt_infer_sparse(size_t hosts, const bool *missing, const struct nt_readings *readings,
                    struct nt_model **out, struct nt_sparse_check *check, struct nt_err *err);

/* ---- the state while readings arrive -------------------------------------------------------- */

enum { NT_SPARSE_NO_SEAT = UINT32_MAX };

struct nt_sparse {
    struct nt_arena memory; /* of host, seat, lost and aside */
    size_t hosts, seats;
    uint32_t *host; /* per seat */
    uint32_t *seat; /* per host, or NT_SPARSE_NO_SEAT */
    bool *lost;     /* per seat */
    bool *aside;    /* per seat: lost or slow, and so not clustered */

    /* all, of seats; callers that add readings set its calibration and planning */
    struct nt_readings readings;
    /* The readings for clustering: without those of slow hosts and of verification. A copy in the
     * order of counting, since readings are sorted by pair at each judgement. */
    struct nt_readings ledger;
    struct nt_classes classes;
    size_t random_pairs; /* random pairs of the calibration */
    /* Relative sd of a reading of the calibration, and its number of pings; 0: unknown */
    double noise, usual;
    struct nt_clustering clustering;
    bool clustered; /* clustering and classes are valid */
    struct nt_slow slow;
    bool plain; /* slow hosts do not explain the contradictions: none are used */

    struct nt_finding finding; /* comparison of the readings with the network */
    size_t judged;             /* number of readings and failures that finding covers */
    enum nt_sparse_verdict verdict;
};

/* order[hosts] (may be NULL: as numbered): the hosts in natural order of their names. NT_ERR_INPUT:
 * a host occurs twice. The caller frees known with nt_sparse_fini. */
int nt_sparse_init(struct nt_sparse *known, size_t hosts, const uint32_t *order,
                   const bool *missing, struct nt_err *err);
void nt_sparse_fini(struct nt_sparse *known);

/* A state whose clusters are known from elsewhere, with hosts as seats: classes are given, each
 * seat is a cluster until the caller unites them, and the verdict is sound. */
int nt_sparse_init_known(struct nt_sparse *known, size_t hosts, const bool *missing,
                         const struct nt_classes *classes, struct nt_err *err);

/* Marks this seat as lost. */
void nt_sparse_lose(struct nt_sparse *known, uint32_t seat);

/* Ends the calibration, which has all readings so far: finds the classes and hosts that look slow,
 * and makes the clustering of the others from these readings. */
int nt_sparse_end_calibration(struct nt_sparse *known, struct nt_err *err);

/* Solves the network again from the readings of calibration and planning alone, and compares all
 * readings with it. Hosts that contradict become slow, if that explains the contradictions; all
 * readings place them. */
int nt_sparse_solve(struct nt_sparse *known, struct nt_err *err);

/* Compares the readings with the network if some are new. Solves again if there are slow hosts or
 * contradictions. */
int nt_sparse_judge(struct nt_sparse *known, struct nt_err *err);

/* Sets the verdict for the readings so far. */
void nt_sparse_set_verdict(struct nt_sparse *known);

/* Borrowed from known, valid until it changes. */
struct nt_found_tree nt_sparse_tree(struct nt_sparse *known);

/* Makes the model of the current network, canonical. Hosts that are lost or take no part are
 * missing in it; links of slow hosts have their measured length. A switch with a support below 1/2
 * is left out, and its hosts and switches are attached to the switch above. The confidence is 1
 * less the probabilities of any wrong cell and of an unseen class of latencies; it is 0 if the
 * network is not verified and may be wrong. If clusters are open, hosts are attached to the lowest
 * certain switch, with probability 1/2. NT_ERR_INPUT: the classes are not known yet. The caller
 * frees *out. */
int nt_sparse_model(const struct nt_sparse *known, struct nt_model **out, struct nt_err *err);

void nt_sparse_check(const struct nt_sparse *known, struct nt_sparse_check *check);

#endif
