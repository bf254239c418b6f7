/* SPDX-License-Identifier: Apache-2.0 */
/* The first rounds of an adaptive sweep, for infer/class_fit.h.
 *
 * Neighbours in the order of the hosts (who are often neighbours in the network too), then random
 * matchings; each pair twice, in different rounds. The first round also shows how many batches a
 * reading needs for a relative sd of about 1.2 %, or as many as take 20 ms; it is measured again
 * when that is many more than it had.
 * Tests: test_slow_hosts.c. */
#ifndef NT_CALIBRATE_H
#define NT_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "rng.h"

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

#endif
