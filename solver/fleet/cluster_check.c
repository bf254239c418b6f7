/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_check.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "origin.h"
#include "stats.h"

/* A latency is right within EXACT of the reading and its error: for the median of n readings,
 * sqrt(pi/2) of that of a mean, times three. One in WEAK_PART of a host's pairs may be wrong by
 * chance if only one user read each of them, because one reading in fifty is an outlier. */
enum { NONE = UINT32_MAX, USERS = 2, WITNESSES = 3, WEAK_PART = 8, FEW = 64, SHIFTED = 4 };
static const double EXACT = 0.055, SDS = 3, MEDIAN = 1.2533;
/* All pairs of two clusters have one latency in the network. The median of their readings has
 * almost no error, and may use this part of the 6 % that a reported latency may be wrong. */
static const double EXACT_TOGETHER = 0.045;
static const float SHIFT_MOST = 0.12F; /* two sds of jobs' factors */

/* Different users, as many as needed: two in addition to any one. */
struct witnesses {
    uint32_t user[WITNESSES];
    unsigned count;
};

static void see(struct witnesses *w, uint32_t user)
{
    if (user == NT_NO_USER)
        return;
    for (unsigned k = 0; k < w->count; k++)
        if (w->user[k] == user)
            return;
    if (w->count < WITNESSES)
        w->user[w->count++] = user;
}

/* Returns whether there are two users other than that one. */
static bool has_two_besides(const struct witnesses *w, uint32_t user)
{
    unsigned others = 0;
    for (unsigned k = 0; k < w->count; k++)
        others += w->user[k] != user;
    return others >= USERS;
}

/* A contradicting pair, and the users whose readings deviate. */
struct contradiction {
    uint32_t a, b;
    struct witnesses off;
    bool agreed; /* readings of two of these users agree with each other */
};

/* The users whose readings of pairs of these two clusters agree, and those whose deviate. */
struct block {
    uint32_t x, y;
    struct witnesses agree, off;
};

/* One reading between two clusters minus the network's latency. */
struct between {
    uint32_t x, y;
    struct nt_user_value off;
};

struct check {
    const struct nt_evidence *e;
    const bool *ignored;
    const struct nt_model *m;
    double noise;
    uint32_t *parent, *depth;
    double *us;                   /* by vertex: latency to the root */
    struct witnesses *confirming; /* by vertex: users that confirm that it is below its parent */
    struct witnesses *meets;      /* by vertex: users that confirm that paths turn there */
    uint32_t *pairs, *off;        /* by host: pairs read, and contradicting ones */
    size_t count, room;
    struct contradiction *at;
    size_t clusters;
    uint32_t *cluster; /* hosts; NONE: missing */
    size_t blocks, fars, far_room;
    struct block *block; /* sorted */
    struct block *far;   /* sorted: clusters whose common readings deviate */
    float *scratch;      /* entries, as value */
    struct nt_user_value *value;
    float *shift; /* jobs */
};

static int check_init(struct check *c, struct nt_arena *memory, struct nt_err *err)
{
    size_t vertices = c->m->hosts + c->m->switches;
    c->parent = nt_arena_array(memory, vertices + 1, sizeof *c->parent);
    c->depth = nt_arena_array(memory, vertices + 1, sizeof *c->depth);
    c->us = nt_arena_array(memory, vertices + 1, sizeof *c->us);
    c->confirming = nt_arena_array(memory, vertices + 1, sizeof *c->confirming);
    c->meets = nt_arena_array(memory, vertices + 1, sizeof *c->meets);
    c->pairs = nt_arena_array(memory, c->m->hosts + 1, sizeof *c->pairs);
    c->off = nt_arena_array(memory, c->m->hosts + 1, sizeof *c->off);
    c->scratch = nt_arena_array(memory, c->e->entries + 1, sizeof *c->scratch);
    c->value = nt_arena_array(memory, c->e->entries + 1, sizeof *c->value);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    double *up_us =
        nt_arena_array(memory, vertices + 1, sizeof *up_us); /* by vertex: latency of the uplink */
    if (up_us == NULL)
        return nt_arena_check(memory, err);
    memset(c->parent, 0xff, (vertices + 1) * sizeof *c->parent);
    for (size_t k = 0; k < c->m->links;
         k++) { /* one of two vertices at the root is above the other */
        c->parent[c->m->link[k].a] = c->m->link[k].b;
        up_us[c->m->link[k].a] = c->m->link[k].latency_us;
    }
    for (size_t v = 0; v < vertices; v++)
        for (uint32_t w = (uint32_t)v; c->parent[w] != NONE; w = c->parent[w]) {
            c->us[v] += up_us[w];
            c->depth[v]++;
        }
    return 0;
}

