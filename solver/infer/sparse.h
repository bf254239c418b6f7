/* SPDX-License-Identifier: Apache-2.0 */
/* A network of nested tiers from the latencies of few of its pairs: one part of inference, as
 * infer.h is for all pairs. Time and memory are about linear in the readings.
 *
 * Readings come in three parts (readings.h). Those of the calibration are pairs that were read
 * twice, some of them chosen at random: they tell the classes of latencies (class_fit.h). Those
 * of the planning tell which hosts are together at each tier (clustering.h) and where hosts on
 * longer links are attached (slow.h). Those of the verification were chosen without regard to what
 * was found, and support it or contradict it (verify.h).
 *
 * Whoever has all readings asks nt_infer_sparse. A planner that chooses what to read next
 * (plan/sweep_adaptive.h) adds to a state of what is known and asks that for what is open. Its
 * network is in the end that of nt_infer_sparse with the same readings, to the last bit.
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
    NT_SPARSE_OPEN,    /* not verified, or not to the end */
    NT_SPARSE_SOUND,   /* no pair contradicts it */
    NT_SPARSE_REFUTED, /* these latencies are not of nested tiers */
};

struct nt_sparse_check {
    enum nt_sparse_verdict verdict;
    size_t tested;        /* pairs that were read to verify */
    size_t contradicting; /* pairs that contradict */
    uint32_t a, b;        /* hosts: the first of those */
};

/* Hosts in the order of their names, which suggests which are near each other and proves nothing.
 * readings: of such hosts, in the order of taking. missing[i] (hosts of them, may be NULL): host i
 * takes no part, and its readings do not count. *out is as nt_sparse_model says. NT_ERR_INPUT:
 * hardly a pair was read twice to calibrate. */
int nt_infer_sparse(size_t hosts, const bool *missing, const struct nt_readings *readings,
                    struct nt_model **out, struct nt_sparse_check *check, struct nt_err *err);

/* ---- what is known while readings come in ---------------------------------------------------- */

enum { NT_SPARSE_NO_SEAT = UINT32_MAX };

struct nt_sparse {
    struct nt_arena memory; /* of the next four */
    size_t hosts, seats;
    uint32_t *host; /* of a seat */
    uint32_t *seat; /* of a host, or NT_SPARSE_NO_SEAT */
    bool *lost;     /* seats */
    bool *aside;    /* seats: lost or slow, and so not clustered */

    struct nt_readings readings; /* all, of seats; who adds some sets its parts */
    /* Of them, those that clusters are from: without slow hosts' and those that verify. A copy, in
     * the order of counting: readings are sorted by pairs whenever they are judged. */
    struct nt_readings ledger;
    struct nt_classes classes;
    size_t random_pairs; /* of the calibration */
    double noise, usual; /* of a reading in the calibration; and its pings, 0: unknown */
    struct nt_clustering clustering;
    bool clustered; /* clustering is made, and classes are known */
    struct nt_slow slow;
    bool plain; /* they do not explain the contradictions: none is used */

    struct nt_finding finding; /* what readings say of the network */
    size_t judged;             /* so many */
    enum nt_sparse_verdict verdict;
};

/* order[hosts] (may be NULL: as numbered): the hosts by the natural order of their names.
 * NT_ERR_INPUT: one is there twice. */
int nt_sparse_init(struct nt_sparse *known, size_t hosts, const uint32_t *order,
                   const bool *missing, struct nt_err *err);
void nt_sparse_fini(struct nt_sparse *known);

/* A network whose clusters are known by other means, of seats as hosts: classes are given, each
 * seat is a cluster by itself until the caller unites them, and the verdict is sound. */
int nt_sparse_init_known(struct nt_sparse *known, size_t hosts, const bool *missing,
                         const struct nt_classes *classes, struct nt_err *err);

/* This seat is lost. */
void nt_sparse_lose(struct nt_sparse *known, uint32_t seat);

/* All readings so far are the calibration's: finds the classes and hosts that look slow, and makes
 * the clustering of the others, whose ledger they are. */
int nt_sparse_begin(struct nt_sparse *known, struct nt_err *err);

/* The network anew from the readings of calibration and planning alone, and what all readings say
 * of it. Hosts that those contradict are taken for slow, if that explains them; all readings place
 * them. */
int nt_sparse_solve(struct nt_sparse *known, struct nt_err *err);

/* What all readings say of the network, where some are new; solves it anew where it has slow hosts
 * or something contradicts. */
int nt_sparse_judge(struct nt_sparse *known, struct nt_err *err);

/* Sets the verdict: what is known when nothing more is read. */
void nt_sparse_decide(struct nt_sparse *known);

/* Borrowed from known, as long as nothing is added. */
struct nt_found_tree nt_sparse_tree(struct nt_sparse *known);

/* The network as known by now, canonical; lost hosts and those that took no part are missing in it,
 * links of slow hosts are as long as they were found. A switch of which it is less sure than not is
 * left out, and what is attached to it is attached to the one above. Its confidence is 1 less the
 * chance of any wrong cell and of a class of latencies that was not seen; 0 when it is not
 * verified, and then it may be wrong. Where clusters are still open hosts are attached to the
 * lowest switch that is certain, with probability 1/2. NT_ERR_INPUT before the classes are known.
 */
int nt_sparse_model(const struct nt_sparse *known, struct nt_model **out, struct nt_err *err);

void nt_sparse_check(const struct nt_sparse *known, struct nt_sparse_check *check);

#endif
