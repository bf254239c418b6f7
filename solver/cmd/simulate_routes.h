/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a simulated network for `plan` and `estimate`.
 * Tests: bats/commands.bats. */
#ifndef NT_SIMULATE_ROUTES_H
#define NT_SIMULATE_ROUTES_H

#include "err.h"
#include "measure.h"
#include "network.h"

/* Links are named by their ends, A--B; what a host adds itself is a link with the host's name.
 * switch_name NULL: s1, s2, ... The text is the caller's (free). */
int nt_simulate_routes(const struct nt_network *network, const char *const *host_name,
                       const char *const *switch_name, char **text, size_t *bytes,
                       struct nt_err *err);

/* A measurement of each pair that has a route and is not missing. */
int nt_simulate_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                         const char *const *host_name, char **text, size_t *bytes,
                         struct nt_err *err);

#endif
