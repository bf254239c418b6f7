/* SPDX-License-Identifier: Apache-2.0 */
#include "scotch_split.h"

#include <math.h>
#include <stdio.h> /* scotch.h needs FILE */

#include <scotch.h>

#include "memory.h"

#define NONE UINT32_MAX

struct nt_scotch_split {
    struct nt_arena memory; /* all arrays */
    const struct nt_traffic *traffic;
    uint64_t seed;
    double per_unit; /* factor from bytes to Scotch's integer loads */
    uint32_t *place; /* by task: its vertex in the graph of this split, or NONE */
    SCOTCH_Num *start, *edge, *load, *part;
    uint32_t *moved;
    double *gain;
};

static double heaviest_edge(const struct nt_traffic *t)
{
    double most = 0;
    for (size_t k = 0; k < t->start[t->tasks]; k++)
        if ((double)t->bytes[k] > most)
            most = (double)t->bytes[k];
    return most;
}

/* Returns the factor from bytes to loads, whose sum must fit in 31 bits. */
static double units_of(const struct nt_traffic *t)
{
    size_t ends = t->start[t->tasks];
    double most = heaviest_edge(t), scale = ends > 0 ? 1e9 / (double)ends : 1;
    return most > 0 ? (scale < 1000 ? scale : 1000) / most : 1;
}

static SCOTCH_Num load_of(double units)
{
    return units > 1 ? (SCOTCH_Num)units : 1;
}

static int check_traffic(const struct nt_traffic *t, struct nt_err *err)
{
    size_t ends = t->start[t->tasks];
    if (ends > INT32_MAX / 4)
        return nt_err_set(err, NT_ERR_INPUT, "traffic of %zu pairs is too much for the mapper",
                          ends / 2);
    return 0;
}

int nt_scotch_split_create(const struct nt_traffic *traffic, uint64_t seed,
                           struct nt_scotch_split **out, struct nt_err *err)
{
    size_t n = traffic->tasks, ends = traffic->start[n];
    if (check_traffic(traffic, err) != 0)
        return -1;
    struct nt_scotch_split *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->per_unit = units_of(traffic);
    s->traffic = traffic;
    s->seed = seed;
    s->place = nt_arena_array(&s->memory, n, sizeof *s->place);
    s->start = nt_arena_array(&s->memory, n + 1, sizeof *s->start);
    s->part = nt_arena_array(&s->memory, n, sizeof *s->part);
    s->edge = nt_arena_array(&s->memory, ends, sizeof *s->edge);
    s->load = nt_arena_array(&s->memory, ends, sizeof *s->load);
    s->moved = nt_arena_array(&s->memory, n, sizeof *s->moved);
    s->gain = nt_arena_array(&s->memory, n, sizeof *s->gain);
    if (nt_arena_check(&s->memory, err) != 0) {
        nt_scotch_split_destroy(s);
        return -1;
    }
    for (size_t k = 0; k < n; k++)
        s->place[k] = NONE;
    *out = s;
    return 0;
}

void nt_scotch_split_destroy(struct nt_scotch_split *s)
{
    nt_object_destroy(s);
}

/* Builds the graph of the tasks; vertex k is tasks[k]. Returns its number of edge ends. */
static SCOTCH_Num restrict_to(struct nt_scotch_split *s, const uint32_t *tasks, size_t n)
{
    const struct nt_traffic *t = s->traffic;
    SCOTCH_Num ends = 0;
    for (size_t k = 0; k < n; k++)
        s->place[tasks[k]] = (uint32_t)k;
    for (size_t k = 0; k < n; k++) {
        s->start[k] = ends;
        for (size_t e = t->start[tasks[k]]; e < t->start[tasks[k] + 1]; e++) {
            uint32_t other = s->place[t->partner[e]];
            if (other == NONE)
                continue;
            s->edge[ends] = (SCOTCH_Num)other;
            s->load[ends++] = load_of((double)t->bytes[e] * s->per_unit);
        }
    }
    s->start[n] = ends;
    return ends;
}

