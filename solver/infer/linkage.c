/* SPDX-License-Identifier: Apache-2.0 */
/* Average linkage and the sums over its dendrogram. */
#include "work.h"

#include <string.h>

#include "memory.h"
#include "stats.h"

struct chain {
    size_t n, stride, active_count;
    float *d;
    uint16_t *counts;
    uint32_t *active, *place; /* clusters left, and where each stands in active */
    uint32_t *node, *chain;
    float *size;
};

static int chain_init(struct chain *c, size_t n, float *d, size_t stride, uint16_t *counts,
                      struct nt_arena *memory, struct nt_err *err)
{
    *c = (struct chain){.n = n, .stride = stride, .active_count = n, .d = d, .counts = counts};
    c->active = nt_arena_array(memory, n + 1, sizeof *c->active);
    c->place = nt_arena_array(memory, n + 1, sizeof *c->place);
    c->node = nt_arena_array(memory, n + 1, sizeof *c->node);
    c->chain = nt_arena_array(memory, n + 2, sizeof *c->chain);
    c->size = nt_arena_array(memory, n + 1, sizeof *c->size);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        c->active[i] = c->place[i] = c->node[i] = (uint32_t)i;
        c->size[i] = 1;
    }
    return 0;
}

/* Nearest active cluster to x; prefer wins a tie, so that a chain always ends. */
static uint32_t nearest_cluster(const struct chain *c, uint32_t x, uint32_t prefer)
{
    const float *row = c->d + (size_t)x * c->stride;
    uint32_t best = prefer;
    float distance = prefer != UINT32_MAX ? row[prefer] : INFINITY;
    for (size_t k = 0; k < c->active_count; k++) {
        uint32_t y = c->active[k];
        if (row[y] < distance && y != x) {
            distance = row[y];
            best = y;
        }
    }
    if (best == UINT32_MAX) /* nothing known: any other */
        best = c->active[0] != x ? c->active[0] : c->active[1];
    return best;
}

static void remove_active(struct chain *c, uint32_t y)
{
    uint32_t p = c->place[y], last = c->active[--c->active_count];
    c->active[p] = last;
    c->place[last] = p;
}

/* x absorbs y */
static void join_full(struct chain *c, uint32_t x, uint32_t y)
{
    size_t n = c->stride;
    float *rx = c->d + (size_t)x * n;
    const float *ry = c->d + (size_t)y * n;
    float wx = c->size[x] / (c->size[x] + c->size[y]), wy = 1 - wx;
    for (size_t k = 0; k < c->active_count; k++) {
        uint32_t z = c->active[k];
        if (z == x)
            continue;
        float v = rx[z] * wx + ry[z] * wy;
        rx[z] = v;
        c->d[(size_t)z * n + x] = v;
    }
}

static void join_counted(struct chain *c, uint32_t x, uint32_t y)
{
    size_t n = c->stride;
    float *rx = c->d + (size_t)x * n;
    const float *ry = c->d + (size_t)y * n;
    uint16_t *cx = c->counts + (size_t)x * n;
    const uint16_t *cy = c->counts + (size_t)y * n;
    for (size_t k = 0; k < c->active_count; k++) {
        uint32_t z = c->active[k];
        if (z == x || cy[z] == 0)
            continue;
        float a = cx[z], b = cy[z];
        float v = cx[z] == 0 ? ry[z] : (rx[z] * a + ry[z] * b) / (a + b);
        unsigned sum = (unsigned)cx[z] + cy[z];
        uint16_t count = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
        rx[z] = v;
        cx[z] = count;
        c->d[(size_t)z * n + x] = v;
        c->counts[(size_t)z * n + x] = count;
    }
}

static void chain_merge(struct chain *c, struct nt_linkage_step *merges)
{
    size_t length = 0, done = 0;
    while (c->active_count > 1) {
        if (length == 0)
            c->chain[length++] = c->active[0];
        uint32_t x = c->chain[length - 1],
                 previous = length > 1 ? c->chain[length - 2] : UINT32_MAX;
        uint32_t y = nearest_cluster(c, x, previous);
        if (y != previous) {
            c->chain[length++] = y;
            continue;
        }
        length -= 2;
        merges[done] = (struct nt_linkage_step){c->node[x], c->node[y]};
        remove_active(c, y);
        if (c->counts != NULL)
            join_counted(c, x, y);
        else
            join_full(c, x, y);
        c->size[x] += c->size[y];
        c->node[x] = (uint32_t)(c->n + done++);
    }
}

int nt_linkage(size_t n, float *distance, size_t stride, uint16_t *counts,
               struct nt_linkage_step *merges, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct chain c;
    if (chain_init(&c, n, distance, stride, counts, &memory, err) != 0)
        return -1;
    chain_merge(&c, merges);
    return 0;
}

