/* SPDX-License-Identifier: Apache-2.0 */
/* Measures each host's link on each of its rails: short and long messages between hosts of one
 * switch, over one network device at a time.
 *
 * There are three rounds per rail and size with different partners (the circle method within the
 * switch), so that a slow host is measured with at least one partner that is not. Switches with
 * fewer than three hosts are left out, because two hosts cannot be distinguished. The switches are
 * those of the network that the sweep found; all rails are assumed to have the same. Orders are
 * PRTT(1, 0, s), the round trip of one message (Lichei 2006, section 3.2.1).
 * Tests: test_rail_links.c. */
#ifndef NT_PLAN_RAIL_LINKS_H
#define NT_PLAN_RAIL_LINKS_H

#include <stddef.h>

#include "err.h"
#include "model.h"
#include "sweep.h"

#define NT_RAIL_LINKS_PHASE "rails"

enum { NT_RAIL_LINKS_MIN = 3 }; /* hosts per switch */

struct nt_rail_links_settings {
    size_t rails;            /* below 2: no rounds */
    const char *const *rail; /* names of devices, borrowed during the planner's lifetime */
    const bool *missing;     /* per host; may be NULL */
    double rate_MBps; /* approximate rate of a host, for the size of long messages; NaN: unknown */
};

/* *rounds: number of rounds. Copies the needed parts of the model. The caller frees *out. */
int nt_rail_links_create(const struct nt_model *model,
                         const struct nt_rail_links_settings *settings, struct nt_planner **out,
                         size_t *rounds, struct nt_err *err);

/* Estimated mean time for which a round loads the network. */
double nt_rail_links_window_s(const struct nt_planner *planner);

#endif
