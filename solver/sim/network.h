/* SPDX-License-Identifier: Apache-2.0 */
/* A known network, from which measurements and flows are simulated. Made from a model by adding
 * directions and static routes. Vertices have the model's indices: hosts first, then switches. A
 * network does not change after its creation, except that its owner may change values (arc
 * latencies and rates, overheads). */
#ifndef NT_NETWORK_H
#define NT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "memory.h"
#include "model.h"
#include "spec.h"

/* One direction of a link: arcs 2k and 2k+1 are the two directions of link k. */
struct nt_arc {
    uint32_t from, to; /* vertices */
    double latency_us; /* one-way latency without serialisation */
    double rate_MBps;  /* NaN or 0: not limited */
};

/* The rule for the next hop; every rule is deterministic and gives one path per pair. */
enum nt_routing {
    NT_ROUTING_TREE, /* the only path */
    /* Up, then down; the upward path depends on the destination's digits (d-mod-k) */
    NT_ROUTING_FATTREE,
    NT_ROUTING_GRID, /* dimension order over a minimal routing record, including wraps and twist */
    NT_ROUTING_CUBE, /* e-cube: the lowest differing bit first */
    NT_ROUTING_FULL_MESH, /* direct link */
    /* Minimal: to the router with the link, over the link, to the destination's router */
    NT_ROUTING_DRAGONFLY,
    /* As dragonfly, in groups of rows and columns, or of leaf and spine switches */
    NT_ROUTING_GROUPS,
    NT_ROUTING_TABLE, /* fewest hops; the choice between equal paths rotates with the destination */
};

struct nt_network {
    struct nt_arena memory; /* all arrays */
    struct nt_model *model; /* links as built; owned */
    /* Network of the hosts' next rail, which shares only the hosts with this one; NULL: none;
     * owned */
    struct nt_network *next_rail;
    size_t hosts, switches, arcs;
    struct nt_arc *arc;
    double *overhead_us; /* by host: added at each end */
    uint32_t *first;     /* vertices + 1: arcs out of v are out[first[v]..first[v+1]) */
    uint32_t *out;       /* all arcs, by origin, then by destination */
    enum nt_routing routing;
    /* Set by the owner, for networks of groups: half of the messages between groups take a path
     * through another group, and latencies are means */
    bool adaptive;
    struct nt_spec spec; /* specification for nt_network_build; otherwise topology is not set */
    /* trees: */
    uint32_t *up;    /* by vertex: arc towards the root; UINT32_MAX at a root */
    uint32_t *depth; /* vertices */
    uint32_t *enter; /* by vertex: position in a depth-first walk, */
    uint32_t *leave; /* vertices below v have enter[v] <= enter < leave[v] */
    /* tables: */
    uint32_t *table; /* [v * hosts + host]: arc; UINT32_MAX: none */
};

/* Latencies and rates for nt_network_build. Tier 0 is the first tier above the leaf switches. */
struct nt_figures {
    double host_latency_us;                    /* a host's link to its switch */
    double link_latency_us[NT_DIMENSIONS_MAX]; /* between switches by tier; direct networks: [0] */
    double overhead_us;                        /* at each end, in networks without switches */
    double host_MBps;
    double link_MBps[NT_DIMENSIONS_MAX];
};

/* Sets typical values: 0.5 us and 12,500 MB/s to a host, 0.25 us between switches, direct links 0.5
 * us with 0.4 us overhead; tapered trees (2 to 1 per tier if a leaf switch has 4 hosts), full fat
 * trees. */
void nt_figures_default(const struct nt_spec *spec, struct nt_figures *figures);

/* Builds the network of a specification: the first rail, linked to the others. figures NULL: the
 * default. Hosts are numbered depth first, in grids as x + A (y + B z). */
int nt_network_build(const struct nt_spec *spec, const struct nt_figures *figures,
                     struct nt_network **out, struct nt_err *err);

/* Converts any model to a network: routes over the only path if it has no cycle, otherwise by a
 * table (an error if that would take more than 512 MB). A latency of NaN counts as 0. */
int nt_network_from_model(const struct nt_model *model, struct nt_network **out,
                          struct nt_err *err);

void nt_network_destroy(struct nt_network *network);

static inline size_t nt_network_rails(const struct nt_network *network)
{
    size_t rails = 0;
    for (; network != NULL; network = network->next_rail)
        rails++;
    return rails;
}

/* The route from a vertex to a host, one arc at a time: for (nt_walk_begin(net, a, b, &walk);
 * nt_walk_next(&walk, &arc);) ... Ends at the destination, or at once if there is no path (see
 * nt_walk_arrived). */
struct nt_walk {
    const struct nt_network *network;
    uint32_t at, to;
    int32_t rest[NT_DIMENSIONS_MAX]; /* grids: remaining signed hops */
    /* Grids: the dimension to move in first; then the lowest with remaining hops. 0, the initial
     * value, is dimension order. */
    uint32_t prefer;
};
void nt_walk_begin(const struct nt_network *network, uint32_t from, uint32_t to,
                   struct nt_walk *walk);
bool nt_walk_next(struct nt_walk *walk, uint32_t *arc);
static inline bool nt_walk_arrived(const struct nt_walk *walk)
{
    return walk->at == walk->to;
}

/* Returns the one-way latency from a to b in us: the route's latencies and both overheads. NaN
 * without a path. Uses the first rail, as short messages do (UCX: the best device, the first of
 * equal ones). */
double nt_network_latency(const struct nt_network *network, uint32_t a, uint32_t b);

/* Creates the model that measurements can find at best, canonical (nt_model_canonicalise). Switches
 * with the same switches below them (parallel spines) are one switch with the sum of their links'
 * rates. There is no switch with fewer than three links: its links become one link, so a switch
 * with one host is a longer host link. Overheads behind a switch are part of the host's link. A
 * network of switches that is not a tree after this (dragonfly) is unchanged, with family
 * irregular. With several rails: the latencies of the first and the rates of all, because long
 * messages are divided. The caller owns *out. */
int nt_network_truth(const struct nt_network *network, struct nt_model **out, struct nt_err *err);

#endif
