/* SPDX-License-Identifier: Apache-2.0 */
/* Each topology as a model: only which vertices are linked, and by what kind of link. */
#include <math.h>
#include <string.h>

#include "network.h"
#include "paths.h"

void nt_figures_default(const struct nt_spec *spec, struct nt_figures *figures)
{
    struct nt_figures f = {.host_latency_us = 0.5, .overhead_us = 0.4, .host_MBps = 12500};
    bool tapered = spec->topology == NT_TOPOLOGY_TREE || spec->topology == NT_TOPOLOGY_CHAIN;
    bool direct = spec->switches == 0;
    for (size_t k = 0; k < NT_DIMENSIONS_MAX; k++) {
        f.link_latency_us[k] = direct ? 0.5 : 0.25;
        f.link_MBps[k] = tapered ? 25000 * pow(2, (double)k) : 12500;
    }
    *figures = f;
}

/* A model that is being filled. */
struct site {
    const struct nt_spec *spec;
    const struct nt_figures *figures;
    struct nt_model *model;
    size_t links;
};

static void join_vertices(struct site *s, size_t a, size_t b, double latency_us, double rate_MBps)
{
    struct nt_link *l = &s->model->link[s->links++];
    l->a = (uint32_t)a;
    l->b = (uint32_t)b;
    l->latency_us = latency_us;
    l->bandwidth_MBps = l->bandwidth_back_MBps = rate_MBps;
}

static void join_host(struct site *s, size_t host, size_t at_switch)
{
    join_vertices(s, host, s->spec->hosts + at_switch, s->figures->host_latency_us,
                  s->figures->host_MBps);
}

/* by numbers of switches; tier 0 is the lowest */
static void join_switches(struct site *s, size_t a, size_t b, size_t tier)
{
    join_vertices(s, s->spec->hosts + a, s->spec->hosts + b, s->figures->link_latency_us[tier],
                  s->figures->link_MBps[tier]);
}

static void join_direct(struct site *s, size_t a, size_t b)
{
    join_vertices(s, a, b, s->figures->link_latency_us[0], s->figures->link_MBps[0]);
}

/* Switches are numbered level by level from the root. */
static void build_tree(struct site *s)
{
    const struct nt_spec *spec = s->spec;
    size_t above = 0, count = 1, level = 1;
    for (uint32_t k = 0; k + 1 < spec->dimensions; k++) {
        for (size_t j = 0; j < count * spec->dimension[k]; j++)
            join_switches(s, above + j / spec->dimension[k], level + j, spec->dimensions - 2 - k);
        above = level;
        count *= spec->dimension[k];
        level += count;
    }
    for (size_t h = 0; h < spec->hosts; h++)
        join_host(s, h, above + h / spec->dimension[spec->dimensions - 1]);
}

static void build_chain(struct site *s)
{
    for (size_t k = 0; k < s->spec->dimension[0]; k++)
        for (size_t h = 0; h < s->spec->dimension[1]; h++)
            join_host(s, k * s->spec->dimension[1] + h, k);
    for (size_t k = 1; k < s->spec->dimension[0]; k++)
        join_switches(s, k - 1, k, 0);
}

/* Level 1 are the leaves; nt_fattree_switch numbers them. A switch is linked to those of the next
 * level whose word differs in one digit, the one that stands at this level. */
static void build_fattree(struct site *s)
{
    size_t half = s->spec->dimension[0] / 2, levels = s->spec->dimension[1];
    size_t words = 1, digit = 1;
    for (size_t k = 2; k < levels; k++)
        words *= half;
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, levels == 1 ? 0 : h / half);
    for (size_t level = 1; level + 1 < levels; level++, digit *= half)
        for (size_t pod = 0; pod < 2 * half; pod++)
            for (size_t w = 0; w < words; w++)
                for (size_t up = 0; up < half; up++) {
                    size_t other = w - w / digit % half * digit + up * digit;
                    join_switches(s, nt_fattree_switch(s->spec, level, pod * words + w),
                                  nt_fattree_switch(s->spec, level + 1, pod * words + other),
                                  level - 1);
                }
    for (size_t top = 0; levels > 1 && top < 2 * half * words; top++)
        for (size_t up = 0; up < half; up++)
            join_switches(s, nt_fattree_switch(s->spec, levels - 1, top),
                          nt_fattree_switch(s->spec, levels, top % words * half + up), levels - 2);
}

