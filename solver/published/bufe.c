/* SPDX-License-Identifier: Apache-2.0 */
#include "bufe.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "stats.h"

/* ---- the graph ------------------------------------------------------------------------------ */

/* A dense undirected weighted graph that grows by switches. */
struct bufe_graph {
    struct nt_arena memory; /* of the arrays */
    size_t hosts, vertices, cap;
    float *weight; /* cap*cap; INFINITY: no edge */
    bool *alive;   /* cap; a rejoined switch is dead */
    double epsilon;
};

static float bufe_edge(const struct bufe_graph *g, size_t a, size_t b)
{
    return g->weight[a * g->cap + b];
}

static void bufe_edge_set(struct bufe_graph *g, size_t a, size_t b, float w)
{
    g->weight[a * g->cap + b] = w;
    g->weight[b * g->cap + a] = w;
}

static bool bufe_is_switch(const struct bufe_graph *g, size_t v)
{
    return v >= g->hosts;
}

/* Equation 1.9: equal within the relative tolerance. Infinity equals nothing. */
static bool bufe_equal(double a, double b, double epsilon)
{
    if (!isfinite(a) || !isfinite(b))
        return false;
    return 2 * fabs(b - a) <= epsilon * (a + b);
}

/* A tree has fewer switches of three links than hosts; more means that nothing was found. */
static size_t vertices_max(const struct bufe_graph *g)
{
    return 2 * g->hosts + 64;
}

static int resize_graph(struct bufe_graph *g, size_t cap, struct nt_err *err)
{
    struct nt_arena memory = {0};
    float *weight = nt_arena_array(&memory, cap * cap, sizeof *weight);
    bool *alive = nt_arena_array(&memory, cap, sizeof *alive);
    if (nt_arena_check(&memory, err) != 0) {
        nt_arena_fini(&memory);
        return -1;
    }
    for (size_t k = 0; k < cap * cap; k++)
        weight[k] = INFINITY;
    for (size_t v = 0; v < g->vertices; v++) {
        memcpy(weight + v * cap, g->weight + v * g->cap, g->vertices * sizeof *weight);
        alive[v] = g->alive[v];
    }
    nt_arena_fini(&g->memory);
    g->memory = memory;
    g->weight = weight;
    g->alive = alive;
    g->cap = cap;
    return 0;
}

static int graph_init(struct bufe_graph *g, size_t hosts, double epsilon, struct nt_err *err)
{
    *g = (struct bufe_graph){.hosts = hosts, .epsilon = epsilon};
    if (resize_graph(g, hosts + hosts / 4 + 16, err) != 0)
        return -1;
    g->vertices = hosts;
    for (size_t v = 0; v < hosts; v++)
        g->alive[v] = true;
    return 0;
}

static int graph_add_switch(struct bufe_graph *g, uint32_t *vertex, struct nt_err *err)
{
    size_t max = vertices_max(g);
    if (g->vertices >= max)
        return nt_err_set(err, NT_ERR_INPUT,
                          "bufe: more than %zu switches for %zu hosts; epsilon %g does not fit "
                          "these latencies",
                          max - g->hosts, g->hosts, g->epsilon);
    if (g->vertices == g->cap) {
        size_t cap = g->cap + g->cap / 2;
        if (resize_graph(g, cap < max ? cap : max, err) != 0)
            return -1;
    }
    *vertex = (uint32_t)g->vertices;
    g->alive[g->vertices++] = true;
    return 0;
}

/* ---- cliques -------------------------------------------------------------------------------- */

/* The largest clique of one latency: Bron and Kerbosch (Algorithm 457, 1973) with a pivot, cut off
 * if a greedy colouring shows that no larger clique follows (Tomita and Seki 2003). */

/* Looking at all pairs of vertices is work too. */
enum { PAIRS_A_VISIT = 1024 };

struct bufe_search {
    struct nt_arena memory; /* of the arrays */
    size_t cap, n, words;   /* vertices of the one kind, and 64-bit words for a set of them */
    uint32_t *vertex;       /* n: the graph's vertices */
    uint64_t *adjacent;     /* n sets */
    uint64_t *stack;        /* (n + 2) levels of three sets: P, X, candidates */
    uint64_t *colour;       /* two sets */
    uint32_t *chosen, *best;
    size_t best_size;
    uint64_t work, work_max;
};

