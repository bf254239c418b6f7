/* SPDX-License-Identifier: Apache-2.0 */
#include "host_moves.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "origin.h"
#include "stats.h"

/* The entries of each host: entry[from[h]..from[h + 1]), indices in the evidence. */
struct by_host {
    size_t *from, most; /* most: maximum per host */
    uint32_t *entry;
};

static int index_hosts(const struct nt_evidence *e, struct nt_arena *memory, struct by_host *out,
                       struct nt_err *err)
{
    size_t *from = nt_arena_array(memory, e->hosts + 2, sizeof *from), most = 0;
    uint32_t *entry = nt_arena_array(memory, 2 * e->entries + 1, sizeof *entry);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++) {
        from[e->entry[k].a + 2]++;
        from[e->entry[k].b + 2]++;
    }
    for (size_t h = 0; h < e->hosts; h++) {
        most = from[h + 2] > most ? from[h + 2] : most;
        from[h + 2] += from[h + 1];
    }
    for (size_t k = 0; k < e->entries; k++) { /* from[h + 1] becomes the end of the entries of h */
        entry[from[e->entry[k].a + 1]++] = (uint32_t)k;
        entry[from[e->entry[k].b + 1]++] = (uint32_t)k;
    }
    *out = (struct by_host){from, most, entry};
    return 0;
}

/* Margin in ln of likelihoods by which a place must explain a host's readings better than any other
 * place, and by which two places with a move must be better than one. */
static const double GAIN = 15;

/* ---- links that are slow in all jobs ---- */

/* MOST: largest evidence of a reading. READINGS_LEAST: least readings. THERE_LEAST: least hosts for
 * a known place. */
enum { READINGS_LEAST = 4, THERE_LEAST = 2 };
static const double MOST = 12;
/* Mean and sd of the misfit of a reading at the right place: 0.5 of a square, or MOST if it is one
 * of the two in a hundred that are outliers. A deviation of more than three sd of n readings is not
 * by chance. */
static const double FITS = 0.74, FITS_SD = 1.8;

struct reading {
    uint32_t partner, place;
    double us;
};

struct host {
    const struct nt_cluster_tiers *t;
    struct reading *at;
    size_t n;
    float *scratch;
};

/* Returns the misfit of the readings for a host on the same switch as that one, with a link longer
 * by offset. */
static double misfit(const struct host *h, uint32_t beside, double offset)
{
    double sum = 0;
    for (size_t k = 0; k < h->n; k++) {
        size_t level = nt_cluster_tiers_level(h->t, beside, h->at[k].partner);
        double us = exp(h->t->classes.mean[level]);
        double sd = us * nt_classes_sd(&h->t->classes, level) + offset * h->t->classes.noise;
        double off = (h->at[k].us - us - offset) / sd;
        sum += fmin(off * off / 2, MOST);
    }
    return sum;
}

static double best_offset(const struct host *h, uint32_t beside)
{
    for (size_t k = 0; k < h->n; k++)
        h->scratch[k] = (float)(h->at[k].us - exp(h->t->classes.mean[nt_cluster_tiers_level(
                                                  h->t, beside, h->at[k].partner)]));
    return (double)nt_stats_median(h->scratch, h->n);
}

static bool is_first_of_place(const struct host *h, size_t k)
{
    size_t there = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (i < k && h->at[i].place == h->at[k].place)
            return false;
        there += h->at[i].place == h->at[k].place && h->at[i].partner != h->at[k].partner;
    }
    return there + 1 >= THERE_LEAST;
}

static double fits(const struct host *h)
{
    double n = (double)h->n;
    return FITS * n + 3 * FITS_SD * sqrt(n);
}

