/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fault_odds.h"
#include "memory.h"
#include "stats.h"

#define MEDIAN_VARIANCE 1.57
#define FRAME_BYTES 200.0 /* of a ping with its headers, at the most */
#define TWINS_DIFFER 0.25
#define LONE_MOST 4.0 /* a way over two switches more is hardly longer than so many host links */
#define LONE_SLACK 1.25
enum { CLASS_MIN = 3, SIBLINGS_MIN = 5, EACH_MAX = 64 };

/* One figure of one link. worse: its logarithm, so turned that more is worse. */
struct member {
    uint64_t tier, class; /* of a link: all of its tier, and its siblings */
    uint32_t link;
    enum nt_fault_way way;
    double worse, variance; /* NaN: not known */
    bool judged;            /* may be found worse; else it only shows what is usual */
    bool bad;
    double confidence, usual; /* what it would be */
};

struct search {
    const struct nt_model *model;
    double *depth_us; /* by vertex: the longest way down to a host over other switches; 0: none */
    uint64_t *parent; /* by link: the switch above a host, or the higher end */
    struct member *member;
    size_t members;
    float *value;
    struct nt_fault *fault;
    size_t faults;
};

/* ---- classes ---------------------------------------------------------------------------------*/

/* Hosts on a switch that has others below it may be alone behind one: they are of a class of their
 * own. */
static uint64_t tier_class(const struct search *s, const struct nt_link *l)
{
    const struct nt_model *m = s->model;
    uint64_t a = nt_model_tier(m, l->a), b = nt_model_tier(m, l->b);
    if (a == 0 || b == 0)
        return s->depth_us[a == 0 ? l->b : l->a] > 0;
    return 2 + a * ((uint64_t)m->tiers + 1) + b;
}

/* A link between switches, from the lower tier to the higher one; -1: it is none. */
static int ends_of(const struct nt_model *m, const struct nt_link *l, uint32_t *low, uint32_t *high)
{
    bool rises = nt_model_tier(m, l->a) < nt_model_tier(m, l->b);
    if (l->a < m->hosts || l->b < m->hosts || nt_model_tier(m, l->a) == nt_model_tier(m, l->b))
        return -1;
    *low = rises ? l->a : l->b;
    *high = rises ? l->b : l->a;
    return 0;
}

/* Tier by tier from below; at most as often as there are tiers. */
static void find_depths(struct search *s, double *longest_us)
{
    const struct nt_model *m = s->model;
    uint32_t low, high;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < m->hosts ? l->a : l->b, on = host == l->a ? l->b : l->a;
        if (host < m->hosts && on >= m->hosts)
            longest_us[on] = fmax(longest_us[on], l->latency_us);
    }
    bool more = true;
    for (uint32_t t = 0; t < m->tiers && more; t++) {
        more = false;
        for (size_t k = 0; k < m->links; k++) {
            if (ends_of(m, &m->link[k], &low, &high) != 0)
                continue;
            double us = longest_us[low] + fmax(m->link[k].latency_us, 0);
            more = more || us > s->depth_us[high];
            s->depth_us[high] = fmax(s->depth_us[high], us);
            longest_us[high] = fmax(longest_us[high], us);
        }
    }
}

/* Up to where a host's link may be that of a host behind a switch that the job sees nothing else
 * of: as long as the longest way down from its switch; of a single switch nobody knows. 0: nowhere.
 */
static double lone_us(const struct search *s, const struct nt_link *l, double usual_us)
{
    const struct nt_model *m = s->model;
    uint32_t on = l->a < m->hosts ? l->b : l->a;
    if (on < m->hosts || (l->a >= m->hosts && l->b >= m->hosts))
        return 0;
    if (m->switches == 1)
        return LONE_MOST * usual_us;
    return LONE_SLACK * s->depth_us[on];
}

static uint64_t upper_end(const struct nt_model *m, const struct nt_link *l)
{
    return nt_model_tier(m, l->a) > nt_model_tier(m, l->b) ? l->a : l->b;
}

static int by_class(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->link < b->link ? -1 : a->link > b->link;
}

static int by_tier(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    return a->link < b->link ? -1 : a->link > b->link;
}

/* ---- one class -------------------------------------------------------------------------------*/

struct usual {
    double middle, variance; /* of a member, that of the middle included */
    double df;
};