static int search_reserve(struct bufe_search *s, size_t n, struct nt_err *err)
{
    if (n <= s->cap)
        return 0;
    size_t words = (n + 63) / 64;
    nt_arena_fini(&s->memory);
    s->cap = n;
    s->vertex = nt_arena_array(&s->memory, n, sizeof *s->vertex);
    s->adjacent = nt_arena_array(&s->memory, n * words, sizeof *s->adjacent);
    s->stack = nt_arena_array(&s->memory, (n + 2) * 3 * words, sizeof *s->stack);
    s->colour = nt_arena_array(&s->memory, 2 * words, sizeof *s->colour);
    s->chosen = nt_arena_array(&s->memory, n, sizeof *s->chosen);
    s->best = nt_arena_array(&s->memory, n, sizeof *s->best);
    return nt_arena_check(&s->memory, err);
}

static size_t count_bits(const uint64_t *set, size_t words)
{
    size_t c = 0;
    for (size_t w = 0; w < words; w++)
        c += (size_t)__builtin_popcountll(set[w]);
    return c;
}

static size_t count_common(const uint64_t *a, const uint64_t *b, size_t words)
{
    size_t c = 0;
    for (size_t w = 0; w < words; w++)
        c += (size_t)__builtin_popcountll(a[w] & b[w]);
    return c;
}

/* A clique needs as many colours as it has members: do the candidates take more than limit? */
static bool needs_more_colours(struct bufe_search *s, const uint64_t *candidates, size_t limit)
{
    uint64_t *left = s->colour, *free_for = s->colour + s->words;
    memcpy(left, candidates, s->words * sizeof *left);
    for (size_t colours = 0; count_bits(left, s->words) > 0; colours++) {
        if (colours == limit)
            return true;
        memcpy(free_for, left, s->words * sizeof *left);
        for (size_t w = 0; w < s->words; w++) {
            while (free_for[w] != 0) {
                size_t v = w * 64 + (size_t)__builtin_ctzll(free_for[w]);
                uint64_t bit = (uint64_t)1 << (v & 63);
                left[w] &= ~bit;
                free_for[w] &= ~bit;
                for (size_t k = w; k < s->words; k++)
                    free_for[k] &= ~s->adjacent[v * s->words + k];
            }
        }
    }
    return false;
}

/* The vertex of P or X with the most neighbours in P: only the others of P need to be tried. */
static size_t choose_pivot(const struct bufe_search *s, const uint64_t *p, const uint64_t *x)
{
    size_t best = 0, most = 0;
    bool any = false;
    for (size_t w = 0; w < s->words; w++) {
        for (uint64_t bits = p[w] | x[w]; bits != 0; bits &= bits - 1) {
            size_t v = w * 64 + (size_t)__builtin_ctzll(bits);
            size_t c = count_common(s->adjacent + v * s->words, p, s->words);
            if (!any || c > most) {
                any = true;
                most = c;
                best = v;
            }
        }
    }
    return best;
}

static bool visit_clique(struct bufe_search *s, size_t depth);

static bool try_each(struct bufe_search *s, size_t depth)
{
    size_t words = s->words;
    uint64_t *p = s->stack + depth * 3 * words, *x = p + words, *todo = x + words;
    uint64_t *next_p = todo + words, *next_x = next_p + words;
    for (size_t w = 0; w < words; w++) {
        for (; todo[w] != 0; todo[w] &= todo[w] - 1) {
            size_t v = w * 64 + (size_t)__builtin_ctzll(todo[w]);
            const uint64_t *near = s->adjacent + v * words;
            for (size_t k = 0; k < words; k++) {
                next_p[k] = p[k] & near[k];
                next_x[k] = x[k] & near[k];
            }
            s->chosen[depth] = s->vertex[v];
            if (!visit_clique(s, depth + 1))
                return false;
            uint64_t bit = (uint64_t)1 << (v & 63);
            p[w] &= ~bit;
            x[w] |= bit;
        }
    }
    return true;
}

