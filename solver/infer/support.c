/* SPDX-License-Identifier: Apache-2.0 */
/* Support from the likelihood of the best network without the switch.
 *
 * Without a switch its branches hang on the switch above: the loss of likelihood is half of the
 * square of the link's latency over its standard error (Wald). That is set against the number of
 * ways to choose as many branches there, fewer where several such groups were found: then one more
 * is likely. A group of two hosts is known from one reading, which may be wrong: then it counts
 * whether other groups of two have the same latency, and how often readings are wrong between
 * groups, where that can be told. With one host in, or one host out, the group is another one:
 * hosts go where they are likelier, and one on the wrong side counts as an error, too. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "host_pairs.h"
#include "links.h"
#include "next_reading.h"
#include "one_host_odds.h"
#include "regroup.h"
#include "rooted_tree.h"
#include "stats.h"
#include "switch_support.h"

enum {
    ROUNDS = 200,
    LONELY = 3,   /* pairs of hosts whose links are all of other lengths, in a network of few */
    SEEN = 512,   /* hosts of the jobs that the calibration is from, hardly more */
    MANY = 1024,  /* hosts of which the unsure groups are taken out many at a time */
    SETTLING = 6, /* rounds in which groups of two are put in and taken out */
    TOGETHER = 5, /* groups of two that tell about each other, at the least */
    KNOWN = 200,  /* pairs that tell how many readings are wrong */
    MOVING = 64   /* hosts of another branch that may belong to a group: those at its near end */
};

/* Readings that are far too low, where nothing is known of them: one in a network of thirty; in
 * sweeps of a few readings a pair one in ten (tests/bench faults had two in one of a hundred and
 * two in others, and did not see those that make no pair). */
static const double EARLY_EVER = 1.0 / 30, EARLY_SWEPT = 1.0 / 10, EARLY_LEAST = 1e-5;
/* Groups of two that a switch has, before anything is seen. */
static const double ONE_PAIR = 0.05;
/* Latencies of uplinks that count as the same, relative. */
static const double ALIKE = 0.1;

/* The share of switches with a hidden one among their hosts, ln: one in a few, and fewer in a
 * network of many groups none of which has as many hosts. */
static const double RARE = 2.5;

/* The hosts on the smaller side of a link between switches. */
struct group {
    uint32_t at, above, link; /* the switch on that side, the other one, the link of both */
    double inside, outside;   /* other branches of both */
    double hosts, others;     /* on both sides */
    double alike;             /* branches of `above` with as many hosts, this one too */
    double sd;                /* us, of a reading across the link */
    uint32_t host[2];         /* when there are two */
};

/* What is behind a link of switch v: how many hosts, and how far away. */
static double branch_of(const struct nt_work *w, const struct nt_model *m,
                        const struct nt_rooted_tree *h, uint32_t v, uint32_t link, double *us)
{
    uint32_t x = h->ends[link][h->ends[link][0] == v];
    *us = x < m->hosts ? 0 : m->link[link].latency_us;
    return h->parent[v] == x ? (double)w->n - nt_rooted_tree_count(h, v)
                             : nt_rooted_tree_count(h, x);
}

static void look_at(const struct nt_work *w, const struct nt_model *m,
                    const struct nt_rooted_tree *h, uint32_t v, struct group *g)
{
    *g = (struct group){.at = v, .above = h->parent[v], .link = h->up[v] / 2};
    g->hosts = nt_rooted_tree_count(h, v);
    if (2 * g->hosts > (double)w->n) {
        g->hosts = (double)w->n - g->hosts;
        g->at = g->above;
        g->above = v;
    }
    g->others = (double)w->n - g->hosts;
    for (uint32_t k = 0, found = 0; k < h->tail[h->top] && g->hosts == 2 && found < 2; k++)
        if ((k >= h->head[v] && k < h->tail[v]) == (g->at == v))
            g->host[found++] = h->host[k];
    g->inside = (double)(h->graph.start[g->at + 1] - h->graph.start[g->at]) - 1;
    g->outside = (double)(h->graph.start[g->above + 1] - h->graph.start[g->above]) - 1;
    for (uint32_t i = h->graph.start[g->above]; i < h->graph.start[g->above + 1]; i++) {
        double us;
        g->alike += branch_of(w, m, h, g->above, h->graph.link[i], &us) == g->hosts;
    }
    double level = 0, count = 0; /* usual of a host's link */
    for (uint32_t i = h->head[v]; i < h->tail[v]; i++, count++)
        level += 2 * m->link[h->up[h->host[i]] / 2].latency_us;
    g->sd = nt_noise_sd(&w->noise, level / count + 2 * m->link[g->link].latency_us);
}

