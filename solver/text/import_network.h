/* SPDX-License-Identifier: Apache-2.0 */
/* Private to import_*.c and slurm_topology.c: a network that grows by names, and becomes a map.
 * Tests: test_import.c. */
#ifndef NT_IMPORT_NETWORK_H
#define NT_IMPORT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "memory.h"
#include "names.h"

struct import_cable {
    uint32_t a, b;    /* vertices: hosts by index, switches by index with IMPORT_SWITCH */
    double rate_MBps; /* NaN: unknown */
};

enum { IMPORT_CABLES_MAX = 16 * NT_HOSTS_MAX };
#define IMPORT_SWITCH UINT32_C(0x80000000)

struct import_network {
    struct nt_names host, switches;
    struct import_cable *cable;
    size_t cables, capacity;
    uint32_t
        *above; /* above_count of switches by index: the one that each hangs below, plus 1; 0 */
    size_t above_count, above_room;
    struct nt_arena memory; /* of the cables */
};

void import_network_fini(struct import_network *n);

/* NT_ERR_INPUT over the bound, without a place: the caller knows the line. */
int import_network_add_cable(struct import_network *n, uint32_t a, uint32_t b, double rate_MBps,
                             struct nt_err *err);

/* The next vertex below the switch parent, by its name: a host, or a switch that has its index. */
int import_network_hang_host(struct import_network *n, uint32_t parent, const char *name,
                             struct nt_err *err);
int import_network_hang_switch(struct import_network *n, uint32_t parent, const char *name,
                               uint32_t index, struct nt_err *err);

/* Hosts without a link are missing. */
void import_network_mark_missing(struct nt_model *model);

/* Parallel cables become one link with the sum of their rates. Hosts without a cable are missing.
 * A switch's tier is its distance to the nearest host, or, where switches hang below others, one
 * more than that of the highest below it. Names are sorted. */
int import_network_map(struct import_network *n, struct nt_map **out, struct nt_err *err);

#endif
