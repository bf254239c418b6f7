/* SPDX-License-Identifier: Apache-2.0 */
#include "infer_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "stats.h"

#define FITS 0.98     /* share of the router pairs whose distance must be the sum of the links, */
#define OFF_MOST 0.34 /* within this share of a local link */
#define CLEAR 0.25    /* of a local link: the largest sd of a router pair's distance */
#define PROFILE 2.0F  /* times the noise: by more two hosts are on different routers */
#define MOST 0.8      /* of all other hosts: see profile */
#define SURE 0.9      /* confidence of a network that fits so */
/* relative; if the nearer half has such a step, farther hosts are ignored */
#define STEP_LEAST 0.15F
enum {
    GROUPS_MIN = 3,
    GROUP_MIN = 3,
    ROUTERS_MIN = GROUPS_MIN * GROUP_MIN,
    ROUTERS_MAX = 512,
    HOSTS_MIN = 2 * ROUTERS_MIN,
    PAIRS_MAX = 64,
    PROFILE_HOSTS = 256 /* each pair is compared over all hosts */
};

struct dragonfly {
    const struct nt_matrix *latency;
    const struct nt_model *tree;
    uint32_t *router_of;    /* hosts; UINT32_MAX: missing */
    size_t routers, most;   /* most: that there is room for */
    uint32_t *first, *host; /* hosts of router r: host[first[r]..first[r + 1]) */
    float *far_us;          /* routers squared: beyond two hosts of one router; NaN: unknown */
    double own_us;          /* two hosts of one router */
    double local_us, global_us, noise_us;
    uint32_t *group; /* routers */
    size_t groups;
    bool *linked;   /* routers squared: a local or a global link */
    float *nearest; /* routers squared: scratch, of groups */
    double *way_us; /* 2 routers: scratch */
    float *scratch;
};

static float *cell(const struct dragonfly *d, float *at, size_t a, size_t b)
{
    return &at[a * d->routers + b];
}

static float reading(const struct dragonfly *d, uint32_t a, uint32_t b)
{
    return fminf(nt_matrix_get(d->latency, a, b), nt_matrix_get(d->latency, b, a));
}

/* ---- routers ---------------------------------------------------------------------------------*/

/* Groups hosts by their switch. */
static void group_by_switch(struct dragonfly *d)
{
    const struct nt_model *m = d->tree;
    uint32_t *seen = d->group; /* of a switch its router + 1; large enough: see dragonfly_init */
    memset(seen, 0, m->switches * sizeof *seen);
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < m->hosts ? l->a : l->b, on = host == l->a ? l->b : l->a;
        if (host >= m->hosts || on < m->hosts)
            continue;
        uint32_t *router = &seen[on - m->hosts];
        if (*router == 0)
            *router = (uint32_t)++d->routers;
        d->router_of[host] = *router - 1;
    }
}

/* By how much two hosts differ in their distances to all others: most of them differ by less. Two
 * routers of a group are as far from half of the network, a fifth of the readings may be wrong. */
static float profile(struct dragonfly *d, uint32_t a, uint32_t b)
{
    size_t n = 0;
    for (uint32_t k = 0; k < d->latency->n; k++) {
        float off = k == a || k == b ? NAN : fabsf(reading(d, a, k) - reading(d, b, k));
        if (!isnan(off))
            d->scratch[n++] = off;
    }
    return n == 0 ? NAN : nt_stats_quantile(d->scratch, n, MOST);
}

/* Groups hosts with equal distances to all others, if the tree's switches are not the routers. The
 * difference of a host from the most similar one is noise. */
static void group_by_profile(struct dragonfly *d, float *alike, uint32_t *set)
{
    size_t n = d->latency->n, known = 0;
    for (uint32_t a = 0; a < n; a++) {
        float least = INFINITY;
        for (uint32_t b = 0; b < n; b++)
            if (a != b)
                least = fminf(least, profile(d, a, b));
        if (isfinite(least))
            alike[known++] = least;
    }
    float most = known == 0 ? 0 : PROFILE * nt_stats_median(alike, known);
    nt_sets_init(set, n);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < a; b++)
            if (profile(d, a, b) <= most)
                nt_sets_join(set, a, b);
    for (uint32_t a = 0; a < n; a++)
        if (!d->tree->missing[a] && nt_sets_find(set, a) == a)
            d->router_of[a] = (uint32_t)d->routers++;
    for (uint32_t a = 0; a < n; a++)
        if (!d->tree->missing[a])
            d->router_of[a] = d->router_of[nt_sets_find(set, a)];
}