/* What is known of all groups together, and of those of two hosts, each of which is one low
 * reading. */
struct pairs {
    double groups;   /* of any size */
    uint32_t *sized; /* w->n + 1: groups of so many hosts */
    size_t count;
    struct nt_link **link;                /* of them */
    double early;                         /* share of readings that are far too low */
    double range;                         /* us in which those lie */
    const struct nt_host_pairs *together; /* NULL: too few */
};

/* ln of the odds that there is such a switch at all. */
static double ln_exists(const struct nt_model *m, const struct group *g, const struct pairs *p)
{
    const struct nt_link *l = &m->link[g->link];
    double all = g->inside + g->outside, se = l->latency_se_us;
    if (isnan(se)) /* of too many links to invert: from the readings among the group's hosts */
        se = g->sd * sqrt(0.5 / (g->hosts * (g->hosts - 1)));
    if (!(l->latency_us > 0))
        return -10;
    double z = fmin(l->latency_us / fmax(se, 1e-9 * l->latency_us), 1e3);
    double others = log((p->groups + 1) / fmax(p->sized[(size_t)g->hosts], 1));
    return 0.5 * z * z - log1p(z) - RARE - others - nt_ln_choose((size_t)all, (size_t)g->inside) +
           log(g->alike);
}

/* Readings of one host to some others, which would change by so much, sd, were it elsewhere. */
struct change {
    double readings, by;
};

/* Chance that one of `hosts` belongs elsewhere: its readings change, and its own link takes up what
 * is common to all of them. The choice errs where noise exceeds half of the rest. */
static double stray_odds(double hosts, const struct change change[3])
{
    double sum = 0, square = 0, readings = 0;
    for (int k = 0; k < 3; k++) {
        readings += change[k].readings;
        sum += change[k].readings * change[k].by;
        square += change[k].readings * change[k].by * change[k].by;
    }
    double d = sqrt(fmax(0, square - sum * sum / fmax(readings, 1)));
    return hosts * nt_normal_cdf(-0.5 * d);
}

/* Chance that a host stands on the wrong side of the link: one that belongs to another branch of
 * the switch above, or the reverse. Of two hosts each determines the place of the other. */
static double misplaced_odds(const struct nt_work *w, const struct nt_model *m,
                             const struct nt_rooted_tree *h, const struct group *g)
{
    double own = 2 * m->link[g->link].latency_us / g->sd, risk = 0, all = (double)w->n;
    for (uint32_t i = h->graph.start[g->above]; i < h->graph.start[g->above + 1]; i++) {
        double us, hosts = branch_of(w, m, h, g->above, h->graph.link[i], &us);
        double far = 2 * us / g->sd, rest = all - g->hosts - hosts;
        if (h->graph.link[i] == g->link)
            continue;
        risk += stray_odds(fmin(hosts, MOVING),
                           (struct change[3]){{g->hosts, -own}, {hosts - 1, far}, {rest, 0}});
        if (g->hosts > 2 && hosts > 1)
            risk += stray_odds(g->hosts,
                               (struct change[3]){{g->hosts - 1, own}, {hosts, -far}, {rest, 0}});
    }
    if (g->hosts > 2) /* to the switch above itself */
        risk +=
            stray_odds(g->hosts, (struct change[3]){{g->hosts - 1, own}, {g->others, 0}, {0, 0}});
    return fmin(1, risk);
}

/* Groups that have the same latency as far as their errors tell. */
static double leaf_mates(const struct pairs *p, const struct nt_link *l)
{
    double same = 0;
    for (size_t k = 0; k < p->count; k++) {
        const struct nt_link *x = p->link[k];
        double se = hypot(l->latency_se_us, x->latency_se_us);
        double off = fabs(l->latency_us - x->latency_us);
        same += x != l && (off < 2.5 * se || off < ALIKE * l->latency_us);
    }
    return same;
}

