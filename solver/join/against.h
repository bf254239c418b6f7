/* A map held against a reference over other, or more, hosts: matching by names, the reference
 * reduced to what a measurement from the map's hosts could see, then place/compare.h. */
#ifndef NT_AGAINST_H
#define NT_AGAINST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare.h"
#include "err.h"
#include "map.h"

struct nt_against {
    struct nt_comparison *comparison; /* in indices of the two models below */
    struct nt_model *found, *reference;
    const char **host_name; /* of both models' hosts; borrowed from the map */
    size_t unknown;         /* the map's hosts that the reference does not have */
    const char **unknown_name;
    size_t silent; /* hosts that did not answer, and did in the reference: in neither model */
    const char **silent_name;
    const struct nt_map *whole; /* the reference as it was given */
    uint32_t *at;               /* found->hosts of them: where each is in it */
};

/* NT_ERR_INPUT when the two have no host in common. Both maps must outlive the result. */
int nt_against_create(const struct nt_map *map, const struct nt_map *reference, double tolerance,
                      struct nt_against **out, struct nt_err *err);
void nt_against_destroy(struct nt_against *against);

/* Whether the map knows bandwidths: only then do times of long messages mean anything. */
bool nt_against_has_rates(const struct nt_against *against);

/* P. Bannikov, A. Salnikov, equations 3 and 4: the time of each ordered pair of hosts is laid on
 * the links of its path through the whole reference in inverse proportion to their bandwidths; per
 * link of the reference the mean of what was laid on it (us; NaN: on no path), and the ideal,
 * message_bytes over its bandwidth (NaN: unknown). Where the reference knows latencies too, a
 * link's ideal is its latency more, and the proportion is that of the ideals.
 * A pair's time is its modelled latency, and message_bytes over the narrowest link where the map
 * knows bandwidths. The arrays hold against->whole->model->links values, the caller's. */
int nt_against_redistribute(const struct nt_against *against, double message_bytes, double *laid_us,
                            double *ideal_us, struct nt_err *err);

#endif
