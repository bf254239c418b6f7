/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the next pairs of an adaptive sweep: to calibrate (infer/class_fit.h), to decide which
 * clusters of hosts are one (clustering.h), to find where hosts on longer links are attached
 * (slow.h), and to verify the result (verify.h).
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

/* A round during planning; a host is in at most one of its pairs. */
struct nt_round_pairs {
    size_t count;
    uint32_t (*seat)[2];        /* room for half of the seats */
    bool *busy;                 /* per seat: in the round */
    struct nt_block_cell *cell; /* set by nt_round_clusters only */
};

static inline void nt_round_pairs_add(struct nt_round_pairs *round, uint32_t a, uint32_t b)
{
    round->busy[a] = round->busy[b] = true;
    round->seat[round->count][0] = a;
    round->seat[round->count++][1] = b;
}

/* ---- calibration ---- */

/* Reads neighbours in the order of the hosts (often also neighbours in the network), then random
 * matchings. Each pair is read twice, in different rounds. The first round also shows how many
 * batches a reading needs for a relative sd of about 1.2 %, or as many as take 20 ms; it is
 * repeated if this number is much larger than the one it used. */
struct nt_calibrate {
    size_t seats;
    unsigned matchings, matching; /* each matching is measured twice */
    bool second;                  /* the second round of this matching is next */
    bool settled;                 /* the number of batches is final */
    uint32_t pings;               /* per batch */
    uint32_t batches;             /* per reading */
    uint32_t most;                /* limit of batches per reading */
    size_t from;                  /* first pair of this matching */
    size_t count, capacity;       /* pairs */
    uint32_t (*pair)[2];          /* seats; owned */
    uint32_t *order;              /* seats, shuffled for random matchings */
    float *scratch;               /* per pair; working memory */
};

int nt_calibrate_init(struct nt_calibrate *calibrate, size_t seats, uint32_t pings,
                      struct nt_err *err);
void nt_calibrate_fini(struct nt_calibrate *calibrate);

/* 1: the next round is pair[from..count-1]; 0: there is none. */
int nt_calibrate_next(struct nt_calibrate *calibrate, struct nt_rng *rng);

/* Takes the readings of this round in its order: ln us and relative standard error (NaN: none,
 * unknown). */
void nt_calibrate_tell(struct nt_calibrate *calibrate, const float *ln, const float *se);

/* ---- clusters ---- */

/* Working memory shared by rounds; all zero at first. */
struct nt_open_cells {
    size_t capacity;
    struct {
        uint32_t a, b;
    } * open, *sorted;
    uint8_t *rank;
};
void nt_open_cells_fini(struct nt_open_cells *scratch);

/* Selects pairs of hosts for open cells, one host of each cluster. Cells that look equal come
 * first, since they are nearly decided; then cells that no reading has shown to be different, the
 * largest cluster first, since it decides most hosts; then the least certain ones. Readings are
 * counted only when they arrive, so a round can be dropped. 1: round has pairs; 0: all tiers are
 * certain. */
int nt_round_clusters(struct nt_clustering *clustering, struct nt_rng *rng,
                      struct nt_open_cells *scratch, struct nt_round_pairs *round,
                      struct nt_err *err);

/* Takes the readings of the first n pairs of the round, ln us; NaN: none. */
int nt_round_clusters_tell(struct nt_clustering *clustering, const struct nt_round_pairs *round,
                           size_t n, const float *ln, struct nt_err *err);

/* ---- hosts on longer links ---- */

/* For each unplaced host, adds the pair with a free host that is most informative about its place.
 * Returns the number of pairs that only decide between places that were already read; -1: error. */
int nt_round_slow(const struct nt_found_tree *tree, struct nt_round_pairs *round,
                  struct nt_err *err);

/* As above while no place is known: any free host, near and other ones in turn. */
int nt_round_slow_early(const struct nt_found_tree *tree, struct nt_rng *rng,
                        struct nt_round_pairs *round, struct nt_err *err);

/* ---- tests ---- */

/* Fills round with further tests, pairs to read again first. count is 0 if there are none. */
int nt_round_tests(const struct nt_found_tree *claim, const struct nt_finding *finding,
                   struct nt_rng *rng, struct nt_round_pairs *round, struct nt_err *err);

/* Adds pairs of neighbours to an empty round. */
void nt_round_pairs_fill(size_t seats, const bool *lost, struct nt_round_pairs *round);

#endif