/* ln of the odds that a group of two is one, and not a reading that is wrong. */
static double ln_not_wrong(const struct pairs *p, const struct nt_work *w, const struct nt_link *l,
                           const struct group *g)
{
    double readings = (double)w->pairs;
    double window = isnan(l->latency_se_us) ? 0.1 : 5 * l->latency_se_us / p->range;
    double by_chance = p->early * readings * fmin(window, 1);
    double same = fmax(0, leaf_mates(p, l) - 2 * by_chance);
    double next = nt_next_reading_ln(w, g->host[0], g->host[1], 2 * l->latency_us, g->sd);
    double groups = ONE_PAIR + same / fmax(window, 1e-3);
    double ways = g->inside + g->outside;
    return log(groups / (ways * (ways - 1) / 2)) - log(p->early) + next;
}

/* The share of wrong readings is estimated from the matrix itself: between groups of several hosts,
 * or by pairs of hosts that have nothing in common with each other. */
static void judge_pairs(const struct nt_work *w, double early, struct pairs *p)
{
    double ungrouped = 0, level = 0;
    double ever = w->error != NULL ? EARLY_SWEPT : EARLY_EVER;
    p->early = early >= 0 ? fmax(early, EARLY_LEAST) : ever / (double)w->pairs;
    for (size_t i = 0; i < w->n; i++)
        level += 2 * (double)w->offset[i] / (double)w->n;
    p->range = fmax(0.5 * level, 1e-9);
    for (size_t k = 0; k < p->count; k++)
        ungrouped += leaf_mates(p, p->link[k]) < 1;
    if (early < 0 && ungrouped > LONELY)
        p->early = fmax(p->early, 0.5 * (ungrouped - LONELY) / (double)w->pairs);
}

/* Calibrates a support: the likelihood does not include errors of the model. Fitted (logistic
 * regression) to the jobs of tests/bench believe with seeds of their own; its table, and that of
 * tests/bench measured, show what holds for others.
 * Groups of nine hosts and more have a fit of their own: low readings make no such groups, and a
 * hundred hosts are not less certain than nine. It is of 1,077 groups in 400 jobs of up to 1,024
 * hosts (table e; 1,062 were real), with the other fit as its prior (standard deviation 0.2 of each
 * slope), since so few were wrong. */
static double calibrated_support(const struct nt_work *w, double support, double hosts,
                                 double low_share)
{
    double n = (double)w->n, unknown = 1 - 2 * (double)w->pairs / (n * (n - 1));
    double ln = fmin(log(support / (1 - support + 3e-4) + 1e-9), 8), odds;
    double few = hosts < 2.5   ? 22.3
                 : hosts < 3.5 ? 17.8
                               : 11.5; /* low readings make small groups */
    if (hosts < 8.5)
        odds = 3.77 + 0.45 * ln - 0.35 * log(hosts) - 0.56 * log(fmin(n, SEEN)) -
               few * sqrt(low_share) - 4.1 * unknown;
    else
        odds = 5.72 + 0.56 * ln - 0.27 * log(hosts) - 0.71 * log(fmin(n, SEEN)) -
               6.7 * sqrt(low_share) - 5.6 * unknown;
    return fmin(support, 1 / (1 + exp(-odds)));
}

/* Low readings make a group when they are as low as its hosts' are: half of that counts. Of very
 * many hosts those of four standard deviations do. */
static double low_share_of(const struct nt_work *w, const struct nt_link *l)
{
    enum { EACH_GROUP = 256 };
    return w->n <= EACH_GROUP ? nt_low_share(w, l->latency_us) : w->low_share;
}

/* The same for groups of two that are judged together, fitted to 1,400 such jobs and jobs of small
 * groups with gaps of 3 to 10 sd: neither how many hosts there are nor of which size counts. */
static double calibrated_pair(const struct nt_work *w, double probability, double low_share)
{
    double n = (double)w->n, unknown = 1 - 2 * (double)w->pairs / (n * (n - 1));
    double ln = log(probability / (1 - probability + 1e-4) + 1e-9);
    double odds = -0.13 + 0.70 * fmin(ln, 8) - 11.3 * sqrt(low_share) - 3.2 * unknown;
    return 1 / (1 + exp(-odds));
}

