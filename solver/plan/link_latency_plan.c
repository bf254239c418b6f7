/* SPDX-License-Identifier: Apache-2.0 */
#include "link_latency_plan.h"

#include <string.h>

#include "memory.h"
#include "rng.h"

/* SHIFTS: partners of a branch among its siblings; PICKS: pairs of hosts between two siblings. */
enum { SHIFTS = 4, PICKS = 4 };

/* The tree, rooted at a switch. */
struct tree {
    size_t vertices, hosts;
    uint32_t *first, *child; /* of vertex v: child[first[v]] .. child[first[v + 1] - 1] */
    uint32_t *turn;          /* how many children */
    uint32_t *order;         /* vertices from the root down */
    bool *used;              /* it is, or is above, a host that takes part */
};

struct link_latency_plan {
    struct nt_planner base;
    size_t hosts, pairs, capacity;
    uint32_t (*pair)[2];  /* in the order of their rounds */
    size_t rounds, round; /* round: the next */
    size_t *start;        /* rounds + 1 */
    uint32_t (*now)[2];   /* the round's pairs without the lost */
    bool *lost;
    uint32_t batches, count;
};

/* ---- the tree ------------------------------------------------------------------------------- */

/* The switch of the highest tier; without any there is no tree of switches. */
static uint32_t find_root(const struct nt_model *m)
{
    size_t root = 0;
    for (size_t s = 1; s < m->switches; s++)
        if (m->tier[s] > m->tier[root])
            root = s;
    return (uint32_t)(m->hosts + root);
}

/* Neighbours of all vertices, into first and child. */
static void join_neighbours(const struct nt_model *m, struct tree *t)
{
    for (size_t l = 0; l < m->links; l++) {
        t->first[m->link[l].a + 1]++;
        t->first[m->link[l].b + 1]++;
    }
    for (size_t v = 0; v < t->vertices; v++)
        t->first[v + 1] += t->first[v];
    for (size_t l = 0; l < m->links; l++) {
        t->child[t->first[m->link[l].a] + t->turn[m->link[l].a]++] = m->link[l].b;
        t->child[t->first[m->link[l].b] + t->turn[m->link[l].b]++] = m->link[l].a;
    }
}

/* Orders the vertices breadth-first from the root; each vertex removes its parent by moving it to
 * the end of its neighbours. Returns the number of reached vertices; more than the vertices: there
 * is a cycle. */
static size_t order_from_root(struct tree *t, uint32_t root)
{
    size_t reached = 1;
    t->order[0] = root;
    for (size_t k = 0; k < reached && reached <= t->vertices; k++) {
        uint32_t v = t->order[k];
        for (uint32_t c = 0; c < t->turn[v]; c++) {
            uint32_t w = t->child[t->first[v] + c], at = t->first[w], n = 0;
            while (n < t->turn[w] && t->child[at + n] != v)
                n++;
            if (n == t->turn[w])
                continue;
            t->child[at + n] = t->child[at + t->turn[w] - 1];
            t->child[at + t->turn[w] - 1] = v;
            t->turn[w]--;
            if (reached == t->vertices)
                return reached + 1;
            t->order[reached++] = w;
        }
    }
    return reached;
}

/* turn[v] becomes the number of children with hosts, which are moved to the front. */
static void keep_used_children(struct tree *t, const bool *missing, size_t reached)
{
    for (size_t k = reached; k-- > 0;) {
        uint32_t v = t->order[k], kept = 0, *child = t->child + t->first[v];
        for (uint32_t c = 0; c < t->turn[v]; c++) {
            uint32_t w = child[c];
            if (!t->used[w])
                continue;
            child[c] = child[kept];
            child[kept++] = w;
        }
        t->turn[v] = kept;
        t->used[v] = v < t->hosts ? missing == NULL || !missing[v] : kept > 0;
    }
}

