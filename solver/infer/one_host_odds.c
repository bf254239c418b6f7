/* SPDX-License-Identifier: Apache-2.0 */
#include "one_host_odds.h"

#include <math.h>

#include "matrix.h"
#include "rooted_tree.h"
#include "switch_support.h"

enum { HOSTS_MAX = 512 };

/* A reading so many sd off is wrong. */
static const double WRONG_SD = 4.5;
/* Least shares of wrong readings: a matrix without any says little about the next one. */
static const double LATE_LEAST = 2e-3, EARLY_LEAST = 1e-5;
/* One group is at most so much likelier than another, ln. */
static const double LN_ODDS_MAX = 30;

struct one_host {
    const struct nt_work *w;
    const struct nt_model *m;
    const struct nt_rooted_tree *tree;
    struct nt_matrix *modelled; /* hosts of the model */
    uint32_t *place;            /* m->hosts: index in w */
    uint32_t *member;           /* w->n: of the group that is looked at, then of another branch */
    size_t members;
    double late, early; /* density of wrong readings on either side, per sd */
};

/* The residual of a reading, sd; NaN: not measured. */
static double residual(const struct one_host *o, uint32_t i, uint32_t j, double *sd)
{
    double us = (double)nt_matrix_get(o->modelled, o->w->host[i], o->w->host[j]);
    *sd = nt_noise_sd(&o->w->noise, us);
    return ((double)o->w->d[i * o->w->n + j] - us) / *sd;
}

static void count_wrong(struct one_host *o)
{
    const struct nt_work *w = o->w;
    double late = 0, early = 0, all = fmax((double)w->pairs, 1), level = 0, sd;
    for (uint32_t i = 0; i < w->n; i++) {
        level += 2 * (double)w->offset[i] / (double)w->n;
        for (uint32_t j = 0; j < i; j++) {
            double z = residual(o, i, j, &sd);
            late += z > WRONG_SD;
            early += z < -WRONG_SD;
        }
    }
    double range = fmax(10, level / fmax(nt_noise_sd(&w->noise, level), 1e-9 * level));
    o->late = fmax(late / all, LATE_LEAST) / range;
    o->early = fmax(early / all, EARLY_LEAST) / range;
}

static double ln_density(const struct one_host *o, double z)
{
    return log(0.3989422804014327 * exp(-0.5 * z * z) + (z > 0 ? o->late : o->early));
}

/* The readings of a host to some others, were the path to them longer. */
struct shift {
    double ln;                   /* of the likelihood, against the path as it is */
    double right_after, off;     /* readings that are not wrong then, and their residuals' sum */
    double right_before, before; /* those that are not wrong now, likewise */
};

static struct shift shifted(const struct one_host *o, uint32_t x, const uint32_t *host,
                            size_t count, double longer_us)
{
    struct shift all = {0};
    for (size_t k = 0; k < count; k++) {
        double sd, z = host[k] == x ? (double)NAN : residual(o, x, host[k], &sd);
        if (isnan(z))
            continue;
        double then = z - longer_us / sd;
        bool before = fabs(z) < WRONG_SD, after = fabs(then) < WRONG_SD;
        all.ln += ln_density(o, then) - ln_density(o, z);
        all.right_after += after;
        all.off += after ? then : 0;
        all.right_before += before;
        all.before += before ? z : 0;
    }
    return all;
}

/* The host's own link takes up what its readings that are not wrong have in common. */
static double ln_own_link(const struct one_host *o, const struct shift *a, const struct shift *b)
{
    double sum = a->off - a->before + b->off - b->before;
    return sum * sum / (2 * ((double)o->w->n - 1));
}

/* The group's link follows the readings of a host that comes (count, off), which few other pairs
 * inside determine. */
static double ln_refitted_with(double inside, double count, double off)
{
    double left = inside * count / (inside + count);
    return count < 1 || left < 1e-9 ? 0 : 0.5 * left * (off / count) * (off / count);
}

/* The same for one that leaves: inside is with it. */
static double ln_refitted_without(double inside, double count, double off)
{
    double left = inside - count;
    return count < 1 || left < 1e-9 ? 0 : 0.5 * off * off / left;
}

/* The hosts on the side of `at`. */
static void list_members(struct one_host *o, uint32_t at, uint32_t above)
{
    const struct nt_rooted_tree *t = o->tree;
    bool below = t->parent[at] == above;
    uint32_t v = below ? at : above;
    o->members = 0;
    for (uint32_t i = t->head[t->top]; i < t->tail[t->top]; i++)
        if ((i >= t->head[v] && i < t->tail[v]) == below)
            o->member[o->members++] = o->place[t->host[i]];
}

/* Another branch of the switch above, or that switch itself: hosts come from it or go there. */
struct branch {
    uint32_t v;
    double us;            /* of its link to the switch above; 0: that switch itself */
    const uint32_t *host; /* in w, those behind it */
    size_t hosts;
    double alone; /* hosts that stand alone at the switch above, and a half */
};

