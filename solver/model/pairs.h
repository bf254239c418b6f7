/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a set of hosts as input of the tier model: one value per measured pair.
 *
 * Values are relative: y / scale - 1, where scale is the median reading. So the tier model has no
 * units, and a common factor of all readings changes nothing. The order of hosts follows from the
 * readings alone, so that other names or another order of the input change nothing. It is by mean
 * reading, then by a hash that is refined like the colours of a graph (Weisfeiler and Lehman,
 * 1968). Hosts that still tie are exchangeable.
 *
 * Pairs that were not measured have no entry. Memory is linear in the readings.
 *
 * If readings of one pair contradict each other, the lower ones give its value, since tails are
 * upward. The lower ones may still be wrong, in which case the upper ones are right.
 * Tests: test_tiers.c, test_score.c. */
#ifndef NT_PAIRS_H
#define NT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "wide_noise.h"

/* One measured value between two hosts. Each direction and each repetition is a separate
 * reading. */
struct nt_pair_value {
    uint32_t a, b; /* hosts of the caller, a != b */
    double us;     /* one way, above 0 */
    double se_us;  /* standard error; 0 or NaN: unknown */
    double weight; /* precision relative to most readings, in (0, 1]; 0 means 1 */
};

/* A source of readings that can be read several times, in the order of pairs, a < b, positive
 * values. */
struct nt_pair_source {
    void *of;
    void (*rewind)(void *of);
    bool (*next)(void *of, struct nt_pair_value *value); /* false: end of the readings */
    size_t most;                                         /* upper limit of the number of readings */
    bool errors;                                         /* some may have a standard error */
};

struct nt_pair_entry {
    uint32_t host;
    float value; /* relative: y / scale - 1 */
};

struct nt_pairs {
    struct nt_arena memory;      /* first, for nt_object_create */
    uint32_t all;                /* hosts of the caller */
    uint32_t hosts;              /* hosts with readings */
    size_t count;                /* measured pairs */
    size_t *start;               /* hosts + 1; the row of each host starts here in entry */
    struct nt_pair_entry *entry; /* 2 * count; rows ascend by host */
    float *weight;               /* per entry, in (0, 1]; NULL: all 1 */
    /* Per entry, relative: a reading that was left out because it is far above value; NaN: none;
     * NULL: none for all entries */
    float *upper;
    size_t uppers;    /* pairs with an upper value */
    uint32_t *origin; /* per host: its index in the caller's order */
    double scale_us;  /* median reading */
    /* relative sd of a pair's value, from its readings or standard errors; 0: unknown */
    double noise;
    /* Relative noise of the values with weight 1; values with larger standard errors are weighted
     * by it; 0: unknown */
    double usual;
    struct nt_wide_noise wide;
    double quantum; /* relative step of the timer, divided by sqrt(readings per pair); 0: none */
};

/* Beta priors of the rates of outliers. One in 41 readings is too high, with a half Cauchy density
 * of which half is above 15 % of a latency; measured tails are 1 to 3 %. Few networks have readings
 * that are too low (a small first parameter: one in ten with 256 hosts), and in these about one in
 * a thousand, uniform down to 0. */
#define NT_TAIL_RATE_PRIOR 40.0
#define NT_TAIL_SCALE 0.15
#define NT_LOW_SHAPE_PRIOR 0.03
#define NT_LOW_RATE_PRIOR 1000.0

/* The standard score from which a reading with standard deviation sd (relative) more probably
 * belongs to the tail: prior odds times the ratio of densities is 1. */
double nt_pairs_tail_limit(double sd);

/* The largest step of which all values are multiples; 0: there is none above this part of the
 * largest value. Sorts the values; room: working memory of the same size. */
double nt_pairs_step(float *value, size_t count, double part, float *room);

/* hosts: hosts of the caller; those without readings are left out. NT_ERR_INPUT: a reading is not a
 * positive number, or not between two of the hosts. The caller frees *out with nt_pairs_destroy. */
int nt_pairs_create(uint32_t hosts, const struct nt_pair_value *values, size_t count,
                    struct nt_pairs **out, struct nt_err *err);
int nt_pairs_read(uint32_t hosts, const struct nt_pair_source *source, struct nt_pairs **out,
                  struct nt_err *err);
void nt_pairs_destroy(struct nt_pairs *pairs);

/* Computes the weights of values with large standard errors again, after the noise of the others is
 * known: their variance is that of the noise plus that of their own errors. */
void nt_pairs_reweigh(struct nt_pairs *pairs, double noise);
/* Multiplies the weights of readings by the factors, in (0, 1], of both of their hosts. */
int nt_pairs_weigh_hosts(struct nt_pairs *pairs, const double *factor, struct nt_err *err);

/* A hash of z: one step of rng.h. */
uint64_t nt_pairs_mix(uint64_t z);

static inline double nt_pairs_weight(const struct nt_pairs *pairs, size_t entry)
{
    return pairs->weight != NULL ? (double)pairs->weight[entry] : 1;
}

/* The entry of host b in the row of host a; NULL: not measured. */
const struct nt_pair_entry *nt_pairs_find(const struct nt_pairs *pairs, uint32_t a, uint32_t b);

#endif