/* Hosts of one switch at which the nearest paths turn are a cluster; any other host is a cluster of
 * its own. */
static int find_clusters(struct check *c, struct nt_arena *memory, struct nt_err *err)
{
    size_t vertices = c->m->hosts + c->m->switches;
    uint32_t *number = nt_arena_array(memory, vertices + 1, sizeof *number);
    c->cluster = nt_arena_array(memory, c->m->hosts + 1, sizeof *c->cluster);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    memset(number, 0xff, (vertices + 1) * sizeof *number);
    double nearest = INFINITY;
    for (uint32_t h = 0; h < c->m->hosts; h++)
        if (c->parent[h] != NONE)
            nearest = fmin(nearest, c->us[h] - c->us[c->parent[h]]);
    for (uint32_t h = 0; h < c->m->hosts; h++) {
        uint32_t up = c->parent[h];
        bool near = up != NONE && c->us[h] - c->us[up] <= (1 + EXACT) * nearest;
        uint32_t by = near ? up : h;
        if (number[by] == NONE && up != NONE)
            number[by] = (uint32_t)c->clusters++;
        c->cluster[h] = up != NONE ? number[by] : NONE;
    }
    return 0;
}

/* Returns the vertex at which the path of two hosts turns, and the vertices before it on both
 * sides; NONE: there is none. */
static uint32_t meet(const struct check *c, uint32_t a, uint32_t b, uint32_t below[2])
{
    below[0] = below[1] = NONE;
    while (a != b && a != NONE && b != NONE) {
        int end = c->depth[a] >= c->depth[b] ? 0 : 1;
        uint32_t *v = end == 0 ? &a : &b;
        below[end] = *v;
        *v = c->parent[*v];
    }
    return a == b ? a : NONE;
}

/* Returns the network's latency between hosts whose path turns there. */
static double ln_between(const struct check *c, uint32_t a, uint32_t b, uint32_t at)
{
    return log(c->us[a] + c->us[b] - 2 * c->us[at]);
}

/* Returns a reading minus the common deviation of its job: a job that shares few pairs with others
 * is not aligned better. */
static double ln_read(const struct check *c, const struct nt_evidence_entry *one)
{
    return (double)one->ln - (double)c->shift[one->job];
}

static int find_shifts(struct check *c, struct nt_arena *memory, struct nt_err *err)
{
    size_t *from = nt_arena_array(memory, c->e->jobs + 2, sizeof *from);
    c->shift = nt_arena_array(memory, c->e->jobs + 1, sizeof *c->shift);
    uint32_t below[2];
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < c->e->entries; k++)
        from[c->e->entry[k].job + 1]++;
    for (size_t j = 0; j < c->e->jobs; j++)
        from[j + 1] += from[j];
    for (size_t k = c->e->entries;
         k-- > 0;) { /* from[j + 1] is decremented to the start of the entries of j */
        const struct nt_evidence_entry *one = &c->e->entry[k];
        uint32_t at = c->ignored[k] ? NONE : meet(c, one->a, one->b, below);
        c->scratch[--from[one->job + 1]] =
            at == NONE ? NAN : one->ln - (float)ln_between(c, one->a, one->b, at);
    }
    for (size_t j = 0; j < c->e->jobs; j++) {
        size_t begin = from[j + 1], n = 0;
        size_t end = j + 1 < c->e->jobs ? from[j + 2] : c->e->entries;
        for (size_t k = begin; k < end; k++)
            if (!isnan(c->scratch[k]))
                c->scratch[begin + n++] = c->scratch[k];
        if (n >= SHIFTED)
            c->shift[j] =
                fminf(fmaxf(nt_stats_median(&c->scratch[begin], n), -SHIFT_MOST), SHIFT_MOST);
    }
    return 0;
}