/* Routers have their hosts in a row of host[]. */
static void list_hosts(struct dragonfly *d)
{
    size_t hosts = d->tree->hosts;
    memset(d->first, 0, (d->routers + 2) * sizeof *d->first);
    for (size_t h = 0; h < hosts; h++)
        if (d->router_of[h] != UINT32_MAX)
            d->first[d->router_of[h] + 1]++;
    for (size_t r = 0; r < d->routers; r++)
        d->first[r + 1] += d->first[r];
    for (uint32_t h = (uint32_t)hosts; h-- > 0;)
        if (d->router_of[h] != UINT32_MAX)
            d->host[--d->first[d->router_of[h] + 1]] = h;
    for (size_t r = 0; r < d->routers; r++)
        d->first[r] = d->first[r + 1];
    d->first[d->routers] = 0;
    for (size_t h = 0; h < hosts; h++)
        d->first[d->routers] += d->router_of[h] != UINT32_MAX;
}

static void find_routers(struct dragonfly *d, bool by_profile)
{
    d->routers = 0;
    for (size_t h = 0; h < d->tree->hosts; h++)
        d->router_of[h] = UINT32_MAX;
    if (by_profile)
        group_by_profile(d, d->nearest, d->host);
    else
        group_by_switch(d);
    list_hosts(d);
}

static float middle_of_pairs(const struct dragonfly *d, size_t a, size_t b)
{
    size_t n = 0;
    for (uint32_t i = d->first[a]; i < d->first[a + 1]; i++)
        for (uint32_t j = d->first[b]; j < d->first[b + 1] && n < PAIRS_MAX; j++) {
            float us = reading(d, d->host[i], d->host[j]);
            if (d->host[i] != d->host[j] && !isnan(us))
                d->scratch[n++] = us;
        }
    return n == 0 ? NAN : nt_stats_median(d->scratch, n);
}

/* false: no router has two hosts, so the latency within a router is unknown. */
static bool measure_routers(struct dragonfly *d)
{
    size_t n = 0;
    float *own = cell(d, d->far_us, 0, 0); /* not used yet */
    for (size_t r = 0; r < d->routers; r++)
        if (d->first[r + 1] - d->first[r] > 1)
            own[n++] = middle_of_pairs(d, r, r);
    if (n == 0)
        return false;
    d->own_us = (double)nt_stats_median(own, n);
    for (size_t a = 0; a < d->routers; a++)
        for (size_t b = 0; b < d->routers; b++)
            *cell(d, d->far_us, a, b) = a == b ? NAN : middle_of_pairs(d, a, b) - (float)d->own_us;
    return true;
}

/* ---- groups ----------------------------------------------------------------------------------*/

/* The nearest distances: up to where the largest relative step of the sorted ones is. */
static bool find_nearest(struct dragonfly *d, float *sorted)
{
    size_t n = 0, cut = 0;
    float widest = 0;
    for (size_t a = 0; a < d->routers; a++)
        for (size_t b = 0; b < a; b++)
            if (*cell(d, d->far_us, a, b) > 0)
                sorted[n++] = *cell(d, d->far_us, a, b);
    if (n < d->routers)
        return false;
    qsort(sorted, n, sizeof *sorted, nt_compare_floats);
    /* the nearest are a few for each router, and not most of all */
    for (size_t k = d->routers / 2; k + 1 < n; k++) {
        float step = (sorted[k + 1] - sorted[k]) / sorted[k];
        if (step > widest) {
            widest = step;
            cut = k + 1;
        }
        if (k > n / 2 && widest > STEP_LEAST)
            break;
    }
    if (cut == 0)
        return false;
    d->local_us = (double)sorted[cut / 2];
    float highest = sorted[cut - 1];
    d->noise_us = (double)nt_stats_mad(sorted, cut);
    for (size_t a = 0; a < d->routers; a++)
        for (size_t b = 0; b < d->routers; b++)
            d->linked[a * d->routers + b] = *cell(d, d->far_us, a, b) <= highest;
    return d->noise_us < CLEAR * d->local_us;
}

