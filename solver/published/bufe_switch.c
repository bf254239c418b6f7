/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithm 2 (cliques of one latency become switches), algorithm 3 (virtual switch-to-switch
 * edges go) and the rules for hosts of several kinds (2.2.5). */
#include "bufe_graph.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

struct finder {
    struct bufe_graph *g;
    const struct nt_bufe_options *o;
    struct nt_bufe_result *r;
    struct bufe_search *search;
    struct nt_arena memory; /* of the arrays */
    uint32_t *members;      /* vertices of them */
    bool *inside;           /* vertices of them: is in the clique at hand */
    size_t cap;
    float *group; /* latencies of the groups, ascending */
    size_t groups, group_room;
};

/* The groups of latencies that the edges have now. A set that compares roughly depends on the
 * order of insertion (2.2.3); here the smallest value opens a group and its median stands for
 * it, as if the median had been inserted first. */
static int list_groups(struct finder *f, struct nt_err *err)
{
    const struct bufe_graph *g = f->g;
    size_t edges = 0, n = 0;
    for (size_t a = 0; a < g->vertices; a++)
        for (size_t b = 0; b < a; b++)
            edges += isfinite(bufe_edge(g, a, b)) ? 1 : 0;
    float *value = f->group =
        nt_arena_grow(&f->memory, f->group, &f->group_room, edges, sizeof *value);
    if (nt_arena_check(&f->memory, err) != 0)
        return -1;
    for (size_t a = 0; a < g->vertices; a++)
        for (size_t b = 0; b < a; b++)
            if (isfinite(bufe_edge(g, a, b)))
                value[n++] = bufe_edge(g, a, b);
    qsort(value, n, sizeof *value, nt_compare_floats);
    f->groups = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && bufe_equal(value[from], value[to], g->epsilon);)
            to++;
        value[f->groups++] = value[from + (to - from - 1) / 2];
    }
    return 0;
}

static int finder_init(struct finder *f, struct nt_err *err)
{
    if (f->g->cap <= f->cap)
        return 0;
    size_t room = f->cap;
    f->members = nt_arena_grow(&f->memory, f->members, &room, f->g->cap, sizeof *f->members);
    room = f->cap;
    f->inside = nt_arena_grow(&f->memory, f->inside, &room, f->g->cap, sizeof *f->inside);
    if (nt_arena_check(&f->memory, err) != 0)
        return -1;
    memset(f->inside, 0, room * sizeof *f->inside);
    f->cap = f->g->cap;
    return 0;
}

/* Is v joined to every member, by one latency? Its mean. */
static bool same_to_all(const struct finder *f, size_t size, size_t v, double *mean)
{
    double sum = 0;
    for (size_t k = 0; k < size; k++) {
        float w = bufe_edge(f->g, v, f->members[k]);
        if (!isfinite(w))
            return false;
        sum += w;
    }
    *mean = sum / (double)size;
    for (size_t k = 0; k < size; k++)
        if (!bufe_equal(bufe_edge(f->g, v, f->members[k]), *mean, f->g->epsilon))
            return false;
    return true;
}

/* An edge that is explained by a path over via: as long, and longer than either of its parts, so
 * that two edges never explain each other away. */
static bool explained_by(const struct bufe_graph *g, size_t a, size_t b, size_t via)
{
    float w = bufe_edge(g, a, b), first = bufe_edge(g, a, via), second = bufe_edge(g, via, b);
    return isfinite(first) && isfinite(second) && w > first && w > second &&
           bufe_equal(w, (double)first + (double)second, g->epsilon);
}

/* Algorithm 3 looks at the shortest path without the edge: is it as long as the edge? */
static bool is_virtual(const struct bufe_graph *g, size_t a, size_t b, size_t via_from)
{
    double best = INFINITY;
    size_t via = 0;
    for (size_t w = via_from; w < g->vertices; w++) {
        if (w == a || w == b)
            continue;
        double length = (double)bufe_edge(g, a, w) + (double)bufe_edge(g, w, b);
        if (length < best) {
            best = length;
            via = w;
        }
    }
    return isfinite(best) && explained_by(g, a, b, via);
}

/* Deletes the marked pairs only after all have been looked at, as algorithm 3 does. */
static int delete_virtual(struct finder *f, bool hosts, struct nt_err *err)
{
    struct bufe_graph *g = f->g;
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = 0, room = 0, from = hosts ? 0 : g->hosts;
    uint32_t(*gone)[2] = NULL;
    for (size_t a = from; a < g->vertices; a++) {
        for (size_t b = from; b < a; b++) {
            if (!isfinite(bufe_edge(g, a, b)) || (hosts && bufe_is_switch(g, b)))
                continue;
            if (!is_virtual(g, a, b, hosts ? g->hosts : 0))
                continue;
            gone = nt_arena_grow(&memory, gone, &room, n + 1, sizeof *gone);
            if (nt_arena_check(&memory, err) != 0)
                return -1;
            gone[n][0] = (uint32_t)a;
            gone[n++][1] = (uint32_t)b;
        }
    }
    for (size_t k = 0; k < n; k++)
        bufe_edge_set(g, gone[k][0], gone[k][1], INFINITY);
    *(hosts ? &f->r->virtual_host : &f->r->virtual_switch) += n;
    return 0;
}