/* Returns the offset of the host's link; 0: it is not slow, or its place is not known. */
static double find_offset(const struct host *h, uint32_t self)
{
    double best = INFINITY, second = INFINITY, offset = 0;
    if (h->n < READINGS_LEAST || misfit(h, self, 0) < fits(h))
        return 0;
    for (size_t k = 0; k < h->n; k++) {
        if (!is_first_of_place(h, k))
            continue;
        double own = best_offset(h, h->at[k].partner);
        double bad = own > 0 ? misfit(h, h->at[k].partner, own) : INFINITY;
        if (bad < best) {
            second = best;
            best = bad;
            offset = own;
        } else {
            second = fmin(second, bad);
        }
    }
    bool found = best < fits(h) && best + GAIN < second && best + GAIN < misfit(h, self, 0);
    return found ? offset : 0;
}

int nt_slow_links_correct(struct nt_evidence *e, const struct nt_cluster_tiers *t, double *extra_us,
                          size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct by_host by;
    if (index_hosts(e, &memory, &by, err) != 0)
        return -1;
    struct host host = {.t = t,
                        .at = nt_arena_array(&memory, by.most + 1, sizeof *host.at),
                        .scratch = nt_arena_array(&memory, by.most + 1, sizeof *host.scratch)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    *count = 0;
    for (uint32_t h = 0; h < e->hosts; h++) {
        host.n = 0;
        for (size_t k = by.from[h]; k < by.from[h + 1]; k++) {
            const struct nt_evidence_entry *one = &e->entry[by.entry[k]];
            uint32_t other = one->a == h ? one->b : one->a;
            host.at[host.n++] = (struct reading){other, t->up[0][other], exp((double)one->ln)};
        }
        extra_us[h] = find_offset(&host, h);
        *count += extra_us[h] > 0;
    }
    if (*count * NT_UNEVEN_ONE_IN > e->hosts) { /* hosts are not equally deep */
        memset(extra_us, 0, e->hosts * sizeof *extra_us);
        *count = 0;
    }
    for (size_t k = 0; *count > 0 && k < e->entries; k++) {
        struct nt_evidence_entry *one = &e->entry[k];
        double us = exp((double)one->ln) - extra_us[one->a] - extra_us[one->b];
        if (us > 0 && extra_us[one->a] + extra_us[one->b] > 0)
            one->ln = (float)log(us);
    }
    return 0;
}

/* ---- hosts that have moved ---- */

enum {
    NONE = UINT32_MAX,
    PLACES_MOST = 12,
    JOBS_LEAST = 2,
    USERS_LEAST = 2,
    PARTNERS_LEAST = 2,
    SLOW_LEAST = 3,
    SLOW_PART = 4
};

/* CLEAR: evidence of one job that is needed for a place. JOB_MOST: largest evidence of a job.
 * OFF_SDS: deviation in sd that excludes a class. */
static const double CLEAR = 4, JOB_MOST = 15, OFF_SDS = 4.5;

/* The evidence of a host's readings in one job with the hosts of one place. */
struct place_evidence {
    uint32_t job, place;        /* the first host of a cluster of the lowest level */
    uint32_t partner, partners; /* the last partner; number of partners */
    float llr;                  /* ln of the likelihood ratio for this place */
    float off;                  /* sd to the nearest class */
    float ln;
};

/* The state of a host's own link in a job: UNSEEN: the job has hosts of one other switch only.
 * SOUND or SLOW: it has hosts of several, and the host is as far from all of them as from one
 * place, or farther than from any. */
enum link_state { LINK_UNSEEN, LINK_SOUND, LINK_SLOW };

struct search {
    const struct nt_evidence *e;
    const struct nt_cluster_tiers *t;
    struct by_host by;
    bool *anchored; /* by job: has two hosts on one switch, so its offset is not wrong by a class */
    bool *moved;    /* by host: has moved, so it is no evidence for the places of others */
    struct place_evidence *found;
    size_t n;
    int64_t slow;  /* last job in which the current host was slow; -1: none */
    int64_t sound; /* last job in which its link certainly was not slow; -1: none */
    float *scratch;
    bool *ignored;
    bool *was_slow; /* by job: the current host was slow */
    /* Number of users that saw it slow (changes between users, at least the number of users) */
    uint32_t slow_users;
    bool uneven; /* hosts are not equally deep, so none can be detected as slow */
    uint32_t place[PLACES_MOST];
    size_t places;
};

/* One split of a host's jobs in time. */
struct split {
    double gain;
    size_t at;           /* index of the first evidence for `to` */
    uint32_t before, to; /* places; NONE: without other known hosts */
};

static int search_init(struct search *s, const struct nt_evidence *e,
                       const struct nt_cluster_tiers *t, bool *ignored, struct nt_arena *memory,
                       struct nt_err *err)
{
    *s = (struct search){.e = e, .t = t, .ignored = ignored};
    if (index_hosts(e, memory, &s->by, err) != 0)
        return -1;
    s->found = nt_arena_array(memory, s->by.most + 1, sizeof *s->found);
    s->scratch = nt_arena_array(memory, s->by.most + 1, sizeof *s->scratch);
    s->moved = nt_arena_array(memory, e->hosts + 1, sizeof *s->moved);
    s->anchored = nt_arena_array(memory, e->jobs + 1, sizeof *s->anchored);
    s->was_slow = nt_arena_array(memory, e->jobs + 1, sizeof *s->was_slow);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++)
        s->anchored[e->entry[k].job] |=
            nt_classes_llr(&t->classes, (double)e->entry[k].ln, 0) > CLEAR;
    return 0;
}