/* Of the members that are not bad, but for one; false: they are too few. */
static bool find_usual(struct search *s, const struct member *member, size_t count, size_t but,
                       struct usual *usual)
{
    size_t n = 0;
    double variance = 0, known = 0;
    for (size_t k = 0; k < count; k++) {
        if (member[k].bad || k == but)
            continue;
        s->value[n++] = (float)member[k].worse;
        if (isnan(member[k].variance))
            continue;
        variance += member[k].variance;
        known++;
    }
    if (n + 1 < CLASS_MIN)
        return false;
    variance /= fmax(known, 1);
    double middle = (double)nt_stats_median(s->value, n);
    double mad = (double)nt_stats_mad(s->value, n);
    double worth = NT_MAD_WORTH * (double)(n - 1);
    double all =
        (NT_FAULT_PRIOR_MEMBERS * (NT_FAULT_PRIOR_SPREAD * NT_FAULT_PRIOR_SPREAD + variance) +
         worth * mad * mad) /
        (NT_FAULT_PRIOR_MEMBERS + worth);
    double own = fmax(all - variance, NT_FAULT_PRIOR_SPREAD * NT_FAULT_PRIOR_SPREAD / 4);
    *usual = (struct usual){.middle = middle,
                            .variance = own + MEDIAN_VARIANCE * (own + variance) / (double)n,
                            .df = NT_FAULT_PRIOR_MEMBERS + worth};
    return true;
}

static double probability_of_fault(const struct usual *u, const struct member *m)
{
    double sd = sqrt(u->variance + (isnan(m->variance) ? 0 : m->variance));
    return nt_fault_probability(m->worse - u->middle, sd, u->df);
}

/* least: of what a figure must be worse, as a logarithm. */
static bool judge_member(struct member *m, const struct usual *u, double least)
{
    m->confidence = m->judged && m->worse - u->middle > least ? probability_of_fault(u, m) : 0;
    m->usual = u->middle;
    return m->confidence >= NT_FAULT_CONFIDENCE;
}

/* Small classes: the worst first, each held against the others. */
static bool find_worst(struct search *s, struct member *member, size_t count, double least)
{
    struct usual u;
    size_t worst = count;
    for (size_t k = 0; k < count; k++) {
        if (member[k].bad || !member[k].judged || !find_usual(s, member, count, k, &u) ||
            !judge_member(&member[k], &u, least))
            continue;
        if (worst == count || member[k].worse > member[worst].worse)
            worst = k;
    }
    if (worst < count)
        member[worst].bad = true;
    return worst < count;
}

static bool find_bad(struct search *s, struct member *member, size_t count, double least)
{
    struct usual u;
    bool any = false;
    if (!find_usual(s, member, count, count, &u))
        return false;
    for (size_t k = 0; k < count; k++) {
        if (member[k].bad)
            continue;
        member[k].bad = judge_member(&member[k], &u, least);
        any = any || member[k].bad;
    }
    return any;
}

static void judge_class(struct search *s, struct member *member, size_t count, double least)
{
    size_t bad = 0;
    if (count < CLASS_MIN)
        return;
    while (count <= EACH_MAX ? find_worst(s, member, count, least)
                             : find_bad(s, member, count, least))
        continue;
    for (size_t k = 0; k < count; k++)
        bad += member[k].bad;
    for (size_t k = 0; k < count && 2 * bad >= count; k++)
        member[k].bad = false; /* what is usual is not known */
}

/* ---- all classes of a figure ----------------------------------------------------------------*/

static void add_fault(struct search *s, const struct member *m, enum nt_fault_kind kind)
{
    const struct nt_link *l = &s->model->link[m->link];
    double sign = kind == NT_FAULT_LINK_SLOW ? 1 : -1;
    if (s->faults == NT_FAULTS_MAX)
        return;
    struct nt_fault *f = &s->fault[s->faults++];
    *f = (struct nt_fault){.part = nt_fault_part_of(s->model, m->link, kind),
                           .found = exp(sign * m->worse),
                           .expected = exp(sign * m->usual),
                           .confidence = m->confidence,
                           .way = m->way};
    uint32_t ends[] = {l->a, l->b};
    for (size_t e = 0; e < 2 && s->model->switches > 0; e++)
        if (ends[e] < s->model->hosts)
            f->other[f->others++] = (struct nt_fault_part){NT_FAULT_HOST_SLOW, ends[e], ends[e]};
}

static void judge_members(struct search *s, double least)
{
    struct member *all = s->member;
    qsort(all, s->members, sizeof *all, by_class);
    for (size_t first = 0, last; first < s->members; first = last) {
        for (last = first; last < s->members && all[last].class == all[first].class;)
            last++;
        bool siblings = last - first >= SIBLINGS_MIN;
        if (siblings)
            judge_class(s, all + first, last - first, least);
        for (size_t k = first; k < last; k++)
            all[k].judged = all[k].judged && !siblings;
    }
    qsort(all, s->members, sizeof *all, by_tier);
    for (size_t first = 0, last; first < s->members; first = last) {
        for (last = first; last < s->members && all[last].tier == all[first].tier;)
            last++;
        judge_class(s, all + first, last - first, least);
    }
}

