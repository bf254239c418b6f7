/* SPDX-License-Identifier: Apache-2.0 */
/* The model: what the network is, by indices. Made by infer/, read by everything after it.
 *
 * Vertices: 0..hosts-1 are the hosts in the order of the matrix, hosts..hosts+switches-1 the
 * switches. A figure that was not measured is NaN.
 * Tests: test_seeds.c, test_switch_support.c. */
#ifndef NT_MODEL_H
#define NT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"

enum nt_family {
    NT_FAMILY_UNDETERMINED,
    NT_FAMILY_STAR,
    NT_FAMILY_TREE,
    NT_FAMILY_TORUS,
    NT_FAMILY_MESH,
    NT_FAMILY_RING,
    NT_FAMILY_HYPERCUBE,
    NT_FAMILY_FULL_MESH,
    NT_FAMILY_IRREGULAR,
    NT_FAMILY_DRAGONFLY,
};

enum { NT_DIMENSIONS_MAX = 8 };

struct nt_link {
    uint32_t a, b;                                    /* vertices */
    double latency_us;                                /* one way */
    double latency_se_us;                             /* standard error */
    double bandwidth_MBps;                            /* a to b */
    double bandwidth_back_MBps;                       /* b to a */
    double bandwidth_se_MBps, bandwidth_back_se_MBps; /* standard errors */
    double loaded_MBps; /* the least that flows had over it which had more in another round: other
                           traffic, or busy hosts; 0: none was seen */
    uint32_t pairs, back_pairs; /* whose bandwidths they are the medians of; 0: not stated */
    double probability;  /* 0..1: between switches that exactly the hosts below it stand behind one
                            switch; of a host that it stands there */
    bool suspect;        /* worse than its class by a tested margin */
    bool simplex;        /* seen from a to b only */
    bool at_least;       /* bandwidth is a lower bound: never the bottleneck */
    bool forth_at_least; /* only the one from a to b is */
    bool back_at_least;  /* only the one from b to a is */
    bool effective;      /* bandwidth plateau depends on routing */
};

/* The most that a switch carried at a time, from all sides; NaN: not known. */
struct nt_throughput {
    double MBps;
    bool at_least; /* the switch was never what held flows back */
};

struct nt_model {
    size_t hosts, switches, links;
    struct nt_link *link; /* links of them */
    double *overhead_us;  /* hosts of them: added at each end of a pair; 0 behind switches */
    bool *missing;        /* hosts of them: never answered, on no link */
    bool *host_suspect;   /* hosts of them */
    uint32_t *tier;       /* switches of them: 1 = has hosts below it only through one hop */

    enum nt_family family;
    uint32_t tiers;
    double confidence;   /* 0..1, calibrated: that every group that the readings can show is there
                            and none besides; NaN: not stated */
    uint32_t dimensions; /* torus, mesh, hypercube: how many */
    uint32_t dimension[NT_DIMENSIONS_MAX]; /* dragonfly: groups, routers a group, hosts a router */
    bool shortcuts; /* a tree that does not explain all latencies: links besides it may be there */
    uint32_t twist; /* twisted torus: columns shifted at the wrap; else 0 */

    double r2, rms_us;    /* of the fit over the measured pairs; rms of those that fit */
    double resolution_us; /* no link between switches that is stated is shorter */
    size_t pairs_off;     /* pairs that do not fit */
    uint32_t (*pair_off)[2];
    size_t deciding; /* pairs that tell it from its rivals, those that tell most first; none in a
                        map */
    uint32_t (*decides)[2];

    double bisection_MBps;            /* NaN: not measured */
    bool bisection_at_most;           /* it is an upper bound */
    double *oversubscription;         /* switches of them: demand below over capacity above; NaN */
    struct nt_throughput *throughput; /* switches of them */
};

/* Of a switch its tier, of a host 0. */
static inline uint32_t nt_model_tier(const struct nt_model *model, uint32_t vertex)
{
    return vertex < model->hosts ? 0 : model->tier[vertex - model->hosts];
}

/* parent[hosts + switches]: of each vertex the one above it, of a higher tier, by the first of its
 * links in a canonical model; UINT32_MAX: none. */
void nt_model_parents(const struct nt_model *model, uint32_t *parent);

/* All links zeroed with NaN figures, probability 1, overheads 0, tier 1; fields may be refined. */
int nt_model_create(size_t hosts, size_t switches, size_t links, struct nt_model **out,
                    struct nt_err *err);
int nt_model_copy(const struct nt_model *model, struct nt_model **out, struct nt_err *err);
void nt_model_destroy(struct nt_model *model);

/* The name used in maps: "star", "tree", ... */
extern const char *const nt_family_names[NT_FAMILY_DRAGONFLY + 1];
const char *nt_family_name(enum nt_family family);

/* The modelled one-way latencies of all pairs: shortest path by latency plus both overheads.
 * Unreachable and missing: NaN. O(hosts * links) on trees, Dijkstra otherwise. */
int nt_model_latencies(const struct nt_model *model, struct nt_matrix **out, struct nt_err *err);

/* Puts the model into its canonical form, so that the same network gives the same bytes:
 * switches renumbered by their smallest host below (ties: tier, then largest), each link with
 * a < b except that a host or the lower tier comes first, links sorted; tiers computed (a
 * switch's tier is 1 + the largest tier below it as seen from the top; hosts are tier 0). */
int nt_model_canonicalise(struct nt_model *model, struct nt_err *err);

#endif