static int tree_init(const struct nt_model *m, const bool *missing, struct tree *t,
                     struct nt_arena *memory, struct nt_err *err)
{
    size_t n = m->hosts + m->switches;
    *t = (struct tree){.vertices = n, .hosts = m->hosts};
    t->first = nt_arena_array(memory, n + 2, sizeof *t->first);
    t->child = nt_arena_array(memory, 2 * m->links + 1, sizeof *t->child);
    t->turn = nt_arena_array(memory, n + 1, sizeof *t->turn);
    t->order = nt_arena_array(memory, n + 1, sizeof *t->order);
    t->used = nt_arena_array(memory, n + 1, sizeof *t->used);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    join_neighbours(m, t);
    size_t reached = m->switches == 0 ? 0 : order_from_root(t, find_root(m));
    if (reached == 0 || reached > n || m->links + 1 != reached)
        return nt_err_set(err, NT_ERR_INPUT, "not measured, because the network is not a tree");
    keep_used_children(t, missing, reached);
    return 0;
}

/* ---- the pairs ------------------------------------------------------------------------------ */

static int add_pair(struct link_latency_plan *p, uint32_t a, uint32_t b, struct nt_err *err)
{
    p->pair = nt_arena_grow(&p->base.memory, p->pair, &p->capacity, p->pairs + 1, sizeof *p->pair);
    if (nt_arena_check(&p->base.memory, err) != 0)
        return -1;
    /* a host is first in half of its pairs and second in the others */
    size_t turned = p->pairs % 2;
    p->pair[p->pairs][turned] = a;
    p->pair[p->pairs++][1 - turned] = b;
    return 0;
}

/* A host below v; repeated calls go through all branches. */
static uint32_t pick_host(struct tree *t, uint32_t *next, uint32_t v)
{
    while (v >= t->hosts)
        v = t->child[t->first[v] + next[v]++ % t->turn[v]];
    return v;
}

/* Between branch c of v and its siblings 1, 2, .. places on; each pair of siblings once. */
static int add_siblings(struct link_latency_plan *p, struct tree *t, uint32_t *next, uint32_t v,
                        struct nt_err *err)
{
    const uint32_t *child = t->child + t->first[v];
    uint32_t n = t->turn[v];
    for (uint32_t shift = 1; shift <= SHIFTS && 2 * shift <= n; shift++)
        for (uint32_t c = 0; c < (2 * shift == n ? shift : n); c++) {
            uint32_t a = child[c], b = child[(c + shift) % n];
            for (int k = 0; k < (a < t->hosts && b < t->hosts ? 1 : PICKS); k++)
                if (add_pair(p, pick_host(t, next, a), pick_host(t, next, b), err) != 0)
                    return -1;
        }
    return 0;
}

static int choose_pairs(struct link_latency_plan *p, struct tree *t, uint64_t seed,
                        struct nt_err *err)
{
    struct nt_rng rng;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *next = nt_arena_array(&memory, t->vertices, sizeof *next);
    int rc = nt_arena_check(&memory, err);
    nt_rng_init(&rng, seed);
    for (size_t v = t->hosts; v < t->vertices && rc == 0; v++)
        nt_rng_shuffle(&rng, t->child + t->first[v], t->turn[v]);
    for (size_t v = 0; v < t->vertices && rc == 0; v++)
        next[v] = t->turn[v] == 0 ? 0 : (uint32_t)nt_rng_below(&rng, t->turn[v]);
    for (size_t v = t->hosts; v < t->vertices && rc == 0; v++)
        rc = add_siblings(p, t, next, (uint32_t)v, err);
    return rc;
}

/* ---- the rounds ----------------------------------------------------------------------------- */

static uint32_t most_pairs_left(const uint32_t *left, const uint32_t pair[2])
{
    return left[pair[0]] > left[pair[1]] ? left[pair[0]] : left[pair[1]];
}

/* Moves pairs with free hosts to the front of the pairs from begin on: first pairs of the host with
 * the most remaining pairs, which determines the number of rounds. */