static void add_member(struct search *s, uint32_t link, enum nt_fault_way way, double worse,
                       double variance, bool judged)
{
    const struct nt_link *l = &s->model->link[link];
    if (isfinite(worse))
        s->member[s->members++] = (struct member){.tier = tier_class(s, l),
                                                  .class = s->parent[link],
                                                  .link = link,
                                                  .way = way,
                                                  .worse = worse,
                                                  .variance = variance,
                                                  .judged = judged};
}

static void find_slow(struct search *s)
{
    const struct nt_model *m = s->model;
    s->members = 0;
    for (uint32_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        double relative = l->latency_se_us / l->latency_us;
        if (l->latency_us > 0)
            add_member(s, k, NT_FAULT_BOTH, log(l->latency_us), relative * relative,
                       isfinite(relative) && !l->simplex);
    }
    judge_members(s, log(NT_FAULT_SLOWER));
    for (size_t k = 0; k < s->members; k++) {
        const struct member *x = &s->member[k];
        if (x->bad && exp(x->worse) > lone_us(s, &m->link[x->link], exp(x->usual)))
            add_fault(s, x, NT_FAULT_LINK_SLOW);
    }
}

/* ---- bandwidths ------------------------------------------------------------------------------*/

static bool rises(const struct nt_model *m, const struct nt_link *l)
{
    return nt_model_tier(m, l->a) <= nt_model_tier(m, l->b);
}

/* Of a link the way that goes up, or down. */
static double rate_of(const struct nt_model *m, const struct nt_link *l, bool down, double *se,
                      bool *bound)
{
    bool back = down == rises(m, l);
    *se = back ? l->bandwidth_back_se_MBps : l->bandwidth_se_MBps;
    *bound = l->at_least || (back ? l->back_at_least : l->forth_at_least);
    return back ? l->bandwidth_back_MBps : l->bandwidth_MBps;
}

/* The ways of one link are one finding. */
static void add_narrow(struct search *s, const struct member *m)
{
    for (size_t k = 0; k < s->faults; k++) {
        struct nt_fault *f = &s->fault[k];
        struct nt_fault_part part = nt_fault_part_of(s->model, m->link, NT_FAULT_LINK_NARROW);
        if (f->part.kind != part.kind || f->part.a != part.a || f->part.b != part.b)
            continue;
        if (f->way != m->way)
            f->way = NT_FAULT_BOTH;
        if (exp(-m->worse) / exp(-m->usual) < f->found / f->expected) {
            f->found = exp(-m->worse);
            f->expected = exp(-m->usual);
        }
        f->confidence = fmax(f->confidence, m->confidence);
        return;
    }
    add_fault(s, m, NT_FAULT_LINK_NARROW);
}

static double variance_of(double rate, double se)
{
    return isnan(se) ? (double)NAN : se / rate * (se / rate);
}

static void find_narrow(struct search *s, bool marked, bool down)
{
    const struct nt_model *m = s->model;
    s->members = 0;
    for (uint32_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool bound, back = down == rises(m, l);
        double se, rate = rate_of(m, l, down, &se, &bound);
        if (rate > 0)
            add_member(s, k, back ? NT_FAULT_DOWN : NT_FAULT_UP, -log(rate), variance_of(rate, se),
                       !bound && !l->effective && (!marked || l->suspect));
    }
    judge_members(s, -log(NT_FAULT_NARROWER));
    for (size_t k = 0; k < s->members; k++)
        if (s->member[k].bad)
            add_narrow(s, &s->member[k]);
}

/* One way against the other. */
static void find_uneven(struct search *s, bool marked, bool down)
{
    const struct nt_model *m = s->model;
    s->members = 0;
    for (uint32_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool bound, other_bound, back = down == rises(m, l);
        double se, other_se, rate = rate_of(m, l, down, &se, &bound),
                             other = rate_of(m, l, !down, &other_se, &other_bound);
        if (rate > 0 && other > 0 && (m->switches == 0 || l->a >= m->hosts) && !bound)
            add_member(s, k, back ? NT_FAULT_DOWN : NT_FAULT_UP, log(other / rate),
                       variance_of(rate, se) + variance_of(other, other_se),
                       !l->effective && (!marked || l->suspect));
    }
    judge_members(s, -log(NT_FAULT_NARROWER));
    for (size_t k = 0; k < s->members; k++) {
        struct member *x = &s->member[k];
        double se, ratio = exp(-x->worse), rate;
        bool bound;
        if (!x->bad)
            continue;
        rate = rate_of(m, &m->link[x->link], down, &se, &bound);
        x->worse = -log(rate);
        x->usual = -log(rate / ratio * exp(-x->usual));
        add_narrow(s, x);
    }
}

