/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "rooted_tree.h"
#include "stats.h"

#define MEDIAN_VARIANCE 1.57
#define TWINS_DIFFER 0.25
enum { CLASS_MIN = 3, EACH_MAX = 64 };

/* One figure of one link between switches. worse: its logarithm, so turned that more is worse. */
struct member {
    uint32_t cables; /* the kind of link */
    uint32_t link;
    enum nt_fault_way way;
    double worse, variance; /* NaN: unknown */
    bool judged; /* can be found to be worse; else it only contributes to the usual value */
    bool bad;
    double confidence, usual; /* the usual value of this member */
};

struct search {
    const struct nt_model *model;
    bool marked;
    struct nt_link_verdict *verdict; /* links */
    struct widest *widest;           /* hosts and switches */
    struct member *member;           /* both ways of links */
    size_t members;
    float *value;
    struct nt_fault *fault;
    size_t faults;
};

static int by_cables(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    return NT_ORDER(a->cables, b->cables, NT_ORDER(a->link, b->link, NT_ORDER(a->way, b->way, 0)));
}

/* ---- one class -------------------------------------------------------------------------------*/

struct usual {
    double middle, variance; /* of one member, including the variance of the middle */
    double df;
};

/* The usual value of the members that are not bad, without one member; false: too few. */
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
    double worth = NT_MAD_EFFICIENCY * (double)(n - 1);
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

/* least: minimum of worse for a finding, as a logarithm. */
static bool judge_member(struct member *m, const struct usual *u, double least)
{
    m->confidence = m->judged && m->worse - u->middle > least ? probability_of_fault(u, m) : 0;
    m->usual = u->middle;
    return m->confidence >= NT_FAULT_CONFIDENCE;
}

/* Small classes: tests the worst first, each against the others. */
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
        member[k].bad = false; /* the usual value is unknown */
}

/* ---- latencies -------------------------------------------------------------------------------*/

static struct nt_fault *add_fault(struct search *s, size_t link, enum nt_fault_kind kind)
{
    const struct nt_link *l = &s->model->link[link];
    if (s->faults == NT_FAULTS_MAX)
        return NULL;
    struct nt_fault *f = &s->fault[s->faults++];
    *f = (struct nt_fault){.part = nt_fault_part_of(s->model, link, kind)};
    uint32_t ends[] = {l->a, l->b};
    for (size_t e = 0; e < 2 && s->model->switches > 0; e++)
        if (ends[e] < s->model->hosts)
            f->other[f->others++] = (struct nt_fault_part){NT_FAULT_HOST_SLOW, ends[e], ends[e]};
    return f;
}

static void find_slow(struct search *s)
{
    const struct nt_model *m = s->model;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link_verdict *v = &s->verdict[k];
        double us = m->link[k].latency_us;
        if (!(v->slow >= NT_FAULT_CONFIDENCE) || !(us > NT_FAULT_SLOWER * v->usual_us))
            continue;
        struct nt_fault *f = add_fault(s, k, NT_FAULT_LINK_SLOW);
        if (f == NULL)
            return;
        f->found = us;
        f->expected = v->usual_us;
        f->confidence = fmin(v->slow, 1);
    }
}

/* ---- bandwidths ------------------------------------------------------------------------------*/

/* The bandwidth of a link in the direction from the end towards the hosts, or to it. */
static double rate_of(const struct nt_model *m, const struct nt_link *l, bool down, double *se,
                      bool *bound)
{
    bool rises = nt_model_tier(m, l->a) <= nt_model_tier(m, l->b), back = down == rises;
    *se = back ? l->bandwidth_back_se_MBps : l->bandwidth_se_MBps;
    *bound = l->at_least || (back ? l->back_at_least : l->forth_at_least);
    return back ? l->bandwidth_back_MBps : l->bandwidth_MBps;
}

static bool may_be_narrow(const struct search *s, const struct nt_link *l, bool bound)
{
    return !bound && !l->effective && (!s->marked || l->suspect);
}

