/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a placement on the model.
 * Tests: test_place.c, test_supported_tree.c. */
#ifndef NT_COST_H
#define NT_COST_H

#include "distance.h"
#include "hint.h"
#include "traffic.h"

/* Computes the metrics of a placement. rank_host[r] is the host of rank r. NT_ERR_INPUT if two
 * ranks that communicate are not connected. */
int nt_cost(const struct nt_distance *distance, const struct nt_traffic *traffic,
            const uint32_t *rank_host, struct nt_metrics *metrics, struct nt_err *err);

/* Computes the metrics, and the bytes over each direction of each link: 2 * links entries, which
 * the caller frees. */
int nt_cost_loads(const struct nt_distance *distance, const struct nt_traffic *traffic,
                  const uint32_t *rank_host, double *bytes, struct nt_metrics *metrics,
                  struct nt_err *err);

/* Returns the direction of a link that needs the longest time for its bytes; SIZE_MAX: no bandwidth
 * is known. */
size_t nt_cost_busiest(const struct nt_model *model, const double *bytes);

/* Combines the metrics: the mean latency of a message plus, if bandwidths are known, the time that
 * the busiest link needs for its share of the exchange. */
double nt_cost_total_us(const struct nt_metrics *metrics);

#endif
