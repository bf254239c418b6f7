/* SPDX-License-Identifier: Apache-2.0 */
/* Measured latencies of pairs whose routes are known. A pair can occur several times; each
 * occurrence is one measurement.
 * Tests: test_routes_text.c, test_network_routes.c. */
#ifndef NT_MEASURED_H
#define NT_MEASURED_H

#include <stddef.h>
#include <stdint.h>

struct nt_measured {
    size_t count;
    uint32_t *pair;     /* count pairs, as indices of the routes */
    double *latency_us; /* one way, half a round trip */
};

void nt_measured_destroy(struct nt_measured *measured);

#endif