static size_t fill_round(struct link_latency_plan *p, size_t begin, const uint32_t *left,
                         uint32_t most, bool *busy)
{
    size_t end = begin;
    memset(busy, 0, p->hosts * sizeof *busy);
    for (uint32_t pass = 0; pass < 2; pass++)
        for (size_t k = end; k < p->pairs; k++) {
            uint32_t a = p->pair[k][0], b = p->pair[k][1];
            if (busy[a] || busy[b] || (pass == 0 && most_pairs_left(left, p->pair[k]) < most))
                continue;
            busy[a] = busy[b] = true;
            memcpy(p->pair[k], p->pair[end], sizeof p->pair[k]);
            p->pair[end][0] = a;
            p->pair[end++][1] = b;
        }
    return end;
}

static int make_rounds(struct link_latency_plan *p, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *left = nt_arena_array(&memory, p->hosts, sizeof *left);
    bool *busy = nt_arena_array(&memory, p->hosts, sizeof *busy);
    p->start = nt_arena_array(&p->base.memory, p->pairs + 1, sizeof *p->start);
    p->now = nt_arena_array(&p->base.memory, p->hosts / 2, sizeof *p->now);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&p->base.memory, err) != 0)
        return -1;
    for (size_t k = 0; k < p->pairs; k++) {
        left[p->pair[k][0]]++;
        left[p->pair[k][1]]++;
    }
    for (size_t begin = 0, end; begin < p->pairs; begin = end) {
        uint32_t most = 0;
        for (size_t h = 0; h < p->hosts; h++)
            most = left[h] > most ? left[h] : most;
        end = fill_round(p, begin, left, most, busy);
        for (size_t k = begin; k < end; k++) {
            left[p->pair[k][0]]--;
            left[p->pair[k][1]]--;
        }
        p->start[++p->rounds] = end;
    }
    return 0;
}

/* ---- the planner ---------------------------------------------------------------------------- */

static int link_latency_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct link_latency_plan *p = (struct link_latency_plan *)planner;
    (void)err;
    for (size_t n = 0; p->round < p->rounds;) {
        for (size_t k = p->start[p->round]; k < p->start[p->round + 1]; k++)
            if (!p->lost[p->pair[k][0]] && !p->lost[p->pair[k][1]])
                memcpy(p->now[n++], p->pair[k], sizeof *p->now);
        p->round++;
        if (n == 0)
            continue;
        *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                                   .phase = "link-latency",
                                   .pairs = n,
                                   .pair = p->now,
                                   .message_bytes = NT_PING_BYTES,
                                   .batches = p->batches,
                                   .count = p->count};
        return 1;
    }
    return 0;
}

static void link_latency_lose(struct nt_planner *planner, uint32_t host)
{
    struct link_latency_plan *p = (struct link_latency_plan *)planner;
    if (host < p->hosts)
        p->lost[host] = true;
}

static const struct nt_planner_ops OPS = {link_latency_next, nt_planner_ignore_results,
                                          link_latency_lose, NULL, NULL};

int nt_link_latency_plan_create(const struct nt_model *model, const struct nt_sweep_setup *setup,
                                struct nt_planner **out, size_t *rounds, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct tree tree;
    if (tree_init(model, setup->missing, &tree, &memory, err) != 0)
        return -1;
    struct link_latency_plan *p = nt_object_create(sizeof *p, err);
    if (p == NULL)
        return -1;
    p->base.ops = &OPS;
    p->hosts = model->hosts;
    p->batches = setup->batches;
    p->count = setup->count;
    p->lost = nt_arena_array(&p->base.memory, p->hosts, sizeof *p->lost);
    if (choose_pairs(p, &tree, setup->seed, err) != 0 || make_rounds(p, err) != 0) {
        nt_planner_destroy(&p->base);
        return -1;
    }
    *out = &p->base;
    *rounds = p->rounds;
    return 0;
}
