/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_links.h"
#include "graph.h"
#include "memory.h"
#include "rooted_tree.h"

/* Limit of the steps of each method, a tenth of a second. The sizes follow: a tree has 8192^2 / 2
 * pairs of hosts. Graphs of 20 have 2^19 halvings, with 19 links to add in each. 8 passes visit a
 * core of 2048 once per vertex. */
enum { STEPS_MAX = 1 << 25, TREE_HOSTS_MAX = 8192, EXACT_MAX = 20, PASSES = 8, CORE_MAX = 2048 };

/* ---- trees ---- */

/* cost[side][k]: least capacity from side 0 to side 1 among the links below a vertex on this side,
 * with k of the hosts below on side 0. */
struct halves {
    double *cost[2];
    size_t hosts;
};

static void halves_fini(struct halves *x)
{
    free(x->cost[0]);
    free(x->cost[1]);
    x->cost[0] = x->cost[1] = NULL;
}

static int halves_init(struct halves *x, size_t hosts)
{
    x->hosts = hosts;
    x->cost[0] = malloc((hosts + 1) * sizeof *x->cost[0]);
    x->cost[1] = malloc((hosts + 1) * sizeof *x->cost[1]);
    if (x->cost[0] == NULL || x->cost[1] == NULL) {
        halves_fini(x);
        return -1;
    }
    for (size_t k = 0; k <= hosts; k++)
        x->cost[0][k] = x->cost[1][k] = INFINITY;
    return 0;
}

/* The child c is below p, on a link of the two capacities. */
static int merge_halves(struct halves *p, const struct halves *c, double up, double down)
{
    struct halves sum;
    if (halves_init(&sum, p->hosts + c->hosts) != 0)
        return -1;
    for (size_t j = 0; j <= c->hosts; j++) {
        double on0 = fmin(c->cost[0][j], c->cost[1][j] + down);
        double on1 = fmin(c->cost[1][j], c->cost[0][j] + up);
        for (size_t k = 0; k <= p->hosts; k++) {
            sum.cost[0][k + j] = fmin(sum.cost[0][k + j], p->cost[0][k] + on0);
            sum.cost[1][k + j] = fmin(sum.cost[1][k + j], p->cost[1][k] + on1);
        }
    }
    halves_fini(p);
    *p = sum;
    return 0;
}

static int start_vertex(const struct nt_rooted_tree *h, uint32_t v, struct halves *x)
{
    size_t host = v < h->hosts;
    if (halves_init(x, host) != 0)
        return -1;
    x->cost[0][host] = 0;
    x->cost[1][0] = 0;
    return 0;
}

static double capacity_of(const struct nt_model *m, uint32_t channel)
{
    const struct nt_link *l = &m->link[channel / 2];
    return channel % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
}

static int halve_tree(const struct nt_model *m, const struct nt_rooted_tree *h, struct halves *part)
{
    for (size_t k = h->reached; k-- > 0;) {
        uint32_t s = h->order[k];
        if (start_vertex(h, s, &part[s]) != 0)
            return -1;
        for (uint32_t i = h->first[s]; i < h->first[s + 1]; i++) {
            uint32_t c = h->child[i];
            if (merge_halves(&part[s], &part[c], capacity_of(m, h->up[c]),
                             capacity_of(m, nt_channel_back(h->up[c]))) != 0)
                return -1;
            halves_fini(&part[c]);
        }
    }
    return 0;
}

static int bisect_tree(struct nt_model *m, const struct nt_rooted_tree *h, struct nt_err *err)
{
    size_t n = nt_rooted_tree_count(h, h->root);
    if (n < 2 || n > TREE_HOSTS_MAX)
        return 0;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t up = h->up[h->order[k]];
        if (nt_rooted_tree_count(h, h->order[k]) > 0 &&
            (isnan(capacity_of(m, up)) || isnan(capacity_of(m, nt_channel_back(up)))))
            return 0;
    }
    struct halves *part = calloc(h->vertices, sizeof *part);
    if (part == NULL || halve_tree(m, h, part) != 0) {
        for (size_t k = 0; part != NULL && k < h->vertices; k++)
            halves_fini(&part[k]);
        free(part);
        return nt_err_memory(err);
    }
    const struct halves *all = &part[h->root];
    double least = INFINITY;
    for (int side = 0; side < 2; side++)
        least = fmin(least, fmin(all->cost[side][n / 2], all->cost[side][n - n / 2]));
    m->bisection_MBps = least;
    halves_fini(&part[h->root]);
    free(part);
    return 0;
}

/* ---- graphs: the side of each vertex ------------------------------------------------------------
 *
 * Hosts with one link, to a switch, are leaves: they are on the side of their switch unless a half
 * has too many hosts; then those with the narrowest links change sides. The core is the rest. */