/* Uses one thread and a fixed seed, so that the same input gives the same division. */
static bool settle_context(SCOTCH_Context *context, uint64_t seed)
{
    const int core = 0;
    if (SCOTCH_contextOptionSetNum(context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
        SCOTCH_contextThreadSpawn(context, 1, &core) != 0)
        return false;
    SCOTCH_contextRandomSeed(context, (SCOTCH_Num)(seed & 0x7fffffff));
    SCOTCH_contextRandomReset(context);
    return true;
}

static bool map_in_two(struct nt_scotch_split *s, size_t n, SCOTCH_Num ends, size_t c)
{
    SCOTCH_Context context;
    SCOTCH_Graph graph, bound;
    SCOTCH_Arch arch;
    SCOTCH_Strat strat;
    SCOTCH_Num sides[2] = {(SCOTCH_Num)c, (SCOTCH_Num)(n - c)};
    bool done = false;
    if (SCOTCH_contextInit(&context) != 0)
        return false;
    SCOTCH_graphInit(&graph);
    SCOTCH_graphInit(&bound);
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&strat);
    if (settle_context(&context, s->seed)) {
        done = SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)n, s->start, s->start + 1, NULL, NULL, ends,
                                 s->edge, s->load) == 0 &&
               SCOTCH_archCmpltw(&arch, 2, sides) == 0 &&
               SCOTCH_stratGraphMapBuild(&strat, SCOTCH_STRATDEFAULT, 2, 0.001) == 0 &&
               SCOTCH_contextBindGraph(&context, &graph, &bound) == 0 &&
               SCOTCH_graphMap(&bound, &arch, &strat, s->part) == 0;
    }
    SCOTCH_stratExit(&strat);
    SCOTCH_archExit(&arch);
    SCOTCH_graphExit(&bound);
    SCOTCH_graphExit(&graph);
    SCOTCH_contextExit(&context);
    return done;
}

/* Returns the reduction of the cut if vertex k changes sides. */
static double gain_of(const struct nt_scotch_split *s, size_t k)
{
    double gain = 0;
    for (SCOTCH_Num e = s->start[k]; e < s->start[k + 1]; e++)
        gain += s->part[s->edge[e]] == s->part[k] ? -s->load[e] : s->load[e];
    return gain;
}

/* Scotch keeps sizes within a tolerance, but hosts need whole tasks: moves the cheapest tasks until
 * the first side has exactly c. */
static void make_exact(struct nt_scotch_split *s, size_t n, size_t c)
{
    size_t have = 0;
    for (size_t k = 0; k < n; k++) {
        have += s->part[k] == 0;
        s->gain[k] = gain_of(s, k);
    }
    while (have != c) {
        SCOTCH_Num from = have > c ? 0 : 1;
        size_t best = n;
        for (size_t k = 0; k < n; k++)
            if (s->part[k] == from && (best == n || s->gain[k] > s->gain[best]))
                best = k;
        s->part[best] = 1 - from;
        have = from == 0 ? have - 1 : have + 1;
        s->gain[best] = -s->gain[best];
        for (SCOTCH_Num e = s->start[best]; e < s->start[best + 1]; e++) {
            size_t w = (size_t)s->edge[e];
            s->gain[w] += (s->part[w] == s->part[best] ? -2.0 : 2.0) * s->load[e];
        }
    }
}

int nt_scotch_split(struct nt_scotch_split *s, uint32_t *tasks, size_t n, size_t c,
                    struct nt_err *err)
{
    SCOTCH_Num ends = restrict_to(s, tasks, n);
    bool done = true;
    if (ends == 0) {
        for (size_t k = 0; k < n; k++)
            s->part[k] = k < c ? 0 : 1;
    } else {
        done = map_in_two(s, n, ends, c);
    }
    for (size_t k = 0; k < n; k++)
        s->place[tasks[k]] = NONE;
    if (!done)
        return nt_err_set(err, NT_ERR_SYSTEM, "the mapper failed on %zu tasks", n);
    make_exact(s, n, c);
    size_t left = 0, right = c;
    for (size_t k = 0; k < n; k++)
        s->moved[s->part[k] == 0 ? left++ : right++] = tasks[k];
    for (size_t k = 0; k < n; k++)
        tasks[k] = s->moved[k];
    return 0;
}

/* ---- all tasks at once ---- */

/* A graph for Scotch, with each edge at both ends. */
struct graph {
    SCOTCH_Num n, ends;
    SCOTCH_Num *start, *edge, *load, *weight; /* weight: by vertex */
};

