/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_tiers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

/* ---- which parts are one ---- */

/* From summed evidence between pairs of parts, most of which may be missing: in rounds, any two
 * that are each other's likeliest partner, and likelier one than not by a margin, become one;
 * evidence between them and others adds up (agglomerative clustering by mutual neighbours, Murtagh
 * 1983, with sums of log-likelihood ratios). Time n log n in the pairs a round, memory linear. */

enum { NONE = UINT32_MAX };

struct pair_sum {
    uint32_t a, b; /* indices of parts, a < b */
    float sum;     /* ln of the odds that they are one; sum over readings */
};

struct pair_sums {
    size_t count, capacity;
    struct pair_sum *at; /* owned */
};

static int add_sums(struct pair_sums *s, uint32_t a, uint32_t b, double llr, struct nt_err *err)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity > 0 ? s->capacity + s->capacity / 2 : 4096;
        void *at =
            capacity > SIZE_MAX / sizeof *s->at ? NULL : realloc(s->at, capacity * sizeof *s->at);
        if (at == NULL)
            return nt_err_memory(err);
        s->at = at;
        s->capacity = capacity;
    }
    s->at[s->count++] = (struct pair_sum){a < b ? a : b, a < b ? b : a, (float)llr};
    return 0;
}

static int compare_pairs(const void *x, const void *y)
{
    const struct pair_sum *p = x, *q = y;
    /* by sum, so that the total does not depend on the order */
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, NT_ORDER(p->sum, q->sum, 0)));
}

/* Keeps one entry per pair, ascending. */
static void fold_sums(struct pair_sums *s)
{
    size_t kept = 0;
    if (s->count > 0)
        qsort(s->at, s->count, sizeof *s->at, compare_pairs);
    for (size_t k = 0, end; k < s->count; k = end) {
        double sum = 0;
        for (end = k; end < s->count && s->at[end].a == s->at[k].a && s->at[end].b == s->at[k].b;
             end++)
            sum += (double)s->at[end].sum;
        s->at[kept] = s->at[k];
        s->at[kept++].sum = (float)sum;
    }
    s->count = kept;
}

static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

/* Merges the pairs of united parts; pairs within one part are removed. */
static void contract(struct pair_sums *s, uint32_t *up)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->count; k++) {
        uint32_t a = root_of(up, s->at[k].a), b = root_of(up, s->at[k].b);
        if (a != b)
            s->at[kept++] = (struct pair_sum){a < b ? a : b, a < b ? b : a, s->at[k].sum};
    }
    s->count = kept;
    fold_sums(s);
}

/* Finds each part's most probable partner; the first of equal ones. */
static void find_best(const struct pair_sums *s, double margin, uint32_t *best, float *most)
{
    for (size_t k = 0; k < s->count; k++) {
        const struct pair_sum *p = &s->at[k];
        if (!((double)p->sum > margin))
            continue;
        if (best[p->a] == NONE || p->sum > most[p->a]) {
            best[p->a] = p->b;
            most[p->a] = p->sum;
        }
        if (best[p->b] == NONE || p->sum > most[p->b]) {
            best[p->b] = p->a;
            most[p->b] = p->sum;
        }
    }
}

/* Unites parts in up[] (for each part the smallest one of its union, at first itself) until the
 * odds of no two exceed margin. sums then contains the pairs between the remaining parts,
 * combined. */
static int unite_sums(struct pair_sums *s, uint32_t *up, size_t parts, double margin,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *best = nt_arena_array(&memory, parts + 1, sizeof *best);
    float *most = nt_arena_array(&memory, parts + 1, sizeof *most);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    contract(s, up);
    for (bool any = true; any;) {
        any = false;
        memset(best, 0xff, parts * sizeof *best);
        find_best(s, margin, best, most);
        for (uint32_t a = 0; a < parts; a++) {
            uint32_t b = best[a];
            if (b == NONE || a > b || best[b] != a)
                continue;
            up[b] = a;
            any = true;
        }
        if (any)
            contract(s, up);
    }
    for (uint32_t v = 0; v < parts; v++)
        up[v] = root_of(up, v);
    return 0;
}

