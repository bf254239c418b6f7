/* SPDX-License-Identifier: Apache-2.0 */
/* What a placement costs on the model.
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_COST_H
#define NT_COST_H

#include "distance.h"
#include "hint.h"
#include "traffic.h"

/* rank_host[r] is the host of rank r. NT_ERR_INPUT when two that talk are not joined. */
int nt_cost(const struct nt_distance *distance, const struct nt_traffic *traffic,
            const uint32_t *rank_host, struct nt_metrics *metrics, struct nt_err *err);

/* The same, and the bytes over each direction of each link: 2 * links of them, the caller's. */
int nt_cost_loads(const struct nt_distance *distance, const struct nt_traffic *traffic,
                  const uint32_t *rank_host, double *bytes, struct nt_metrics *metrics,
                  struct nt_err *err);

/* The direction that needs longest for its bytes; SIZE_MAX: no bandwidth is known. */
size_t nt_cost_busiest(const struct nt_model *model, const double *bytes);

/* One figure from the three: the mean latency of a message, and where bandwidths are known the
 * time that the busiest link needs for its share of the exchange. */
double nt_cost_total_us(const struct nt_metrics *metrics);

#endif