void nt_dendrogram(size_t n, const struct nt_linkage_step *merges, struct nt_node *nodes,
                   uint32_t *order)
{
    for (size_t i = 0; i < n; i++)
        nodes[i] = (struct nt_node){.a = UINT32_MAX, .b = UINT32_MAX, .size = 1};
    for (size_t k = 0; k + 1 < n; k++) {
        uint32_t a = merges[k].a, b = merges[k].b;
        nodes[n + k] = (struct nt_node){.a = a, .b = b, .size = nodes[a].size + nodes[b].size};
    }
    for (size_t v = 2 * n - 1; v-- > n;) {
        nodes[nodes[v].a].first = nodes[v].first;
        nodes[nodes[v].b].first = nodes[v].first + nodes[nodes[v].a].size;
    }
    for (size_t i = 0; i < n; i++)
        order[nodes[i].first] = (uint32_t)i;
}

enum { MIDDLE_SAMPLE = 1024 };

/* Middle of the block rows x columns, from a regular sample when it is large. */
static float block_middle(const float *d, size_t stride, size_t rows, size_t columns, float *buffer)
{
    size_t skip = rows * columns / MIDDLE_SAMPLE + 1, count = 0, k = 0;
    for (size_t r = 0; r < rows; r++) {
        const float *row = d + r * stride;
        for (; k < columns; k += skip)
            if (row[k] == row[k])
                buffer[count++] = row[k];
        k -= columns;
    }
    return nt_stats_median(buffer, count);
}

/* NaN compares false, so it adds nothing. */
static void block_sum(const float *d, size_t stride, size_t rows, size_t columns, float low,
                      float high, double *sum, double *count)
{
    for (size_t r = 0; r < rows; r++) {
        const float *row = d + r * stride;
        float s = 0;
        unsigned c = 0;
        for (size_t k = 0; k < columns; k++) {
            float v = row[k];
            v = v > high ? high : v;
            v = v < low ? low : v;
            bool known = v == v;
            s += known ? v : 0;
            c += known;
        }
        *sum += (double)s;
        *count += c;
    }
}

enum { HANDFUL = 3 };

static void find_middles(size_t n, const float *d, size_t stride, const struct nt_noise *noise,
                         struct nt_node *nodes, float *buffer)
{
    for (size_t v = 2 * n - 1; v-- > n;) {
        struct nt_node *x = &nodes[v], *a = &nodes[x->a], *b = &nodes[x->b];
        float above = x->middle; /* left there by the node above */
        const float *block = d + a->first * stride + b->first;
        x->middle = block_middle(block, stride, a->size, b->size, buffer);
        if (x->middle != x->middle)
            x->middle = above;
        else if ((size_t)a->size * b->size < HANDFUL && above == above) {
            /* with few hosts there is nothing else to compare with */
            double reach = 2 + 60 / noise->df;
            float least = above - (float)(reach * nt_noise_sd(noise, (double)above));
            x->middle = x->middle < least ? least : x->middle;
        }
        a->middle = b->middle = x->middle;
    }
}

int nt_dendrogram_sums(size_t n, const float *d, size_t stride, const struct nt_noise *noise,
                       struct nt_node *nodes, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *buffer = nt_arena_array(&memory, (size_t)2 * MIDDLE_SAMPLE + n, sizeof *buffer);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    nodes[2 * n - 2].middle = NAN;
    find_middles(n, d, stride, noise, nodes, buffer);
    for (size_t v = n; v < 2 * n - 1; v++) {
        struct nt_node *x = &nodes[v];
        const struct nt_node *a = &nodes[x->a], *b = &nodes[x->b];
        x->between = x->between_count = 0;
        if (x->middle == x->middle) {
            float reach = (float)(3 * nt_noise_sd(noise, (double)x->middle));
            block_sum(d + a->first * stride + b->first, stride, a->size, b->size, x->middle - reach,
                      x->middle + reach, &x->between, &x->between_count);
        }
        x->within = a->within + b->within + x->between;
        x->within_count = a->within_count + b->within_count + x->between_count;
    }
    return 0;
}

double nt_contrast(const struct nt_noise *noise, struct nt_inside between, struct nt_inside a,
                   struct nt_inside b)
{
    if (a.count < 1 || b.count < 1 || between.count < 1)
        return 0;
    double level = between.sum / between.count;
    double inside = 0.5 * (a.sum / a.count + b.sum / b.count);
    /* that of a mean, and of half the sum of two */
    double variance = 1 / between.count + 0.25 * (1 / a.count + 1 / b.count);
    return (level - inside) / (nt_noise_sd(noise, level) * sqrt(variance));
}