static double error_of(const struct check *c, size_t n)
{
    return EXACT + SDS * c->noise * (n > 2 ? MEDIAN / sqrt((double)n) : 1);
}

static struct block key_of(const struct check *c, uint32_t a, uint32_t b)
{
    uint32_t x = c->cluster[a], y = c->cluster[b];
    return (struct block){.x = x < y ? x : y, .y = x < y ? y : x};
}

static int compare_blocks(const void *p, const void *q)
{
    const struct block *x = p, *y = q;
    return NT_ORDER(x->x, y->x, NT_ORDER(x->y, y->y, 0));
}

static int compare_between(const void *p, const void *q)
{
    const struct between *x = p, *y = q;
    return NT_ORDER(x->x, y->x, NT_ORDER(x->y, y->y, 0));
}

/* Returns the median of value[n] or the median of the users' medians, whichever is nearer to from:
 * a deviation counts only if both have it. The callers' bounds are for the median of n independent
 * readings. The median of fewer users' medians exceeds them by chance, and many readings of one
 * user deviate together. Requiring both has no more false deviations than either alone. */
static double middle_of(const struct check *c, size_t n, double from)
{
    for (size_t k = 0; k < n; k++)
        c->scratch[k] = c->value[k].value;
    double all = (double)nt_stats_median(c->scratch, n);
    size_t users = nt_user_medians(c->value, n, c->scratch);
    double of_users = (double)nt_stats_median(c->scratch, users);
    return fabs(of_users - from) < fabs(all - from) ? of_users : all;
}

/* Finds the clusters between which the median of the users' readings deviates, ascending in far. */
static int find_far(struct check *c, struct nt_arena *memory, struct nt_err *err)
{
    struct between *all = nt_arena_array(memory, c->e->entries + 1, sizeof *all);
    uint32_t below[2];
    size_t n = 0;
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < c->e->entries; k++) {
        const struct nt_evidence_entry *one = &c->e->entry[k];
        uint32_t at = c->ignored[k] ? NONE : meet(c, one->a, one->b, below);
        struct block key = at != NONE ? key_of(c, one->a, one->b) : (struct block){0};
        if (at != NONE)
            all[n++] =
                (struct between){key.x,
                                 key.y,
                                 {c->e->job[one->job].user,
                                  (float)(ln_read(c, one) - ln_between(c, one->a, one->b, at))}};
    }
    if (n > 0)
        qsort(all, n, sizeof *all, compare_between);
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && all[end].x == all[k].x && all[end].y == all[k].y; end++)
            c->value[end - k] = all[end].off;
        double error = SDS * c->noise * MEDIAN / sqrt((double)(end - k));
        if (end - k < SHIFTED || fabs(middle_of(c, end - k, 0)) <= EXACT_TOGETHER + error)
            continue;
        c->far = nt_arena_grow(memory, c->far, &c->far_room, c->fars + 1, sizeof *c->far);
        if (c->far == NULL)
            return nt_arena_check(memory, err);
        c->far[c->fars++] = (struct block){.x = all[k].x, .y = all[k].y};
    }
    return 0;
}