struct leaf {
    uint32_t at; /* in the core */
    double MBps; /* of its link, in the direction that counts */
};

struct cut {
    size_t hosts, core;
    uint32_t *weight;     /* core: hosts on it, including itself */
    uint32_t *start, *to; /* core: its links are start[v]..start[v + 1] - 1 */
    double *out, *in;     /*   with the capacity from v and to v */
    size_t leaves;
    struct leaf *up, *down; /* by the capacity from the host, and to it; the narrowest first */
    bool *side, *best_side; /* core */
    double crossing[2];     /* from side 0 to side 1, and back */
    size_t on[2];           /* hosts on each side */
    double best;
    struct nt_arena memory;
};

static int by_capacity(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    return NT_ORDER(x->MBps, y->MBps, NT_ORDER(x->at, y->at, 0));
}

/* The least addition to the cut if the side has this number of hosts: some leaves of the larger
 * side move to the other. INFINITY: limit or more, or there are not as many. */
static double moving_cost(const struct cut *x, bool from, size_t want, double limit)
{
    bool gives = x->on[from] > want;
    size_t move = gives ? x->on[from] - want : want - x->on[from];
    const struct leaf *leaf = gives ? x->down : x->up;
    double sum = 0;
    for (size_t k = 0; k < x->leaves && move > 0 && sum < limit; k++)
        if (x->side[leaf[k].at] == (gives ? from : !from)) {
            sum += leaf[k].MBps;
            move--;
        }
    return move > 0 ? INFINITY : sum;
}

/* The cut of the current sides: from either half to the other; they differ by at most one host. */
static double cost_of(const struct cut *x, double limit)
{
    double least = INFINITY;
    for (int from = 0; from < 2; from++)
        for (int more = 0; more < 2 && x->crossing[from] < fmin(limit, least); more++) {
            size_t half = more ? x->hosts - x->hosts / 2 : x->hosts / 2;
            double over = fmin(limit, least) - x->crossing[from];
            least = fmin(least, x->crossing[from] + moving_cost(x, from, half, over));
        }
    return least;
}

static void keep_best(struct cut *x)
{
    double cost = cost_of(x, x->best);
    if (!(cost < x->best))
        return;
    x->best = cost;
    memcpy(x->best_side, x->side, x->core * sizeof *x->side);
}

static void change_side(struct cut *x, uint32_t v)
{
    bool was = x->side[v];
    for (uint32_t i = x->start[v]; i < x->start[v + 1]; i++) {
        bool same = x->side[x->to[i]] == was;
        /* links within a side now cross, crossing links no longer do */
        x->crossing[!was] += same ? x->out[i] : 0;
        x->crossing[was] += same ? x->in[i] : 0;
        x->crossing[was] -= same ? 0 : x->out[i];
        x->crossing[!was] -= same ? 0 : x->in[i];
    }
    x->on[was] -= x->weight[v];
    x->on[!was] += x->weight[v];
    x->side[v] = !was;
}

static void set_sides(struct cut *x, const bool *side)
{
    for (uint32_t v = 0; v < x->core; v++)
        if (x->side[v] != side[v])
            change_side(x, v);
}

/* All halvings, each a change from the previous one (F. Gray, US patent 2632058, 1953). The last
 * vertex of the core keeps its side, because the other halvings are the same with exchanged
 * sides. */
static void try_all(struct cut *x)
{
    keep_best(x);
    for (uint32_t k = 1; k < 1u << (x->core - 1); k++) {
        uint32_t v = 0;
        while ((k >> v & 1) == 0)
            v++;
        change_side(x, v);
        keep_best(x);
    }
}

/* ---- graphs too large for that ---- */

struct search {
    struct cut *cut;
    uint32_t *hops[2]; /* core: from the two vertices */
    uint32_t *queue;
    bool *fixed, *start;
    double *gain; /* core: decrease of the crossing capacity, both directions, by its change */
    struct rank {
        int64_t nearer; /* to the one than to the other */
        uint32_t vertex;
    } * order;
};

static void count_hops(const struct cut *x, uint32_t from, uint32_t *hops, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    memset(hops, 0xff, x->core * sizeof *hops);
    hops[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t i = x->start[v]; i < x->start[v + 1]; i++)
            if (hops[x->to[i]] == UINT32_MAX) {
                hops[x->to[i]] = hops[v] + 1;
                queue[tail++] = x->to[i];
            }
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return NT_ORDER(x->nearer, y->nearer, NT_ORDER(x->vertex, y->vertex, 0));
}

/* The half of the vertices that is nearer to one vertex than to another: in grids a straight cut,
 * in dragonflies whole groups. */
