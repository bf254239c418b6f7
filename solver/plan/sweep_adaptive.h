/* The adaptive latency sweep: the tiers of a network in a few dozen rounds instead of one a host.
 *
 * Calibrate (calibrate.h), fit the classes of latencies (class_fit.h), merge and certify tier by
 * tier (merge.h), place hosts whose links are longer than others' (slow.h), verify what was found
 * with pairs that it was not found from (verify.h). The order of the hosts is a hint at who is near
 * whom and never a proof: in any other order the sweep takes more rounds and gives the same
 * network. A planner as sweep.h says; memory is about linear in the readings, which are all kept:
 * what is verified is what their record tells. At most 4,096 switches below one are told apart
 * (cells.h). */
#ifndef NT_SWEEP_ADAPTIVE_H
#define NT_SWEEP_ADAPTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "sweep.h"

/* The phases of its rounds, by which a record shows them. */
#define NT_SWEEP_ADAPTIVE_CALIBRATION "calibration"
#define NT_SWEEP_ADAPTIVE_PHASE "adaptive"
#define NT_SWEEP_ADAPTIVE_VERIFICATION "verification"

/* From so many hosts on: 24 emulated ones took 2.7 s in 21 rounds, all pairs three times 6.5 s in
 * 69 (tests/bats/adaptive.bats). With fewer the rounds that calibrate are most of one pass. */
enum { NT_SWEEP_ADAPTIVE_FROM = 24 };

/* order[hosts] (may be NULL: as numbered): the hosts by the natural order of their names. absent[i]
 * (may be NULL): host i takes no part. count: pings of a batch. The same results and seed give the
 * same rounds. NT_ERR_INPUT over NT_HOSTS_MAX hosts. */
int nt_sweep_adaptive_create(size_t hosts, const uint32_t *order, const bool *absent,
                             uint32_t count, uint64_t seed, struct nt_planner **out,
                             struct nt_err *err);

/* The network as known by now, canonical; lost and absent hosts are missing in it, links of slow
 * hosts are as long as they were found. A switch of which it is less sure than not is left out, and
 * what hangs on it hangs on the one above. At the end its
 * confidence is 1 less the chance of any wrong cell and of a class of latencies that was not seen;
 * 0 when it was not verified, and then it may be wrong.
 * Before the end hosts hang at the lowest switch that is certain, with probability 1/2.
 * NT_ERR_INPUT before the classes are known. Only for planners made above. */
int nt_sweep_adaptive_model(const struct nt_planner *planner, struct nt_model **out,
                            struct nt_err *err);

enum nt_adaptive_verdict {
    NT_ADAPTIVE_OPEN,    /* not verified, or not to the end */
    NT_ADAPTIVE_SOUND,   /* no pair speaks against it */
    NT_ADAPTIVE_REFUTED, /* these latencies are not of nested tiers */
};

struct nt_adaptive_check {
    enum nt_adaptive_verdict verdict;
    size_t tested;  /* pairs that were measured to verify */
    size_t against; /* pairs that contradict */
    uint32_t a, b;  /* hosts: the first of those */
};

/* Of a planner made above; open before its end. */
void nt_sweep_adaptive_check(const struct nt_planner *planner, struct nt_adaptive_check *check);

/* All results of a sweep in the order of their rounds, phase by phase. */
struct nt_adaptive_record {
    const struct nt_result *result; /* the sum of these: */
    size_t calibration, planning, verification;
};

/* The same network and verdict from the sweep's record, hosts numbered by their names' order.
 * Tiers that the record does not settle (the sweep was cut short) are left out as above.
 * NT_ERR_INPUT: it has hardly a pair twice, as no record of such a sweep. */
int nt_sweep_adaptive_recall(size_t hosts, const bool *absent,
                             const struct nt_adaptive_record *record, struct nt_model **out,
                             struct nt_adaptive_check *check, struct nt_err *err);

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
    size_t tests;         /* rounds of verifying */
};
void nt_sweep_adaptive_facts(const struct nt_planner *planner,
                             struct nt_sweep_adaptive_facts *facts);

#endif