static int add(struct check *c, struct contradiction one, struct nt_arena *memory,
               struct nt_err *err)
{
    struct contradiction *grown =
        nt_arena_grow(memory, c->at, &c->room, c->count + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(memory, err);
    c->at = grown;
    c->at[c->count++] = one;
    c->off[one.a]++;
    c->off[one.b]++;
    return 0;
}

static int compare_values(const void *p, const void *q)
{
    const struct nt_user_value *x = p, *y = q;
    return NT_ORDER(x->value, y->value, 0);
}

/* Finds the users whose readings deviate in the direction of the median. Outliers deviate, too, but
 * readings of two users agree only by chance if both are outliers. */
static void find_deviating(struct check *c, size_t n, double ln, double median,
                           struct contradiction *one)
{
    size_t off = 0;
    for (size_t k = 0; k < n; k++) {
        double own = (double)c->value[k].value - ln;
        bool known = c->value[k].user != NT_NO_USER;
        if (known && own * median > 0 && fabs(own) > fabs(median) / 2)
            c->value[off++] = c->value[k];
    }
    qsort(c->value, off, sizeof *c->value, compare_values);
    for (size_t k = 0; k < off; k++) {
        see(&one->off, c->value[k].user);
        one->agreed |= k > 0 && c->value[k].user != c->value[k - 1].user &&
                       (double)(c->value[k].value - c->value[k - 1].value) <= error_of(c, 1);
    }
}

/* Checks the readings of one pair: which users confirm the vertex at which its path turns, and
 * which contradict it. */
static int check_pair(struct check *c, size_t from, size_t to, struct nt_arena *memory,
                      struct nt_err *err)
{
    const struct nt_evidence_entry *one = &c->e->entry[from];
    struct contradiction off = {.a = one->a, .b = one->b};
    uint32_t below[2], at = meet(c, one->a, one->b, below);
    size_t n = 0;
    for (size_t k = from; k < to; k++)
        if (!c->ignored[k])
            c->value[n++] = (struct nt_user_value){c->e->job[c->e->entry[k].job].user,
                                                   (float)ln_read(c, &c->e->entry[k])};
    if (n == 0 || at == NONE)
        return 0;
    double ln = ln_between(c, one->a, one->b, at);
    double median = middle_of(c, n, ln) - ln;
    const struct block key = key_of(c, one->a, one->b);
    bool contradicts =
        !(fabs(median) <= error_of(c, n)) ||
        (c->fars > 0 && bsearch(&key, c->far, c->fars, sizeof key, compare_blocks) != NULL);
    c->pairs[one->a]++;
    c->pairs[one->b]++;
    for (size_t k = from; k < to; k++) {
        double own = ln_read(c, &c->e->entry[k]) - ln;
        uint32_t user = c->e->job[c->e->entry[k].job].user;
        if (c->ignored[k])
            continue;
        if (fabs(own) <= error_of(c, 1)) {
            see(&c->meets[at], user);
            for (int end = 0; end < 2; end++)
                see(&c->confirming[below[end]], user);
        }
    }
    if (!contradicts)
        return 0;
    find_deviating(c, n, ln, median, &off);
    return add(c, off, memory, err);
}

/* ---- what one user alone contradicts ---- */

static struct block *block_of(const struct check *c, uint32_t a, uint32_t b)
{
    const struct block key = key_of(c, a, b);
    return bsearch(&key, c->block, c->blocks, sizeof key, compare_blocks);
}

/* Finds the users that agree, for the clusters of contradicting pairs. */
static int find_agreeing(struct check *c, struct nt_arena *memory, struct nt_err *err)
{
    uint32_t below[2];
    c->block = nt_arena_array(memory, c->count + 1, sizeof *c->block);
    if (c->block == NULL)
        return nt_arena_check(memory, err);
    for (size_t k = 0; k < c->count; k++)
        c->block[k] = key_of(c, c->at[k].a, c->at[k].b);
    qsort(c->block, c->count, sizeof *c->block, compare_blocks);
    for (size_t k = 0; k < c->count; k++)
        if (c->blocks == 0 || compare_blocks(&c->block[c->blocks - 1], &c->block[k]) != 0)
            c->block[c->blocks++] = c->block[k];
    for (size_t k = 0; k < c->count; k++) {
        struct block *block = block_of(c, c->at[k].a, c->at[k].b);
        for (unsigned u = 0; u < c->at[k].off.count; u++)
            see(&block->off, c->at[k].off.user[u]);
    }
    for (size_t k = 0; c->blocks > 0 && k < c->e->entries; k++) {
        const struct nt_evidence_entry *one = &c->e->entry[k];
        struct block *block =
            c->ignored[k] || c->cluster[one->a] == NONE || c->cluster[one->b] == NONE
                ? NULL
                : block_of(c, one->a, one->b);
        uint32_t at = block != NULL ? meet(c, one->a, one->b, below) : NONE;
        if (at != NONE &&
            fabs(ln_read(c, one) - ln_between(c, one->a, one->b, at)) <= error_of(c, 1))
            see(&block->agree, c->e->job[one->job].user);
    }
    return 0;
}

/* Returns whether a contradiction counts. Some pairs that only one user read may deviate by chance,
 * or on purpose if two others confirm the place of such hosts. With many hosts most pairs are read
 * once, and some deviate: then two users are needed who find no such pair right. */
static bool counts(const struct check *c, const struct contradiction *x)
{
    uint32_t user = x->off.count > 0 ? x->off.user[0] : NT_NO_USER;
    const struct block *block = block_of(c, x->a, x->b);
    if (x->agreed)
        return true;
    if (c->m->hosts > FEW)
        return block->off.count >= USERS && block->agree.count < USERS;
    return (WEAK_PART * c->off[x->a] >= c->pairs[x->a] ||
            WEAK_PART * c->off[x->b] >= c->pairs[x->b]) &&
           !has_two_besides(&block->agree, user);
}

/* Returns the host in most contradictions; among several, the one in the fewest readings. */
static uint32_t worst_host(const struct check *c, const uint32_t *in)
{
    uint32_t worst = 0;
    for (uint32_t h = 1; h < c->m->hosts; h++)
        if (in[h] > in[worst] || (in[h] == in[worst] && c->pairs[h] < c->pairs[worst]))
            worst = h;
    return worst;
}

/* Removes hosts one after the other, together with those of the same cluster that are in nearly as
 * many contradictions. */
static void leave_out(struct check *c, uint32_t *in, bool *contradicted)
{
    size_t kept = 0;
    for (size_t k = 0; k < c->count; k++)
        if (counts(c, &c->at[k]))
            c->at[kept++] = c->at[k];
    while (kept > 0) {
        memset(in, 0, c->m->hosts * sizeof *in);
        for (size_t k = 0; k < kept; k++) {
            in[c->at[k].a]++;
            in[c->at[k].b]++;
        }
        uint32_t worst = worst_host(c, in);
        for (size_t h = 0; h < c->m->hosts; h++)
            contradicted[h] |= c->cluster[h] == c->cluster[worst] &&
                               WEAK_PART * (uint64_t)in[h] > (WEAK_PART - 1) * (uint64_t)in[worst];
        size_t left = 0;
        for (size_t k = 0; k < kept; k++)
            if (!contradicted[c->at[k].a] && !contradicted[c->at[k].b])
                c->at[left++] = c->at[k];
        kept = left;
    }
}

int nt_cluster_check(const struct nt_evidence *e, const bool *ignored, const struct nt_model *m,
                     double noise, const struct nt_checked_parts *parts, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct check c = {.e = e, .ignored = ignored, .m = m, .noise = noise};
    uint32_t *in = nt_arena_array(&memory, m->hosts + 1, sizeof *in);
    if (check_init(&c, &memory, err) != 0 || find_clusters(&c, &memory, err) != 0 ||
        find_shifts(&c, &memory, err) != 0 || find_far(&c, &memory, err) != 0)
        return -1;
    for (size_t k = 0, end; k < e->entries; k = end) {
        end = nt_evidence_next_pair(e, k);
        if (check_pair(&c, k, end, &memory, err) != 0)
            return -1;
    }
    if (find_agreeing(&c, &memory, err) != 0)
        return -1;
    memset(parts->contradicted, 0, m->hosts * sizeof *parts->contradicted);
    leave_out(&c, in, parts->contradicted);
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        parts->confirmed[v] =
            (c.parent[v] == NONE ? v >= m->hosts : c.confirming[v].count >= USERS) &&
            (v < m->hosts || c.meets[v].count >= USERS);
    return 0;
}