/* depth members are chosen; level depth of the stack holds P and X. False: out of work. */
static bool visit_clique(struct bufe_search *s, size_t depth)
{
    size_t words = s->words;
    uint64_t *p = s->stack + depth * 3 * words, *x = p + words, *todo = x + words;
    if (++s->work > s->work_max)
        return false;
    size_t candidates = count_bits(p, words);
    if (candidates == 0) {
        if (depth > s->best_size && count_bits(x, words) == 0) {
            s->best_size = depth;
            memcpy(s->best, s->chosen, depth * sizeof *s->best);
        }
        return true;
    }
    if (depth + candidates <= s->best_size)
        return true;
    if (s->best_size > depth && !needs_more_colours(s, p, s->best_size - depth))
        return true;
    const uint64_t *near = s->adjacent + choose_pivot(s, p, x) * words;
    for (size_t w = 0; w < words; w++)
        todo[w] = p[w] & ~near[w];
    return try_each(s, depth);
}

static bool in_group(const struct bufe_graph *g, size_t a, size_t b, double latency)
{
    return bufe_equal(bufe_edge(g, a, b), latency, g->epsilon);
}

/* The vertices of the kind with an edge of this latency to another, and their adjacency. */
static void lay_out(struct bufe_search *s, const struct bufe_graph *g, bool switches, size_t until,
                    double latency)
{
    size_t from = switches ? g->hosts : 0, to = switches ? until : g->hosts;
    s->n = 0;
    for (size_t a = from; a < to; a++) {
        bool any = false;
        for (size_t b = from; g->alive[a] && b < to && !any; b++)
            any = b != a && in_group(g, a, b, latency);
        if (any)
            s->vertex[s->n++] = (uint32_t)a;
    }
    s->words = (s->n + 63) / 64;
    memset(s->adjacent, 0, s->n * s->words * sizeof *s->adjacent);
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < s->n; j++) {
            if (j != i && in_group(g, s->vertex[i], s->vertex[j], latency))
                s->adjacent[i * s->words + j / 64] |= (uint64_t)1 << (j & 63);
        }
    }
    memset(s->stack, 0, 3 * s->words * sizeof *s->stack);
    for (size_t i = 0; i < s->n; i++)
        s->stack[i / 64] |= (uint64_t)1 << (i & 63);
}

struct finder {
    struct bufe_graph *g;
    const struct nt_bufe_options *o;
    struct nt_bufe_result *r;
    struct bufe_search search;
    struct nt_arena memory; /* of the arrays */
    uint32_t *members;      /* vertices of them */
    bool *inside;           /* vertices of them: is in the clique at hand */
    size_t cap;
    float *group; /* latencies of the groups, ascending */
    size_t groups, group_room;
};

/* Finds the largest clique among the vertices of one kind (hosts, or switches below until) whose
 * edges all have roughly this latency, and writes it to f->members; the first one wins ties.
 * NT_ERR_INPUT: more than work_max. */
static int find_clique(struct finder *f, bool switches, size_t until, double latency,
                       struct nt_err *err)
{
    struct bufe_search *s = &f->search;
    if (search_reserve(s, f->g->cap, err) != 0)
        return -1;
    lay_out(s, f->g, switches, until, latency);
    s->best_size = 0;
    s->work = f->r->work + (uint64_t)s->n * s->n / PAIRS_A_VISIT;
    s->work_max = f->o->work_max;
    bool done = s->n == 0 || visit_clique(s, 0);
    f->r->work = s->work;
    if (!done)
        return nt_err_set(err, NT_ERR_INPUT,
                          "bufe: the clique search at %g us needs more than %llu visits; epsilon "
                          "%g does not fit these latencies",
                          latency, (unsigned long long)s->work_max, f->g->epsilon);
    memcpy(f->members, s->best, s->best_size * sizeof *f->members);
    return 0;
}

/* ---- switches ------------------------------------------------------------------------------- */

/* Algorithm 2 (cliques of one latency become switches), algorithm 3 (virtual switch-to-switch
 * edges go) and the rules for hosts of several kinds (2.2.5). */

/* The groups of the edges' current latencies. A set with approximate comparison depends on the
 * order of insertion (2.2.3); here the smallest value opens a group and its median represents it,
 * as if the median had been inserted first. */
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

/* Whether a path over via explains an edge: it is as long, and longer than either of its parts, so
 * that two edges never explain each other. */
