/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a set of hosts as the tier model takes them: one value per measured pair.
 *
 * Values are relative: y / scale - 1, where scale is the median reading. Everything behind this
 * header is therefore free of units, and a factor on all readings changes nothing. Hosts are in an
 * order that follows from the readings alone, so that other names or another order of the input
 * change nothing either: by mean reading, then by a hash that is refined as colours of a graph are
 * (Weisfeiler and Lehman, 1968). Hosts that still tie are exchangeable.
 *
 * Pairs that were not measured have no entry. Memory is linear in the readings.
 *
 * If readings of one pair contradict each other, the lower ones are its value, since tails are
 * upward. They may be the wrong ones nevertheless, and then the upper ones are right.
 * Tests: test_tiers.c, test_score.c. */
#ifndef NT_PAIRS_H
#define NT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

/* One measured value between two hosts. Both directions of a pair are two readings, and so are
 * repeats. */
struct nt_pair_value {
    uint32_t a, b; /* hosts of the caller, a != b */
    double us;     /* one way, over 0 */
    double se_us;  /* standard error; 0 or NaN: not known */
    double weight; /* precision relative to most readings, in (0, 1]; 0 stands for 1 */
};

/* Where readings come from, several times: in the order of pairs, a < b, positive. */
struct nt_pair_source {
    void *of;
    void (*rewind)(void *of);
    bool (*next)(void *of, struct nt_pair_value *value); /* false: there are no more */
    size_t most;                                         /* readings at most */
    bool errors;                                         /* some may have a standard error */
};

struct nt_pair_entry {
    uint32_t host;
    float value; /* relative: y / scale - 1 */
};

struct nt_pairs {
    struct nt_arena memory;      /* first, for nt_object_create */
    uint32_t all;                /* hosts of the caller */
    uint32_t hosts;              /* that were measured */
    size_t count;                /* measured pairs */
    size_t *start;               /* hosts + 1: where each host's row starts in entry */
    struct nt_pair_entry *entry; /* 2 * count, rows ascending by host */
    float *weight;               /* of each entry, in (0, 1]; NULL: all 1 */
    float *upper;     /* of each entry, relative: a reading that was left out since it is far over
                         value; NaN: none; NULL: there is none of any */
    size_t uppers;    /* pairs that have one */
    uint32_t *origin; /* hosts: index of the caller */
    double scale_us;  /* median reading */
    double noise;     /* relative sd of a pair's value, from its readings or standard errors; 0: not
                         known */
    double usual;     /* relative noise of the values of weight 1, by which those with larger
                         standard errors are weighed; 0: none is known */
    double quantum;   /* relative step of the timer, divided by sqrt(readings per pair); 0: none */
};

/* Readings that are wrong, before any was seen (Beta priors of their rates): one in 41 is too high,
 * by a half Cauchy density with half of it over 15 % of a latency, as 1 to 3 % of tails were
 * measured. Few networks have readings that are too low (a small first parameter: one in ten with
 * 256 hosts), and then about one in a thousand; they lie anywhere down to 0. */
#define NT_TAIL_RATE_PRIOR 40.0
#define NT_TAIL_SCALE 0.15
#define NT_LOW_SHAPE_PRIOR 0.03
#define NT_LOW_RATE_PRIOR 1000.0

/* The standard score from which a reading with standard deviation sd (relative) is rather one of
 * the tail: prior odds times the ratio of densities is 1. */
double nt_pairs_tail_limit(double sd);

/* The largest step of which all values are multiples; 0: none over this part of the largest. Sorts
 * the values; room: for as many. */
double nt_pairs_step(float *value, size_t count, double part, float *room);

/* hosts: hosts of the caller; those without a reading are left out. NT_ERR_INPUT: a reading is not
 * a positive number, or its hosts are not two of hosts. *out is for nt_pairs_destroy. */
int nt_pairs_create(uint32_t hosts, const struct nt_pair_value *values, size_t count,
                    struct nt_pairs **out, struct nt_err *err);
int nt_pairs_read(uint32_t hosts, const struct nt_pair_source *source, struct nt_pairs **out,
                  struct nt_err *err);
void nt_pairs_destroy(struct nt_pairs *pairs);

/* Weighs the values with large standard errors again, after the noise of the others is found: their
 * variance is the sum of the noise's variance and of the variance that their own errors add. */
void nt_pairs_reweigh(struct nt_pairs *pairs, double noise);

/* A hash of z: one step of rng.h. */
uint64_t nt_pairs_mix(uint64_t z);

static inline double nt_pairs_weight(const struct nt_pairs *pairs, size_t entry)
{
    return pairs->weight != NULL ? (double)pairs->weight[entry] : 1;
}

/* The entry of host b in the row of a; NULL: not measured. */
const struct nt_pair_entry *nt_pairs_find(const struct nt_pairs *pairs, uint32_t a, uint32_t b);

#endif