static void fini_sums(struct pair_sums *s)
{
    free(s->at);
    *s = (struct pair_sums){0};
}

/* ---- tiers ---- */

enum { PAIRS_MOST = 200000, PAIRS_LEAST = 8 };

/* Margins of the odds. With thousands of hosts some pairs are read once, and are wrong. A single
 * reading that two hosts belong together counts only if a third host belongs to both by its
 * readings. */
static const double MARGIN = 10, SAME = 5, CLOSED = 6;
/* Largest evidence from one pair of hosts, because one of them may have moved. The jobs of one user
 * give less than the evidence that unites two hosts. */
static const double PAIR_MOST = 20, USER_MOST = 8;
static const double AGREE_SDS = 3; /* quartiles of one pair */
/* A reading farther from every class is probably an outlier: one in fifty over a factor of 3.5,
 * against a class with a fifth of the readings and 1 % noise. Many such readings are no outliers
 * but of an unknown class, and are no evidence for the others. */
static const double OUTLIER_SDS = 3.6;
static const double NOISE_LEAST = 0.002, OUTLIERS = 0.02, LOW_SHARE = 0.25;

/* ---- classes ---- */

/* Returns the sd of one entry around its pair, from pairs of several jobs; 0: there are none. */
static double noise_of(const struct nt_evidence *e, float *off)
{
    size_t n = 0;
    for (size_t k = 0, end; k < e->entries && n < PAIRS_MOST; k = end) {
        end = nt_evidence_next_pair(e, k);
        if (end - k > 1)
            off[n++] = fabsf(e->entry[k + 1].ln - e->entry[k].ln);
    }
    return n < PAIRS_LEAST ? 0 : (double)nt_stats_median(off, n) / (NT_MEDIAN_OF_SD * sqrt(2));
}

/* Lists the medians of an even sample of the pairs that were read in several jobs. */
static size_t middles_of(const struct nt_evidence *e, double noise, double *value,
                         struct nt_user_value *ln, float *scratch)
{
    size_t pairs = 0, n = 0, seen = 0;
    for (size_t k = 0, end; k < e->entries; k = end) {
        end = nt_evidence_next_pair(e, k);
        pairs += end - k > 1;
    }
    size_t step = pairs / PAIRS_MOST + 1;
    for (size_t k = 0, end; k < e->entries; k = end) {
        end = nt_evidence_next_pair(e, k);
        if (end - k < 2 || seen++ % step != 0)
            continue;
        for (size_t i = k; i < end; i++) {
            ln[i - k] = (struct nt_user_value){e->job[e->entry[i].job].user, e->entry[i].ln};
            scratch[i - k] = e->entry[i].ln;
        }
        size_t users = nt_user_medians(ln, end - k, scratch + (end - k));
        const size_t of = users > 1 ? users : end - k;
        float *x = scratch + (users > 1 ? end - k : 0);
        double width =
            (double)nt_stats_quantile(x, of, 0.75) - (double)nt_stats_quantile(x, of, 0.25);
        if (width < AGREE_SDS * noise) /* otherwise of a host that has moved, between two classes */
            value[n++] = (double)nt_stats_median(x, of);
    }
    return n;
}

/* The offsets of jobs that share few pairs have an error of one sd of a reading. Two classes that
 * are nearer than that are one class, seen by groups of jobs with different offsets. */
static void merge_near(struct nt_classes *c, double noise)
{
    for (size_t k = 1; k < c->count;) {
        double *mean = &c->mean[k - 1], *weight = &c->weight[k - 1];
        if (mean[1] - mean[0] >= noise) {
            k++;
            continue;
        }
        mean[0] = (mean[0] * weight[0] + mean[1] * weight[1]) / (weight[0] + weight[1]);
        weight[0] += weight[1];
        c->count--;
        memmove(mean + 1, mean + 2, (c->count - k) * sizeof *mean);
        memmove(weight + 1, weight + 2, (c->count - k) * sizeof *weight);
    }
}

