/* A map held against a reference over other, or more, hosts: matching by names, the reference
 * reduced to what a measurement from the map's hosts could see, then place/compare.h. */
#ifndef NT_AGAINST_H
#define NT_AGAINST_H

#include "compare.h"
#include "err.h"
#include "map.h"

struct nt_against {
    struct nt_comparison *comparison; /* in indices of the two models below */
    struct nt_model *found, *reference;
    const char **host_name; /* of both models' hosts; borrowed from the map */
    size_t unknown;         /* the map's hosts that the reference does not have */
    const char **unknown_name;
};

/* NT_ERR_INPUT when the two have no host in common. The map must outlive the result. */
int nt_against_create(const struct nt_map *map, const struct nt_map *reference, double tolerance,
                      struct nt_against **out, struct nt_err *err);
void nt_against_destroy(struct nt_against *against);

/* P. Bannikov, A. Salnikov, equations 3 and 4: each pair's time over the reference's path is laid
 * on the links of that path in inverse proportion to their bandwidths; per reference link the mean
 * of what was laid on it (us; NaN: on no path), and the ideal, message_bytes over its bandwidth
 * (NaN: unknown). A pair's time is its modelled latency, and message_bytes over the narrowest link
 * where the map knows bandwidths. The arrays hold against->reference->links values, the caller's.
 */
int nt_against_redistribute(const struct nt_against *against, double message_bytes, double *laid_us,
                            double *ideal_us, struct nt_err *err);

#endif
