/* SPDX-License-Identifier: Apache-2.0 */
/* Each host's link on each of its rails: short and long messages between hosts of one switch, by
 * one network device at a time. Three rounds a rail and size, in which a host meets others
 * (the circle method within the switch): so that who is slow shows with one of them at least
 * whose link is not. Hosts of a switch with fewer than three are left out: two cannot tell. The
 * switches are those of the network that the sweep has found; rails are taken to have the same.
 * Orders are PRTT(1, 0, s), the round trip of one message (Lichei 2006, section 3.2.1).
 * Tests: test_rail_links.c. */
#ifndef NT_PLAN_RAIL_LINKS_H
#define NT_PLAN_RAIL_LINKS_H

#include <stddef.h>

#include "err.h"
#include "model.h"
#include "sweep.h"

#define NT_RAIL_LINKS_PHASE "rails"

enum { NT_RAIL_LINKS_MIN = 3 }; /* hosts of a switch */

struct nt_rail_links_settings {
    size_t rails;            /* below 2: nothing to do */
    const char *const *rail; /* names of devices, borrowed as long as the planner lives */
    const bool *missing;     /* hosts of them; may be NULL */
    double rate_MBps;        /* of a host, about, for the long messages' size; NaN: not known */
};

/* *rounds: that it will order. Copies what it needs of the model. */
int nt_rail_links_create(const struct nt_model *model,
                         const struct nt_rail_links_settings *settings, struct nt_planner **out,
                         size_t *rounds, struct nt_err *err);

/* How long one of its rounds loads the network, on average, about. */
double nt_rail_links_window_s(const struct nt_planner *planner);

#endif