static bool explained_by(const struct bufe_graph *g, size_t a, size_t b, size_t via)
{
    float w = bufe_edge(g, a, b), first = bufe_edge(g, a, via), second = bufe_edge(g, via, b);
    return isfinite(first) && isfinite(second) && w > first && w > second &&
           bufe_equal(w, (double)first + (double)second, g->epsilon);
}

/* Algorithm 3: whether the shortest path without the edge is as long as the edge. */
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

/* Deletes the marked pairs after all were tested, as algorithm 3 does. */
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
        other = g->hosts - 1; /* edges of the other one may also have length zero */
    }
}

/* Deletes the edges of the clique and joins its members to a new switch by half the latency.
 * Vertices that were equally far from all of them are joined to the switch. */
static int replace_clique(struct finder *f, size_t size, double latency, struct nt_err *err)
{
    struct bufe_graph *g = f->g;
    uint32_t s = 0;
    if (graph_add_switch(g, &s, err) != 0 || finder_init(f, err) != 0)
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

/* Replaces all cliques of one kind and latency that exist at the beginning. Edges between new
 * switches are excluded: they are shorter, and could only by chance have this latency. */
static int replace_all(struct finder *f, bool switches, double latency, bool *changed,
                       struct nt_err *err)
{
    size_t until = f->g->vertices;
    for (;;) {
        if (finder_init(f, err) != 0 || find_clique(f, switches, until, latency, err) != 0)
            return -1;
        size_t size = f->search.best_size;
        if (size < 2 || (size == 2 && !find_pair(f, switches, until, latency)))
            return 0;
        if (replace_clique(f, size, latency, err) != 0)
            return -1;
        *changed = true;
    }
}

/* The groups of latencies, smallest first, until one has a clique. Hosts and switches separately: a
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

/* Algorithms 2 and 3 and the rules of 2.2.5, in place. */
static int find_switches(struct bufe_graph *g, const struct nt_bufe_options *o,
                         struct nt_bufe_result *r, struct nt_err *err)
{
    struct finder f = {.g = g, .o = o, .r = r};
    int rc = search_until_unchanged(&f, err);
    nt_arena_fini(&f.search.memory);
    nt_arena_fini(&f.memory);
    return rc;
}

/* ---- latencies of links ------------------------------------------------------------------ */

/* Section 2.4: the latencies of links that cannot be measured by themselves, by a linear
 * regression over all pairs of hosts; and the links' throughputs, as far as pairs show them (2.3).
 */

struct waiting {
    double distance;
    uint32_t vertex;
};

/* Shortest paths from one host; a path counts only where it is the only one (2.4). */
struct paths {
    size_t vertices;
    struct nt_graph graph;
    struct waiting *heap; /* 2*links + 1 of them */
    size_t waiting;
    double *distance;
    uint32_t *via, *previous; /* the last link of the path, and the vertex before it */
    bool *done, *several;
};

struct fit {
    const struct nt_model *model;
    const float *latency;              /* hosts*hosts, infinity: not measured */
    const struct nt_matrix *bandwidth; /* may be NULL */
    struct nt_bufe_result *r;
    double *throughput; /* links of them, MB/s; 0: unknown */
    double *normal;     /* links*links: A'A */
    double *right;      /* links: A'b */
    double sum, sum_squares, residual_squares;
    size_t rows;
};

static int paths_init(struct paths *p, const struct nt_model *m, struct nt_arena *memory,
                      struct nt_err *err)
{
    size_t v = m->hosts + m->switches;
    *p = (struct paths){.vertices = v};
    p->heap = nt_arena_array(memory, 2 * m->links + 1, sizeof *p->heap);
    p->distance = nt_arena_array(memory, v, sizeof *p->distance);
    p->via = nt_arena_array(memory, v, sizeof *p->via);
    p->previous = nt_arena_array(memory, v, sizeof *p->previous);
    p->done = nt_arena_array(memory, v, sizeof *p->done);
    p->several = nt_arena_array(memory, v, sizeof *p->several);
    return nt_graph_init(&p->graph, m, memory, err);
}

static bool heap_before(struct waiting a, struct waiting b)
{
    return a.distance != b.distance ? a.distance < b.distance : a.vertex < b.vertex;
}

static void heap_push(struct paths *p, struct waiting w)
{
    size_t k = p->waiting++;
    for (; k > 0 && heap_before(w, p->heap[(k - 1) / 2]); k = (k - 1) / 2)
        p->heap[k] = p->heap[(k - 1) / 2];
    p->heap[k] = w;
}

static struct waiting heap_pop(struct paths *p)
{
    struct waiting first = p->heap[0], last = p->heap[--p->waiting];
    size_t k = 0;
    for (size_t child; (child = 2 * k + 1) < p->waiting; k = child) {
        if (child + 1 < p->waiting && heap_before(p->heap[child + 1], p->heap[child]))
            child++;
        if (!heap_before(p->heap[child], last))
            break;
        p->heap[k] = p->heap[child];
    }
    p->heap[k] = last;
    return first;
}

static void relax_vertex(struct paths *p, const struct nt_model *m, uint32_t u)
{
    for (uint32_t k = p->graph.start[u]; k < p->graph.start[u + 1]; k++) {
        uint32_t link = p->graph.link[k], to = p->graph.to[k];
        double d = p->distance[u] + m->link[link].latency_us;
        if (p->done[to])
            continue;
        if (d < p->distance[to] * (1 - 1e-6)) {
            p->distance[to] = d;
            p->via[to] = link;
            p->previous[to] = u;
            p->several[to] = p->several[u];
            heap_push(p, (struct waiting){d, to});
        } else if (d <= p->distance[to] * (1 + 1e-6)) {
            p->several[to] = true;
        }
    }
}

/* Dijkstra's algorithm. Each push follows a new step, so 2*links + 1 elements are enough. */
static void paths_from(struct paths *p, const struct nt_model *m, uint32_t source)
{
    for (size_t v = 0; v < p->vertices; v++) {
        p->distance[v] = INFINITY;
        p->done[v] = p->several[v] = false;
    }
    p->distance[source] = 0;
    p->waiting = 0;
    heap_push(p, (struct waiting){0, source});
    while (p->waiting > 0) {
        uint32_t u = heap_pop(p).vertex;
        if (p->done[u])
            continue;
        p->done[u] = true;
        relax_vertex(p, m, u);
    }
}

/* One value a pair, the mean of both directions; 0: not measured. */
static double pair_bandwidth(const struct nt_matrix *b, size_t i, size_t j)
{
    float x = nt_matrix_get(b, i, j), y = nt_matrix_get(b, j, i);
    float v = isnan(x) ? y : isnan(y) ? x : (x + y) / 2;
    return isnan(v) ? 0 : (double)v;
}

typedef void pair_work(struct fit *f, const struct paths *p, uint32_t from, uint32_t to);

/* A pair's throughput is the smallest on its path (assumption 2.1.3), so a link has at least
 * the largest of the pairs that use it. */
static void see_throughput(struct fit *f, const struct paths *p, uint32_t from, uint32_t to)
{
    double t = pair_bandwidth(f->bandwidth, from, to);
    for (uint32_t v = to; v != from; v = p->previous[v])
        if (t > f->throughput[p->via[v]])
            f->throughput[p->via[v]] = t;
}

static double measured_latency(const struct fit *f, uint32_t from, uint32_t to)
{
    return (double)f->latency[from * f->model->hosts + to];
}

/* A row of A: the links on the path. Only A'A and A'b are kept; A would have n*(n-1)/2 rows. */
static void add_row(struct fit *f, const struct paths *p, uint32_t from, uint32_t to)
{
    double latency = measured_latency(f, from, to);
    if (!isfinite(latency))
        return;
    for (uint32_t v = to; v != from; v = p->previous[v]) {
        for (uint32_t u = to; u != from; u = p->previous[u])
            f->normal[(size_t)p->via[v] * f->model->links + p->via[u]] += 1;
        f->right[p->via[v]] += latency;
    }
    f->rows++;
    f->sum += latency;
    f->sum_squares += latency * latency;
}

static void add_residual(struct fit *f, const struct paths *p, uint32_t from, uint32_t to)
{
    double latency = measured_latency(f, from, to);
    if (!isfinite(latency))
        return;
    for (uint32_t v = to; v != from; v = p->previous[v])
        latency -= f->r->fitted_us[p->via[v]];
    f->residual_squares += latency * latency;
}

static void for_each_pair(struct fit *f, struct paths *p, pair_work *work)
{
    for (uint32_t from = 0; from < f->model->hosts; from++) {
        paths_from(p, f->model, from);
        for (uint32_t to = from + 1; to < f->model->hosts; to++)
            if (p->done[to] && !p->several[to])
                work(f, p, from, to);
    }
}

/* Cholesky of a copy (scratch); false where A'A is singular or nearly so. */
static bool solve_regular(struct fit *f, lapack_int n, double *copy)
{
    double reciprocal = 0;
    memcpy(copy, f->normal, (size_t)n * (size_t)n * sizeof *copy);
    double norm = LAPACKE_dlansy(LAPACK_COL_MAJOR, '1', 'L', n, copy, n);
    return LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, copy, n) == 0 &&
           LAPACKE_dpocon(LAPACK_COL_MAJOR, 'L', n, copy, n, norm, &reciprocal) == 0 &&
           reciprocal > 1e-9 &&
           LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', n, 1, copy, n, f->r->fitted_us, n) == 0;
}