static void join_groups(struct site *s)
{
    for (size_t g = 0; g < s->spec->dimension[0]; g++)
        for (size_t f = g + 1; f < s->spec->dimension[0]; f++)
            join_switches(s, nt_dragonfly_gate(s->spec, g, f), nt_dragonfly_gate(s->spec, f, g), 1);
}

/* Routers of a group all linked; one link between any two groups. */
static void build_dragonfly(struct site *s)
{
    size_t groups = s->spec->dimension[0], routers = s->spec->dimension[1];
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, h / s->spec->dimension[2]);
    for (size_t g = 0; g < groups; g++)
        for (size_t r = 0; r < routers; r++)
            for (size_t q = r + 1; q < routers; q++)
                join_switches(s, g * routers + r, g * routers + q, 0);
    join_groups(s);
}

/* Routers of a group linked along each row and each column. */
static void build_aries(struct site *s)
{
    const uint32_t *d = s->spec->dimension;
    size_t routers = (size_t)d[1] * d[2];
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, h / d[3]);
    for (size_t g = 0; g < d[0]; g++)
        for (size_t r = 0; r < routers; r++)
            for (size_t q = r + 1; q < routers; q++)
                if (r / d[2] == q / d[2] || r % d[2] == q % d[2])
                    join_switches(s, g * routers + r, g * routers + q, 0);
    join_groups(s);
}

static void build_dragonfly_plus(struct site *s)
{
    const uint32_t *d = s->spec->dimension;
    size_t each = (size_t)d[1] + d[2];
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, h / d[3] / d[1] * each + h / d[3] % d[1]);
    for (size_t g = 0; g < d[0]; g++)
        for (size_t leaf = 0; leaf < d[1]; leaf++)
            for (size_t spine = 0; spine < d[2]; spine++)
                join_switches(s, g * each + leaf, g * each + d[1] + spine, 0);
    join_groups(s);
}

/* The wrap of dimension 1 of a twisted torus lands twist further along dimension 0. */
static void build_grid(struct site *s)
{
    const struct nt_spec *spec = s->spec;
    size_t stride = 1;
    for (uint32_t k = 0; k < spec->dimensions; stride *= spec->dimension[k++]) {
        size_t d = spec->dimension[k];
        for (size_t h = 0; h < spec->hosts; h++) {
            size_t x = h / stride % d;
            if (x + 1 < d) {
                join_direct(s, h, h + stride);
            } else if (spec->topology != NT_TOPOLOGY_MESH && d > 2) {
                size_t to = h - x * stride;
                if (k == 1 && spec->twist > 0)
                    to = to - to % spec->dimension[0] + (to + spec->twist) % spec->dimension[0];
                join_direct(s, h, to);
            }
        }
    }
}

static void build_hypercube(struct site *s)
{
    for (size_t h = 0; h < s->spec->hosts; h++)
        for (uint32_t k = 0; k < s->spec->dimension[0]; k++)
            if ((h >> k & 1) == 0)
                join_direct(s, h, h | (size_t)1 << k);
}

static void build_full_mesh(struct site *s)
{
    for (size_t h = 0; h < s->spec->hosts; h++)
        for (size_t g = h + 1; g < s->spec->hosts; g++)
            join_direct(s, h, g);
}