static int compare_evidence(const void *x, const void *y)
{
    const struct place_evidence *p = x, *q = y;
    return NT_ORDER(p->job, q->job,
                    NT_ORDER(p->place, q->place, NT_ORDER(p->partner, q->partner, 0)));
}

/* Returns the median latency to the nearest place, among those with several hosts; *place: NONE if
 * there is none. found[0..n): the evidence of one job, by place. */
static double nearest_place(const struct search *s, const struct place_evidence *found, size_t n,
                            uint32_t *place)
{
    double nearest = INFINITY;
    *place = NONE;
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && found[end].place == found[k].place; end++)
            s->scratch[end - k] = found[end].ln;
        if (end - k < PARTNERS_LEAST)
            continue;
        double middle = (double)nt_stats_median(s->scratch, end - k);
        if (middle < nearest) {
            nearest = middle;
            *place = found[k].place;
        }
    }
    return nearest;
}

/* Decides on the link of a host. Tiers are nested (an ultrametric): a host is never farther from
 * another than from its nearest place, or than that place is from the other. A host with a slow
 * link is. */
static enum link_state judge_link(const struct search *s, const struct place_evidence *found,
                                  size_t n)
{
    const struct nt_classes *c = &s->t->classes;
    size_t elsewhere = 0, far = 0, off = 0;
    uint32_t place;
    double distance, near = nearest_place(s, found, n, &place);
    for (size_t k = 0; k < n; k++)
        off += (double)found[k].off > OFF_SDS;
    if (n >= SLOW_LEAST && SLOW_PART * off > n)
        return LINK_SLOW;
    if (place == NONE)
        return LINK_UNSEEN;
    size_t own = nt_classes_nearest(c, near, &distance);
    for (size_t k = 0; k < n; k++) {
        if (found[k].place == place)
            continue;
        size_t level = nt_cluster_tiers_level(s->t, place, found[k].partner);
        level = level > own ? level : own;
        elsewhere++;
        far += (double)found[k].ln > c->mean[level] + OFF_SDS * nt_classes_sd(c, level);
    }
    if (elsewhere < SLOW_LEAST)
        return LINK_UNSEEN;
    return SLOW_PART * far > elsewhere ? LINK_SLOW : LINK_SOUND;
}

/* Ignores entries of slow jobs, unless the host was slow in all jobs: then no others could place
 * it. */
static void ignore_slow(const struct search *s, uint32_t host)
{
    for (size_t k = s->by.from[host]; k < s->by.from[host + 1]; k++)
        if (s->was_slow[s->e->entry[s->by.entry[k]].job] && s->n > 0)
            s->ignored[s->by.entry[k]] = true;
    for (size_t k = s->by.from[host]; k < s->by.from[host + 1]; k++)
        s->was_slow[s->e->entry[s->by.entry[k]].job] = false;
}