struct mapper {
    struct nt_arena memory; /* all arrays */
    size_t hosts;
    uint32_t *host;     /* by position in the order of rank */
    uint32_t *slots;    /* by host: number of tasks for it */
    SCOTCH_Num *used;   /* hosts with tasks */
    SCOTCH_Num targets; /* number of these hosts */
    SCOTCH_Num *part;   /* by task */
    struct graph job, network;
};

/* Prepares a graph whose vertices have weight 1. False without memory. */
static bool graph_init(struct graph *g, struct nt_arena *memory, size_t n, size_t ends)
{
    g->n = (SCOTCH_Num)n;
    g->ends = (SCOTCH_Num)ends;
    g->start = nt_arena_array(memory, n + 2, sizeof *g->start);
    g->edge = nt_arena_array(memory, ends, sizeof *g->edge);
    g->load = nt_arena_array(memory, ends, sizeof *g->load);
    g->weight = nt_arena_array(memory, n, sizeof *g->weight);
    for (size_t v = 0; g->weight != NULL && v < n; v++)
        g->weight[v] = 1;
    return g->weight != NULL;
}

static bool put_traffic(struct graph *g, struct nt_arena *memory, const struct nt_traffic *t)
{
    size_t n = t->tasks, ends = t->start[n];
    double per_unit = units_of(t);
    if (!graph_init(g, memory, n, ends))
        return false;
    for (size_t r = 0; r <= n; r++)
        g->start[r] = (SCOTCH_Num)t->start[r];
    for (size_t e = 0; e < ends; e++) {
        g->edge[e] = (SCOTCH_Num)t->partner[e];
        g->load[e] = load_of((double)t->bytes[e] * per_unit);
    }
    return true;
}

static double latency_of(const struct nt_link *link)
{
    return isfinite(link->latency_us) && link->latency_us > 0 ? link->latency_us : 1;
}

/* Builds the graph of hosts and links. Scotch's distances are integers: the shortest link is 16,
 * and no link is over a hundred times that, so that a table of them fits in 31 bits. */
static bool put_network(struct graph *g, struct nt_arena *memory, const struct nt_model *model,
                        const uint32_t *slots)
{
    size_t n = model->hosts;
    double least = INFINITY;
    if (!graph_init(g, memory, n, 2 * model->links))
        return false;
    for (size_t v = 0; v < n; v++)
        g->weight[v] = (SCOTCH_Num)slots[v];
    for (size_t k = 0; k < model->links; k++) {
        g->start[model->link[k].a + 1]++;
        g->start[model->link[k].b + 1]++;
        least = fmin(least, latency_of(&model->link[k]));
    }
    for (size_t v = 0; v < n; v++)
        g->start[v + 1] += g->start[v];
    for (size_t k = model->links; k-- > 0;) {
        const struct nt_link *l = &model->link[k];
        SCOTCH_Num load = load_of(round(16 * fmin(latency_of(l) / least, 100)));
        uint32_t end[2] = {l->a, l->b};
        for (size_t e = 0; e < 2; e++) {
            SCOTCH_Num at = --g->start[end[e] + 1];
            g->edge[at] = (SCOTCH_Num)end[1 - e];
            g->load[at] = load;
        }
    }
    for (size_t v = 0; v < n; v++) /* each start has been decremented to the start of its vertex */
        g->start[v] = g->start[v + 1];
    g->start[n] = g->ends;
    return true;
}

static bool build_graph(SCOTCH_Context *context, const struct graph *g, SCOTCH_Graph *graph,
                        SCOTCH_Graph *bound)
{
    return SCOTCH_graphBuild(graph, 0, g->n, g->start, g->start + 1, g->weight, NULL, g->ends,
                             g->edge, g->load) == 0 &&
           SCOTCH_contextBindGraph(context, graph, bound) == 0;
}

