/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of a network: which links each measured pair of hosts passes. Indices only; names
 * are at the edges (text/routes.h).
 *
 * A pair is unordered. When both directions were given, its links are the way there followed by
 * the way back, and a measurement of it (half a round trip) is the mean of the two: a link counts
 * 1/ways each time it stands there.
 * Tests: test_routes_text.c, test_network_routes.c. */
#ifndef NT_ROUTES_H
#define NT_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum {
    NT_ROUTE_LINKS_MAX = 4096,     /* of one direction */
    NT_ROUTES_LINKS_MAX = 1 << 21, /* different links */
    NT_ROUTES_PAIRS_MAX = 1 << 25, /* directions given */
    NT_ROUTES_TOTAL_MAX = 1 << 29, /* links of all directions together */
};

struct nt_routes {
    struct nt_arena memory; /* of the arrays; first, for nt_object_create */
    size_t hosts, links, pairs;
    uint32_t (*host)[2]; /* pairs of them, as their first direction was given */
    size_t *start;   /* pairs + 1; the links of pair p: link[start[p]] .. link[start[p+1] - 1] */
    uint32_t *there; /* pairs of them: links of the first direction; fewer than all: both given */
    uint32_t *link;  /* owned, like all the others */
};

void nt_routes_destroy(struct nt_routes *routes);

static inline const uint32_t *nt_route_links(const struct nt_routes *r, size_t pair)
{
    return r->link + r->start[pair];
}

static inline size_t nt_route_length(const struct nt_routes *r, size_t pair)
{
    return r->start[pair + 1] - r->start[pair];
}

static inline unsigned nt_route_ways(const struct nt_routes *r, size_t pair)
{
    return r->there[pair] < nt_route_length(r, pair) ? 2 : 1;
}

/* Building: a direction at a time, in any order. */
struct nt_routes_builder;
int nt_routes_builder_create(struct nt_routes_builder **out, struct nt_err *err);
void nt_routes_builder_destroy(struct nt_routes_builder *builder);

/* The path of n links from one host to another. NT_ERR_INPUT, naming neither: no link, too many, a
 * link twice, a host with itself, the direction given before. A failed call adds nothing. */
int nt_routes_builder_add(struct nt_routes_builder *builder, uint32_t from, uint32_t to,
                          const uint32_t *link, size_t n, struct nt_err *err);

/* Makes the routes; the hosts and links added must be below these numbers. Pairs are in the order
 * of their first direction. The builder is empty afterwards (still to be destroyed). */
int nt_routes_builder_finish(struct nt_routes_builder *builder, size_t hosts, size_t links,
                             struct nt_routes **out, struct nt_err *err);

/* Finding pairs by their hosts; borrows routes. */
struct nt_pair_index;
enum { NT_PAIR_NONE = UINT32_MAX };
int nt_pair_index_create(const struct nt_routes *routes, struct nt_pair_index **out,
                         struct nt_err *err);
void nt_pair_index_destroy(struct nt_pair_index *index);
uint32_t nt_pair_index_find(const struct nt_pair_index *index, uint32_t a, uint32_t b);

#endif