static void name_family(const struct nt_spec *spec, struct nt_model *m)
{
    static const enum nt_family family[] = {
        [NT_TOPOLOGY_STAR] = NT_FAMILY_STAR,
        [NT_TOPOLOGY_TREE] = NT_FAMILY_TREE,
        [NT_TOPOLOGY_FATTREE] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_CHAIN] = NT_FAMILY_TREE,
        [NT_TOPOLOGY_DRAGONFLY] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_ARIES] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_DRAGONFLY_PLUS] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_TORUS] = NT_FAMILY_TORUS,
        [NT_TOPOLOGY_MESH] = NT_FAMILY_MESH,
        [NT_TOPOLOGY_TWISTED_TORUS] = NT_FAMILY_TORUS,
        [NT_TOPOLOGY_HYPERCUBE] = NT_FAMILY_HYPERCUBE,
        [NT_TOPOLOGY_FULL_MESH] = NT_FAMILY_FULL_MESH,
    };
    bool grid = spec->topology == NT_TOPOLOGY_TORUS || spec->topology == NT_TOPOLOGY_MESH ||
                spec->topology == NT_TOPOLOGY_TWISTED_TORUS;
    m->family = family[spec->topology];
    if (spec->topology == NT_TOPOLOGY_TORUS && spec->dimensions == 1)
        m->family = NT_FAMILY_RING;
    m->confidence = 1;
    if (grid) {
        m->dimensions = spec->dimensions;
        memcpy(m->dimension, spec->dimension, sizeof m->dimension);
        m->twist = spec->twist;
    } else if (spec->topology == NT_TOPOLOGY_HYPERCUBE) {
        m->dimensions = spec->dimension[0] < NT_DIMENSIONS_MAX ? spec->dimension[0] : 0;
        for (uint32_t k = 0; k < m->dimensions; k++)
            m->dimension[k] = 2;
    }
}

static void build_site(struct site *s)
{
    switch (s->spec->topology) {
    case NT_TOPOLOGY_STAR:
    case NT_TOPOLOGY_TREE:
        build_tree(s);
        return;
    case NT_TOPOLOGY_FATTREE:
        build_fattree(s);
        return;
    case NT_TOPOLOGY_CHAIN:
        build_chain(s);
        return;
    case NT_TOPOLOGY_DRAGONFLY:
        build_dragonfly(s);
        return;
    case NT_TOPOLOGY_ARIES:
        build_aries(s);
        return;
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        build_dragonfly_plus(s);
        return;
    case NT_TOPOLOGY_TORUS:
    case NT_TOPOLOGY_MESH:
    case NT_TOPOLOGY_TWISTED_TORUS:
        build_grid(s);
        return;
    case NT_TOPOLOGY_HYPERCUBE:
        build_hypercube(s);
        return;
    case NT_TOPOLOGY_FULL_MESH:
        build_full_mesh(s);
        return;
    }
}

static enum nt_routing routing_of(const struct nt_spec *spec)
{
    switch (spec->topology) {
    case NT_TOPOLOGY_FATTREE:
        return NT_ROUTING_FATTREE;
    case NT_TOPOLOGY_DRAGONFLY:
        return NT_ROUTING_DRAGONFLY;
    case NT_TOPOLOGY_ARIES:
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        return NT_ROUTING_GROUPS;
    case NT_TOPOLOGY_HYPERCUBE:
        return NT_ROUTING_CUBE;
    case NT_TOPOLOGY_FULL_MESH:
        return NT_ROUTING_FULL_MESH;
    case NT_TOPOLOGY_STAR:
    case NT_TOPOLOGY_TREE:
    case NT_TOPOLOGY_CHAIN:
        return NT_ROUTING_TREE;
    default:
        return NT_ROUTING_GRID;
    }
}

static int build_rail(const struct nt_spec *spec, const struct nt_figures *figures,
                      struct nt_network **out, struct nt_err *err)
{
    struct nt_figures usual;
    struct site s = {.spec = spec, .figures = figures};
    if (figures == NULL) {
        nt_figures_default(spec, &usual);
        s.figures = &usual;
    }
    if (nt_model_create(spec->hosts, spec->switches, spec->links, &s.model, err) < 0)
        return -1;
    build_site(&s);
    name_family(spec, s.model);
    for (size_t h = 0; spec->switches == 0 && h < spec->hosts; h++)
        s.model->overhead_us[h] = s.figures->overhead_us;
    int rc = nt_network_with_routes(s.model, routing_of(spec), spec, out, err);
    nt_model_destroy(s.model);
    return rc;
}

int nt_network_build(const struct nt_spec *spec, const struct nt_figures *figures,
                     struct nt_network **out, struct nt_err *err)
{
    struct nt_network *first = NULL, **last = &first;
    for (uint32_t rail = 0; rail == 0 || rail < spec->rails; rail++) {
        if (build_rail(spec, figures, last, err) < 0) {
            nt_network_destroy(first);
            return -1;
        }
        last = &(*last)->next_rail;
    }
    *out = first;
    return 0;
}