static bool map_all(struct mapper *m, uint64_t seed)
{
    SCOTCH_Context context;
    SCOTCH_Graph graph[2], bound[2];
    SCOTCH_Arch arch;
    SCOTCH_Strat strat, halving;
    if (SCOTCH_contextInit(&context) != 0)
        return false;
    for (size_t k = 0; k < 2; k++) {
        SCOTCH_graphInit(&graph[k]);
        SCOTCH_graphInit(&bound[k]);
    }
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&strat);
    SCOTCH_stratInit(&halving);
    bool done = settle_context(&context, seed) &&
                build_graph(&context, &m->job, &graph[0], &bound[0]) &&
                build_graph(&context, &m->network, &graph[1], &bound[1]) &&
                SCOTCH_archBuild0(&arch, &bound[1], m->targets, m->used, &halving) == 0 &&
                SCOTCH_stratGraphMapBuild(&strat, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
                                          m->targets, 0) == 0 &&
                SCOTCH_graphMap(&bound[0], &arch, &strat, m->part) == 0;
    SCOTCH_stratExit(&halving);
    SCOTCH_stratExit(&strat);
    SCOTCH_archExit(&arch);
    for (size_t k = 0; k < 2; k++) {
        SCOTCH_graphExit(&bound[k]);
        SCOTCH_graphExit(&graph[k]);
    }
    SCOTCH_contextExit(&context);
    return done;
}

/* Selects hosts in the order of rank until all tasks have room; all must be connected. */
static int take_hosts(struct mapper *m, const struct nt_scotch_job *job, struct nt_err *err)
{
    size_t tasks = job->traffic->tasks;
    for (uint32_t h = 0; h < m->hosts; h++)
        m->host[job->rank[h]] = h;
    for (size_t k = 0; k < m->hosts && tasks > 0; k++) {
        uint32_t h = m->host[k];
        m->slots[h] = job->capacity[h] < tasks ? job->capacity[h] : (uint32_t)tasks;
        tasks -= m->slots[h];
        if (m->slots[h] == 0)
            continue;
        m->used[m->targets++] = (SCOTCH_Num)h;
        if (!isfinite(nt_distance_latency(job->distance, (uint32_t)m->used[0], h)))
            return nt_err_set(err, NT_ERR_INPUT, "the hosts of the tasks are not connected");
    }
    return 0;
}

/* Scotch keeps capacities within a tolerance: a task without a slot moves to the next host in the
 * order of rank that has one. */
static void assign_hosts(const struct mapper *m, const uint32_t *rank, size_t tasks,
                         uint32_t *rank_host)
{
    for (size_t r = 0; r < tasks; r++) {
        uint32_t h = (uint32_t)m->part[r];
        rank_host[r] = m->slots[h] > 0 ? h : NONE;
        m->slots[h] -= m->slots[h] > 0;
    }
    for (size_t r = 0; r < tasks; r++) {
        if (rank_host[r] != NONE)
            continue;
        size_t k = rank[m->part[r]];
        while (m->slots[m->host[k]] == 0)
            k = (k + 1) % m->hosts;
        rank_host[r] = m->host[k];
        m->slots[m->host[k]]--;
    }
}

int nt_scotch_map(const struct nt_scotch_job *job, uint64_t seed, uint32_t *rank_host,
                  struct nt_err *err)
{
    const struct nt_model *model = nt_distance_model(job->distance);
    const struct nt_traffic *traffic = job->traffic;
    size_t hosts = model->hosts, tasks = traffic->tasks;
    struct mapper m = {.hosts = hosts};
    int rc = check_traffic(traffic, err);
    if (rc != 0)
        return rc;
    m.host = nt_arena_array(&m.memory, hosts, sizeof *m.host);
    m.slots = nt_arena_array(&m.memory, hosts, sizeof *m.slots);
    m.used = nt_arena_array(&m.memory, hosts, sizeof *m.used);
    m.part = nt_arena_array(&m.memory, tasks, sizeof *m.part);
    rc = nt_arena_check(&m.memory, err);
    if (rc == 0)
        rc = take_hosts(&m, job, err);
    if (rc == 0 && (!put_traffic(&m.job, &m.memory, traffic) ||
                    !put_network(&m.network, &m.memory, model, m.slots)))
        rc = nt_arena_check(&m.memory, err);
    if (rc == 0 && !map_all(&m, seed))
        rc = nt_err_set(err, NT_ERR_SYSTEM, "the mapper failed on %zu tasks", tasks);
    if (rc == 0)
        assign_hosts(&m, job->rank, tasks, rank_host);
    nt_arena_fini(&m.memory);
    return rc;
}
