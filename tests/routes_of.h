/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of known networks, for tests and benches. */
#ifndef ROUTES_OF_H
#define ROUTES_OF_H

#include <stdint.h>
#include <stdlib.h>

#include "routes.h"

/* The p-port q-tree of Lin, Chung and Huang (2004), on which Liu et al. (NPC 2018) report: half =
 * p/2, 2 * half^q hosts, 2 * q * half^q links. Built as a folded Clos: the way up is chosen by
 * the destination, the way down is the only one, so a route and its way back may differ. */
struct fattree {
    uint32_t half, levels, hosts, links;
};

static inline struct fattree fattree(uint32_t ports, uint32_t levels)
{
    struct fattree t = {.half = ports / 2, .levels = levels, .hosts = 2};
    for (uint32_t k = 0; k < levels; k++)
        t.hosts *= t.half;
    t.links = t.hosts * levels;
    return t;
}

/* Level l links (l = 0: host to leaf) are as many as the hosts: of host h's subtree of level l,
 * the one that the destination's lower digits choose. */
static inline uint32_t fattree_link(const struct fattree *t, uint32_t level, uint32_t host,
                                    uint32_t destination)
{
    uint32_t block = 1;
    for (uint32_t k = 0; k < level; k++)
        block *= t->half;
    return level * t->hosts + host / block * block + destination % block;
}

/* The path from a to b; returns its length. */
static inline size_t fattree_path(const struct fattree *t, uint32_t a, uint32_t b, uint32_t *link)
{
    uint32_t top = 0, block = t->half;
    while (a / block != b / block && top + 1 < t->levels) {
        block *= t->half;
        top++;
    }
    size_t n = 0;
    for (uint32_t l = 0; l <= top; l++)
        link[n++] = fattree_link(t, l, a, b);
    for (uint32_t l = top + 1; l-- > 0;)
        link[n++] = fattree_link(t, l, b, b);
    return n;
}

static inline struct nt_routes *fattree_routes(uint32_t ports, uint32_t levels, int both)
{
    struct fattree t = fattree(ports, levels);
    struct nt_routes_builder *b;
    struct nt_routes *r = NULL;
    uint32_t link[64];
    if (nt_routes_builder_create(&b, NULL) != 0)
        return NULL;
    for (uint32_t i = 0; i < t.hosts; i++) {
        for (uint32_t j = i + 1; j < t.hosts; j++) {
            if (nt_routes_builder_add(b, i, j, link, fattree_path(&t, i, j, link), NULL) != 0 ||
                (both &&
                 nt_routes_builder_add(b, j, i, link, fattree_path(&t, j, i, link), NULL) != 0))
                abort();
        }
    }
    if (nt_routes_builder_finish(b, t.hosts, t.links, &r, NULL) != 0)
        abort();
    nt_routes_builder_destroy(b);
    return r;
}

#endif
