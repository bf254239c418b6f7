/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive latency sweep: finds the tiers of a network in a few dozen rounds, while all pairs
 * need one round per host.
 *
 * It queries inference for open pairs (infer/sparse.h) and measures them (rounds.h): calibrate,
 * merge tier by tier, place hosts on longer links, and verify the result with pairs that it was not
 * found from. The order of the hosts suggests neighbours and proves nothing: with another order the
 * sweep takes more rounds and finds the same network. Implements sweep.h. Memory is about linear in
 * the readings, which are all kept, so that the result is a function of the record. At most 4,096
 * switches below one switch can be distinguished (clustering.h). */
#ifndef NT_SWEEP_ADAPTIVE_H
#define NT_SWEEP_ADAPTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "sparse.h"
#include "sweep.h"

/* The names of its phases in the record. */
#define NT_SWEEP_ADAPTIVE_CALIBRATION "calibration"
#define NT_SWEEP_ADAPTIVE_PHASE "adaptive"
#define NT_SWEEP_ADAPTIVE_VERIFICATION "verification"

/* Minimum number of hosts: 24 emulated hosts took 2.7 s in 21 rounds; three passes over all pairs
 * took 6.5 s in 69 rounds (tests/bats/adaptive.bats). With fewer hosts, the calibration alone takes
 * most of the rounds of one pass. */
enum { NT_SWEEP_ADAPTIVE_FROM = 24 };

/* order[hosts] (may be NULL: as numbered): the hosts in natural order of their names. The sweep
 * finds the required number of batches. NT_ERR_INPUT: more than NT_HOSTS_MAX hosts. The caller
 * frees *out. */
int nt_sweep_adaptive_create(const struct nt_sweep_setup *setup, const uint32_t *order,
                             struct nt_planner **out, struct nt_err *err);

/* The state of inference; borrowed. Its verdict is set at the end. These functions take planners of
 * nt_sweep_adaptive_create only. */
const struct nt_sparse *nt_sweep_adaptive_state(const struct nt_planner *planner);

/* Statistics of the sweep. */
struct nt_sweep_adaptive_facts {
    size_t classes;       /* 0: unknown */
    double class_us[12];  /* latencies of the classes, ascending */
    double noise;         /* relative sd of a reading */
    double outliers;      /* share of readings */
    double resolution_us; /* latencies that differ by less are not distinguished */
    uint32_t batches;     /* per reading */
    size_t open_cells;    /* pairs of clusters that are undecided */
    size_t readings;      /* readings that were kept */
    size_t tests;         /* rounds of verification */
};
void nt_sweep_adaptive_facts(const struct nt_planner *planner,
                             struct nt_sweep_adaptive_facts *facts);

#endif
