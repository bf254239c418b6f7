/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: degraded parts of the network that a map reports. Knows only vertices of the model.
 *
 * A finding contains the most probable part and, as alternatives, the parts that the measurements
 * cannot distinguish from it. infer/faults.h makes findings.
 * Tests: test_faults.c. */
#ifndef NT_FAULT_H
#define NT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum nt_fault_kind {
    NT_FAULT_LINK_SLOW,   /* latency, us */
    NT_FAULT_LINK_NARROW, /* bandwidth, MB/s */
    NT_FAULT_LINK_LOSSY,  /* lost messages, % */
    NT_FAULT_HOST_SLOW,   /* latency of all pairs of the host, us, or its bandwidth, MB/s */
    NT_FAULT_PATH_SHARED, /* bandwidth, MB/s */
};

enum nt_fault_way { NT_FAULT_BOTH, NT_FAULT_UP, NT_FAULT_DOWN }; /* up: from a to b */

enum {
    NT_FAULT_KINDS = NT_FAULT_PATH_SHARED + 1,
    NT_FAULT_WAYS = NT_FAULT_DOWN + 1,
    NT_FAULT_OTHERS_MAX = 4, /* alternatives per finding */
    NT_FAULTS_MAX = 4096,    /* findings per map */
    NT_FAULT_RAIL_BYTES = 32,
    NT_POPULATIONS_MAX = 4, /* populations per map */
};

/* Hosts whose links have the same latency and bandwidth, such as one adapter generation. */
struct nt_population {
    uint32_t hosts;
    double latency_us, bandwidth_MBps; /* of the link of a host; NaN: not measured */
};

/* A link, or a host if a == b. */
struct nt_fault_part {
    enum nt_fault_kind kind;
    uint32_t a, b;
};

struct nt_fault {
    struct nt_fault_part part;
    uint32_t others;
    struct nt_fault_part other[NT_FAULT_OTHERS_MAX];
    double found, expected; /* in the unit of the kind */
    double confidence;      /* 0..1: probability that the part is degraded */
    enum nt_fault_way way;
    bool by_rate;                   /* host slow: found and expected are bandwidths */
    char rail[NT_FAULT_RAIL_BYTES]; /* the network device; "": unknown */
};

#endif