static size_t common_neighbours(const struct dragonfly *d, size_t a, size_t b)
{
    size_t n = 0;
    for (size_t c = 0; c < d->routers; c++)
        n += d->linked[a * d->routers + c] && d->linked[b * d->routers + c];
    return n;
}

/* Groups of routers whose links share this number of neighbours; false: they are not cliques, or
 * too few. */
static bool find_groups(struct dragonfly *d, size_t shared)
{
    size_t n = d->routers, least = n;
    nt_sets_init(d->group, n);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            if (d->linked[a * n + b] && common_neighbours(d, a, b) >= shared)
                nt_sets_join(d->group, (uint32_t)a, (uint32_t)b);
    d->groups = 0;
    for (uint32_t a = 0; a < n; a++)
        d->groups += nt_sets_find(d->group, a) == a;
    for (uint32_t a = 0; a < n; a++) {
        size_t size = 0;
        for (uint32_t b = 0; b < n; b++) {
            bool same = nt_sets_find(d->group, a) == nt_sets_find(d->group, b);
            size += same;
            if (same && a != b && !d->linked[a * n + b])
                return false;
        }
        least = size < least ? size : least;
    }
    for (uint32_t a = 0; a < n; a++)
        d->group[a] = nt_sets_find(d->group, a);
    return d->groups >= GROUPS_MIN && least >= GROUP_MIN;
}

/* ---- links -----------------------------------------------------------------------------------*/

/* Finds the nearest routers of each two groups; false: some are not joined by a single link. */
static bool find_global_links(struct dragonfly *d)
{
    size_t n = d->routers, count = 0;
    float *least = d->nearest; /* per pair of groups, at the routers that represent them */
    for (size_t k = 0; k < n * n; k++)
        least[k] = INFINITY;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            float us = *cell(d, d->far_us, a, b), *at = cell(d, least, d->group[a], d->group[b]);
            if (us > 0 && us < *at)
                *at = us;
        }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            bool same = d->group[a] == d->group[b];
            double us = (double)*cell(d, d->far_us, a, b);
            double most = (double)*cell(d, least, d->group[a], d->group[b]) + d->local_us / 2;
            d->linked[a * n + b] = a != b && (same || us < most);
            if (!same && us < most)
                d->scratch[count++] = (float)us;
        }
    d->global_us = count == 0 ? 0 : (double)nt_stats_median(d->scratch, count);
    return d->global_us > 0;
}

/* The sum of the links from a to all: over a link between the groups, with a local link on either
 * side if needed. */
static void model_from(const struct dragonfly *d, size_t a, double *us)
{
    size_t n = d->routers;
    for (size_t b = 0; b < n; b++)
        us[b] = d->group[a] == d->group[b] ? d->local_us : INFINITY;
    double *entry = us + n; /* per group, at its representative: the least without the last link */
    for (size_t b = 0; b < n; b++)
        entry[b] = INFINITY;
    for (size_t x = 0; x < n; x++)
        for (size_t y = 0; y < n && d->group[x] == d->group[a]; y++) {
            if (!d->linked[x * n + y] || d->group[y] == d->group[a])
                continue;
            double to = d->global_us + (x == a ? 0 : d->local_us);
            us[y] = fmin(us[y], to);
            entry[d->group[y]] = fmin(entry[d->group[y]], to + d->local_us);
        }
    for (size_t b = 0; b < n; b++)
        if (d->group[b] != d->group[a])
            us[b] = fmin(us[b], entry[d->group[b]]);
}

static bool fits(const struct dragonfly *d)
{
    size_t pairs = 0, good = 0;
    for (size_t a = 0; a < d->routers; a++) {
        model_from(d, a, d->way_us);
        for (size_t b = 0; b < d->routers; b++) {
            double us = (double)*cell(d, d->far_us, a, b);
            if (isnan(us))
                continue;
            pairs++;
            good += fabs(us - d->way_us[b]) < OFF_MOST * d->local_us;
        }
    }
    return pairs > 0 && (double)good >= FITS * (double)pairs;
}

/* ---- the model -------------------------------------------------------------------------------*/

static void add_link(struct nt_model *m, size_t *k, uint32_t a, uint32_t b, double us)
{
    m->link[*k].a = a;
    m->link[*k].b = b;
    m->link[(*k)++].latency_us = us;
}