static void try_nearer(struct search *s)
{
    struct cut *x = s->cut;
    size_t on = 0;
    for (uint32_t v = 0; v < x->core; v++)
        s->order[v] = (struct rank){(int64_t)s->hops[0][v] - (int64_t)s->hops[1][v], v};
    qsort(s->order, x->core, sizeof *s->order, by_rank);
    for (size_t k = 0; k < x->core; k++) {
        uint32_t v = s->order[k].vertex;
        s->start[v] = on + x->weight[v] / 2 >= x->hosts / 2;
        on += s->start[v] ? 0 : x->weight[v];
    }
    set_sides(x, s->start);
    keep_best(x);
}

static void begin_pass(struct search *s)
{
    const struct cut *x = s->cut;
    memset(s->fixed, 0, x->core * sizeof *s->fixed);
    memset(s->gain, 0, x->core * sizeof *s->gain);
    for (uint32_t v = 0; v < x->core; v++)
        for (uint32_t i = x->start[v]; i < x->start[v + 1]; i++)
            s->gain[v] += (x->side[x->to[i]] == x->side[v] ? -1 : 1) * (x->out[i] + x->in[i]);
}

/* The vertex with the largest gain in the half that has more, or in either. */
static uint32_t best_to_move(const struct search *s)
{
    const struct cut *x = s->cut;
    uint32_t best = UINT32_MAX;
    for (uint32_t v = 0; v < x->core; v++) {
        bool wanted = x->on[0] == x->on[1] || x->side[v] == (x->on[1] > x->on[0]);
        if (wanted && !s->fixed[v] && (best == UINT32_MAX || s->gain[v] > s->gain[best]))
            best = v;
    }
    return best;
}

static void move_vertex(struct search *s, uint32_t v)
{
    struct cut *x = s->cut;
    s->fixed[v] = true;
    change_side(x, v);
    for (uint32_t i = x->start[v]; i < x->start[v + 1]; i++)
        s->gain[x->to[i]] += (x->side[x->to[i]] == x->side[v] ? -2 : 2) * (x->out[i] + x->in[i]);
    keep_best(x);
}

/* C. M. Fiduccia, R. M. Mattheyses, DAC 1982: starting from the best cut, each vertex changes its
 * side once, from the larger half, best first; the best cut on the way is kept. Repeats until a
 * pass finds no better one. */
static void refine(struct search *s)
{
    struct cut *x = s->cut;
    double before = INFINITY;
    for (int pass = 0; pass < PASSES && x->best < before; pass++) {
        before = x->best;
        set_sides(x, x->best_side);
        begin_pass(s);
        for (uint32_t v; (v = best_to_move(s)) != UINT32_MAX;)
            move_vertex(s, v);
    }
}

/* The best of the halves that are nearer to the vertex than to any of some others, refined. */
static void search_from(struct search *s, uint32_t from, size_t others)
{
    struct cut *x = s->cut;
    x->best = INFINITY;
    count_hops(x, from, s->hops[0], s->queue);
    for (size_t k = 0; k < others; k++) {
        count_hops(x, (uint32_t)(k * x->core / others), s->hops[1], s->queue);
        try_nearer(s);
    }
    refine(s);
}

static size_t clamp(size_t value, size_t most)
{
    return value < 1 ? 1 : value > most ? most : value;
}

static int search_cut(struct cut *x, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search s = {.cut = x};
    for (int k = 0; k < 2; k++)
        s.hops[k] = nt_arena_array(&memory, x->core, sizeof **s.hops);
    s.queue = nt_arena_array(&memory, x->core, sizeof *s.queue);
    s.fixed = nt_arena_array(&memory, x->core, sizeof *s.fixed);
    s.start = nt_arena_array(&memory, x->core, sizeof *s.start);
    s.gain = nt_arena_array(&memory, x->core, sizeof *s.gain);
    s.order = nt_arena_array(&memory, x->core, sizeof *s.order);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    /* of a half: links are followed twice, and the core is sorted */
    size_t half = (size_t)2 * x->start[x->core] + x->core * (size_t)(2 + ilogb((double)x->core));
    size_t first = clamp(STEPS_MAX / (PASSES * x->core * x->core), x->core);
    size_t others = clamp(STEPS_MAX / half / first, x->core);
    keep_best(x); /* all of the core on one side */
    double least = x->best;
    for (size_t k = 0; k < first; k++) {
        search_from(&s, (uint32_t)(k * x->core / first), others);
        least = fmin(least, x->best);
    }
    x->best = least;
    return 0;
}

/* ---- graphs ---- */

static bool is_leaf(const struct nt_model *m, const struct nt_graph *g, uint32_t v)
{
    return v < m->hosts && nt_graph_degree(g, v) == 1 && g->to[g->start[v]] >= m->hosts;
}

