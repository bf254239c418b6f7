/* SPDX-License-Identifier: Apache-2.0 */
/* Moves single hosts and joins groups until nothing changes. */
#include "work.h"

#include <string.h>

#include "memory.h"
#include "stats.h"

enum { CANDIDATES = 6, ROUNDS = 12 };

/* How badly host i fits into group h: over all groups, the distance of its profile from h's in
 * units of the noise of that many pairs, free of the host's own offset. A small foreign group's
 * share is bounded: its few pairs may be outliers. *terms: groups that count. */
static double group_misfit(const struct nt_work *w, size_t i, size_t h, struct nt_weighted *buffer,
                           size_t *terms, float *offset)
{
    size_t groups = w->groups, count = 0;
    const float *profile = w->profile + i * groups, *t = w->t + h * groups;
    const float *noise = w->sd + h * groups;
    for (size_t g = 0; g < groups; g++) {
        size_t members = nt_work_size(w, g) - (w->group[i] == g);
        float v = profile[g] - t[g];
        if (v == v && members > 0 && (g == h || !w->weak[g]))
            buffer[count++] = (struct nt_weighted){v, (float)members};
    }
    *terms = count;
    if (count == 0)
        return INFINITY;
    float own = *offset = nt_stats_weighted_median(buffer, count);
    double sum = 0;
    for (size_t g = 0; g < groups; g++) {
        size_t members = nt_work_size(w, g) - (w->group[i] == g);
        float v = profile[g];
        if (v != v || members == 0 || (g != h && w->weak[g]))
            continue;
        double r = (double)(fabsf(v - t[g] - own) / noise[g] * sqrtf((float)members));
        sum += r < 6 || g == h || members >= 5 ? r : 6 + log(r / 6);
    }
    return sum;
}

static size_t candidate_groups(const struct nt_work *w, size_t i, uint32_t *out)
{
    size_t count = 0;
    const float *profile = w->profile + i * w->groups;
    while (count < CANDIDATES) {
        uint32_t best = UINT32_MAX;
        for (size_t g = 0; g < w->groups; g++) {
            bool taken = g == w->group[i] || w->weak[g] || profile[g] != profile[g];
            for (size_t k = 0; k < count; k++)
                taken = taken || out[k] == g;
            if (!taken && (best == UINT32_MAX || profile[g] < profile[best]))
                best = (uint32_t)g;
        }
        if (best == UINT32_MAX)
            break;
        out[count++] = best;
    }
    return count;
}

struct moving {
    struct nt_weighted *buffer; /* groups */
    float *values, *own;        /* n: room, and the misfit a term of each host where it is */
    uint32_t *to;               /* n */
};

static int moving_init(struct moving *m, const struct nt_work *w, struct nt_arena *memory,
                       struct nt_err *err)
{
    m->buffer = nt_arena_array(memory, w->groups + 1, sizeof *m->buffer);
    m->values = nt_arena_array(memory, w->n + 1, sizeof *m->values);
    m->own = nt_arena_array(memory, w->n + 1, sizeof *m->own);
    m->to = nt_arena_array(memory, w->n + 1, sizeof *m->to);
    return nt_arena_check(memory, err);
}

/* Misfit a term that a settled host shows in these data: the middle plus 4 sd. */
static double usual_misfit(const struct nt_work *w, struct moving *m)
{
    size_t count = 0, terms;
    float offset;
    const double TERM_SD =
        0.75; /* of the absolute of a normal value, and a little: its mean is 0.8 */
    double usual = 1 + 4 * TERM_SD / sqrt((double)w->groups);
    for (size_t i = 0; i < w->n; i++) {
        double own = group_misfit(w, i, w->group[i], m->buffer, &terms, &offset);
        m->own[i] = terms > 0 ? (float)(own / (double)terms) : INFINITY;
        if (terms > 0 && !w->weak[w->group[i]] && nt_work_size(w, w->group[i]) > 2)
            m->values[count++] = m->own[i];
    }
    if (count < 8)
        return usual;
    float middle = nt_stats_median(m->values, count);
    double seen = (double)(middle + 4 * nt_stats_mad(m->values, count));
    return seen > usual ? seen : usual;
}

/* Nothing is nearer to the host than its own group, and it fits there as others do. */
static bool host_settled(const struct nt_work *w, size_t i, const struct moving *m, double usual)
{
    const float *profile = w->profile + i * w->groups;
    float own = profile[w->group[i]];
    if (w->weak[w->group[i]] || own != own || !((double)m->own[i] <= usual))
        return false;
    for (size_t g = 0; g < w->groups; g++)
        if (profile[g] < own && g != w->group[i])
            return false;
    return true;
}

