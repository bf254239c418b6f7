/* SPDX-License-Identifier: Apache-2.0 */
/* A known network: what a measurement of it would find, what a flow through it would get.
 *
 * Made from a model, to which it adds directions and static routes. Vertices are the model's: hosts
 * first, then switches. A network is never changed after it was made, except for its figures (arc
 * latencies and rates, overheads) by its owner. */
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

/* One direction of a link: arcs 2k and 2k+1 are link k forth and back. */
struct nt_arc {
    uint32_t from, to; /* vertices */
    double latency_us; /* one way, without serialisation */
    double rate_MBps;  /* NaN or 0: never a bottleneck */
};

/* How the next hop is found; every rule is deterministic and gives one path a pair. */
enum nt_routing {
    NT_ROUTING_TREE,      /* the only path */
    NT_ROUTING_FATTREE,   /* up, then down; the way up by the destination's digits (d-mod-k) */
    NT_ROUTING_GRID,      /* dimension order over a minimal routing record, wraps and twist too */
    NT_ROUTING_CUBE,      /* e-cube: the lowest differing bit first */
    NT_ROUTING_FULL_MESH, /* straight */
    NT_ROUTING_DRAGONFLY, /* minimal: to the router with the link, over it, to the router */
    NT_ROUTING_GROUPS,    /* the same in groups of rows and columns, or of leaves and spines */
    NT_ROUTING_TABLE,     /* fewest hops; among equals the choice rotates with the destination */
};

struct nt_network {
    struct nt_arena memory;       /* of all arrays */
    struct nt_model *model;       /* owned: the links as built */
    struct nt_network *next_rail; /* owned: of the hosts' next rail, which meets this one nowhere
                                     but in them; NULL: there is none */
    size_t hosts, switches, arcs;
    struct nt_arc *arc;
    double *overhead_us; /* hosts of them: added at each end */
    uint32_t *first;     /* vertices + 1: arcs out of v are out[first[v]..first[v+1]) */
    uint32_t *out;       /* arcs of them, by origin, then by destination */
    enum nt_routing routing;
    bool adaptive; /* the owner may set it, in networks of groups: half of the messages between
                      groups go by way of another one, and latencies are means */
    struct nt_spec spec; /* of what nt_network_build made; topology is meaningless otherwise */
    /* trees: */
    uint32_t *up;    /* vertices: the arc towards the root; UINT32_MAX at a root */
    uint32_t *depth; /* vertices */
    uint32_t *enter; /* vertices: place in a depth-first walk, */
    uint32_t *leave; /*   those below v have enter[v] <= enter < leave[v] */
    /* tables: */
    uint32_t *table; /* [v * hosts + host]: arc; UINT32_MAX: none */
};

/* Latencies and rates of what nt_network_build makes. Tier 0 is the first above the leaves. */
struct nt_figures {
    double host_latency_us;                    /* a host's link to its switch */
    double link_latency_us[NT_DIMENSIONS_MAX]; /* between switches by tier; direct: [0] */
    double overhead_us;                        /* at each end, in networks without switches */
    double host_MBps;
    double link_MBps[NT_DIMENSIONS_MAX];
};

/* Usual figures: 0.5 us and 12,500 MB/s to a host, 0.25 us between switches, direct links 0.5 us
 * with 0.4 us overhead; tapered trees (2 to 1 a tier where a leaf has 4 hosts), full fat trees. */
void nt_figures_default(const struct nt_spec *spec, struct nt_figures *figures);

/* The network that spec names: that of the first rail, with the others behind it. figures NULL: the
 * default. Hosts are numbered depth first, in grids x + A (y + B z). */
int nt_network_build(const struct nt_spec *spec, const struct nt_figures *figures,
                     struct nt_network **out, struct nt_err *err);

/* Any model as a network: routes over the only path where it has no cycle, else by a table (an
 * error when that would take more than 512 MB). A latency that is NaN counts as 0. */
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

/* The route from one vertex to a host, an arc at a time:
 *     for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc);) ...
 * Ends at the destination, or at once where there is no path (see nt_walk_arrived). */
struct nt_walk {
    const struct nt_network *network;
    uint32_t at, to;
    int32_t rest[NT_DIMENSIONS_MAX]; /* grids: signed hops still to go */
    uint32_t prefer;                 /* grids: moves in this dimension while it has hops to go, else
                                        in the lowest that has: 0, at first, is dimension order */
};
void nt_walk_begin(const struct nt_network *network, uint32_t from, uint32_t to,
                   struct nt_walk *walk);
bool nt_walk_next(struct nt_walk *walk, uint32_t *arc);
static inline bool nt_walk_arrived(const struct nt_walk *walk)
{
    return walk->at == walk->to;
}

/* One way from a to b in us: the route's latencies and both overheads. NaN without a path. Of the
 * first rail, which short messages take (UCX: the best device, of equal ones the first). */
double nt_network_latency(const struct nt_network *network, uint32_t a, uint32_t b);

/* What measurements could at best find out, canonical (nt_model_canonicalise): switches with the
 * same switches below them (parallel spines) as one with their links' rates added; no switch with
 * fewer than three links (its links are one, so a switch with one host is a longer host link);
 * overheads behind a switch in the host's link. A network of switches that is no tree after this
 * (dragonfly) is left as built, family irregular. Of rails: the latencies of the first, the rates
 * of all, as long messages are spread. Owned by the caller. */
int nt_network_truth(const struct nt_network *network, struct nt_model **out, struct nt_err *err);

#endif
