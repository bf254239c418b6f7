/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of pairs of hosts as measured, a direction at a time: what a network is inferred from
 * where all pairs are measured, and what shows how often readings are disturbed (disturbed.h).
 *
 * A list of entries; of many hosts until a table of all pairs takes less memory, then that. A sweep
 * that measures few of the pairs costs memory for those, one that measures all of them never more
 * than two tables, less than its record takes. A view of the record, as readings.h; apart from that
 * because all pairs of 4,096 hosts are 25 million readings, and inference from few pairs needs more
 * of each. */
#ifndef NT_LATENCIES_H
#define NT_LATENCIES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "min_latency.h"

enum { NT_LATENCIES_LISTED_HOSTS = 256 }; /* of so many each latency is kept, however many */

struct nt_latency_entry {
    uint32_t a, b;
    float us, se_us;
};

struct nt_latencies {
    size_t hosts, count, capacity;
    struct nt_latency_entry *entry; /* count of them in the order of nt_latencies_note; owned */
    struct nt_min_latency *low;     /* hosts * hosts of them instead of the list, then; owned */
};

void nt_latencies_init(struct nt_latencies *latencies, size_t hosts);
void nt_latencies_fini(struct nt_latencies *latencies);

/* From a to b it took us, with a standard error of se_us (0: unknown); what is no latency of two
 * hosts below hosts does not count. */
int nt_latencies_note(struct nt_latencies *latencies, uint32_t a, uint32_t b, double us,
                      double se_us, struct nt_err *err);

/* The minimum (min_latency.h) of each pair and direction, and its standard error (error may be
 * NULL; as nt_min_latency_error); matrices of the caller's. */
int nt_latencies_matrix(const struct nt_latencies *latencies, struct nt_matrix **out,
                        struct nt_matrix **error, struct nt_err *err);

#endif