int nt_cluster_tiers_classes(const struct nt_evidence *e, struct nt_classes *out,
                             struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *scratch = nt_arena_array(&memory, 2 * e->entries + 1, sizeof *scratch);
    struct nt_user_value *ln = nt_arena_array(&memory, e->entries + 1, sizeof *ln);
    double *value = nt_arena_array(&memory, PAIRS_MOST + 1, sizeof *value);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    double noise = fmax(noise_of(e, scratch), NOISE_LEAST);
    size_t n = middles_of(e, noise, value, ln, scratch);
    if (n < PAIRS_LEAST)
        return nt_err_set(err, NT_ERR_INPUT,
                          "only %zu pairs of hosts were measured in two jobs, at least %d are "
                          "needed",
                          n, PAIRS_LEAST);
    if (nt_classes_fit(value, n, noise / sqrt(2), OUTLIERS, out, err) < 0)
        return -1;
    merge_near(out, noise);
    out->noise = noise;
    out->outliers = OUTLIERS;
    out->low_share = LOW_SHARE;
    return 0;
}

/* ---- levels ---- */

/* Sums of the evidence per user for a pair; with more users the last ones count as one. */
enum { USERS_APART = 8 };
struct user_sum {
    uint32_t user;
    double sum;
};

static void add_user(struct user_sum *user, size_t *users, uint32_t who, double llr)
{
    size_t k = 0;
    while (k < *users && user[k].user != who)
        k++;
    if (k == *users && k < USERS_APART)
        user[(*users)++] = (struct user_sum){.user = who};
    user[k < USERS_APART ? k : USERS_APART - 1].sum += llr;
}

/* Returns ln of the odds that a reading is of two hosts of one cluster. */
static double llr_of(const struct nt_classes *c, double ln, size_t level)
{
    double off;
    nt_classes_nearest(c, ln, &off);
    return off > OUTLIER_SDS ? 0 : nt_classes_llr(c, ln, level);
}

/* Sums the evidence between the parts of a level. */
static int sum_level(const struct nt_evidence *e, const struct nt_cluster_tiers *t,
                     const bool *ignored, size_t level, struct pair_sums *sums, struct nt_err *err)
{
    const uint32_t *part = t->up[level];
    for (size_t k = 0, end; k < e->entries; k = end) {
        struct user_sum user[USERS_APART];
        size_t users = 0;
        double sum = 0;
        bool any = false;
        end = nt_evidence_next_pair(e, k);
        for (size_t i = k; i < end; i++) {
            if (ignored != NULL && ignored[i])
                continue;
            add_user(user, &users, e->job[e->entry[i].job].user,
                     llr_of(&t->classes, (double)e->entry[i].ln, level));
            any = true;
        }
        for (size_t i = 0; i < users; i++)
            sum += fmin(fmax(user[i].sum, -USER_MOST), USER_MOST);
        sum = fmin(fmax(sum, -PAIR_MOST), PAIR_MOST);
        uint32_t a = part[e->entry[k].a], b = part[e->entry[k].b];
        if (any && a != b && add_sums(sums, a, b, sum, err) < 0)
            return -1;
    }
    return 0;
}

struct counts {
    uint32_t *hosts; /* number of hosts by first host of a cluster */
    uint32_t *parts; /* number of clusters of a level in one of the next, by its first host */
    double *sizes;   /* and their sizes */
    double *read;    /* number of hosts in clusters that a cluster was read with */
};

