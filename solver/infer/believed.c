/* SPDX-License-Identifier: Apache-2.0 */
#include "believed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "believed_work.h"
#include "stats.h"

enum { AGREEING = 3, READINGS_MOST = 7 };

/* Of a level: readings within are of it; its own width in noise and beyond, at most; and the least
 * distance to the next. */
static const double FITS_SDS = 4.5, CLEAR = 2, WIDTH_NOISES = 3, WIDTH_MORE = 0.012, GAP_SDS = 5;
static const double SD_LEAST = 0.004;

void nt_believed_refute(struct nt_believed *b, const char *why)
{
    b->verdict = NT_SPARSE_REFUTED;
    if (b->why == NULL)
        b->why = why;
}

int nt_believed_recheck(struct nt_believed_work *w, uint32_t a, uint32_t b)
{
    w->b->recheck[w->b->rechecks++] = (struct nt_seat_pair){a, b};
    return 0;
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

static bool counts(const struct nt_believed *b, const struct nt_pair_reading *r)
{
    return 2 * (uint64_t)r->pings >= b->most_pings;
}

/* Those with a reading that counts, of hosts that take part. */
static void list_pairs(struct nt_believed_work *w, const bool *missing)
{
    const struct nt_readings *r = w->readings;
    for (size_t k = 0, end; k < r->count; k = end) {
        struct nt_believed_pair pair = {r->at[k].a, r->at[k].b, k, k, INFINITY};
        pair.till = end = nt_readings_next_pair(r, k);
        if (pair.b >= w->b->hosts || (missing != NULL && (missing[pair.a] || missing[pair.b])))
            continue;
        for (size_t i = k; i < end; i++)
            if (counts(w->b, &r->at[i]))
                pair.lowest = fminf(pair.lowest, r->at[i].ln);
        if (isfinite(pair.lowest))
            w->pair[w->pairs++] = pair;
    }
    for (size_t k = 0; k < w->pairs; k++) {
        w->first[w->pair[k].a + 1]++;
        w->first[w->pair[k].b + 1]++;
    }
    for (size_t h = 0; h < w->b->hosts; h++)
        w->first[h + 1] += w->first[h];
    for (size_t k = w->pairs; k-- > 0;) { /* from behind: first[h + 1] ends where h's begin */
        w->next[--w->first[w->pair[k].a + 1]] = (uint32_t)k;
        w->next[--w->first[w->pair[k].b + 1]] = (uint32_t)k;
    }
    memmove(w->first, w->first + 1, w->b->hosts * sizeof *w->first);
    w->first[w->b->hosts] = 2 * w->pairs;
}

/* ---- latencies of the levels ------------------------------------------------------------------
 */

static bool is_believed(const struct nt_believed_work *w, const struct nt_believed_pair *p)
{
    return !w->b->away[p->a] && !w->b->away[p->b];
}

/* The pairs of a level. Of a host that was read with many, as a loose one is to be placed, each
 * counts less. */
static size_t gather(const struct nt_believed_work *w, size_t level, struct nt_weighted *out)
{
    size_t n = 0;
    for (size_t k = 0; k < w->pairs; k++) {
        const struct nt_believed_pair *p = &w->pair[k];
        size_t a = w->first[p->a + 1] - w->first[p->a], b = w->first[p->b + 1] - w->first[p->b];
        if (is_believed(w, p) && nt_believed_meet(w->b, p->a, p->b) == level)
            out[n++] = (struct nt_weighted){p->lowest, 1.0F / (float)(a > b ? a : b)};
    }
    return n;
}

/* 1.4826 times the median distance. */
static double width_of(struct nt_weighted *value, size_t n, double middle)
{
    for (size_t k = 0; k < n; k++)
        value[k].value = fabsf(value[k].value - (float)middle);
    return NT_SD_OF_MEDIAN * (double)nt_stats_weighted_median(value, n);
}

/* Pairs of hosts at each level, and how many of them have to be read. */
static size_t pairs_wanted(const struct nt_believed *b, size_t level, size_t *size)
{
    size_t pairs = 0;
    memset(size, 0, 2 * b->hosts * sizeof *size);
    for (uint32_t h = 0; h < b->hosts; h++)
        if (!b->away[h])
            pairs += size[nt_believed_cluster(b, level, h)]++;
    memset(size, 0, 2 * b->hosts * sizeof *size);
    for (uint32_t h = 0; level > 0 && h < b->hosts; h++)
        if (!b->away[h])
            pairs -= size[nt_believed_cluster(b, level - 1, h)]++;
    return pairs < NT_BELIEVED_PAIRS_A_LEVEL ? pairs : NT_BELIEVED_PAIRS_A_LEVEL;
}

/* The middle of each level's pairs, and how wide they lie about it. Disturbed readings lie above
 * it, and a few of other levels anywhere: medians do not see them. */
static int find_levels(struct nt_believed_work *w, double noise, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_believed *b = w->b;
    struct nt_weighted *value = nt_arena_array(&memory, w->pairs + 1, sizeof *value);
    struct nt_weighted *off = nt_arena_array(&memory, w->pairs + 1, sizeof *off);
    size_t *size = nt_arena_array(&memory, 2 * b->hosts + 1, sizeof *size);
    size_t offs = 0;
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    double least = fmax(noise, SD_LEAST), most = WIDTH_NOISES * least + WIDTH_MORE;
    b->unread = 0;
    b->wide = false;
    for (size_t l = 0; l < b->levels; l++) {
        size_t n = gather(w, l, value), wanted = pairs_wanted(b, l, size);
        b->pairs[l] = n;
        b->wanted[l] = wanted;
        b->unread += n < wanted ? wanted - n : 0;
        b->ln[l] = n > 0 && n >= wanted ? (double)nt_stats_weighted_median(value, n) : NAN;
        if (isnan(b->ln[l]))
            continue;
        double width = width_of(value, n, b->ln[l]);
        memcpy(off + offs, value, n * sizeof *off);
        offs += n;
        b->wide |= n >= NT_BELIEVED_PAIRS_A_LEVEL && width > most;
    }
    double sd = offs > 0 ? NT_SD_OF_MEDIAN * (double)nt_stats_weighted_median(off, offs) : least;
    b->sd = fmin(fmax(sd, least), most);
    return 0;
}

static void check_levels(struct nt_believed *b)
{
    double below = NAN;
    if (b->wide)
        nt_believed_refute(b, "hosts that were taken for one group are not");
    for (size_t l = 0; l < b->levels; l++) {
        if (isnan(b->ln[l]))
            continue;
        if (b->ln[l] - below < GAP_SDS * b->sd) /* false for the first */
            nt_believed_refute(b, "its tiers do not show in the latencies");
        below = b->ln[l];
    }
}

/* ---- what a pair says -------------------------------------------------------------------------
 */

/* The level nearest to a reading, and how many sd it is off the one asked for. */
static size_t nearest(const struct nt_believed *b, double ln, size_t level, double *own,
                      double *best)
{
    size_t near = level;
    *own = isnan(b->ln[level]) ? INFINITY : (ln - b->ln[level]) / b->sd;
    *best = *own;
    for (size_t l = 0; l < b->levels; l++)
        if (fabs((ln - b->ln[l]) / b->sd) < fabs(*best)) { /* false for NaN */
            *best = (ln - b->ln[l]) / b->sd;
            near = l;
        }
    return near;
}

/* A reading that is too high may be a late one, once another fits. */
enum nt_believed_fit nt_believed_fit_pair(const struct nt_believed_work *w,
                                          const struct nt_believed_pair *p, size_t level)
{
    size_t fits = 0, high = 0, low = 0, n = 0;
    if (isnan(w->b->ln[level]))
        return NT_BELIEVED_FITS; /* that level is still to be read */
    for (size_t k = p->from; k < p->till; k++) {
        double own, best;
        if (!counts(w->b, &w->readings->at[k]))
            continue;
        nearest(w->b, (double)w->readings->at[k].ln, level, &own, &best);
        bool is = fabs(own) < FITS_SDS && own * own - best * best < CLEAR;
        fits += is;
        high += !is && own > 0;
        low += !is && own < 0;
        n++;
    }
    if (fits > low && 2 * fits >= high)
        return NT_BELIEVED_FITS;
    bool off = (high >= AGREEING || low >= AGREEING) && 2 * fits < high + low;
    return off || n >= READINGS_MOST ? NT_BELIEVED_OFF : NT_BELIEVED_AGAIN;
}

int nt_believed_level_of(const struct nt_believed_work *w, const struct nt_believed_pair *p)
{
    int found = -2;
    bool again = false;
    for (size_t l = 0; l < w->b->levels; l++) {
        if (isnan(w->b->ln[l]))
            continue;
        enum nt_believed_fit fit = nt_believed_fit_pair(w, p, l);
        again |= fit == NT_BELIEVED_AGAIN;
        if (fit == NT_BELIEVED_FITS && found >= 0)
            return -1;
        if (fit == NT_BELIEVED_FITS)
            found = (int)l;
    }
    return found == -2 && again ? -1 : found;
}

/* ---- contradictions ---------------------------------------------------------------------------
 */

struct blame {
    uint32_t off, fits;
};

/* The host with most contradictions; of those with as many the one that fits least. */
static uint32_t find_blamed(const struct nt_believed *b, const struct blame *blame)
{
    uint32_t worst = UINT32_MAX;
    for (uint32_t h = 0; h < b->hosts; h++)
        if (blame[h].off > 0 &&
            (worst == UINT32_MAX || blame[h].off > blame[worst].off ||
             (blame[h].off == blame[worst].off && blame[h].fits < blame[worst].fits)))
            worst = h;
    return worst;
}

static void loosen(struct nt_believed_work *w, uint32_t host, struct blame *blame,
                   const uint8_t *fit)
{
    w->loose[host] = w->b->away[host] = true;
    w->b->loose++;
    w->b->contradicted++;
    for (size_t k = w->first[host]; k < w->first[host + 1]; k++) {
        const struct nt_believed_pair *p = &w->pair[w->next[k]];
        uint32_t other = p->a == host ? p->b : p->a;
        if (w->b->away[other] || fit[w->next[k]] != NT_BELIEVED_OFF)
            continue;
        blame[other].off--;
    }
    blame[host].off = 0;
}

/* Whom a contradiction is between, of whom nothing tells which of them has moved, both are loose.
 */
static void loosen_blamed(struct nt_believed_work *w, struct blame *blame, const uint8_t *fit)
{
    size_t most = w->b->hosts / 4 + 2;
    for (uint32_t h; (h = find_blamed(w->b, blame)) != UINT32_MAX;) {
        uint32_t alike = UINT32_MAX;
        for (size_t k = w->first[h]; k < w->first[h + 1]; k++) {
            const struct nt_believed_pair *p = &w->pair[w->next[k]];
            uint32_t other = p->a == h ? p->b : p->a;
            if (!w->b->away[other] && fit[w->next[k]] == NT_BELIEVED_OFF &&
                blame[other].off == blame[h].off && blame[other].fits == blame[h].fits)
                alike = other;
        }
        loosen(w, h, blame, fit);
        if (alike != UINT32_MAX)
            loosen(w, alike, blame, fit);
        if (w->b->contradicted > most) {
            nt_believed_refute(w->b, "too many hosts are elsewhere");
            return;
        }
    }
}

static int judge_pairs(struct nt_believed_work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct blame *blame = nt_arena_array(&memory, w->b->hosts + 1, sizeof *blame);
    uint8_t *fit = nt_arena_array(&memory, w->pairs + 1, sizeof *fit);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t k = 0; k < w->pairs; k++) {
        const struct nt_believed_pair *p = &w->pair[k];
        if (!is_believed(w, p))
            continue;
        fit[k] = (uint8_t)nt_believed_fit_pair(w, p, nt_believed_meet(w->b, p->a, p->b));
        w->b->verified += fit[k] == NT_BELIEVED_FITS;
        w->b->against += fit[k] == NT_BELIEVED_OFF;
        const uint32_t end[2] = {p->a, p->b};
        for (int i = 0; i < 2; i++) {
            blame[end[i]].off += fit[k] == NT_BELIEVED_OFF;
            blame[end[i]].fits += fit[k] == NT_BELIEVED_FITS;
        }
    }
    loosen_blamed(w, blame, fit);
    for (size_t k = 0; k < w->pairs; k++)
        if (is_believed(w, &w->pair[k]) && fit[k] == NT_BELIEVED_AGAIN)
            nt_believed_recheck(w, w->pair[k].a, w->pair[k].b);
    return 0;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static int work_init(struct nt_believed_work *w, const struct nt_belief *belief,
                     const struct nt_readings *readings, struct nt_arena *scratch,
                     struct nt_err *err)
{
    struct nt_believed *b = w->b;
    size_t n = belief->hosts, rows = belief->levels > 1 ? belief->levels - 1 : 0;
    b->hosts = n;
    b->levels = belief->levels;
    b->cluster = nt_arena_array(&b->memory, rows * n + 1, sizeof *b->cluster);
    b->away = nt_arena_array(&b->memory, n + 1, sizeof *b->away);
    b->recheck = nt_arena_array(&b->memory, 2 * readings->count + n + 1, sizeof *b->recheck);
    b->wish = nt_arena_array(&b->memory, 2 * n + 1, sizeof *b->wish);
    b->joined = nt_arena_array(&b->memory, n + 1, sizeof *b->joined);
    b->apart_key = nt_arena_array(&b->memory, readings->count + 1, sizeof *b->apart_key);
    w->readings = readings;
    w->pair = nt_arena_array(scratch, readings->count + 1, sizeof *w->pair);
    w->loose = nt_arena_array(scratch, n + 1, sizeof *w->loose);
    w->placed = nt_arena_array(scratch, n + 1, sizeof *w->placed);
    w->first = nt_arena_array(scratch, n + 2, sizeof *w->first);
    w->next = nt_arena_array(scratch, 2 * readings->count + 1, sizeof *w->next);
    if (nt_arena_check(&b->memory, err) < 0 || nt_arena_check(scratch, err) < 0)
        return -1;
    memcpy(b->cluster, belief->cluster, rows * n * sizeof *b->cluster);
    return 0;
}

static void find_loose(struct nt_believed_work *w, const bool *missing)
{
    struct nt_believed *b = w->b;
    size_t present = 0;
    for (uint32_t h = 0; h < b->hosts; h++) {
        bool gone = missing != NULL && missing[h];
        w->loose[h] = b->levels > 1 && b->cluster[h] == NT_BELIEF_LOOSE;
        b->away[h] = gone || w->loose[h];
        present += !gone;
        b->loose += !gone && w->loose[h];
    }
    if (b->levels == 0 || 2 * b->loose > present)
        nt_believed_refute(b, "most hosts are not known");
    for (size_t k = 0; k < w->readings->count; k++)
        if (w->readings->at[k].pings > b->most_pings)
            b->most_pings = w->readings->at[k].pings;
}

static void decide(struct nt_believed *b)
{
    bool open = b->rechecks > 0 || b->wishes > 0 || b->unjoined > 0 || b->unread > 0;
    if (b->verdict != NT_SPARSE_REFUTED)
        b->verdict = open ? NT_SPARSE_OPEN : NT_SPARSE_SOUND;
}

int nt_believed_judge(const struct nt_belief *belief, const bool *missing,
                      struct nt_readings *readings, double noise, struct nt_believed *out,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena scratch = {0};
    struct nt_believed b = {0};
    struct nt_believed_work w = {.b = &b};
    nt_readings_sort(readings);
    int rc = work_init(&w, belief, readings, &scratch, err);
    if (rc == 0) {
        find_loose(&w, missing);
        list_pairs(&w, missing);
        rc = find_levels(&w, noise, err);
    }
    if (rc == 0)
        rc = judge_pairs(&w, err);
    if (rc == 0 && b.contradicted > 0) /* without those */
        rc = find_levels(&w, noise, err);
    if (rc == 0)
        check_levels(&b);
    if (rc == 0 && b.verdict != NT_SPARSE_REFUTED)
        nt_believed_place(&w);
    if (rc == 0 && b.verdict != NT_SPARSE_REFUTED)
        rc = nt_believed_cover(&w, err);
    if (rc < 0) {
        nt_believed_fini(&b);
        return -1;
    }
    for (uint32_t h = 0; missing != NULL && h < b.hosts; h++)
        b.away[h] |= missing[h];
    decide(&b);
    *out = b;
    return 0;
}

void nt_believed_fini(struct nt_believed *b)
{
    nt_arena_fini(&b->memory);
    *b = (struct nt_believed){0};
}
