/* SPDX-License-Identifier: Apache-2.0 */
/* Latency readings of pairs of hosts, from which inference with few pairs works.
 *
 * The record of a sweep (text/samples.h) contains all measurements and is kept. readings.h,
 * latencies.h and measured_pairs.h are numeric views of its latencies for planners and inference,
 * which know no texts. They are filled as results arrive, or from a record.
 * Tests: test_slow_hosts.c. */
#ifndef NT_READINGS_H
#define NT_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_pair_reading {
    uint32_t a, b;  /* seats (hosts that take part), a < b */
    uint32_t turn;  /* rank in the order of measurement */
    uint32_t pings; /* round trips per reading; 0: unknown */
    float ln;       /* natural logarithm of the latency in us */
};

struct nt_readings {
    size_t count, capacity;
    struct nt_pair_reading *at; /* by turn, until nt_readings_sort; owned */
    /* Readings with turn < calibration calibrate, those with turn < planning merge clusters, later
     * ones verify */
    size_t calibration, planning;
    /* Pairs whose measurement failed, each once or more; of their fields a and b; by pair after
     * nt_readings_sort; owned */
    size_t failures, failure_capacity;
    struct nt_pair_reading *failure;
};

int nt_readings_add(struct nt_readings *readings, uint32_t a, uint32_t b, uint32_t pings, float ln,
                    struct nt_err *err);

/* As above, for a latency in us. Values that are no latency, and readings of one host, are
 * ignored. */
int nt_readings_note(struct nt_readings *readings, uint32_t a, uint32_t b, uint32_t pings,
                     double us, struct nt_err *err);

/* Adds a pair that could not be measured. */
int nt_readings_note_failure(struct nt_readings *readings, uint32_t a, uint32_t b,
                             struct nt_err *err);

/* Sorts by pair, then by turn. */
void nt_readings_sort(struct nt_readings *readings);

/* Index of the first reading after all readings of the pair of at[from]. */
size_t nt_readings_next_pair(const struct nt_readings *readings, size_t from);

/* Whether the pair was read, or failed. Take sorted readings. */
bool nt_readings_have(const struct nt_readings *readings, uint32_t a, uint32_t b);
bool nt_readings_failed(const struct nt_readings *readings, uint32_t a, uint32_t b);

void nt_readings_fini(struct nt_readings *readings);

#endif