/* Counts the clusters of a level and of the next. */
static void count_parts(const struct nt_cluster_tiers *t, size_t level, const bool *seen,
                        struct counts *c)
{
    memset(c->hosts, 0, (t->hosts + 1) * sizeof *c->hosts);
    memset(c->parts, 0, (t->hosts + 1) * sizeof *c->parts);
    memset(c->sizes, 0, (t->hosts + 1) * sizeof *c->sizes);
    memset(c->read, 0, (t->hosts + 1) * sizeof *c->read);
    for (uint32_t h = 0; h < t->hosts; h++) {
        if (!seen[h])
            continue;
        c->hosts[t->up[level][h]]++;
        c->parts[t->up[level + 1][h]] += t->up[level][h] == h;
        c->sizes[t->up[level + 1][h]]++;
    }
}

/* Returns how much joining another cluster would change this one: almost nothing if a few hosts
 * join a large one. */
static double change(double own, double other)
{
    return fmin(other / fmax(own, 1), 1);
}

/* Computes the probabilities that clusters belong together: the prior odds of each pair are one to
 * the number of others (infer/clustering.c), including pairs that were not read. */
static void state_errors(struct nt_cluster_tiers *t, size_t level, const struct pair_sums *sums,
                         struct counts *c)
{
    for (size_t k = 0; k < sums->count; k++) {
        const struct pair_sum *p = &sums->at[k];
        uint32_t above = t->up[level + 1][p->a];
        if (above != t->up[level + 1][p->b])
            continue;
        double others = (double)c->parts[above] - 1;
        double error = 1 / (1 + exp(-(double)p->sum) * fmax(others, 1));
        const uint32_t end[2] = {p->a, p->b};
        for (int i = 0; i < 2; i++) {
            double own = c->hosts[end[i]], other = c->hosts[end[1 - i]];
            t->error[level][end[i]] += (float)(error * change(own, other));
            c->read[end[i]] += other;
        }
        t->risk[level] += error * change(c->hosts[p->a], c->hosts[p->b]) / 2 +
                          error * change(c->hosts[p->b], c->hosts[p->a]) / 2;
    }
    for (uint32_t h = 0; h < t->hosts; h++) {
        double own = c->hosts[h], parts = c->parts[t->up[level + 1][h]];
        double unread = c->sizes[t->up[level + 1][h]] - own - c->read[h];
        if (t->up[level][h] != h || own < 1 || parts < 2 || unread < 0.5)
            continue;
        double error = change(own, unread) / parts;
        t->error[level][h] += (float)error;
        t->risk[level] += error / 2;
    }
}

/* Lists the hosts that belong to each host by their own readings, ascending in to[from[h]..from[h +
 * 1]). */
static void list_same(const struct pair_sums *sums, size_t hosts, size_t *from, uint32_t *to)
{
    memset(from, 0, (hosts + 2) * sizeof *from);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < sums->count; k++) {
            const struct pair_sum *p = &sums->at[k];
            if (!((double)p->sum > SAME))
                continue;
            if (pass == 0) {
                from[p->a + 2]++;
                from[p->b + 2]++;
            } else {
                to[from[p->a + 1]++] = p->b;
                to[from[p->b + 1]++] = p->a;
            }
        }
        for (size_t h = 0; pass == 0 && h < hosts; h++)
            from[h + 2] += from[h + 1];
    }
}

static bool have_common(const uint32_t *x, size_t n, const uint32_t *y, size_t m)
{
    for (size_t i = 0, k = 0; i < n && k < m;) {
        if (x[i] == y[k])
            return true;
        if (x[i] < y[k])
            i++;
        else
            k++;
    }
    return false;
}

static int close_triangles(struct pair_sums *sums, size_t hosts, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t *from = nt_arena_array(&memory, hosts + 2, sizeof *from);
    uint32_t *to = nt_arena_array(&memory, 2 * sums->count + 1, sizeof *to);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    list_same(sums, hosts, from, to);
    for (size_t h = 0; h < hosts; h++)
        qsort(to + from[h], from[h + 1] - from[h], sizeof *to, nt_compare_u32);
    for (size_t k = 0; k < sums->count; k++) {
        struct pair_sum *p = &sums->at[k];
        if ((double)p->sum > SAME && (double)p->sum <= MARGIN &&
            have_common(to + from[p->a], from[p->a + 1] - from[p->a], to + from[p->b],
                        from[p->b + 1] - from[p->b]))
            p->sum += (float)CLOSED;
    }
    return 0;
}

