/* SPDX-License-Identifier: Apache-2.0 */
/* The model: the network by indices. infer/ makes it, all later stages read it. Knows no names.
 *
 * Vertices: 0..hosts-1 are the hosts in the order of the matrix, hosts..hosts+switches-1 the
 * switches. Values that were not measured are NaN.
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
    /* Lowest bandwidth that flows had over the link while they had more in another round, because
     * of other traffic or busy hosts; 0: none */
    double loaded_MBps;
    /* number of pairs behind each bandwidth, which is their median; 0: not given */
    uint32_t pairs, back_pairs;
    /* 0..1. Between switches: probability that exactly the hosts below are behind one switch. For
     * a host: probability that the host is at this switch */
    double probability;
    bool suspect;        /* worse than other links of its type, by a test */
    bool simplex;        /* found only from a to b */
    bool at_least;       /* both bandwidths are lower bounds: the link was never the bottleneck */
    bool forth_at_least; /* only bandwidth_MBps is a lower bound */
    bool back_at_least;  /* only bandwidth_back_MBps is a lower bound */
    bool effective;      /* the bandwidth depends on routing */
};

/* The largest total rate at which a switch forwarded data; NaN: unknown. */
struct nt_throughput {
    double MBps;
    bool at_least; /* a lower bound: the switch never limited the flows */
};

struct nt_model {
    size_t hosts, switches, links;
    struct nt_link *link; /* links elements */
    double *overhead_us;  /* per host: added at each end of a pair; 0 behind switches */
    bool *missing;        /* per host: never answered, has no link */
    bool *host_suspect;   /* per host */
    uint32_t *tier;       /* per switch: 1 + the largest tier below it; hosts have tier 0 */

    enum nt_family family;
    uint32_t tiers;
    /* 0..1, calibrated: probability that the model has all groups that the readings can show and
     * no false ones; NaN: not given */
    double confidence;
    uint32_t dimensions; /* torus, mesh, hypercube, dragonfly: how many are used */
    /* Hosts per dimension; dragonfly: groups, routers per group, hosts per router */
    uint32_t dimension[NT_DIMENSIONS_MAX];
    /* A tree that does not explain all latencies; there may be links in addition to it */
    bool shortcuts;
    uint32_t twist; /* twisted torus: columns by which the wrap-around is shifted; else 0 */

    double r2, rms_us;    /* of the fit over the measured pairs; rms without outliers */
    double resolution_us; /* no link between switches that the model contains is shorter */
    size_t pairs_off;     /* pairs that do not fit */
    uint32_t (*pair_off)[2];
    /* Pairs whose measurement would best distinguish the model from its rivals, best first; 0 in a
     * map */
    size_t deciding;
    uint32_t (*deciding_pair)[2];

    double bisection_MBps;    /* NaN: not measured */
    bool bisection_at_most;   /* bisection_MBps is an upper bound */
    double *oversubscription; /* per switch: demand below it over capacity above it; NaN: unknown */
    struct nt_throughput *throughput; /* per switch */
};

/* The tier of a switch; 0 for a host. */
static inline uint32_t nt_model_tier(const struct nt_model *model, uint32_t vertex)
{
    return vertex < model->hosts ? 0 : model->tier[vertex - model->hosts];
}

/* parent[hosts + switches]: per vertex its neighbour of a higher tier by its first such link;
 * UINT32_MAX: none. Takes a canonical model. */
void nt_model_parents(const struct nt_model *model, uint32_t *parent);

/* All values of links are NaN or 0, probabilities 1, overheads 0, tiers 1. The caller fills the
 * fields and frees *out with nt_model_destroy. */
int nt_model_create(size_t hosts, size_t switches, size_t links, struct nt_model **out,
                    struct nt_err *err);
int nt_model_copy(const struct nt_model *model, struct nt_model **out, struct nt_err *err);
void nt_model_destroy(struct nt_model *model);

/* The names in maps: "star", "tree", ... */
extern const char *const nt_family_names[NT_FAMILY_DRAGONFLY + 1];
const char *nt_family_name(enum nt_family family);

/* Modelled one-way latencies of all pairs, in us: the shortest path by latency plus both overheads.
 * NaN for unreachable and missing hosts. O(hosts * links) on trees, else Dijkstra's algorithm. The
 * caller frees *out. */
int nt_model_latencies(const struct nt_model *model, struct nt_matrix **out, struct nt_err *err);

/* Brings the model into its canonical form, so that equal networks give equal bytes. Switches are
 * ordered by the smallest host below them (ties: the higher tier, so that the root of a tree is the
 * first, then the largest host). Each link has a < b, but a host or the lower tier comes first.
 * Links are sorted, and tiers computed from the root. */
int nt_model_canonicalise(struct nt_model *model, struct nt_err *err);

#endif
