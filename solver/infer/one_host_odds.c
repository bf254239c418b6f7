/* SPDX-License-Identifier: Apache-2.0 */
#include "one_host_odds.h"

#include <math.h>

#include <string.h>

#include "links.h"
#include "matrix.h"
#include "regroup.h"
#include "rooted_tree.h"
#include "switch_support.h"

enum { HOSTS_MAX = 512, MOVES_MAX = 32, TRIES_MAX = 4 };

/* A reading so many sd off is wrong. */
static const double WRONG_SD = 4.5;
/* Shares of wrong readings, where a matrix has none of its own: it says little about the next one.
 * Far too low is one reading in thirty networks. */
static const double LATE_LEAST = 2e-3, EARLY_EVER = 1.0 / 30;
/* One group is at most so much likelier than another, ln. */
static const double LN_ODDS_MAX = 30;
/* Before groups are seen a group of one host is so common, one of two half of that, and so on: the
 * weight of that against each group that is seen. */
static const double SIZES_BEFORE = 2;

/* A host goes to another switch: vertices. */
struct move {
    uint32_t host, to;
    double ln, prior; /* of the likelihood that it should, and of the odds before, ln */
};

/* A reading against the model. */
struct misfit {
    float z;     /* of what is left over, sd; NaN: not measured */
    float sd_us; /* of the reading */
    float part;  /* of a whole reading that it counts for in a fit: root of its weight */
    float ln;    /* of the density of z */
};

struct one_host {
    const struct nt_work *w;
    const struct nt_model *m;
    struct nt_noise noise;
    struct nt_rooted_tree *tree;
    struct misfit *misfit; /* w->n * w->n */
    uint32_t *place;       /* m->hosts: index in w */
    uint32_t *member;      /* w->n: of the group that is looked at, then of another branch */
    size_t members;
    double *sized;      /* w->n + 1: groups of so many hosts */
    double late, early; /* density of wrong readings on either side, per sd */
    double ln;          /* of the likelihood of all readings */
    const struct move *tried;
    size_t tries;
    struct move best; /* the likeliest other model that was not tried */
};

static double ln_density(const struct one_host *o, double z)
{
    return log(0.3989422804014327 * exp(-0.5 * z * z) + (z > 0 ? o->late : o->early));
}

static void count_wrong(struct one_host *o)
{
    const struct nt_work *w = o->w;
    double late = 0, early = 0, all = fmax((double)w->pairs, 1), level = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        level += 2 * (double)w->offset[i] / (double)w->n;
        for (uint32_t j = 0; j < i; j++) {
            double z = (double)o->misfit[i * w->n + j].z;
            late += z > WRONG_SD;
            early += z < -WRONG_SD;
        }
    }
    double range = fmax(10, level / fmax(nt_noise_sd(&o->noise, level), 1e-9 * level));
    o->late = fmax(late / all, LATE_LEAST) / range;
    o->early = (early + EARLY_EVER) / all / range;
}