/* Algorithm 3 after one insertion: only edges next to the new switch can have become virtual. */
static void delete_virtual_near(struct finder *f, size_t s)
{
    struct bufe_graph *g = f->g;
    for (size_t a = g->hosts; a < g->vertices; a++) {
        if (a == s || !isfinite(bufe_edge(g, a, s)))
            continue;
        for (size_t b = g->hosts; b < a; b++) {
            if (b == s || !isfinite(bufe_edge(g, a, b)) || !explained_by(g, a, b, s))
                continue;
            bufe_edge_set(g, a, b, INFINITY);
            f->r->virtual_switch++;
        }
    }
    for (size_t a = g->hosts; a < g->vertices; a++) {
        if (a != s && isfinite(bufe_edge(g, a, s)) && is_virtual(g, a, s, 0)) {
            bufe_edge_set(g, a, s, INFINITY);
            f->r->virtual_switch++;
        }
    }
}

/* Switches at distance zero are one switch (2.2.5): others join s. */
static void rejoin_switch(struct finder *f, size_t s)
{
    struct bufe_graph *g = f->g;
    for (size_t other = g->hosts; other < g->vertices; other++) {
        if (other == s || bufe_edge(g, s, other) != 0)
            continue;
        for (size_t v = 0; v < g->vertices; v++) {
            float mine = bufe_edge(g, s, v), its = bufe_edge(g, other, v);
            bufe_edge_set(g, other, v, INFINITY);
            if (v != s && isfinite(its))
                bufe_edge_set(g, s, v, isfinite(mine) ? (mine + its) / 2 : its);
        }
        g->alive[other] = false;
        f->r->rejoined++;
        other = g->hosts - 1; /* what the other brought may be at zero too */
    }
}

/* The clique's edges go; members hang on a new switch by half the latency; whoever was equally
 * far from all of them is now joined to the switch. */
static int replace_clique(struct finder *f, size_t size, double latency, struct nt_err *err)
{
    struct bufe_graph *g = f->g;
    uint32_t s;
    if (bufe_graph_add_switch(g, &s, err) != 0 || finder_init(f, err) != 0)
        return -1;
    float half = (float)(latency / 2);
    for (size_t k = 0; k < size; k++)
        f->inside[f->members[k]] = true;
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < k; i++)
            bufe_edge_set(g, f->members[k], f->members[i], INFINITY);
    for (size_t v = 0; v < s; v++) {
        double mean;
        if (!g->alive[v] || f->inside[v] || !same_to_all(f, size, v, &mean))
            continue;
        for (size_t k = 0; k < size; k++)
            bufe_edge_set(g, v, f->members[k], INFINITY);
        bool zero = mean < (double)half || bufe_equal(mean, half, g->epsilon);
        bufe_edge_set(g, v, s, zero ? 0 : (float)mean - half);
    }
    for (size_t k = 0; k < size; k++) {
        bufe_edge_set(g, f->members[k], s, half);
        f->inside[f->members[k]] = false;
    }
    rejoin_switch(f, s);
    delete_virtual_near(f, s);
    return 0;
}

/* Two may become a switch only where a third is equally far from both (2.2.3). */
static bool find_pair(struct finder *f, bool switches, size_t until, double latency)
{
    const struct bufe_graph *g = f->g;
    size_t from = switches ? g->hosts : 0, to = switches ? until : g->hosts;
    for (size_t a = from; a < to; a++) {
        for (size_t b = from; b < a; b++) {
            if (!bufe_equal(bufe_edge(g, a, b), latency, g->epsilon))
                continue;
            for (size_t v = 0; v < g->vertices; v++) {
                if (v == a || v == b ||
                    !bufe_equal(bufe_edge(g, a, v), bufe_edge(g, b, v), g->epsilon))
                    continue;
                f->members[0] = (uint32_t)b;
                f->members[1] = (uint32_t)a;
                return true;
            }
        }
    }
    return false;
}

/* All cliques of one kind and latency that were there at the beginning. Edges between new switches
 * are another matter: they are shorter, and may only by chance be as long as this group. */
static int replace_all(struct finder *f, bool switches, double latency, bool *changed,
                       struct nt_err *err)
{
    size_t until = f->g->vertices;
    for (;;) {
        size_t size;
        if (finder_init(f, err) != 0 ||
            bufe_search_run(f->search, f->g, switches, until, latency, f->o->work_max, &f->r->work,
                            f->members, &size, err) != 0)
            return -1;
        if (size < 2 || (size == 2 && !find_pair(f, switches, until, latency)))
            return 0;
        if (replace_clique(f, size, latency, err) != 0)
            return -1;
        *changed = true;
    }
}

/* The groups of latencies, smallest first, until one has a clique. Hosts and switches apart: a
 * clique is never mixed (2.2.3). */
static int replace_smallest(struct finder *f, bool *changed, struct nt_err *err)
{
    *changed = false;
    if (list_groups(f, err) != 0)
        return -1;
    for (size_t k = 0; k < f->groups && !*changed; k++)
        for (int switches = 0; switches < 2 && !*changed; switches++)
            if (replace_all(f, switches != 0, f->group[k], changed, err) != 0)
                return -1;
    return 0;
}

static int search_until_unchanged(struct finder *f, struct nt_err *err)
{
    bool changed;
    do {
        if (replace_smallest(f, &changed, err) != 0)
            return -1;
    } while (changed);
    if (delete_virtual(f, false, err) != 0)
        return -1;
    return delete_virtual(f, true, err);
}

int bufe_find_switches(struct bufe_graph *g, const struct nt_bufe_options *o,
                       struct nt_bufe_result *r, struct nt_err *err)
{
    struct finder f = {.g = g, .o = o, .r = r};
    int rc = bufe_search_create(&f.search, err);
    if (rc == 0)
        rc = search_until_unchanged(&f, err);
    bufe_search_destroy(f.search);
    nt_arena_fini(&f.memory);
    return rc;
}
