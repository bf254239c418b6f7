/* SPDX-License-Identifier: Apache-2.0 */
#include "min_latency.h"

#include "changed_hosts.h"

/* The lowest is left out as one that is wrong by itself. */
static bool stands_alone(const struct nt_min_latency *low)
{
    return nt_min_latency_of(low) > low->lowest;
}

int nt_min_latency_matrix(const struct nt_min_latency *low, struct nt_matrix *m,
                          struct nt_matrix *error, struct nt_err *err)
{
    struct nt_changed_hosts changed;
    uint32_t n = (uint32_t)m->n;
    if (nt_changed_hosts_init(&changed, n, err) != 0)
        return -1;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (low[(size_t)a * n + b].count > 2)
                nt_changed_hosts_note(&changed, a, b, stands_alone(&low[(size_t)a * n + b]));
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            const struct nt_min_latency *of = &low[(size_t)a * n + b];
            if (of->count == 0)
                continue;
            /* what is above it is of another network, and tells nothing of its error */
            bool lowest = stands_alone(of) && nt_changed_hosts_have(&changed, a, b);
            nt_matrix_set(m, a, b, lowest ? of->lowest : nt_min_latency_of(of));
            if (error != NULL)
                nt_matrix_set(error, a, b, lowest ? NAN : nt_min_latency_error(of));
        }
    nt_changed_hosts_fini(&changed);
    return 0;
}