/* Hosts of the branch's switch that may belong to the group. */
static double odds_with_one_more(const struct one_host *o, double group_us, const struct branch *b)
{
    const struct nt_graph *g = &o->tree->graph;
    double size = (double)o->members, odds = 0;
    for (uint32_t k = g->start[b->v]; k < g->start[b->v + 1]; k++) {
        if (g->to[k] >= o->m->hosts)
            continue;
        uint32_t x = o->place[g->to[k]];
        struct shift in = shifted(o, x, o->member, o->members, -2 * group_us);
        struct shift out = shifted(o, x, b->host, b->hosts, 2 * b->us);
        double ln = in.ln + out.ln + ln_own_link(o, &in, &out) +
                    ln_refitted_with(size * (size - 1) / 2, in.right_after, in.off);
        ln += log(size / (b->us > 0 ? fmax((double)b->hosts - 1, 1) : b->alone));
        odds += exp(fmin(ln, LN_ODDS_MAX));
    }
    return odds;
}

/* Hosts of the group's own switch that may belong to the branch. */
static double odds_with_one_less(const struct one_host *o, uint32_t at, double group_us,
                                 const struct branch *b)
{
    const struct nt_graph *g = &o->tree->graph;
    double size = (double)o->members, odds = 0;
    if (o->members <= 2)
        return 0;
    for (uint32_t k = g->start[at]; k < g->start[at + 1]; k++) {
        if (g->to[k] >= o->m->hosts)
            continue;
        uint32_t x = o->place[g->to[k]];
        struct shift out = shifted(o, x, o->member, o->members, 2 * group_us);
        struct shift in = shifted(o, x, b->host, b->hosts, -2 * b->us);
        double ln = in.ln + out.ln + ln_own_link(o, &in, &out) +
                    ln_refitted_without(size * (size - 1) / 2, out.right_before, out.before);
        ln += log((b->us > 0 ? (double)b->hosts : b->alone) / (size - 1));
        odds += exp(fmin(ln, LN_ODDS_MAX));
    }
    return odds;
}

/* Summed over all groups with one host more or less, each against the one behind the link. at is
 * the switch on its side, above the other one. */
static double one_host_odds(struct one_host *o, uint32_t at, uint32_t above, uint32_t link)
{
    const struct nt_rooted_tree *t = o->tree;
    struct branch top = {.v = above, .alone = 0.5};
    double us = o->m->link[link].latency_us;
    list_members(o, at, above);
    for (uint32_t k = t->graph.start[above]; k < t->graph.start[above + 1]; k++)
        top.alone += t->graph.to[k] < o->m->hosts;
    double odds = odds_with_one_more(o, us, &top) + odds_with_one_less(o, at, us, &top);
    uint32_t *host = o->member + o->members; /* no more than are not members */
    for (uint32_t k = t->graph.start[above]; k < t->graph.start[above + 1]; k++) {
        uint32_t v = t->graph.to[k];
        if (v < o->m->hosts || v == at || v == t->parent[above])
            continue;
        struct branch b = {v, o->m->link[t->graph.link[k]].latency_us, host, 0, top.alone};
        for (uint32_t i = t->head[v]; i < t->tail[v]; i++)
            host[b.hosts++] = o->place[t->host[i]];
        odds += odds_with_one_more(o, us, &b) + odds_with_one_less(o, at, us, &b);
    }
    return odds;
}

static void limit_supports(struct one_host *o, struct nt_model *m)
{
    const struct nt_rooted_tree *t = o->tree;
    for (size_t k = 1; k < t->reached; k++) {
        uint32_t v = t->order[k], above = t->parent[v], link = t->up[v] / 2;
        if (v < m->hosts)
            continue;
        bool smaller = 2 * (size_t)nt_rooted_tree_count(t, v) <= o->w->n;
        double odds = one_host_odds(o, smaller ? v : above, smaller ? above : v, link);
        struct nt_link *l = &m->link[link];
        l->probability = fmin(l->probability, fmax(1 / (1 + odds), NT_SUPPORT_STATED));
    }
}

int nt_one_host_limit(const struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct one_host o = {.w = w, .m = model};
    struct nt_rooted_tree *tree = NULL;
    o.place = nt_arena_array(&memory, model->hosts, sizeof *o.place);
    o.member = nt_arena_array(&memory, w->n, sizeof *o.member);
    if (w->n > HOSTS_MAX)
        return 0;
    int status = nt_arena_check(&memory, err);
    if (status == 0)
        status = nt_rooted_tree_create(model, &tree, err);
    if (status == 0 && tree->tree)
        status = nt_model_latencies(model, &o.modelled, err);
    if (status == 0 && tree->tree) {
        for (size_t i = 0; i < w->n; i++)
            o.place[w->host[i]] = (uint32_t)i;
        o.tree = tree;
        count_wrong(&o);
        limit_supports(&o, model);
    }
    nt_matrix_destroy(o.modelled);
    nt_rooted_tree_destroy(tree);
    return status;
}
