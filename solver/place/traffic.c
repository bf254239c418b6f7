/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "option.h"

struct builder {
    struct nt_arena *memory;
    uint32_t (*pair)[2];
    float *bytes;
    size_t n, capacity, bytes_capacity;
};

static bool add_bytes(struct builder *b, size_t x, size_t y, double bytes)
{
    if (x == y)
        return true;
    b->pair = nt_arena_grow(b->memory, b->pair, &b->capacity, b->n + 1, sizeof *b->pair);
    b->bytes = nt_arena_grow(b->memory, b->bytes, &b->bytes_capacity, b->n + 1, sizeof *b->bytes);
    if (b->n == b->capacity || b->n == b->bytes_capacity)
        return false;
    b->bytes[b->n] = (float)bytes;
    b->pair[b->n][0] = (uint32_t)x;
    b->pair[b->n][1] = (uint32_t)y;
    b->n++;
    return true;
}

/* Adds a message of a named pattern in each direction. */
static bool add_edge(struct builder *b, size_t x, size_t y)
{
    return add_bytes(b, x, y, 2 * NT_TRAFFIC_MESSAGE_BYTES);
}

void nt_traffic_set_message(struct nt_traffic *traffic, double bytes)
{
    double times = bytes / NT_TRAFFIC_MESSAGE_BYTES;
    for (size_t k = 0; k < traffic->start[traffic->tasks]; k++)
        traffic->bytes[k] = (float)(traffic->bytes[k] * times);
    traffic->edge_bytes *= times;
    traffic->total_bytes *= times;
}

void nt_traffic_destroy(struct nt_traffic *t)
{
    nt_object_destroy(t);
}

/* Stores both ends of every edge at their ranks by counting, without sorting. end[r] first counts
 * the edges of rank r, then is their end, then, filled backwards, their start. */
static void scatter_edges(struct nt_traffic *t, const uint32_t (*pair)[2], const float *bytes,
                          size_t n)
{
    size_t *end = t->start + 1;
    for (size_t k = 0; k < n; k++) {
        if (pair[k][0] != pair[k][1]) {
            end[pair[k][0]]++;
            end[pair[k][1]]++;
        }
    }
    for (size_t r = 1; r < t->tasks; r++)
        end[r] += end[r - 1];
    size_t all = end[t->tasks - 1];
    for (size_t k = n; k-- > 0;) {
        for (int side = 0; side < 2 && pair[k][0] != pair[k][1]; side++) {
            size_t at = --end[pair[k][side]];
            t->partner[at] = pair[k][1 - side];
            t->bytes[at] = bytes[k];
        }
    }
    memmove(t->start, end, t->tasks * sizeof *t->start);
    t->start[t->tasks] = all;
}

struct half {
    uint32_t partner;
    float bytes;
};

static int by_partner(const void *x, const void *y)
{
    uint32_t a = ((const struct half *)x)->partner, b = ((const struct half *)y)->partner;
    return NT_ORDER(a, b, 0);
}

/* Sorts each rank's partners and adds up duplicates. */
static int merge_edges(struct nt_traffic *t, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct half *row = nt_arena_array(&memory, t->start[t->tasks], sizeof *row);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    size_t out = 0, begin = 0;
    for (size_t r = 0; r < t->tasks; r++) {
        size_t end = t->start[r + 1], n = end - begin;
        for (size_t k = 0; k < n; k++)
            row[k] = (struct half){t->partner[begin + k], t->bytes[begin + k]};
        qsort(row, n, sizeof *row, by_partner);
        t->start[r] = out;
        for (size_t k = 0; k < n; k++) {
            if (k > 0 && row[k].partner == row[k - 1].partner) {
                t->bytes[out - 1] += row[k].bytes;
                continue;
            }
            t->partner[out] = row[k].partner;
            t->bytes[out++] = row[k].bytes;
        }
        begin = end;
    }
    t->start[t->tasks] = out;
    for (size_t k = 0; k < out; k++)
        t->total_bytes += (double)t->bytes[k] / 2;
    return 0;
}

static int build_edges(struct nt_traffic *t, const uint32_t (*pair)[2], const float *bytes,
                       size_t n, struct nt_err *err)
{
    size_t halves = 2 * n;
    t->start = nt_arena_array(&t->memory, t->tasks + 2, sizeof *t->start);
    t->partner = nt_arena_array(&t->memory, halves, sizeof *t->partner);
    t->bytes = nt_arena_array(&t->memory, halves, sizeof *t->bytes);
    if (nt_arena_check(&t->memory, err) != 0)
        return -1;
    scatter_edges(t, pair, bytes, n);
    return merge_edges(t, err);
}