/* For each switch the widest link of a host below it, or elsewhere: no pair shows more. */
struct widest {
    double below, elsewhere;
};

static void note_widest(double *widest, double rate)
{
    *widest = fmax(*widest, isnan(rate) ? 0 : rate);
}

static int find_widest(const struct nt_model *m, struct widest *of, struct nt_err *err)
{
    struct nt_rooted_tree *r;
    if (nt_rooted_tree_create(m, &r, err) != 0)
        return -1;
    for (size_t k = r->tree ? r->reached : 0; k-- > 1;) {
        uint32_t v = r->order[k];
        const struct nt_link *l = &m->link[r->up[v] / 2];
        if (v < m->hosts)
            of[v].below = fmax(fmax(l->bandwidth_MBps, l->bandwidth_back_MBps), 0);
        note_widest(&of[r->parent[v]].below, of[v].below);
    }
    for (size_t k = 0; r->tree && k < r->reached; k++) {
        uint32_t v = r->order[k], first = r->first[v], last = r->first[v + 1];
        double before = of[v].elsewhere;
        for (uint32_t c = first; c < last; c++) {
            note_widest(&of[r->child[c]].elsewhere, before);
            note_widest(&before, of[r->child[c]].below);
        }
        double after = of[v].elsewhere;
        for (uint32_t c = last; c-- > first;) {
            note_widest(&of[r->child[c]].elsewhere, after);
            note_widest(&after, of[r->child[c]].below);
        }
    }
    nt_rooted_tree_destroy(r);
    return 0;
}

/* Whether hosts on one side of a link between switches let pairs have no more than it has. */
static bool hosts_limit(const struct search *s, const struct nt_link *l, double rate)
{
    double most = INFINITY;
    for (int e = 0; e < 2 && !s->marked; e++) {
        const struct widest *w = &s->widest[e == 0 ? l->a : l->b];
        if (w->below > 0 && w->elsewhere > 0)
            most = fmin(most, fmin(w->below, w->elsewhere));
    }
    return rate > NT_FAULT_NARROWER * most;
}

/* The ways of one link are one finding. */
static void add_narrow(struct search *s, const struct member *m)
{
    struct nt_fault_part part = nt_fault_part_of(s->model, m->link, NT_FAULT_LINK_NARROW);
    double found = exp(-m->worse), expected = exp(-m->usual);
    for (size_t k = 0; k < s->faults; k++) {
        struct nt_fault *f = &s->fault[k];
        if (f->part.kind != part.kind || f->part.a != part.a || f->part.b != part.b)
            continue;
        if (f->way != m->way)
            f->way = NT_FAULT_BOTH;
        if (found / expected < f->found / f->expected) {
            f->found = found;
            f->expected = expected;
        }
        f->confidence = fmax(f->confidence, m->confidence);
        return;
    }
    struct nt_fault *f = add_fault(s, m->link, NT_FAULT_LINK_NARROW);
    if (f == NULL)
        return;
    f->found = found;
    f->expected = expected;
    f->confidence = m->confidence;
    f->way = m->way;
}

static void find_narrow_hosts(struct search *s)
{
    const struct nt_model *m = s->model;
    for (uint32_t k = 0; k < m->links; k++)
        for (int down = 0; down < 2; down++) {
            const struct nt_link *l = &m->link[k];
            const struct nt_link_verdict *v = &s->verdict[k];
            bool bound, of_host = l->a < m->hosts || l->b < m->hosts;
            double se, rate = rate_of(m, l, down == 1, &se, &bound);
            if (!of_host || !may_be_narrow(s, l, bound) ||
                !(v->narrow[down] >= NT_FAULT_CONFIDENCE) ||
                !(rate < NT_FAULT_NARROWER * v->usual_MBps))
                continue;
            add_narrow(s, &(struct member){.link = k,
                                           .way = down ? NT_FAULT_DOWN : NT_FAULT_UP,
                                           .worse = -log(rate),
                                           .usual = -log(v->usual_MBps),
                                           .confidence = fmin(v->narrow[down], 1)});
        }
}