static int find_level(const struct nt_evidence *e, const bool *ignored, size_t level,
                      struct pair_sums *left, struct nt_cluster_tiers *t, struct nt_err *err)
{
    uint32_t *up = t->up[level];
    for (uint32_t h = 0; h < t->hosts; h++)
        up[h] = level > 0 ? t->up[level - 1][h] : h;
    if (sum_level(e, t, ignored, level, left, err) < 0)
        return -1;
    fold_sums(left);
    if (level == 0 && close_triangles(left, t->hosts, err) < 0)
        return -1;
    /* united parts are at their first host, all other hosts at themselves */
    for (uint32_t h = 0; h < t->hosts; h++)
        if (up[h] != h && up[up[h]] != up[h])
            up[h] = up[up[h]];
    return unite_sums(left, up, t->hosts, MARGIN, err);
}

static int tiers_init(struct nt_cluster_tiers *t, size_t hosts, const struct nt_classes *classes,
                      struct nt_err *err)
{
    bool all = true;
    *t = (struct nt_cluster_tiers){.hosts = hosts, .classes = *classes};
    for (size_t l = 0; l < classes->count; l++) {
        t->up[l] = calloc(hosts + 1, sizeof *t->up[l]);
        t->error[l] = calloc(hosts + 1, sizeof *t->error[l]);
        all &= t->up[l] != NULL && t->error[l] != NULL;
    }
    if (all)
        return 0;
    nt_cluster_tiers_fini(t);
    return nt_err_memory(err);
}

int nt_cluster_tiers_find(const struct nt_evidence *e, const struct nt_classes *classes,
                          const bool *ignored, struct nt_cluster_tiers *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_cluster_tiers t;
    struct pair_sums left[NT_CLASSES_MAX] = {0};
    struct counts c = {.hosts = nt_arena_array(&memory, e->hosts + 1, sizeof *c.hosts),
                       .parts = nt_arena_array(&memory, e->hosts + 1, sizeof *c.parts),
                       .sizes = nt_arena_array(&memory, e->hosts + 1, sizeof *c.sizes),
                       .read = nt_arena_array(&memory, e->hosts + 1, sizeof *c.read)};
    bool *seen = nt_arena_array(&memory, e->hosts + 1, sizeof *seen);
    if (nt_arena_check(&memory, err) < 0 || tiers_init(&t, e->hosts, classes, err) < 0)
        return -1;
    int rc = 0;
    for (size_t k = 0; k < e->entries; k++)
        if (ignored == NULL || !ignored[k])
            seen[e->entry[k].a] = seen[e->entry[k].b] = true;
    for (size_t l = 0; rc == 0 && l + 1 < classes->count; l++)
        rc = find_level(e, ignored, l, &left[l], &t, err);
    for (size_t l = 0; rc == 0 && l + 1 < classes->count;
         l++) { /* the highest level contains all hosts: up is 0 */
        count_parts(&t, l, seen, &c);
        state_errors(&t, l, &left[l], &c);
    }
    for (size_t l = 0; l < NT_CLASSES_MAX; l++)
        fini_sums(&left[l]);
    if (rc < 0) {
        nt_cluster_tiers_fini(&t);
        return -1;
    }
    *out = t;
    return 0;
}

size_t nt_cluster_tiers_level(const struct nt_cluster_tiers *t, uint32_t a, uint32_t b)
{
    size_t level = 0;
    while (level + 1 < t->classes.count && t->up[level][a] != t->up[level][b])
        level++;
    return level;
}

void nt_cluster_tiers_fini(struct nt_cluster_tiers *t)
{
    for (size_t l = 0; l < NT_CLASSES_MAX; l++) {
        free(t->up[l]);
        free(t->error[l]);
    }
    *t = (struct nt_cluster_tiers){0};
}
