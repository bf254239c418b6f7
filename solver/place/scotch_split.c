#include "scotch_split.h"

#include <stdio.h> /* scotch.h needs FILE */

#include <scotch.h>

#include "memory.h"

#define NONE UINT32_MAX

struct nt_scotch_split {
    struct nt_arena memory; /* of all arrays */
    const struct nt_traffic *traffic;
    uint64_t seed;
    double per_unit; /* bytes to Scotch's whole-numbered loads */
    uint32_t *place; /* by task: its vertex in the graph of this split, or NONE */
    SCOTCH_Num *start, *edge, *load, *part;
    uint32_t *moved;
    double *gain;
};

static double heaviest(const struct nt_traffic *t)
{
    double most = 0;
    for (size_t k = 0; k < t->start[t->tasks]; k++)
        if ((double)t->bytes[k] > most)
            most = (double)t->bytes[k];
    return most;
}

int nt_scotch_split_create(const struct nt_traffic *traffic, uint64_t seed,
                           struct nt_scotch_split **out, struct nt_err *err)
{
    size_t n = traffic->tasks, ends = traffic->start[n];
    if (ends > INT32_MAX / 4)
        return nt_err_set(err, NT_ERR_INPUT, "traffic of %zu pairs is too much for the mapper",
                          ends / 2);
    struct nt_scotch_split *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    double most = heaviest(traffic);
    /* the sum of all loads must stay in 31 bits */
    double scale = ends > 0 ? 1e9 / (double)ends : 1;
    s->per_unit = most > 0 ? (scale < 1000 ? scale : 1000) / most : 1;
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

/* The tasks' own graph; vertex k is tasks[k]. Returns its number of edge ends. */
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
            double load = (double)t->bytes[e] * s->per_unit;
            s->edge[ends] = (SCOTCH_Num)other;
            s->load[ends++] = load > 1 ? (SCOTCH_Num)load : 1;
        }
    }
    s->start[n] = ends;
    return ends;
}

/* One thread, its own seed: the same input gives the same division. */
static bool map_in_two(struct nt_scotch_split *s, size_t n, SCOTCH_Num ends, size_t c)
{
    SCOTCH_Context context;
    SCOTCH_Graph graph, bound;
    SCOTCH_Arch arch;
    SCOTCH_Strat strat;
    SCOTCH_Num sides[2] = {(SCOTCH_Num)c, (SCOTCH_Num)(n - c)};
    const int core = 0;
    bool done = false;
    if (SCOTCH_contextInit(&context) != 0)
        return false;
    SCOTCH_graphInit(&graph);
    SCOTCH_graphInit(&bound);
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&strat);
    if (SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
        SCOTCH_contextThreadSpawn(&context, 1, &core) == 0) {
        SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)(s->seed & 0x7fffffff));
        SCOTCH_contextRandomReset(&context);
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

/* What the cut gets smaller by when vertex k changes sides. */
static double gain_of(const struct nt_scotch_split *s, size_t k)
{
    double gain = 0;
    for (SCOTCH_Num e = s->start[k]; e < s->start[k + 1]; e++)
        gain += s->part[s->edge[e]] == s->part[k] ? -s->load[e] : s->load[e];
    return gain;
}

/* Scotch keeps sizes within a tolerance, hosts hold whole tasks: move the cheapest until the first
 * side has exactly c. */
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