static double variance_of(double rate, double se)
{
    return isnan(se) ? (double)NAN : se / rate * (se / rate);
}

static void add_member(struct search *s, uint32_t link, bool down, double worse, double variance,
                       bool judged)
{
    if (isfinite(worse))
        s->member[s->members++] = (struct member){.cables = s->verdict[link].cables,
                                                  .link = link,
                                                  .way = down ? NT_FAULT_DOWN : NT_FAULT_UP,
                                                  .worse = worse,
                                                  .variance = variance,
                                                  .judged = judged};
}

static void judge_members(struct search *s)
{
    struct member *all = s->member;
    qsort(all, s->members, sizeof *all, by_cables);
    for (size_t first = 0, last; first < s->members; first = last) {
        for (last = first; last < s->members && all[last].cables == all[first].cables;)
            last++;
        judge_class(s, all + first, last - first, -log(NT_FAULT_NARROWER));
    }
}

/* Links between switches: both directions of all links of a kind together. */
static void find_narrow(struct search *s)
{
    const struct nt_model *m = s->model;
    s->members = 0;
    for (uint32_t k = 0; k < m->links; k++)
        for (int down = 0; down < 2; down++) {
            const struct nt_link *l = &m->link[k];
            bool bound;
            double se, rate = rate_of(m, l, down == 1, &se, &bound);
            if (rate > 0 && l->a >= m->hosts && l->b >= m->hosts)
                add_member(s, k, down == 1, -log(rate), variance_of(rate, se),
                           may_be_narrow(s, l, bound) && !hosts_limit(s, l, rate));
        }
    judge_members(s);
    for (size_t k = 0; k < s->members; k++)
        if (s->member[k].bad)
            add_narrow(s, &s->member[k]);
}

/* One way against the other. */
static void find_uneven(struct search *s, bool down)
{
    const struct nt_model *m = s->model;
    s->members = 0;
    for (uint32_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool bound, other_bound;
        double se, other_se, rate = rate_of(m, l, down, &se, &bound),
                             other = rate_of(m, l, !down, &other_se, &other_bound);
        if (rate > 0 && other > 0 && l->a >= m->hosts && l->b >= m->hosts && !bound)
            add_member(s, k, down, log(other / rate),
                       variance_of(rate, se) + variance_of(other, other_se),
                       may_be_narrow(s, l, bound) && !hosts_limit(s, l, rate));
    }
    judge_members(s);
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

/* ---- contradictory findings ----------------------------------------------------------------- */

static bool is_of_host(const struct search *s, const struct nt_fault *f, uint32_t host)
{
    return (f->part.a == host || f->part.b == host) &&
           (f->part.a >= s->model->hosts || f->part.b >= s->model->hosts);
}

/* By how much a host's link is slower than comparable links; 0: it is not. */
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

/* Two hosts whose links both look longer by the same amount, while their pair does not fit that,
 * are rather behind a separate switch, which one reading alone does not show. */
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

/* Removes slow findings of narrow links whose additional latency is the frame of a ping. */
static void drop_serialisation(struct search *s)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->faults; k++) {
        const struct nt_fault *slow = &s->fault[k];
        bool explained = false;
        for (size_t j = 0; j < s->faults && slow->part.kind == NT_FAULT_LINK_SLOW; j++) {
            const struct nt_fault *narrow = &s->fault[j];
            explained = explained ||
                        (narrow->part.kind == NT_FAULT_LINK_NARROW &&
                         narrow->part.a == slow->part.a && narrow->part.b == slow->part.b &&
                         slow->found - slow->expected < NT_FRAME_MOST_BYTES / narrow->found -
                                                            NT_FRAME_MOST_BYTES / narrow->expected);
        }
        if (!explained)
            s->fault[kept++] = *slow;
    }
    s->faults = kept;
}

/* ---- the search -------------------------------------------------------------------------- */