/* ---- what contradicts itself -----------------------------------------------------------------*/

static bool is_of_host(const struct search *s, const struct nt_fault *f, uint32_t host)
{
    return (f->part.a == host || f->part.b == host) &&
           (f->part.a >= s->model->hosts || f->part.b >= s->model->hosts);
}

/* By how much a host's link is slower than its like; 0: it is not. */
static double excess_of(const struct search *s, uint32_t host)
{
    for (size_t k = 0; k < s->faults; k++)
        if (s->fault[k].part.kind == NT_FAULT_LINK_SLOW && is_of_host(s, &s->fault[k], host))
            return s->fault[k].found - s->fault[k].expected;
    return 0;
}

static void drop_host(struct search *s, uint32_t host)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->faults; k++)
        if (!is_of_host(s, &s->fault[k], host))
            s->fault[kept++] = s->fault[k];
    s->faults = kept;
}

/* Two hosts whose links both look long by the same, and whose pair does not fit that: they are
 * rather behind a switch of their own, which one reading alone does not show. */
static void drop_contradictory(struct search *s)
{
    for (size_t k = 0; k < s->model->pairs_off; k++) {
        const uint32_t *pair = s->model->pair_off[k];
        double a = excess_of(s, pair[0]), b = excess_of(s, pair[1]);
        if (!(fmin(a, b) > (1 - TWINS_DIFFER) * fmax(a, b)))
            continue;
        drop_host(s, pair[0]);
        drop_host(s, pair[1]);
    }
}

/* A narrow link also takes longer for the frame of a ping: that is no fault of its own. */
static void drop_serialisation(struct search *s)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->faults; k++) {
        const struct nt_fault *slow = &s->fault[k];
        bool explained = false;
        for (size_t j = 0; j < s->faults && slow->part.kind == NT_FAULT_LINK_SLOW; j++) {
            const struct nt_fault *narrow = &s->fault[j];
            explained =
                explained || (narrow->part.kind == NT_FAULT_LINK_NARROW &&
                              narrow->part.a == slow->part.a && narrow->part.b == slow->part.b &&
                              slow->found - slow->expected <
                                  FRAME_BYTES / narrow->found - FRAME_BYTES / narrow->expected);
        }
        if (!explained)
            s->fault[kept++] = *slow;
    }
    s->faults = kept;
}

/* ---- all together ----------------------------------------------------------------------------*/

static int by_kind(const void *x, const void *y)
{
    const struct nt_fault *a = x, *b = y;
    if (a->part.kind != b->part.kind)
        return a->part.kind < b->part.kind ? -1 : 1;
    if (a->confidence != b->confidence)
        return a->confidence > b->confidence ? -1 : 1;
    if (a->part.a != b->part.a)
        return a->part.a < b->part.a ? -1 : 1;
    return (a->part.b > b->part.b) - (a->part.b < b->part.b);
}

int nt_faults_find(const struct nt_model *model, bool marked, struct nt_fault **fault,
                   size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search s = {.model = model};
    s.parent = nt_arena_array(&memory, model->links + 1, sizeof *s.parent);
    s.member = nt_arena_array(&memory, model->links + 1, sizeof *s.member);
    s.value = nt_arena_array(&memory, model->links + 1, sizeof *s.value);
    s.depth_us = nt_arena_array(&memory, model->hosts + model->switches + 1, sizeof *s.depth_us);
    double *longest_us =
        nt_arena_array(&memory, model->hosts + model->switches + 1, sizeof *longest_us);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    find_depths(&s, longest_us);
    s.fault = calloc(NT_FAULTS_MAX, sizeof *s.fault);
    if (s.fault == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < model->links; k++) {
        const struct nt_link *l = &model->link[k];
        uint64_t kinds = ((uint64_t)model->tiers + 3) * ((uint64_t)model->tiers + 3);
        s.parent[k] = upper_end(model, l) * kinds + tier_class(&s, l);
    }
    find_slow(&s);
    for (int down = 0; down < 2; down++) {
        find_narrow(&s, marked, down == 1);
        find_uneven(&s, marked, down == 1);
    }
    drop_contradictory(&s);
    drop_serialisation(&s);
    qsort(s.fault, s.faults, sizeof *s.fault, by_kind);
    *fault = s.fault;
    *count = s.faults;
    return 0;
}