/* The index in w of a host of the model. */
static uint32_t place_of(const struct nt_work *w, uint32_t host)
{
    uint32_t i = 0;
    while (w->host[i] != host)
        i++;
    return i;
}

static double support_of(const struct nt_work *w, const struct nt_model *m,
                         const struct nt_rooted_tree *h, uint32_t v, const struct pairs *p)
{
    struct group g;
    look_at(w, m, h, v, &g);
    struct nt_link *l = &m->link[g.link];
    if (g.hosts == 2 && p->together != NULL)
        return nt_host_pairs_probability(p->together, place_of(w, g.host[0]),
                                         place_of(w, g.host[1]));
    double exists = 1 / (1 + exp(-ln_exists(m, &g, p)));
    if (g.hosts == 2)
        exists *= 1 / (1 + exp(-ln_not_wrong(p, w, l, &g)));
    return calibrated_support(w, exists * (1 - misplaced_odds(w, m, h, &g)), g.hosts,
                              low_share_of(w, l));
}

static bool is_pair(const struct nt_work *w, const struct nt_model *m,
                    const struct nt_rooted_tree *h, uint32_t v)
{
    size_t hosts = nt_rooted_tree_count(h, v);
    return v >= m->hosts && (hosts == 2 || hosts + 2 == w->n);
}

/* One round; *weak: a switch was taken out. */
static int support_round(const struct nt_work *w, double early,
                         const struct nt_host_pairs *together, struct nt_model **model, bool *weak,
                         struct nt_err *err)
{
    struct nt_model *m = *model;
    struct nt_rooted_tree *h;
    double least = 0.5, at_once = w->n > MANY ? 0.4 : 0.01;
    *weak = false;
    if (nt_rooted_tree_create(m, &h, err) < 0)
        return -1;
    bool *removed = calloc(m->links + 1, sizeof *removed);
    struct pairs p = {.together = together,
                      .link = malloc((m->links + 1) * sizeof(struct nt_link *)),
                      .sized = calloc(w->n + 1, sizeof *p.sized)};
    int status = 0;
    if (removed == NULL || p.link == NULL || p.sized == NULL)
        status = nt_err_memory(err);
    for (size_t k = 1; k < h->reached && status == 0 && h->tree; k++) {
        uint32_t v = h->order[k], below = nt_rooted_tree_count(h, v);
        if (v < m->hosts)
            continue;
        p.groups++;
        p.sized[(size_t)2 * below > w->n ? w->n - below : below]++;
        if (is_pair(w, m, h, v))
            p.link[p.count++] = &m->link[h->up[v] / 2];
    }
    if (status == 0)
        judge_pairs(w, early, &p);
    for (size_t k = 1; k < h->reached && status == 0 && h->tree; k++) {
        uint32_t v = h->order[k];
        if (v < m->hosts)
            continue;
        struct nt_link *l = &m->link[h->up[v] / 2];
        l->probability = support_of(w, m, h, v, &p);
        least = fmin(least, l->probability);
    }
    /* the least certain first: the others may gain support */
    for (size_t k = 0; k < m->links && status == 0 && least < 0.5; k++) {
        removed[k] = m->link[k].a >= m->hosts && m->link[k].b >= m->hosts &&
                     m->link[k].probability <= fmax(least, at_once);
        *weak = *weak || removed[k];
    }
    nt_rooted_tree_destroy(h);
    if (status == 0 && *weak)
        status = nt_regroup_contract(model, removed, err);
    free(removed);
    free(p.link);
    free(p.sized);
    return status;
}

/* The least sure link that is shorter than one pair of readings can tell, and that the others do
 * not show either; NULL: none is left. */
static struct nt_link *unresolved(const struct nt_model *m)
{
    struct nt_link *least = NULL;
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        bool stays = l->latency_us > 0 && l->probability >= NT_SUPPORT_STATED;
        if (l->a < m->hosts || l->b < m->hosts || l->latency_us >= m->resolution_us || stays)
            continue;
        if (least == NULL || l->probability < least->probability)
            least = l;
    }
    return least;
}

