/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of a network: the links on the path of each pair of hosts. Knows indices only; names
 * are at the edges (text/routes_text.h).
 *
 * A pair is unordered. If both directions are given, its links are the path there followed by the
 * path back. A measurement (half a round trip) is then the mean of both directions, so each
 * occurrence of a link counts 1/2.
 * Tests: test_routes_text.c, test_network_routes.c. */
#ifndef NT_ROUTES_H
#define NT_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum {
    NT_ROUTE_LINKS_MAX = 4096,     /* per direction */
    NT_ROUTES_LINKS_MAX = 1 << 21, /* different links */
    NT_ROUTES_PAIRS_MAX = 1 << 25, /* given directions */
    NT_ROUTES_TOTAL_MAX = 1 << 29, /* links of all directions together */
};

struct nt_routes {
    struct nt_arena memory; /* of the arrays; first, for nt_object_create */
    size_t hosts, links, pairs;
    uint32_t (*host)[2]; /* per pair, in the order of its first direction */
    size_t *start; /* pairs + 1; the links of pair p: link[start[p]] .. link[start[p+1] - 1] */
    /* Per pair: links of its first direction; fewer than all: both directions are given */
    uint32_t *there;
    uint32_t *link; /* owned, like all the others */
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

static inline unsigned nt_route_directions(const struct nt_routes *r, size_t pair)
{
    return r->there[pair] < nt_route_length(r, pair) ? 2 : 1;
}

/* A builder takes one direction at a time, in any order. */
struct nt_routes_builder;
int nt_routes_builder_create(struct nt_routes_builder **out, struct nt_err *err);
void nt_routes_builder_destroy(struct nt_routes_builder *builder);

/* Adds the path of n links from one host to another. NT_ERR_INPUT (the text contains no hosts): no
 * link, too many links, a repeated link, equal hosts, a direction that was given before. A failed
 * call adds nothing. */
int nt_routes_builder_add(struct nt_routes_builder *builder, uint32_t from, uint32_t to,
                          const uint32_t *link, size_t n, struct nt_err *err);

/* Makes the routes. Hosts and links that were added must be below these numbers. Pairs are in the
 * order of their first direction. Empties the builder; the caller destroys builder and *out. */
int nt_routes_builder_finish(struct nt_routes_builder *builder, size_t hosts, size_t links,
                             struct nt_routes **out, struct nt_err *err);

/* An index of pairs by their hosts; borrows routes. */
struct nt_pair_index;
enum { NT_PAIR_NONE = UINT32_MAX };
int nt_pair_index_create(const struct nt_routes *routes, struct nt_pair_index **out,
                         struct nt_err *err);
void nt_pair_index_destroy(struct nt_pair_index *index);
uint32_t nt_pair_index_find(const struct nt_pair_index *index, uint32_t a, uint32_t b);

/* Measured latencies of pairs whose routes are known. A pair can occur several times; each
 * occurrence is one measurement. */
struct nt_measured {
    size_t count;
    uint32_t *pair;     /* count pairs, as indices of the routes */
    double *latency_us; /* one way, half a round trip */
};

void nt_measured_destroy(struct nt_measured *measured);

#endif
