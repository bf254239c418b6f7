/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies that were read between two hosts, one entry a reading: what a network is inferred from.
 *
 * The record of a sweep (text/samples.h) is the store: it has all that was measured, and is what is
 * kept and solved again. This, latencies.h and measured_pairs.h are views of its latencies for
 * those who see no texts, a planner and inference: they are filled as results come, or from a
 * record, and hold by number what the record holds in words.
 *
 * Tests: test_slow_hosts.c. */
#ifndef NT_READINGS_H
#define NT_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_pair_reading {
    uint32_t a, b;  /* seats, a < b */
    uint32_t turn;  /* in the order of taking */
    uint32_t pings; /* behind it; 0: unknown */
    float ln;       /* natural logarithm of the latency in us */
};

struct nt_readings {
    size_t count, capacity;
    struct nt_pair_reading *at;   /* by turn, until sorted; owned */
    size_t calibration, planning; /* turns below the first are of the calibration, below the second
                                     of the merging; the others verify */
};

int nt_readings_add(struct nt_readings *readings, uint32_t a, uint32_t b, uint32_t pings, float ln,
                    struct nt_err *err);

/* The same of a latency in us; what is no latency, or is of one host alone, does not count. */
int nt_readings_note(struct nt_readings *readings, uint32_t a, uint32_t b, uint32_t pings,
                     double us, struct nt_err *err);

/* By pairs, each pair's in the order of taking. */
void nt_readings_sort(struct nt_readings *readings);

/* The first reading after those of the pair that at[from] is of. */
size_t nt_readings_next_pair(const struct nt_readings *readings, size_t from);

/* Whether the pair was read; readings must be sorted. */
bool nt_readings_have(const struct nt_readings *readings, uint32_t a, uint32_t b);

void nt_readings_fini(struct nt_readings *readings);

#endif
