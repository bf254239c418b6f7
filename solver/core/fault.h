/* SPDX-License-Identifier: Apache-2.0 */
/* A degraded part of the network: one of a map's findings.
 *
 * A finding names the part that is likeliest and, as alternatives, those that the measurements
 * cannot tell from it. Vertices are the model's.
 * Tests: test_faults.c. */
#ifndef NT_FAULT_H
#define NT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum nt_fault_kind {
    NT_FAULT_LINK_SLOW,   /* latency, us */
    NT_FAULT_LINK_NARROW, /* bandwidth, MB/s */
    NT_FAULT_LINK_LOSSY,  /* share of messages lost, % */
    NT_FAULT_HOST_SLOW,   /* latency of all its pairs, us, or bandwidth, MB/s */
    NT_FAULT_PATH_SHARED, /* bandwidth, MB/s */
};

enum nt_fault_way { NT_FAULT_BOTH, NT_FAULT_UP, NT_FAULT_DOWN }; /* up: from a to b */

enum {
    NT_FAULT_KINDS = NT_FAULT_PATH_SHARED + 1,
    NT_FAULT_WAYS = NT_FAULT_DOWN + 1,
    NT_FAULT_OTHERS_MAX = 4, /* alternatives of one finding */
    NT_FAULTS_MAX = 4096,    /* findings of one map */
    NT_FAULT_RAIL_BYTES = 32,
    NT_POPULATIONS_MAX = 4, /* of hosts' links in one map */
};

/* Hosts whose links are equally long and wide: an adapter generation. */
struct nt_population {
    uint32_t hosts;
    double latency_us, bandwidth_MBps; /* of a host's link; NaN: not measured */
};

/* A host: a == b. */
struct nt_fault_part {
    enum nt_fault_kind kind;
    uint32_t a, b;
};

struct nt_fault {
    struct nt_fault_part part;
    uint32_t others;
    struct nt_fault_part other[NT_FAULT_OTHERS_MAX];
    double found, expected; /* in the kind's unit */
    double confidence;      /* 0..1 that it is degraded */
    enum nt_fault_way way;
    bool by_rate;                   /* of a slow host: the figures are bandwidths */
    char rail[NT_FAULT_RAIL_BYTES]; /* that it is on, the network device; "": not told */
};

#endif