/* Least squares; if links cannot be distinguished, the solution of smallest norm. */
static int solve_fit(struct fit *f, struct nt_err *err)
{
    lapack_int n = (lapack_int)f->model->links, rank = n, info = 0;
    NT_SCOPED struct nt_arena memory = {0};
    double *copy = nt_arena_array(&memory, (size_t)n * (size_t)n, sizeof *copy);
    lapack_int *order = nt_arena_array(&memory, (size_t)n, sizeof *order);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memcpy(f->r->fitted_us, f->right, f->model->links * sizeof *f->right);
    if (!solve_regular(f, n, copy))
        info = LAPACKE_dgelsy(LAPACK_COL_MAJOR, n, n, 1, f->normal, n, f->r->fitted_us, n, order,
                              1e-9, &rank);
    if (info != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "bufe: the regression failed (%d)", (int)info);
    f->r->rank = (size_t)rank;
    f->r->rows = f->rows;
    f->r->fitted = true;
    return 0;
}

static void set_figures(struct fit *f, struct nt_model *m)
{
    for (size_t k = 0; k < m->links && f->r->fitted; k++) /* a model has no negative lengths */
        m->link[k].latency_us = f->r->fitted_us[k] > 0 ? f->r->fitted_us[k] : 0;
    for (size_t k = 0; k < m->links; k++) {
        if (f->throughput[k] > 0)
            m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = f->throughput[k];
        /* one flow does not fill a link between switches (2.3.3) */
        m->link[k].at_least =
            f->throughput[k] > 0 && m->link[k].a >= m->hosts && m->link[k].b >= m->hosts;
    }
    if (!f->r->fitted)
        return;
    double total = f->sum_squares - f->sum * f->sum / (double)f->rows;
    if (f->residual_squares < 1e-18 * f->sum_squares) /* rounding, which differs by machine */
        f->residual_squares = 0;
    m->rms_us = sqrt(f->residual_squares / (double)f->rows);
    m->r2 = total > 1e-12 * f->sum_squares ? 1 - f->residual_squares / total : 1;
}

