/* SPDX-License-Identifier: Apache-2.0 */
/* The largest clique of one latency: Bron and Kerbosch (Algorithm 457, 1973) with a pivot, cut
 * off where a greedy colouring shows that nothing larger can come (Tomita and Seki 2003). */
#include "bufe_graph.h"

#include <string.h>

/* Looking at all pairs of vertices is work too. */
enum { PAIRS_A_VISIT = 1024 };

struct bufe_search {
    struct nt_arena memory; /* first, for nt_object_create */
    size_t cap, n, words;   /* vertices of the one kind, and 64-bit words for a set of them */
    uint32_t *vertex;       /* n: the graph's vertices */
    uint64_t *adjacent;     /* n sets */
    uint64_t *stack;        /* (n + 2) levels of three sets: P, X, what to try */
    uint64_t *colour;       /* two sets */
    uint32_t *chosen, *best;
    size_t best_size;
    uint64_t work, work_max;
};

int bufe_search_create(struct bufe_search **out, struct nt_err *err)
{
    *out = nt_object_create(sizeof **out, err);
    return *out != NULL ? 0 : -1;
}

void bufe_search_destroy(struct bufe_search *s)
{
    nt_object_destroy(s);
}

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

/* The vertices of the kind that have an edge of this latency to another, and who knows whom. */
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

int bufe_search_run(struct bufe_search *s, const struct bufe_graph *g, bool switches, size_t until,
                    double latency, uint64_t work_max, uint64_t *work, uint32_t *members,
                    size_t *size, struct nt_err *err)
{
    if (search_reserve(s, g->cap, err) != 0)
        return -1;
    lay_out(s, g, switches, until, latency);
    s->best_size = 0;
    s->work = *work + (uint64_t)s->n * s->n / PAIRS_A_VISIT;
    s->work_max = work_max;
    bool done = s->n == 0 || visit_clique(s, 0);
    *work = s->work;
    if (!done)
        return nt_err_set(err, NT_ERR_INPUT,
                          "bufe: the clique search at %g us needs more than %llu visits; epsilon "
                          "%g does not fit these latencies",
                          latency, (unsigned long long)work_max, g->epsilon);
    memcpy(members, s->best, s->best_size * sizeof *members);
    *size = s->best_size;
    return 0;
}
