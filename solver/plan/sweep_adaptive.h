/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive latency sweep: the tiers of a network in a few dozen rounds instead of one a host.
 *
 * It finds what is still open (sparse.h), and measures that (rounds.h): calibrate, merge tier by
 * tier, place hosts whose links are longer than others', verify what was found with pairs that it
 * was not found from. The order of the hosts
 * suggests which are near each other and proves nothing: in any other order the sweep takes more
 * rounds and gives the same network. A planner as sweep.h says; memory is about linear in the
 * readings, which are all kept: what is verified is what their record determines. At most 4,096
 * switches below one are distinguished (clustering.h). */
#ifndef NT_SWEEP_ADAPTIVE_H
#define NT_SWEEP_ADAPTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "sparse.h"
#include "sweep.h"

/* The phases of its rounds, by which a record shows them. */
#define NT_SWEEP_ADAPTIVE_CALIBRATION "calibration"
#define NT_SWEEP_ADAPTIVE_PHASE "adaptive"
#define NT_SWEEP_ADAPTIVE_VERIFICATION "verification"

/* From so many hosts on: 24 emulated ones took 2.7 s in 21 rounds, all pairs three times 6.5 s in
 * 69 (tests/bats/adaptive.bats). With fewer the rounds that calibrate are most of one pass. */
enum { NT_SWEEP_ADAPTIVE_FROM = 24 };

/* order[hosts] (may be NULL: as numbered): the hosts by the natural order of their names. The sweep
 * finds out how many batches it needs. NT_ERR_INPUT over NT_HOSTS_MAX hosts. */
int nt_sweep_adaptive_create(const struct nt_sweep_setup *setup, const uint32_t *order,
                             struct nt_planner **out, struct nt_err *err);

/* The state of inference; borrowed. Its verdict is set at the end. Only for planners made above, as
 * is the next. */
const struct nt_sparse *nt_sweep_adaptive_known(const struct nt_planner *planner);

/* Figures besides the network. */
struct nt_sweep_adaptive_facts {
    size_t classes;       /* 0: not known yet */
    double class_us[12];  /* latencies of the classes, rising */
    double noise;         /* relative sd of a reading */
    double outliers;      /* share of readings */
    double resolution_us; /* nearer latencies are not distinguished */
    uint32_t batches;     /* of a reading */
    size_t open_cells;    /* pairs of clusters that stayed undecided */
    size_t readings;      /* kept */
    size_t tests;         /* rounds of verifying */
};
void nt_sweep_adaptive_facts(const struct nt_planner *planner,
                             struct nt_sweep_adaptive_facts *facts);

#endif