static int start_with(size_t ntasks, struct nt_traffic **t, struct nt_err *err)
{
    if (ntasks == 0 || ntasks > NT_TASKS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu tasks: expected 1 to %d", ntasks,
                          (int)NT_TASKS_MAX);
    *t = nt_object_create(sizeof **t, err);
    if (*t == NULL)
        return -1;
    (*t)->tasks = ntasks;
    (*t)->edge_bytes = 2 * NT_TRAFFIC_MESSAGE_BYTES;
    (*t)->dimension[0] = (*t)->dimension[1] = (*t)->dimension[2] = 1;
    return 0;
}

int nt_traffic_from_triples(size_t ntasks, const uint32_t (*pair)[2], const float *bytes, size_t n,
                            struct nt_traffic **out, struct nt_err *err)
{
    struct nt_traffic *t;
    if (n > NT_TRAFFIC_EDGES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu pairs of ranks, at most %d", n,
                          (int)NT_TRAFFIC_EDGES_MAX);
    for (size_t k = 0; k < n; k++)
        if (pair[k][0] >= ntasks || pair[k][1] >= ntasks)
            return nt_err_set(err, NT_ERR_INPUT, "rank %u of %zu tasks",
                              pair[k][0] >= ntasks ? pair[k][0] : pair[k][1], ntasks);
    if (start_with(ntasks, &t, err) != 0)
        return -1;
    t->kind = NT_TRAFFIC_MATRIX;
    if (build_edges(t, pair, bytes, n, err) != 0) {
        nt_traffic_destroy(t);
        return -1;
    }
    *out = t;
    return 0;
}

/* Reads "AxB[xC][:periodic]" into the dimensions; false if the text has another form. */
static bool read_grid(const char *text, struct nt_traffic *t)
{
    size_t cells = 1;
    for (int d = 0; d < 3; d++) {
        char *end;
        unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (n == 0 || n > NT_TASKS_MAX)
            return false;
        t->dimension[d] = (uint32_t)n;
        cells *= n;
        if (cells > NT_TASKS_MAX)
            return false;
        text = end;
        if (*text != 'x')
            break;
        text++;
    }
    t->periodic = strcmp(text, ":periodic") == 0;
    return t->periodic || *text == '\0';
}

static bool add_stencil(const struct nt_traffic *t, struct builder *b)
{
    size_t n[3] = {t->dimension[0], t->dimension[1], t->dimension[2]};
    size_t step[3] = {n[1] * n[2], n[2], 1};
    bool fits = true;
    for (size_t r = 0; r < t->tasks && fits; r++) {
        for (int d = 0; d < 3 && fits; d++) {
            size_t at = r / step[d] % n[d];
            if (at + 1 < n[d])
                fits = add_edge(b, r, r + step[d]);
            else if (t->periodic && n[d] > 2)
                fits = add_edge(b, r, r - at * step[d]);
        }
    }
    return fits;
}

static bool add_doubling(const struct nt_traffic *t, struct builder *b)
{
    bool fits = true;
    for (size_t r = 0; r < t->tasks && fits; r++)
        for (size_t bit = 1; bit < t->tasks && fits; bit <<= 1)
            if ((r & bit) == 0 && (r | bit) < t->tasks)
                fits = add_edge(b, r, r | bit);
    return fits;
}

static bool add_line(const struct nt_traffic *t, struct builder *b, bool closed)
{
    bool fits = true;
    for (size_t r = 0; r + 1 < t->tasks && fits; r++)
        fits = add_edge(b, r, r + 1);
    return fits && (!closed || t->tasks < 3 || add_edge(b, t->tasks - 1, 0));
}

/* ---- parallel training -----------------------------------------------------------------------*/

/* LAYERS: layers of a pipeline stage. GRADIENTS: volume of the all-reduce of a stage's gradients
 * per microbatch, 2 * 12 h^2 L / 8, divided by the message of a stage, s h, with h = 2 s
 * (traffic.h). */
#define LAYERS 8.0
#define GRADIENTS 48.0

/* Each of count ranks, starting at first with distance step, sends bytes to the next. */
static bool add_ring(struct builder *b, size_t first, size_t step, size_t count, double bytes)
{
    bool fits = true;
    for (size_t k = 0; k < count && count > 1 && fits; k++)
        fits = add_bytes(b, first + k * step, first + (k + 1) % count * step, bytes);
    return fits;
}

static bool add_experts(struct builder *b, size_t first, size_t step, size_t count)
{
    double each = 2 * 4 * LAYERS / (double)count * NT_TRAFFIC_MESSAGE_BYTES;
    bool fits = true;
    for (size_t x = 0; x < count; x++)
        for (size_t y = 0; y < x && fits; y++)
            fits = add_bytes(b, first + x * step, first + y * step, each);
    return fits;
}

