/* SPDX-License-Identifier: Apache-2.0 */
#include "solve_sized.h"

#include <stdbool.h>

#include "memory.h"
#include "size_fit.h"

/* Whether the sizes of most pairs distinguish latency from bandwidth; otherwise the remaining ones
 * do by chance. */
static bool is_shown(const struct nt_size_fit *fit)
{
    return 2 * fit->unclear <= fit->pairs;
}

/* Replaces the input by latencies without the messages' transfer time, and bandwidths. */
static int fit_sizes(struct nt_solve_input *own, const double *bytes,
                     const struct nt_matrix **sizes, struct nt_size_fit *fit, struct nt_err *err)
{
    const struct nt_sized sized = {sizes, bytes, 1 + own->larger_sizes,
                                   own->larger_sizes > 0 ? NULL : own->bandwidth};
    if (nt_size_fit(&sized, fit, err) != 0)
        return -1;
    if (2 * fit->negative > fit->pairs) /* the sizes or units are wrong, not some pairs */
        return nt_err_set(
            err, NT_ERR_INPUT,
            "messages of %.0f bytes would take longer than the latencies of %zu of %zu "
            "pairs: expected latencies in us, one way, of messages of that size",
            bytes[0], fit->negative, fit->pairs);
    own->latency = fit->latency;
    if (own->bandwidth == NULL && is_shown(fit)) {
        own->bandwidth = fit->rate;
        own->rate_bytes = bytes[own->larger_sizes];
    }
    return 0;
}

static int warn_of_sizes(struct nt_map *map, const struct nt_size_fit *fit, bool several,
                         struct nt_err *err)
{
    size_t out = fit->negative + (several ? 0 : fit->unclear);
    if (several && !is_shown(fit))
        return nt_map_warn(map, err,
                           "the message sizes are too similar to show bandwidths: latencies "
                           "include the transfer time of the messages");
    return out == 0 ? 0
                    : nt_map_warn(map, err,
                                  "%zu of %zu latencies omitted: they have no bandwidth, or the "
                                  "messages would take longer at that bandwidth",
                                  out, fit->pairs);
}

static bool takes_sizes(const struct nt_solve_input *from)
{
    return from->latency != NULL && (from->larger_sizes > 0 || from->bandwidth != NULL) &&
           (from->method == NULL || from->method->sizes_max == 1);
}

int nt_solve_sized(const struct nt_solve_input *measured, const double *bytes, struct nt_map **out,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_solve_input own = *measured;
    struct nt_size_fit fit = {0};
    if (bytes == NULL || !takes_sizes(measured))
        return nt_solve_measured(measured, out, err);
    const struct nt_matrix **sizes =
        nt_arena_array(&memory, own.larger_sizes + 1, sizeof(struct nt_matrix *));
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    sizes[0] = own.latency;
    for (size_t k = 0; k < own.larger_sizes; k++)
        sizes[k + 1] = own.larger[k];
    int rc = fit_sizes(&own, bytes, sizes, &fit, err);
    if (rc == 0)
        rc = nt_solve_measured(&own, out, err);
    if (rc == 0 && warn_of_sizes(*out, &fit, own.larger_sizes > 0, err) != 0) {
        nt_map_destroy(*out);
        rc = -1;
    }
    nt_size_fit_fini(&fit);
    return rc;
}