/* Returns whether a job with hosts of only one switch shows that the host is not on it. */
static bool is_away(const struct place_evidence *found, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        if (found[k].place != found[0].place)
            return false;
        sum += (double)found[k].llr;
    }
    return sum < 0;
}

/* Removes such jobs after the link may have become slow, because they may have seen that
 * instead. */
static void drop_away(struct search *s)
{
    size_t kept = 0;
    for (size_t k = 0, end; k < s->n; k = end) {
        for (end = k; end < s->n && s->found[end].job == s->found[k].job; end++)
            ;
        if ((int64_t)s->found[k].job > s->sound && is_away(s->found + k, end - k)) {
            s->was_slow[s->found[k].job] = true;
            continue;
        }
        memmove(s->found + kept, s->found + k, (end - k) * sizeof *s->found);
        kept += end - k;
    }
    s->n = kept;
}

/* Removes jobs in which the host's link was slow, which are no evidence for its place. */
static void drop_slow(struct search *s, uint32_t host)
{
    size_t kept = 0;
    for (size_t k = 0, end; k < s->n; k = end) {
        for (end = k; end < s->n && s->found[end].job == s->found[k].job; end++)
            ;
        enum link_state state = judge_link(s, s->found + k, end - k);
        if (state == LINK_SLOW && !s->uneven) {
            const struct nt_evidence_job *job = s->e->job;
            s->slow_users += s->slow < 0 || job[s->found[k].job].user != job[s->slow].user;
            s->slow = s->found[k].job;
            s->was_slow[s->found[k].job] = true;
            continue;
        }
        if (state == LINK_SOUND)
            s->sound = s->found[k].job;
        memmove(s->found + kept, s->found + k, (end - k) * sizeof *s->found);
        kept += end - k;
    }
    s->n = kept;
    if (s->slow > s->sound)
        drop_away(s);
    ignore_slow(s, host);
}

/* Keeps one entry per job and place; partner is the last one. */
static void fold_sayings(struct search *s)
{
    size_t kept = 0;
    for (size_t k = 0, end; k < s->n; k = end) {
        double sum = 0;
        for (end = k; end < s->n && s->found[end].job == s->found[k].job &&
                      s->found[end].place == s->found[k].place;
             end++)
            sum += (double)s->found[end].llr;
        s->found[kept] = s->found[end - 1];
        s->found[kept].partners = (uint32_t)(end - k);
        s->found[kept++].llr = (float)fmin(fmax(sum, -JOB_MOST), JOB_MOST);
    }
    s->n = kept;
}

static void list_sayings(struct search *s, uint32_t host)
{
    s->n = 0;
    s->slow = s->sound = -1;
    s->slow_users = 0;
    for (size_t k = s->by.from[host]; k < s->by.from[host + 1]; k++) {
        const struct nt_evidence_entry *one = &s->e->entry[s->by.entry[k]];
        uint32_t other = one->a == host ? one->b : one->a;
        double off;
        if (s->moved[other])
            continue;
        nt_classes_nearest(&s->t->classes, (double)one->ln, &off);
        double llr = nt_classes_llr(&s->t->classes, (double)one->ln, 0);
        if (!s->anchored[one->job])
            llr = fmax(llr, 0);
        s->found[s->n++] = (struct place_evidence){.job = one->job,
                                                   .place = s->t->up[0][other],
                                                   .partner = other,
                                                   .llr = (float)llr,
                                                   .off = (float)off,
                                                   .ln = one->ln};
    }
    qsort(s->found, s->n, sizeof *s->found, compare_evidence);
    drop_slow(s, host);
}

static void list_places(struct search *s)
{
    s->places = 0;
    for (size_t k = 0; k < s->n && s->places < PLACES_MOST; k++) {
        size_t i = 0;
        while (i < s->places && s->place[i] != s->found[k].place)
            i++;
        if (i == s->places && (double)s->found[k].llr > CLEAR)
            s->place[s->places++] = s->found[k].place;
    }
}

