/* SPDX-License-Identifier: Apache-2.0 */
/* A known network's routes, and measurements over them, as a plan and an estimate take them. */
#ifndef NT_NETWORK_ROUTES_H
#define NT_NETWORK_ROUTES_H

#include "err.h"
#include "measure.h"
#include "measured.h"
#include "network.h"
#include "routes.h"

enum { NT_NETWORK_ROUTES_HOSTS_MAX = 4096 };

/* Every pair of hosts that has a path. Links are the model's; behind them stands one a host,
 * model->links + h: what host h itself adds at each end, on the routes of its own pairs and only
 * where it adds something. The way back is given where it passes other links than the way there.
 * NT_ERR_INPUT: too many hosts or pairs, or not one pair. */
int nt_network_routes(const struct nt_network *network, struct nt_routes **out, struct nt_err *err);

/* A measurement of every pair of these routes: half a round trip, with the noise of both ways.
 * Missing pairs are left out. Freed by nt_measured_destroy. */
int nt_network_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                        const struct nt_routes *routes, struct nt_measured **out,
                        struct nt_err *err);

#endif