static int make_model(const struct dragonfly *d, struct nt_model **out, struct nt_err *err)
{
    size_t n = d->routers, links = 0, k = 0, routers = 0, hosts = 0;
    struct nt_model *m;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            links += d->linked[a * n + b];
    if (nt_model_create(d->tree->hosts, n, d->first[n] + links, &m, err) != 0)
        return -1;
    for (uint32_t h = 0; h < m->hosts; h++) {
        m->missing[h] = d->tree->missing[h];
        if (d->router_of[h] != UINT32_MAX)
            add_link(m, &k, h, (uint32_t)(m->hosts + d->router_of[h]), d->own_us / 2);
    }
    for (size_t a = 0; a < n; a++) {
        size_t size = 0;
        for (size_t b = 0; b < n; b++) {
            bool same = d->group[a] == d->group[b];
            size += same;
            if (b < a && d->linked[a * n + b])
                add_link(m, &k, (uint32_t)(m->hosts + b), (uint32_t)(m->hosts + a),
                         same ? d->local_us : d->global_us);
        }
        routers = size > routers ? size : routers;
        hosts = d->first[a + 1] - d->first[a] > hosts ? d->first[a + 1] - d->first[a] : hosts;
    }
    m->family = NT_FAMILY_DRAGONFLY;
    m->tiers = 1;
    m->confidence = SURE;
    m->dimensions = 3;
    m->dimension[0] = (uint32_t)d->groups;
    m->dimension[1] = (uint32_t)routers;
    m->dimension[2] = (uint32_t)hosts;
    *out = m;
    return 0;
}

/* ---- the search -------------------------------------------------------------------------- */

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int dragonfly_init(struct dragonfly *d, struct nt_arena *memory, struct nt_err *err)
{
    size_t hosts = d->tree->hosts, profiles = hosts <= PROFILE_HOSTS ? hosts : 0;
    size_t most = largest(d->tree->switches, profiles) + 1;
    d->most = most - 1;
    d->router_of = nt_arena_array(memory, hosts + 1, sizeof *d->router_of);
    d->first = nt_arena_array(memory, most + 2, sizeof *d->first);
    d->host = nt_arena_array(memory, hosts + 1, sizeof *d->host);
    d->group = nt_arena_array(memory, most, sizeof *d->group);
    d->far_us = nt_arena_array(memory, most * most, sizeof *d->far_us);
    d->nearest = nt_arena_array(memory, most * most, sizeof *d->nearest);
    d->way_us = nt_arena_array(memory, 2 * most, sizeof *d->way_us);
    d->linked = nt_arena_array(memory, most * most, sizeof *d->linked);
    d->scratch =
        nt_arena_array(memory, largest(most * most, largest(hosts, PAIRS_MAX)), sizeof *d->scratch);
    return nt_arena_check(memory, err);
}

/* Tries increasing numbers of shared neighbours, from the one needed for triangles to that of large
 * groups. */
static bool find_dragonfly(struct dragonfly *d, bool by_profile)
{
    find_routers(d, by_profile);
    if (d->routers > d->most || d->routers < ROUTERS_MIN || !measure_routers(d) ||
        !find_nearest(d, d->scratch))
        return false;
    for (size_t shared = 1; shared <= 4; shared++)
        if (find_groups(d, shared))
            return find_global_links(d) && fits(d);
    return false;
}

int nt_dragonfly_try(const struct nt_matrix *latency, struct nt_model **model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct dragonfly d = {.latency = latency, .tree = *model};
    struct nt_model *found;
    bool open = d.tree->family == NT_FAMILY_UNDETERMINED || d.tree->shortcuts ||
                d.tree->family == NT_FAMILY_IRREGULAR;
    if (!open || d.tree->hosts < HOSTS_MIN || d.tree->switches > ROUTERS_MAX)
        return 0;
    if (dragonfly_init(&d, &memory, err) != 0)
        return -1;
    bool is_one = find_dragonfly(&d, false);
    if (!is_one && d.latency->n <= PROFILE_HOSTS)
        is_one = find_dragonfly(&d, true);
    if (!is_one)
        return 0;
    if (make_model(&d, &found, err) != 0)
        return -1;
    nt_model_destroy(*model);
    *model = found;
    return 0;
}