/* Finds the best time of a move between two places by sums over time. */
static void try_split(const struct search *s, uint32_t before, uint32_t to, double single,
                      struct split *best)
{
    double after = 0, sum = 0;
    for (size_t k = 0; k < s->n; k++)
        after += s->found[k].place == to ? (double)s->found[k].llr : 0;
    for (size_t k = 0; k < s->n; k++) {
        if ((k == 0 || s->found[k].job != s->found[k - 1].job) &&
            sum + after - single > best->gain && k > 0)
            *best = (struct split){sum + after - single, k, before, to};
        sum += s->found[k].place == before ? (double)s->found[k].llr : 0;
        after -= s->found[k].place == to ? (double)s->found[k].llr : 0;
    }
}

static struct split find_split(const struct search *s)
{
    struct split best = {.gain = GAIN, .at = SIZE_MAX};
    double single = 0;
    for (size_t p = 0; p < s->places; p++) {
        double sum = 0;
        for (size_t k = 0; k < s->n; k++)
            sum += s->found[k].place == s->place[p] ? (double)s->found[k].llr : 0;
        single = fmax(single, sum);
    }
    for (size_t p = 0; p <= s->places; p++)
        for (size_t q = 0; q <= s->places; q++)
            if (p != q)
                try_split(s, p < s->places ? s->place[p] : NONE, q < s->places ? s->place[q] : NONE,
                          single, &best);
    return best;
}

/* Fills in the evidence of jobs after the split; false: there are too few, or they are of one user
 * or one partner only. */
static bool describe(const struct search *s, const struct split *at, uint32_t host,
                     struct nt_cluster_move *m)
{
    const struct nt_evidence *e = s->e;
    uint32_t partner[PARTNERS_LEAST] = {NONE, NONE}, partners = 0, last = NONE;
    uint32_t users[8], n = 0;
    *m = (struct nt_cluster_move){.host = host, .beside_before = NONE, .beside = NONE};
    for (size_t k = 0; k < s->n; k++) {
        const struct place_evidence *one = &s->found[k];
        bool is_after = k >= at->at;
        bool confirms = is_after ? (one->place == at->to && (double)one->llr > CLEAR) ||
                                       (one->place == at->before && (double)one->llr < -CLEAR)
                                 : one->place == at->before && (double)one->llr > CLEAR;
        if (!is_after && confirms) {
            m->before_s = e->job[one->job].time_s;
            m->beside_before = one->partner;
        }
        if (!is_after || !confirms)
            continue;
        if (m->jobs == 0)
            m->time_s = e->job[one->job].time_s;
        if (one->place == at->to)
            m->beside = one->partner;
        m->jobs += one->job != last;
        last = one->job;
        uint32_t i = 0;
        while (i < n && users[i] != e->job[one->job].user)
            i++;
        if (i == n && n < 8 && e->job[one->job].user != NT_NO_USER)
            users[n++] = e->job[one->job].user;
        if (one->partners >= PARTNERS_LEAST)
            partners = PARTNERS_LEAST;
        for (i = 0; i < partners && partner[i] != one->partner; i++)
            ;
        if (i == partners && partners < PARTNERS_LEAST)
            partner[partners++] = one->partner;
    }
    m->users = n;
    return m->jobs >= JOBS_LEAST && n >= USERS_LEAST && partners >= PARTNERS_LEAST;
}

static void ignore_before(const struct search *s, uint32_t host, uint32_t job)
{
    for (size_t k = s->by.from[host]; k < s->by.from[host + 1]; k++)
        s->ignored[s->by.entry[k]] |= s->e->entry[s->by.entry[k]].job < job;
}

static int compare_moves(const void *x, const void *y)
{
    const struct nt_cluster_move *p = x, *q = y;
    return NT_ORDER(p->time_s, q->time_s, NT_ORDER(p->host, q->host, 0));
}

