/* SPDX-License-Identifier: Apache-2.0 */
/* Private to import_*.c and slurm_topology.c: builds a network by names and converts it to a map.
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
    uint32_t a, b;    /* vertices: index of a host, or index of a switch with IMPORT_SWITCH */
    double rate_MBps; /* NaN: not known */
};

enum { IMPORT_CABLES_MAX = 16 * NT_HOSTS_MAX };
#define IMPORT_SWITCH UINT32_C(0x80000000)

struct import_network {
    struct nt_names host, switches;
    struct import_cable *cable;
    size_t cables, capacity;
    uint32_t
        *above; /* by switch (above_count of them): index of the switch above, plus 1; 0: none */
    size_t above_count, above_room;
    struct nt_arena memory; /* the cables */
};

void import_network_fini(struct import_network *n);

/* Adds a cable. NT_ERR_INPUT if there are too many; the caller adds the line to the error. */
int import_network_add_cable(struct import_network *n, uint32_t a, uint32_t b, double rate_MBps,
                             struct nt_err *err);

/* Adds a host, or the switch with that index, with its name below the switch parent. */
int import_network_add_host_below(struct import_network *n, uint32_t parent, const char *name,
                                  struct nt_err *err);
int import_network_add_switch_below(struct import_network *n, uint32_t parent, const char *name,
                                    uint32_t index, struct nt_err *err);

/* Marks hosts without a link as missing. */
void import_network_mark_missing(struct nt_model *model);

/* Converts the network to a map. Parallel cables become one link with the sum of their rates. Hosts
 * without a cable are missing. The tier of a switch is its distance to the nearest host, or, if
 * switches are below others, one more than the highest tier below it. Names are sorted. */
int import_network_map(struct import_network *n, struct nt_map **out, struct nt_err *err);

#endif
