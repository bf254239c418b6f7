/* The adaptive latency sweep: the tiers of a network in a few dozen rounds instead of one a host.
 *
 * Calibrate (calibrate.h), fit the classes of latencies (class_fit.h), merge and certify tier by
 * tier (merge.h). The order of the hosts is a hint at who is near whom and never a proof: in any
 * other order the sweep takes more rounds and gives the same network.
 * A planner as sweep.h says; memory is about linear in the hosts. */
#ifndef NT_SWEEP_ADAPTIVE_H
#define NT_SWEEP_ADAPTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "sweep.h"

#define NT_SWEEP_ADAPTIVE_PHASE "adaptive" /* its rounds' phase, by which a record shows it */

enum {
    NT_SWEEP_ADAPTIVE_FROM = 24, /* hosts: with fewer, all pairs take no longer */
};

/* order[hosts] (may be NULL: as numbered): the hosts by the natural order of their names. absent[i]
 * (may be NULL): host i takes no part. count: pings of a batch. The same results and seed give the
 * same rounds. NT_ERR_INPUT over NT_HOSTS_MAX hosts. */
int nt_sweep_adaptive_create(size_t hosts, const uint32_t *order, const bool *absent,
                             uint32_t count, uint64_t seed, struct nt_planner **out,
                             struct nt_err *err);

/* The network as known by now, canonical; lost and absent hosts are missing in it. At the end its
 * confidence is 1 less the chance of any wrong cell and of a class of latencies that was not seen.
 * Before the end hosts hang at the lowest switch that is certain, with probability 1/2, and
 * the confidence is 0. NT_ERR_INPUT before the classes are known. Only for planners made above. */
int nt_sweep_adaptive_model(const struct nt_planner *planner, struct nt_model **out,
                            struct nt_err *err);

/* The same network from the sweep's record: all its results in the order of their rounds, hosts
 * numbered by their names' order. Tiers that the record does not settle (the sweep was cut short)
 * are left out as above. NT_ERR_INPUT: it has hardly a pair twice, as no record of such a sweep. */
int nt_sweep_adaptive_recall(size_t hosts, const bool *absent, const struct nt_result *result,
                             size_t n, struct nt_model **out, struct nt_err *err);

/* What is known apart from the network. */
struct nt_sweep_adaptive_facts {
    size_t classes;       /* 0: not known yet */
    double class_us[12];  /* latencies of the classes, rising */
    double noise;         /* relative sd of a reading */
    double outliers;      /* share of readings */
    double resolution_us; /* nearer latencies are not told apart */
    uint32_t batches;     /* of a reading */
    size_t open_cells;    /* pairs of clusters that stayed undecided */
    size_t readings;      /* kept */
};
void nt_sweep_adaptive_facts(const struct nt_planner *planner,
                             struct nt_sweep_adaptive_facts *facts);

#endif