static int compare_readings(struct one_host *o, struct nt_err *err)
{
    const struct nt_work *w = o->w;
    struct nt_matrix *modelled;
    if (nt_model_latencies(o->m, &modelled, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double us = (double)nt_matrix_get(modelled, w->host[i], w->host[j]);
            double left = (double)w->d[i * w->n + j] - us;
            double part = w->weight != NULL ? sqrt((double)w->weight[i * w->n + j]) : 1;
            double sd = nt_noise_sd(&o->noise, us) / part;
            o->misfit[i * w->n + j] =
                (struct misfit){(float)(left / sd), (float)sd, (float)part, 0};
        }
    nt_matrix_destroy(modelled);
    count_wrong(o);
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            struct misfit *x = &o->misfit[i * w->n + j];
            x->ln = x->z == x->z ? (float)ln_density(o, (double)x->z) : 0;
            o->ln += (double)x->ln;
            o->misfit[j * w->n + i] = *x;
        }
    return 0;
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
        const struct misfit *r = &o->misfit[x * o->w->n + host[k]];
        double z = (double)r->z, then = z - longer_us / (double)r->sd_us, part = (double)r->part;
        if (host[k] == x || isnan(z))
            continue;
        bool before = fabs(z) < WRONG_SD, after = fabs(then) < WRONG_SD;
        all.ln += ln_density(o, then) - (double)r->ln;
        all.right_after += after ? part * part : 0;
        all.off += after ? part * then : 0;
        all.right_before += before ? part * part : 0;
        all.before += before ? part * z : 0;
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

/* How common groups of so many hosts are, without one of `less` and one of `gone` hosts. */
static double commonness(const struct one_host *o, size_t size, size_t less, size_t gone)
{
    double others = o->sized[size] - (size == less) - (size == gone);
    return SIZES_BEFORE / (double)size + fmax(others, 0);
}

/* Odds, before readings are known, that a host is in the group of `to` others instead of the one of
 * `from`, which counts it; 0: it stands alone, as `alone` hosts do. Groups are alike but for how
 * many hosts they have (Gibbs partitions). */
static double odds_of_sizes(const struct one_host *o, size_t to, size_t from, double alone)
{
    double odds = alone;
    if (to > 0)
        odds = commonness(o, to + 1, to, from) / commonness(o, to, to, from) * ((double)to + 1);
    if (from == 0)
        return odds / alone;
    if (from == 2)
        return odds * alone / (2 * commonness(o, 2, to, from));
    return odds * commonness(o, from - 1, to, from) / commonness(o, from, to, from) / (double)from;
}

/* Notes a host's move to a switch; returns its odds, those of one that was tried from its fit. */
static double odds_of_move(struct one_host *o, uint32_t host, uint32_t to, double ln, double prior)
{
    const struct move *tried = NULL;
    for (size_t k = 0; k < o->tries; k++)
        if (o->tried[k].host == host && o->tried[k].to == to)
            tried = &o->tried[k];
    if (tried != NULL)
        ln = fmin(ln, tried->ln);
    else if (ln + prior > o->best.ln + o->best.prior)
        o->best = (struct move){host, to, ln, prior};
    return exp(fmin(ln + prior, LN_ODDS_MAX));
}

/* Hosts of the branch's switch that may belong to the group of switch `at`. */
static double odds_with_one_more(struct one_host *o, uint32_t at, double group_us,
                                 const struct branch *b)
{
    const struct nt_graph *g = &o->tree->graph;
    double size = (double)o->members, odds = 0;
    double prior = log(odds_of_sizes(o, o->members, b->us > 0 ? b->hosts : 0, b->alone));
    for (uint32_t k = g->start[b->v]; k < g->start[b->v + 1]; k++) {
        if (g->to[k] >= o->m->hosts)
            continue;
        uint32_t x = o->place[g->to[k]];
        struct shift in = shifted(o, x, o->member, o->members, -2 * group_us);
        struct shift out = shifted(o, x, b->host, b->hosts, 2 * b->us);
        double ln = in.ln + out.ln + ln_own_link(o, &in, &out) +
                    ln_refitted_with(size * (size - 1) / 2, in.right_after, in.off);
        odds += odds_of_move(o, g->to[k], at, ln, prior);
    }
    return odds;
}

/* Hosts of the group's own switch that may belong to the branch. */
static double odds_with_one_less(struct one_host *o, uint32_t at, double group_us,
                                 const struct branch *b)
{
    const struct nt_graph *g = &o->tree->graph;
    double size = (double)o->members, odds = 0;
    if (o->members <= 2)
        return 0;
    double prior = log(odds_of_sizes(o, b->us > 0 ? b->hosts : 0, o->members, b->alone));
    for (uint32_t k = g->start[at]; k < g->start[at + 1]; k++) {
        if (g->to[k] >= o->m->hosts)
            continue;
        uint32_t x = o->place[g->to[k]];
        struct shift out = shifted(o, x, o->member, o->members, 2 * group_us);
        struct shift in = shifted(o, x, b->host, b->hosts, -2 * b->us);
        double ln = in.ln + out.ln + ln_own_link(o, &in, &out) +
                    ln_refitted_without(size * (size - 1) / 2, out.right_before, out.before);
        odds += odds_of_move(o, g->to[k], b->v, ln, prior);
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
    double odds = odds_with_one_more(o, at, us, &top) + odds_with_one_less(o, at, us, &top);
    uint32_t *host = o->member + o->members; /* no more than are not members */
    for (uint32_t k = t->graph.start[above]; k < t->graph.start[above + 1]; k++) {
        uint32_t v = t->graph.to[k];
        if (v < o->m->hosts || v == at || v == t->parent[above])
            continue;
        struct branch b = {v, o->m->link[t->graph.link[k]].latency_us, host, 0, top.alone};
        for (uint32_t i = t->head[v]; i < t->tail[v]; i++)
            host[b.hosts++] = o->place[t->host[i]];
        odds += odds_with_one_more(o, at, us, &b) + odds_with_one_less(o, at, us, &b);
    }
    return odds;
}

/* limits: what the odds leave of the supports, in model; else they are looked at only. */
static void look_at_all(struct one_host *o, struct nt_model *limits)
{
    const struct nt_rooted_tree *t = o->tree;
    for (size_t k = 1; k < t->reached; k++)
        if (t->order[k] >= o->m->hosts) {
            size_t hosts = nt_rooted_tree_count(t, t->order[k]);
            o->sized[2 * hosts > o->w->n ? o->w->n - hosts : hosts]++;
        }
    for (size_t k = 1; k < t->reached; k++) {
        uint32_t v = t->order[k], above = t->parent[v], link = t->up[v] / 2;
        if (v < o->m->hosts)
            continue;
        bool smaller = 2 * (size_t)nt_rooted_tree_count(t, v) <= o->w->n;
        double odds = one_host_odds(o, smaller ? v : above, smaller ? above : v, link);
        if (limits != NULL)
            limits->link[link].probability =
                fmin(limits->link[link].probability, fmax(1 / (1 + odds), NT_SUPPORT_STATED));
    }
}

static int one_host_init(struct one_host *o, struct nt_arena *memory, struct nt_err *err)
{
    size_t n = o->w->n;
    o->place = nt_arena_array(memory, o->m->hosts + 1, sizeof *o->place);
    o->member = nt_arena_array(memory, n + 1, sizeof *o->member);
    o->sized = nt_arena_array(memory, n + 1, sizeof *o->sized);
    o->misfit = nt_arena_array(memory, n * n + 1, sizeof *o->misfit);
    if (nt_arena_check(memory, err) < 0 || nt_rooted_tree_create(o->m, &o->tree, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        o->place[o->w->host[i]] = (uint32_t)i;
    return 0;
}

/* Looks at the model as it is; the tree of o is the caller's. */
static int look(struct one_host *o, const struct nt_work *w, const struct nt_model *m,
                struct nt_model *limits, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    o->w = w;
    o->m = m;
    if (w->n > HOSTS_MAX)
        return 0;
    int status = one_host_init(o, &memory, err);
    if (status == 0 && o->tree->tree)
        status = compare_readings(o, err);
    if (status == 0 && o->tree->tree)
        look_at_all(o, limits);
    nt_rooted_tree_destroy(o->tree);
    return status;
}

/* ---- moves ---- */

/* Puts a host elsewhere; a switch that is left with two links goes. */
static int move_host(struct nt_model **model, const struct move *move, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_model *m = *model;
    uint32_t from = NT_NO_VERTEX;
    size_t links = 0, last = m->links;
    bool *gone = nt_arena_array(&memory, m->links + 1, sizeof *gone);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        uint32_t *end = l->a == move->host ? &l->b : l->b == move->host ? &l->a : NULL;
        if (end == NULL)
            continue;
        from = *end;
        *end = move->to;
    }
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == from || m->link[k].b == from) {
            links++;
            last = m->link[k].a >= m->hosts && m->link[k].b >= m->hosts ? k : last;
        }
    if (links > 2 || last == m->links)
        return 0;
    gone[last] = true;
    return nt_regroup_contract(model, gone, err);
}

static int fit(struct nt_work *w, struct nt_model *m, struct nt_err *err)
{
    return nt_model_groups(m, w, err) < 0 || nt_links_fit(w, m, err) < 0 ? -1 : 0;
}

/* Takes the likeliest move where its fit is likelier, too, else keeps what that says in tried. */
static int try_move(struct nt_work *w, struct nt_model **model, struct one_host *o,
                    struct move tried[TRIES_MAX], bool *taken, struct nt_err *err)
{
    struct nt_model *next = NULL, *old = *model;
    struct one_host then = {.noise = o->noise};
    int status = nt_model_copy(old, &next, err);
    if (status == 0)
        status = move_host(&next, &o->best, err);
    if (status == 0)
        status = fit(w, next, err);
    if (status == 0)
        status = look(&then, w, next, NULL, err);
    *taken = status == 0 && then.ln - o->ln + o->best.prior > 0;
    if (*taken) {
        *model = next;
        *o = then;
        nt_model_destroy(old);
        return 0;
    }
    nt_model_destroy(next);
    tried[o->tries] = o->best;
    tried[o->tries].ln = then.ln - o->ln;
    *o = (struct one_host){.noise = o->noise, .tried = tried, .tries = o->tries + 1};
    return status < 0 || fit(w, old, err) < 0 ? -1 : look(o, w, old, NULL, err);
}

int nt_one_host_settle(struct nt_work *w, struct nt_model **model, bool *changed,
                       struct nt_err *err)
{
    struct move tried[TRIES_MAX];
    struct one_host o = {.noise = w->noise};
    *changed = false;
    int status = look(&o, w, *model, NULL, err);
    for (int k = 0; k < MOVES_MAX && o.tries < TRIES_MAX && status == 0; k++) {
        bool taken;
        if (!(o.best.ln + o.best.prior > 0))
            break;
        status = try_move(w, model, &o, tried, &taken, err);
        *changed |= taken;
    }
    if (status == 0 && !*changed) {
        o = (struct one_host){.noise = w->noise, .tried = tried, .tries = o.tries};
        status = look(&o, w, *model, *model, err);
    }
    return status;
}
