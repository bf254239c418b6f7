/* From a map to a placement of tasks. */
#ifndef NT_HINT_H
#define NT_HINT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"

struct nt_metrics {
    double latency, hop_bytes, max_link_load;
};

struct nt_hint {
    char *pattern;
    size_t ntasks;
    uint32_t *rank_host; /* ntasks of them: the host (map index) of each rank */
    size_t hosts;
    uint32_t *host_order;            /* hosts of them: hosts in hint order, missing ones last */
    double cost, cost_default, gain; /* gain 1: no change recommended */
    struct nt_metrics metrics;
};

/* capacity[i]: tasks on host i (map order); the scheduler's order is hosts in map order, block
 * wise. NT_ERR_INPUT when the pattern does not fit ntasks. */
int nt_hint_create(const struct nt_map *map, const char *pattern, const uint32_t *capacity,
                   size_t ntasks, uint64_t seed, struct nt_hint **out, struct nt_err *err);
void nt_hint_destroy(struct nt_hint *hint);

#endif