/* Latencies and throughputs of r->model's links. symmetric: hosts*hosts latencies. */
static int fit_links(const float *symmetric, const struct nt_matrix *bandwidth,
                     struct nt_bufe_result *r, struct nt_err *err)
{
    struct nt_model *m = r->model;
    struct fit fit = {.model = m, .latency = symmetric, .bandwidth = bandwidth, .r = r}, *f = &fit;
    NT_SCOPED struct nt_arena memory = {0};
    struct paths p;
    if (m->links == 0 || m->links > NT_BUFE_FIT_LINKS_MAX)
        return 0;
    f->throughput = nt_arena_array(&memory, m->links, sizeof *f->throughput);
    f->normal = nt_arena_array(&memory, m->links * m->links, sizeof *f->normal);
    f->right = nt_arena_array(&memory, m->links, sizeof *f->right);
    r->fitted_us = nt_arena_array(&r->memory, m->links, sizeof *r->fitted_us);
    if (nt_arena_check(&r->memory, err) != 0 || paths_init(&p, m, &memory, err) != 0)
        return -1;
    int rc = 0;
    if (f->bandwidth != NULL)
        for_each_pair(f, &p, see_throughput);
    for_each_pair(f, &p, add_row);
    if (f->rows > 0 && (rc = solve_fit(f, err)) == 0)
        for_each_pair(f, &p, add_residual);
    if (rc == 0)
        set_figures(f, m);
    return rc;
}