int nt_support_resolve(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    double hidden = 0;
    int status = 0;
    for (struct nt_link *l; status == 0 && (l = unresolved(*model)) != NULL;) {
        bool *removed = calloc((*model)->links + 1, sizeof *removed);
        if (removed == NULL)
            return nt_err_memory(err);
        removed[l - (*model)->link] = true;
        hidden = fmax(hidden, l->probability);
        status = nt_regroup_contract(model, removed, err);
        free(removed);
        if (status == 0)
            status = nt_model_groups(*model, w, err);
        if (status == 0)
            status = nt_links_fit(w, *model, err);
    }
    if (status == 0 && hidden > 0) {
        (*model)->confidence = fmin((*model)->confidence, 1 - hidden);
        if ((*model)->switches <= 1 && hidden > 0.5)
            (*model)->family = NT_FAMILY_UNDETERMINED;
    }
    return status;
}

static int refit(struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    if (nt_model_groups(model, w, err) < 0 || nt_links_fit(w, model, err) < 0)
        return -1;
    return nt_false_groups_mark(w, err);
}

/* All groups of two that the readings show, calibrated. Readings that are far too low lie in a
 * part of the latency: as many over all of it would be as dense there. */
static int judge_together(const struct nt_work *w, const struct nt_model *m, double early,
                          struct nt_host_pairs *pairs, struct nt_err *err)
{
    nt_host_pairs_fini(pairs);
    if (nt_host_pairs(w, m, early > 0 ? early / w->low_part : early, pairs, err) < 0)
        return -1;
    for (size_t k = 0; k < pairs->count; k++) {
        struct nt_host_pair *p = &pairs->pair[k];
        struct nt_link l = {.latency_us = p->us};
        p->probability = calibrated_pair(w, p->probability, low_share_of(w, &l));
    }
    return 0;
}

/* Takes out what is less likely than not, until nothing is. */
static int take_out_weak(struct nt_work *w, double early, struct nt_host_pairs *together,
                         struct nt_model **model, struct nt_err *err)
{
    bool weak = true;
    for (int round = 0; round < ROUNDS && weak; round++) {
        if (together != NULL && judge_together(w, *model, early, together, err) < 0)
            return -1;
        if (support_round(w, early, together, model, &weak, err) < 0 ||
            (weak && refit(w, *model, err) < 0))
            return -1;
    }
    return 0;
}

/* Where there are several groups of two, these are judged together: a depth and a number that
 * others have, too, say more of one than its reading alone. */
static int settle_pairs(struct nt_work *w, double early, struct nt_host_pairs *pairs,
                        struct nt_model **model, struct nt_err *err)
{
    bool changed = true;
    if (judge_together(w, *model, early, pairs, err) < 0)
        return -1;
    if (pairs->expected < TOGETHER)
        return 0;
    for (int round = 0; round < SETTLING && changed; round++)
        if (nt_host_pairs_settle(w, pairs, model, &changed, err) < 0 ||
            (changed &&
             (refit(w, *model, err) < 0 || judge_together(w, *model, early, pairs, err) < 0)))
            return -1;
    return take_out_weak(w, early, pairs, model, err);
}

/* Hosts that are likelier elsewhere go there. */
static int settle_hosts(struct nt_work *w, double early, struct nt_host_pairs *pairs,
                        struct nt_model **model, struct nt_err *err)
{
    bool changed = true;
    for (int round = 0; round < SETTLING && changed; round++) {
        if (nt_one_host_settle(w, model, &changed, err) < 0)
            return -1;
        if (changed &&
            (nt_false_groups_mark(w, err) < 0 || settle_pairs(w, early, pairs, model, err) < 0 ||
             (pairs->expected < TOGETHER && take_out_weak(w, early, NULL, model, err) < 0)))
            return -1;
    }
    return 0;
}

int nt_support(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    struct nt_host_pairs pairs = {0};
    double count, early = nt_false_low_share(w, &count);
    if (count < KNOWN)
        early = -1;
    w->low_part = early > 0 ? nt_false_low_part(w) : 1;
    int status = nt_false_groups_mark(w, err);
    if (status == 0)
        status = take_out_weak(w, early, NULL, model, err);
    if (status == 0)
        status = settle_pairs(w, early, &pairs, model, err);
    if (status == 0)
        status = settle_hosts(w, early, &pairs, model, err);
    nt_host_pairs_fini(&pairs);
    return status;
}
