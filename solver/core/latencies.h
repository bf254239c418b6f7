/* SPDX-License-Identifier: Apache-2.0 */
/* The measured latencies of a sweep, per direction. A network is inferred from them if all pairs
 * are measured, and disturbed.h estimates from them how often readings are disturbed.
 *
 * A list of readings. For many hosts it becomes a table of all pairs as soon as the table is
 * smaller. So a sweep of few pairs needs memory for these only. A sweep of all pairs needs at most
 * two tables, less than its record. Another view of the record is readings.h. It is separate
 * because inference from few pairs needs more fields per reading, and all pairs of 4,096 hosts have
 * 25 million readings. */
#ifndef NT_LATENCIES_H
#define NT_LATENCIES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "min_latency.h"

enum { NT_LATENCIES_LISTED_HOSTS = 256 }; /* up to this number of hosts every reading is kept */

struct nt_latency_entry {
    uint32_t a, b;
    float us, se_us;
};

struct nt_latencies {
    size_t hosts, count, capacity;
    struct nt_latency_entry *entry; /* count readings in the order of nt_latencies_note; owned */
    /* hosts * hosts minima that replace the list; NULL: the list is used; owned */
    struct nt_min_latency *low;
};

void nt_latencies_init(struct nt_latencies *latencies, size_t hosts);
void nt_latencies_fini(struct nt_latencies *latencies);

/* Adds a latency from a to b with its standard error se_us (0: unknown). Values that are no latency
 * of two hosts below hosts are ignored. */
int nt_latencies_note(struct nt_latencies *latencies, uint32_t a, uint32_t b, double us,
                      double se_us, struct nt_err *err);

/* Writes the minimum (min_latency.h) per pair and direction, and its standard error as
 * nt_min_latency_error gives it (error may be NULL). The caller owns both matrices. */
int nt_latencies_matrix(const struct nt_latencies *latencies, struct nt_matrix **out,
                        struct nt_matrix **error, struct nt_err *err);

#endif