/* Numbers the core; false: a bandwidth is unknown, or a vertex has no link. */
static bool number_core(const struct nt_model *m, const struct nt_graph *g, struct cut *x,
                        uint32_t *number)
{
    for (size_t k = 0; k < m->links; k++)
        if (isnan(m->link[k].bandwidth_MBps) || isnan(m->link[k].bandwidth_back_MBps))
            return false;
    for (uint32_t v = 0; v < g->vertices; v++) {
        bool host = v < m->hosts && !m->missing[v];
        number[v] = UINT32_MAX;
        x->hosts += host;
        if (nt_graph_degree(g, v) == 0 && (host || v >= m->hosts))
            return false;
        if (is_leaf(m, g, v))
            x->leaves++;
        else if (nt_graph_degree(g, v) > 0)
            number[v] = (uint32_t)x->core++;
    }
    return x->hosts > 1 && x->core > 1 && x->core <= CORE_MAX;
}

static void fill_cut(const struct nt_model *m, const struct nt_graph *g, struct cut *x,
                     const uint32_t *number)
{
    uint32_t ends = 0;
    size_t leaf = 0;
    for (uint32_t v = 0; v < g->vertices; v++) {
        for (uint32_t i = g->start[v]; i < g->start[v + 1]; i++) {
            bool forth = m->link[g->link[i]].a == v;
            double out = capacity_of(m, 2 * g->link[i] + !forth);
            double in = capacity_of(m, 2 * g->link[i] + forth);
            uint32_t to = number[g->to[i]];
            if (is_leaf(m, g, v)) {
                x->up[leaf] = (struct leaf){to, out};
                x->down[leaf++] = (struct leaf){to, in};
                x->weight[to]++;
            } else if (to != UINT32_MAX) {
                x->to[ends] = to;
                x->out[ends] = out;
                x->in[ends++] = in;
            }
        }
        if (number[v] != UINT32_MAX) {
            x->start[number[v] + 1] = ends;
            x->weight[number[v]] += v < m->hosts;
        }
    }
    qsort(x->up, x->leaves, sizeof *x->up, by_capacity);
    qsort(x->down, x->leaves, sizeof *x->down, by_capacity);
    x->on[0] = x->hosts;
    x->best = INFINITY;
}

/* Rounds the capacities to steps of which a double contains any sum exactly, so that
 * sums that are updated change by change equal sums over all. */
static void make_exact(struct cut *x)
{
    double all = 0;
    int exponent = 0;
    for (uint32_t i = 0; i < x->start[x->core]; i++)
        all += x->out[i] + x->in[i];
    frexp(all, &exponent);
    double step = ldexp(1, exponent + 1 - DBL_MANT_DIG);
    for (uint32_t i = 0; isfinite(all) && i < x->start[x->core]; i++) {
        x->out[i] = rint(x->out[i] / step) * step;
        x->in[i] = rint(x->in[i] / step) * step;
    }
}

static int cut_init(const struct nt_model *m, const struct nt_graph *g, struct cut *x, bool *known,
                    struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *number = nt_arena_array(&memory, m->hosts + m->switches, sizeof *number);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    *known = number_core(m, g, x, number);
    if (!*known)
        return 0;
    x->weight = nt_arena_array(&x->memory, x->core, sizeof *x->weight);
    x->start = nt_arena_array(&x->memory, x->core + 1, sizeof *x->start);
    x->to = nt_arena_array(&x->memory, 2 * m->links, sizeof *x->to);
    x->out = nt_arena_array(&x->memory, 2 * m->links, sizeof *x->out);
    x->in = nt_arena_array(&x->memory, 2 * m->links, sizeof *x->in);
    x->up = nt_arena_array(&x->memory, x->leaves, sizeof *x->up);
    x->down = nt_arena_array(&x->memory, x->leaves, sizeof *x->down);
    x->side = nt_arena_array(&x->memory, x->core, sizeof *x->side);
    x->best_side = nt_arena_array(&x->memory, x->core, sizeof *x->best_side);
    if (nt_arena_check(&x->memory, err) != 0)
        return -1;
    fill_cut(m, g, x, number);
    make_exact(x);
    return 0;
}

static int bisect_graph(struct nt_model *m, const struct nt_graph *g, struct nt_err *err)
{
    struct cut x = {0};
    bool known;
    int rc = cut_init(m, g, &x, &known, err);
    if (rc == 0 && known) {
        if (x.core <= EXACT_MAX)
            try_all(&x);
        else
            rc = search_cut(&x, err);
        m->bisection_MBps = isinf(x.best) ? (double)NAN : x.best;
        m->bisection_at_most = x.core > EXACT_MAX;
    }
    nt_arena_fini(&x.memory);
    return rc;
}

int nt_bisection_find(struct nt_model *model, const struct nt_rooted_tree *rooted,
                      struct nt_err *err)
{
    model->bisection_MBps = NAN;
    model->bisection_at_most = false;
    return rooted->tree ? bisect_tree(model, rooted, err)
                        : bisect_graph(model, &rooted->graph, err);
}
