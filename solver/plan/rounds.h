/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs an adaptive sweep measures next: to calibrate (infer/class_fit.h), to find which
 * clusters of hosts are one (clustering.h), where hosts on longer links are attached (slow.h), and
 * to verify what was found (verify.h).
 * Tests: test_slow_hosts.c. */
#ifndef NT_ROUNDS_H
#define NT_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clustering.h"
#include "err.h"
#include "rng.h"
#include "slow.h"
#include "verify.h"

/* The pairs of a round that is being planned; a host is in at most one of them. */
struct nt_round_pairs {
    size_t count;
    uint32_t (*seat)[2]; /* room for half of the seats */
    bool *busy;          /* seats: in the round */
    struct {
        uint32_t block, a, b; /* a > b: clusters of that block */
    } * cell;                 /* set by nt_round_clusters only */
};

static inline void nt_round_pairs_add(struct nt_round_pairs *round, uint32_t a, uint32_t b)
{
    round->busy[a] = round->busy[b] = true;
    round->seat[round->count][0] = a;
    round->seat[round->count++][1] = b;
}

/* ---- calibration ---- */

/* Neighbours in the order of the hosts (who are often neighbours in the network too), then random
 * matchings; each pair twice, in different rounds. The first round also shows how many batches a
 * reading needs for a relative sd of about 1.2 %, or as many as take 20 ms; it is measured again
 * when that is many more than it had. */
struct nt_calibrate {
    size_t seats;
    unsigned matchings, matching; /* each is measured twice */
    bool second;                  /* the second round of this matching is next */
    bool settled;                 /* the number of batches is */
    uint32_t pings;               /* of a batch */
    uint32_t batches;             /* of a reading */
    uint32_t most;                /* batches that a reading may have */
    size_t from;                  /* first pair of this matching */
    size_t count, capacity;       /* pairs */
    uint32_t (*pair)[2];          /* seats; owned */
    uint32_t *order;              /* seats, shuffled for random matchings */
    float *scratch;               /* a number a pair */
};

int nt_calibrate_init(struct nt_calibrate *calibrate, size_t seats, uint32_t pings,
                      struct nt_err *err);
void nt_calibrate_fini(struct nt_calibrate *calibrate);

/* 1: the next round is pair[from..count-1]; 0: there is none. */
int nt_calibrate_next(struct nt_calibrate *calibrate, struct nt_rng *rng);

/* The readings of that round in its order: ln us and relative standard error (NaN: none, unknown).
 */
void nt_calibrate_tell(struct nt_calibrate *calibrate, const float *ln, const float *se);

/* ---- clusters ---- */

/* Scratch that rounds share; all zero at first. */
struct nt_open_cells {
    size_t capacity;
    struct {
        uint32_t a, b;
    } * open, *sorted;
    uint8_t *rank;
};
void nt_open_cells_fini(struct nt_open_cells *scratch);

/* A cell that is open is measured by a pair of hosts, one of each of its clusters. Pairs of
 * clusters that look the same come first, which are nearly decided; then those that no reading has
 * found different, the largest cluster first, which decides most hosts; then the least certain. 1:
 * round holds the next one; 0: all tiers are certified. Nothing is counted before it is read, so a
 * round may be dropped. */
int nt_round_clusters(struct nt_clustering *clustering, struct nt_rng *rng,
                      struct nt_open_cells *scratch, struct nt_round_pairs *round,
                      struct nt_err *err);

/* The readings of the first n pairs of the round, ln us; NaN: none. */
int nt_round_clusters_tell(struct nt_clustering *clustering, const struct nt_round_pairs *round,
                           size_t n, const float *ln, struct nt_err *err);

/* ---- hosts on longer links ---- */

/* Adds the pair to the round, of hosts that are not in it yet, that tells most about the place of
 * each unplaced host; returns how many of them only decide between places that were read. -1: see
 * err. */
int nt_round_slow(const struct nt_found_tree *tree, struct nt_round_pairs *round,
                  struct nt_err *err);

/* The same before anything is known: any idle host, near ones and others in turn. */
int nt_round_slow_early(const struct nt_found_tree *tree, struct nt_rng *rng,
                        struct nt_round_pairs *round, struct nt_err *err);

/* ---- tests ---- */

/* A round of further tests: pairs to be read again first. The round's count is 0 when there is
 * nothing to do. */
int nt_round_tests(const struct nt_found_tree *claim, const struct nt_finding *finding,
                   struct nt_rng *rng, struct nt_round_pairs *round, struct nt_err *err);

/* Adds neighbours to an empty round. */
void nt_round_pairs_fill(size_t seats, const bool *lost, struct nt_round_pairs *round);

#endif