static uint32_t best_group(const struct nt_work *w, size_t i, struct moving *m, double usual)
{
    uint32_t candidate[CANDIDATES] = {0}, to = w->group[i];
    size_t terms, count = candidate_groups(w, i, candidate);
    float own;
    bool alone = w->weak[w->group[i]];
    double best = alone ? INFINITY : group_misfit(w, i, w->group[i], m->buffer, &terms, &own);
    for (size_t k = 0; k < count; k++) {
        double now = group_misfit(w, i, candidate[k], m->buffer, &terms, &own);
        if (now < best && own > 0 && (!alone || now < usual * (double)terms)) {
            best = now;
            to = candidate[k];
        }
    }
    return to;
}

static int move_hosts(struct nt_work *w, size_t *moved, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct moving m;
    *moved = 0;
    if (moving_init(&m, w, &memory, err) < 0)
        return -1;
    double usual = usual_misfit(w, &m);
    for (size_t i = 0; i < w->n; i++)
        m.to[i] = host_settled(w, i, &m, usual) ? w->group[i] : best_group(w, i, &m, usual);
    for (size_t i = 0; i < w->n; i++) {
        *moved += m.to[i] != w->group[i];
        w->group[i] = m.to[i];
    }
    if (*moved > 0)
        nt_groups_index(w);
    return 0;
}

/* The distance of two groups in units of what noise would show were they one: parted in the best of
 * all ways, or by a handful of hosts that have little in common. Below 1 it could make them. */
static double group_distance(const struct nt_work *w, size_t a, size_t b)
{
    const double MEDIANS = 1.2, LITTLE_SDS = 3;
    double na = (double)nt_work_size(w, a), nb = (double)nt_work_size(w, b);
    double known = 2 * (double)w->pairs / ((double)w->n * ((double)w->n - 1));
    double t = (double)w->t[a * w->groups + b], sd = (double)w->sd[a * w->groups + b];
    /* the pairs between less half of those inside each; medians of few are less precise */
    double variance = (1 / (na * nb) + 0.5 / (na * (na - 1)) + 0.5 / (nb * (nb - 1))) / known;
    double limit =
        nt_null_distribution_limit(nt_ln_choose((size_t)(na + nb), (size_t)na), w->noise.df);
    return t / sd / fmin(MEDIANS * limit * sqrt(variance), LITTLE_SDS * sqrt(1 / na + 1 / nb));
}

/* Joins each group with its nearest when noise could part them. */
static int join_groups(struct nt_work *w, size_t *joined, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *to = nt_arena_array(&memory, w->groups + 1, sizeof *to);
    *joined = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t g = 0; g < w->groups; g++)
        to[g] = (uint32_t)g;
    for (size_t a = 1; a < w->groups; a++) {
        size_t best = a;
        double least = 1;
        if (nt_work_size(w, a) < 2 || to[a] != a)
            continue;
        for (size_t b = 0; b < a; b++) {
            double now = nt_work_size(w, b) < 2 || to[b] != b ? INFINITY : group_distance(w, a, b);
            if (now < least) {
                least = now;
                best = b;
            }
        }
        if (best != a) {
            to[a] = (uint32_t)best;
            ++*joined;
        }
    }
    for (size_t i = 0; i < w->n; i++)
        w->group[i] = to[w->group[i]];
    if (*joined > 0)
        nt_groups_index(w);
    return 0;
}

int nt_repair(struct nt_work *w, struct nt_err *err)
{
    for (int round = 0; round < ROUNDS; round++) {
        size_t parted, moved, joined;
        /* first: an outlier host changes its group's fit as many low outliers would */
        if (nt_outlier_hosts_separate(w, &parted, err) < 0 ||
            (parted > 0 && nt_groups_fit(w, 2, err) < 0))
            return -1;
        if (nt_false_groups_mark(w, err) < 0 || move_hosts(w, &moved, err) < 0 ||
            (moved > 0 && nt_groups_fit(w, 2, err) < 0))
            return -1;
        if (join_groups(w, &joined, err) < 0 || (joined > 0 && nt_groups_fit(w, 2, err) < 0))
            return -1;
        if (moved == 0 && joined == 0 && parted == 0)
            break;
    }
    return 0;
}
