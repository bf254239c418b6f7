/* Plan, measure, estimate: the sweep of Liu et al. (NPC 2018) on a network whose routes are known.
 * A minimal set of pairs in link-disjoint rounds, each measured once; from it the latencies of the
 * links. It takes the fewest pairs, and needs to know the network's shape. */
#ifndef NT_SWEEP_PMM_H
#define NT_SWEEP_PMM_H

#include "err.h"
#include "network.h"
#include "sweep.h"

/* network must outlive the planner. NT_ERR_INPUT where plan_model.h refuses it,
 * and for more links than an estimate has memory for. */
int nt_sweep_pmm_create(const struct nt_network *network, uint32_t batches, uint32_t count,
                        uint64_t seed, struct nt_planner **out, struct nt_err *err);

/* The network with the latencies that were estimated; NaN where the pairs do not tell. Only for
 * planners made above. */
int nt_sweep_pmm_model(struct nt_planner *planner, struct nt_model **out, struct nt_err *err);

#endif