static int keep_move(struct nt_cluster_move **moves, size_t *count,
                     const struct nt_cluster_move *move, struct nt_err *err)
{
    if ((*count & (*count - 1)) == 0) { /* full at 0 and powers of two */
        struct nt_cluster_move *more =
            realloc(*moves, (*count > 0 ? 2 * *count : 1) * sizeof *more);
        if (more == NULL)
            return nt_err_memory(err);
        *moves = more;
    }
    (*moves)[(*count)++] = *move;
    return 0;
}

/* Finds the move of a host from its readings with hosts that have not moved; false: none. A host
 * that is away from its switch, and on no other known one, may have a slow link: with hosts of its
 * own switch only, both look the same, so a job must show that the link is not slow. */
static bool find_move(struct search *s, uint32_t host, struct split *best,
                      struct nt_cluster_move *move)
{
    list_sayings(s, host);
    fold_sayings(s);
    list_places(s);
    *best = find_split(s);
    if (best->at == SIZE_MAX)
        return false;
    int64_t since = s->found[best->at].job;
    bool may_be_slow = best->to == NONE && (s->slow >= since || s->sound < since);
    return !may_be_slow && describe(s, best, host, move);
}

/* Detects hosts that are not equally deep: tiers are then no ultrametric, and many hosts are
 * farther from others than any place explains, for more than one user. */
static int see_uneven(struct search *s, struct nt_arena *memory, struct nt_err *err)
{
    bool *ignored = s->ignored;
    size_t slow = 0, seen = 0;
    s->ignored = nt_arena_array(memory, s->e->entries + 1, sizeof *s->ignored);
    if (s->ignored == NULL)
        return nt_arena_check(memory, err);
    for (uint32_t h = 0; h < s->e->hosts; h++) {
        list_sayings(s, h);
        seen += s->by.from[h + 1] > s->by.from[h];
        slow += s->slow_users > 1;
    }
    s->ignored = ignored;
    s->uneven = NT_UNEVEN_ONE_IN * slow > seen;
    return 0;
}

struct candidate {
    uint32_t host;
    double gain;
};

static int compare_candidates(const void *x, const void *y)
{
    const struct candidate *p = x, *q = y;
    return NT_ORDER(q->gain, p->gain, NT_ORDER(p->host, q->host, 0));
}

static int list_candidates(struct search *s, struct candidate **out, size_t *count,
                           struct nt_arena *memory, struct nt_err *err)
{
    struct candidate *c = nt_arena_array(memory, s->e->hosts + 1, sizeof *c);
    struct nt_cluster_move move;
    struct split best;
    if (c == NULL)
        return nt_arena_check(memory, err);
    *count = 0;
    for (uint32_t h = 0; h < s->e->hosts; h++)
        if (find_move(s, h, &best, &move))
            c[(*count)++] = (struct candidate){h, best.gain};
    qsort(c, *count, sizeof *c, compare_candidates);
    *out = c;
    return 0;
}

/* In order of certainty: the hosts at its old or new place seem to have moved as well, until its
 * readings are removed. */
int nt_host_moves_find(const struct nt_evidence *e, const struct nt_cluster_tiers *t, bool *ignored,
                       struct nt_cluster_move **moves, size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search s;
    struct candidate *candidate;
    size_t candidates = 0;
    *moves = NULL;
    *count = 0;
    if (t->classes.count < 2)
        return 0;
    if (search_init(&s, e, t, ignored, &memory, err) < 0 || see_uneven(&s, &memory, err) < 0 ||
        list_candidates(&s, &candidate, &candidates, &memory, err) < 0)
        return -1;
    for (size_t k = 0; k < candidates; k++) {
        struct nt_cluster_move move;
        struct split best;
        if (!find_move(&s, candidate[k].host, &best, &move))
            continue;
        if (keep_move(moves, count, &move, err) < 0) {
            free(*moves);
            *moves = NULL;
            *count = 0;
            return -1;
        }
        s.moved[move.host] = true;
        ignore_before(&s, move.host, s.found[best.at].job);
    }
    if (*count > 0)
        qsort(*moves, *count, sizeof **moves, compare_moves);
    return 0;
}