/* ---- the method ----------------------------------------------------------------------------- */

void nt_bufe_default(struct nt_bufe_options *options)
{
    *options = (struct nt_bufe_options){.epsilon = 0.15, .work_max = 20000000};
}

static int check_matrix(const struct nt_matrix *m, enum nt_matrix_kind kind, const char *what,
                        struct nt_err *err)
{
    if (m->kind != kind)
        return nt_err_set(err, NT_ERR_INPUT, "bufe: the %s matrix holds something else", what);
    for (size_t i = 0; i < m->n; i++) {
        for (size_t j = 0; j < m->n; j++) {
            float v = nt_matrix_get(m, i, j);
            if (i != j && (v < 0 || isinf(v)))
                return nt_err_set(err, NT_ERR_INPUT,
                                  "bufe: %s of hosts %zu and %zu is %g, expected at least 0", what,
                                  i, j, (double)v);
        }
    }
    return 0;
}

static int check_matrices(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                          const struct nt_bufe_options *o, struct nt_err *err)
{
    if (latency->n > NT_BUFE_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "bufe: %zu hosts, the method takes at most %d",
                          latency->n, (int)NT_BUFE_HOSTS_MAX);
    if (!(o->epsilon > 0 && o->epsilon < 2))
        return nt_err_set(err, NT_ERR_INPUT, "bufe: epsilon %g, expected between 0 and 2",
                          o->epsilon);
    if (check_matrix(latency, NT_MATRIX_LATENCY_US, "latency", err) != 0)
        return -1;
    if (bandwidth == NULL)
        return 0;
    if (bandwidth->n != latency->n)
        return nt_err_set(err, NT_ERR_INPUT, "bufe: latencies of %zu hosts, but bandwidths of %zu",
                          latency->n, bandwidth->n);
    return check_matrix(bandwidth, NT_MATRIX_BANDWIDTH_MBPS, "bandwidth", err);
}

/* Assumption 2.1.1: one value a pair. Infinity: not measured. */
static void make_symmetric(const struct nt_matrix *m, float *w)
{
    size_t n = m->n;
    for (size_t i = 0; i < n; i++) {
        w[i * n + i] = INFINITY;
        for (size_t j = 0; j < i; j++) {
            float a = nt_matrix_get(m, i, j), b = nt_matrix_get(m, j, i);
            float v = isnan(a) ? b : isnan(b) ? a : (a + b) / 2;
            w[i * n + j] = w[j * n + i] = isnan(v) ? INFINITY : v;
        }
    }
}

static int compare_edges(const void *a, const void *b)
{
    const struct nt_bufe_edge *x = a, *y = b;
    return NT_ORDER(x->latency_us, y->latency_us, NT_ORDER(x->a, y->a, NT_ORDER(x->b, y->b, 0)));
}

static size_t list_candidates(const float *w, size_t n, struct nt_bufe_edge *c)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (isfinite(w[i * n + j]))
                c[k++] = (struct nt_bufe_edge){(uint32_t)i, (uint32_t)j, (double)w[i * n + j]};
    if (k > 0)
        qsort(c, k, sizeof *c, compare_edges);
    return k;
}

/* Equation 2.2: the shortest path from a to b ends with an edge at b, and its beginning has been
 * measured. */
static float shortest_path(const struct bufe_graph *g, const float *w, size_t a, size_t b)
{
    const float *measured = w + a * g->hosts, *edge = g->weight + b * g->cap;
    float best = INFINITY;
    for (size_t d = 0; d < g->hosts; d++) {
        float length = measured[d] + edge[d];
        best = length < best ? length : best;
    }
    return best;
}

/* Algorithm 1: in ascending order, a pair becomes an edge unless some path is as short. Edges are
 * moved to the front of c. */
static size_t basic_model(struct bufe_graph *g, const float *w, struct nt_bufe_edge *c,
                          size_t count)
{
    size_t kept = 0;
    for (size_t k = 0; k < count; k++) {
        float path = shortest_path(g, w, c[k].a, c[k].b);
        if (c[k].latency_us > (double)path || bufe_equal(c[k].latency_us, path, g->epsilon))
            continue;
        bufe_edge_set(g, c[k].a, c[k].b, (float)c[k].latency_us);
        c[kept++] = c[k];
    }
    return kept;
}