static bool add_megatron(const struct nt_megatron *m, struct builder *b)
{
    size_t tp = m->tp, stage = tp * m->dp;
    double tensor = 8 * LAYERS * (double)(tp - 1) / (double)tp * NT_TRAFFIC_MESSAGE_BYTES;
    double data =
        GRADIENTS * (double)(m->dp - 1) / (double)m->dp / (double)tp * NT_TRAFFIC_MESSAGE_BYTES;
    bool fits = true;
    for (size_t p = 0; p < m->pp && fits; p++) {
        for (size_t d = 0; d < m->dp && fits; d++)
            fits = add_ring(b, p * stage + d * tp, 1, tp, tensor);
        for (size_t t = 0; t < tp && fits; t++)
            fits = add_ring(b, p * stage + t, tp, m->dp, data);
        for (size_t r = 0; r < stage && fits && p + 1 < m->pp; r++)
            fits = add_edge(b, p * stage + r, (p + 1) * stage + r);
        for (size_t e = 0; e < m->dp && fits && m->ep > 1; e += m->ep)
            for (size_t t = 0; t < tp && fits; t++)
                fits = add_experts(b, p * stage + e * tp + t, tp, m->ep);
    }
    return fits;
}

/* ---- patterns --------------------------------------------------------------------------------*/

static bool add_edges(const struct nt_traffic *t, const char *pattern, struct builder *b)
{
    struct nt_megatron m;
    switch (t->kind) {
    case NT_TRAFFIC_STENCIL:
        return add_stencil(t, b);
    case NT_TRAFFIC_DOUBLING:
        return add_doubling(t, b);
    case NT_TRAFFIC_CHAIN:
    case NT_TRAFFIC_RING:
        return add_line(t, b, t->kind == NT_TRAFFIC_RING);
    case NT_TRAFFIC_MATRIX:
        return nt_pattern_megatron(pattern, &m) == 0 ? add_megatron(&m, b)
                                                     : add_line(t, b, true) && add_doubling(t, b);
    case NT_TRAFFIC_ALL:
        break;
    }
    return true;
}

static int check_tasks(const char *pattern, size_t tasks, const struct nt_traffic *t,
                       struct nt_err *err)
{
    if (tasks == t->tasks)
        return 0;
    return nt_err_set(err, NT_ERR_USAGE, "pattern \"%s\" needs %zu tasks, but the job has %zu",
                      pattern, tasks, t->tasks);
}

static int recognise_pattern(const char *pattern, struct nt_traffic *t, struct nt_err *err)
{
    struct nt_megatron m;
    static const struct {
        const char *name;
        enum nt_traffic_kind kind;
    } plain[] = {{"neighbour", NT_TRAFFIC_CHAIN},     {"ring", NT_TRAFFIC_RING},
                 {"tree", NT_TRAFFIC_DOUBLING},       {"allreduce", NT_TRAFFIC_MATRIX},
                 {"allreduce:ring", NT_TRAFFIC_RING}, {"allreduce:tree", NT_TRAFFIC_DOUBLING},
                 {"alltoall", NT_TRAFFIC_ALL}};
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
        if (strcmp(pattern, plain[k].name) == 0) {
            t->kind = plain[k].kind;
            return 0;
        }
    }
    if (nt_pattern_megatron(pattern, &m) == 0) {
        size_t tasks = (size_t)m.tp * m.pp * m.dp;
        t->kind = NT_TRAFFIC_MATRIX;
        return check_tasks(pattern, tasks, t, err);
    }
    const char *grid = strncmp(pattern, "stencil:", 8) == 0 ? pattern + 8
                       : strncmp(pattern, "halo:", 5) == 0  ? pattern + 5
                                                            : NULL;
    if (grid == NULL || !read_grid(grid, t))
        return nt_err_set(err, NT_ERR_USAGE,
                          "pattern \"%s\": expected neighbour, ring, tree, alltoall, allreduce, "
                          "stencil:AxB[xC][:periodic], halo:AxB[xC] or "
                          "megatron:tp=T,pp=P,dp=D[,ep=E]",
                          pattern);
    t->kind = NT_TRAFFIC_STENCIL;
    size_t cells = (size_t)t->dimension[0] * t->dimension[1] * t->dimension[2];
    return check_tasks(pattern, cells, t, err);
}

int nt_traffic_create(const char *pattern, size_t ntasks, struct nt_traffic **out,
                      struct nt_err *err)
{
    struct nt_traffic *t;
    NT_SCOPED struct nt_arena memory = {0};
    struct builder b = {.memory = &memory};
    if (start_with(ntasks, &t, err) != 0)
        return -1;
    if (recognise_pattern(pattern, t, err) != 0)
        goto fail;
    if (!add_edges(t, pattern, &b)) {
        nt_arena_check(&memory, err);
        goto fail;
    }
    if (build_edges(t, (const uint32_t(*)[2])b.pair, b.bytes, b.n, err) != 0)
        goto fail;
    if (t->kind == NT_TRAFFIC_ALL)
        t->total_bytes = (double)ntasks * (double)(ntasks - 1) / 2 * t->edge_bytes;
    *out = t;
    return 0;
fail:
    nt_traffic_destroy(t);
    return -1;
}