static int by_kind(const void *x, const void *y)
{
    const struct nt_fault *a = x, *b = y;
    return NT_ORDER(a->part.kind, b->part.kind,
                    NT_ORDER(b->confidence, a->confidence,
                             NT_ORDER(a->part.a, b->part.a, NT_ORDER(a->part.b, b->part.b, 0))));
}

static bool is_found(const struct search *s, uint32_t host)
{
    for (size_t k = 0; k < s->faults; k++)
        if (is_of_host(s, &s->fault[k], host))
            return true;
    return false;
}

static void find_odd(const struct search *s, struct nt_faults_found *found)
{
    const struct nt_model *m = s->model;
    for (size_t k = 0; k < m->links && m->switches > 0; k++)
        for (size_t e = 0; e < 2; e++) {
            uint32_t end = e == 0 ? m->link[k].a : m->link[k].b;
            if (end < m->hosts)
                found->odd[end] = s->verdict[k].odd >= NT_FAULT_CONFIDENCE && !is_found(s, end);
        }
}

static int find_all(struct search *s, struct nt_faults_found *found, struct nt_err *err)
{
    const struct nt_model *m = s->model;
    if (find_widest(m, s->widest, err) != 0 ||
        nt_sound_links(m, s->verdict, found->population, &found->populations, err) != 0)
        return -1;
    if (m->switches == 0) /* links of several hosts each */
        found->populations = 0;
    for (size_t k = 0; k < m->links; k++)
        for (size_t e = 0; e < 2; e++) {
            uint32_t end = e == 0 ? m->link[k].a : m->link[k].b;
            if (end < m->hosts && s->verdict[k].population < found->populations)
                found->population_of[end] = s->verdict[k].population;
        }
    find_slow(s);
    find_narrow_hosts(s);
    find_narrow(s);
    find_uneven(s, false);
    find_uneven(s, true);
    drop_contradictory(s);
    drop_serialisation(s);
    find_odd(s, found);
    qsort(s->fault, s->faults, sizeof *s->fault, by_kind);
    return 0;
}

int nt_faults_find(const struct nt_model *model, bool marked, struct nt_faults_found *out,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_faults_found found = {.count = 0};
    struct search s = {.model = model, .marked = marked};
    s.verdict = nt_arena_array(&memory, model->links + 1, sizeof *s.verdict);
    s.widest = nt_arena_array(&memory, model->hosts + model->switches + 1, sizeof *s.widest);
    s.member = nt_arena_array(&memory, 2 * model->links + 1, sizeof *s.member);
    s.value = nt_arena_array(&memory, 2 * model->links + 1, sizeof *s.value);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    found.fault = s.fault = calloc(NT_FAULTS_MAX, sizeof *s.fault);
    found.population_of = malloc((model->hosts + 1) * sizeof *found.population_of);
    found.odd = calloc(model->hosts + 1, sizeof *found.odd);
    if (found.fault == NULL || found.population_of == NULL || found.odd == NULL) {
        nt_faults_found_fini(&found);
        return nt_err_memory(err);
    }
    for (size_t h = 0; h < model->hosts; h++)
        found.population_of[h] = UINT32_MAX;
    if (find_all(&s, &found, err) != 0) {
        nt_faults_found_fini(&found);
        return -1;
    }
    found.count = s.faults;
    *out = found;
    return 0;
}

void nt_faults_found_fini(struct nt_faults_found *found)
{
    free(found->fault);
    free(found->population_of);
    free(found->odd);
    *found = (struct nt_faults_found){.count = 0};
}

/* ---- a single fault ---- */

#define WORSE_MOST 2.08 /* log 8: by which one makes its figure worse at most */

/* Student's density. */
static double density(double t, double df)
{
    double ln = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * M_PI) -
                (df + 1) / 2 * log1p(t * t / df);
    return exp(ln);
}

double nt_fault_probability(double worse, double sd, double df)
{
    double t = worse / sd;
    if (!(t > 1))
        return 0;
    double sound = (1 - NT_FAULT_PRIOR) * density(t, df), faulty = NT_FAULT_PRIOR * sd / WORSE_MOST;
    return faulty / (faulty + sound);
}