/* Returns the family, without a confidence. In a tree each host has one link, to a switch. */
static enum nt_family family_of(const struct nt_model *m)
{
    size_t host_ends = 0, hosts = 0;
    for (size_t h = 0; h < m->hosts; h++)
        hosts += m->missing[h] ? 0 : 1;
    for (size_t k = 0; k < m->links; k++)
        host_ends += (m->link[k].a < m->hosts ? 1U : 0U) + (m->link[k].b < m->hosts ? 1U : 0U);
    if (m->switches == 0)
        return hosts > 1 && m->links == hosts * (hosts - 1) / 2 ? NT_FAMILY_FULL_MESH
                                                                : NT_FAMILY_IRREGULAR;
    if (host_ends > hosts || m->links != hosts + m->switches - 1)
        return NT_FAMILY_IRREGULAR;
    return m->switches == 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
}

static int make_model(const struct bufe_graph *g, struct nt_model **out, struct nt_err *err)
{
    size_t switches = 0, links = 0, k = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *name = nt_arena_array(&memory, g->vertices, sizeof *name);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t v = 0; v < g->vertices; v++) {
        if (g->alive[v])
            name[v] = (uint32_t)(v < g->hosts ? v : g->hosts + switches++);
        for (size_t u = 0; u < v; u++)
            links += isfinite(bufe_edge(g, v, u)) ? 1 : 0;
    }
    struct nt_model *m;
    if (nt_model_create(g->hosts, switches, links, &m, err) != 0)
        return -1;
    for (size_t u = 0; u < g->vertices; u++) {
        for (size_t v = u + 1; v < g->vertices; v++) {
            if (!isfinite(bufe_edge(g, u, v)))
                continue;
            m->link[k].a = name[u];
            m->link[k].b = name[v];
            m->link[k++].latency_us = (double)bufe_edge(g, u, v);
        }
    }
    m->confidence = NAN;
    *out = m;
    return 0;
}

static void mark_missing(struct nt_model *m)
{
    for (size_t h = 0; h < m->hosts; h++)
        m->missing[h] = m->hosts > 1;
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a < m->hosts)
            m->missing[m->link[k].a] = false;
        if (m->link[k].b < m->hosts)
            m->missing[m->link[k].b] = false;
    }
}

static int run_method(float *w, const struct nt_matrix *bandwidth, const struct nt_bufe_options *o,
                      struct bufe_graph *g, struct nt_bufe_result *r, struct nt_err *err)
{
    size_t n = g->hosts, count;
    r->basic_edge = nt_arena_array(&r->memory, n * n / 2, sizeof *r->basic_edge);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    count = list_candidates(w, n, r->basic_edge);
    r->basic = basic_model(g, w, r->basic_edge, count);
    if (find_switches(g, o, r, err) != 0 || make_model(g, &r->model, err) != 0)
        return -1;
    mark_missing(r->model);
    if (nt_model_canonicalise(r->model, err) != 0)
        return -1;
    r->model->family = family_of(r->model);
    return fit_links(w, bandwidth, r, err);
}

int nt_bufe_infer(const struct nt_matrix *latency, const struct nt_matrix *bandwidth,
                  const struct nt_bufe_options *options, struct nt_bufe_result **out,
                  struct nt_err *err)
{
    struct nt_bufe_options o;
    nt_bufe_default(&o);
    if (options != NULL)
        o = *options;
    if (check_matrices(latency, bandwidth, &o, err) != 0)
        return -1;
    NT_SCOPED struct nt_arena memory = {0};
    struct bufe_graph g = {0};
    float *w = nt_arena_array(&memory, latency->n * latency->n, sizeof *w);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct nt_bufe_result *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    make_symmetric(latency, w);
    int rc = graph_init(&g, latency->n, o.epsilon, err);
    if (rc == 0)
        rc = run_method(w, bandwidth, &o, &g, r, err);
    nt_arena_fini(&g.memory);
    if (rc == 0)
        *out = r;
    else
        nt_bufe_destroy(r);
    return rc;
}

void nt_bufe_destroy(struct nt_bufe_result *result)
{
    if (result == NULL)
        return;
    nt_model_destroy(result->model);
    nt_object_destroy(result);
}
