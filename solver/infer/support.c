/* Support from the likelihood of the best network without the switch.
 *
 * Without a switch its branches hang on the switch above: the loss of likelihood is half of the
 * square of the link's latency over its standard error (Wald). Against that stands in how many ways
 * as many branches could have been chosen there, less where several such groups were found: then
 * one more is nothing strange. With one host in, or one host out, the group is another one: that a
 * host is on the wrong side costs, too. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "hang.h"
#include "links.h"
#include "regroup.h"
#include "stats.h"

enum {
    ROUNDS = 200,
    MOVING = 64 /* hosts of another branch that may belong to a group: those at its near end */
};

/* A switch that hides another one is one in a few: ln. */
static const double RARE = 1;

/* The hosts on the smaller side of a link between switches. */
struct group {
    uint32_t at, above, link; /* the switch on that side, the other one, the link of both */
    double inside, outside;   /* other branches of both */
    double hosts, others;     /* on both sides */
    double alike;             /* branches of `above` with as many hosts, this one too */
    double sd;                /* us, of a reading across the link */
};

/* What hangs on a link of switch v on the other side: how many hosts, and how far away. */
static double branch_of(const struct nt_work *w, const struct nt_model *m, const struct nt_hang *h,
                        uint32_t v, uint32_t link, double *us)
{
    uint32_t x = h->ends[link][h->ends[link][0] == v];
    *us = x < m->hosts ? 0 : m->link[link].latency_us;
    return h->parent[v] == x ? (double)w->n - nt_hang_count(h, v) : nt_hang_count(h, x);
}

static void look_at(const struct nt_work *w, const struct nt_model *m, const struct nt_hang *h,
                    uint32_t v, struct group *g)
{
    *g = (struct group){.at = v, .above = h->parent[v], .link = h->up[v] / 2};
    g->hosts = nt_hang_count(h, v);
    if (2 * g->hosts > (double)w->n) {
        g->hosts = (double)w->n - g->hosts;
        g->at = g->above;
        g->above = v;
    }
    g->others = (double)w->n - g->hosts;
    g->inside = (double)(h->near[g->at + 1] - h->near[g->at]) - 1;
    g->outside = (double)(h->near[g->above + 1] - h->near[g->above]) - 1;
    for (uint32_t i = h->near[g->above]; i < h->near[g->above + 1]; i++) {
        double us;
        g->alike += branch_of(w, m, h, g->above, h->at[i], &us) == g->hosts;
    }
    double level = 0, count = 0; /* usual of a host's link */
    for (uint32_t i = h->head[v]; i < h->tail[v]; i++, count++)
        level += 2 * m->link[h->up[h->host[i]] / 2].latency_us;
    g->sd = nt_noise_sd(&w->noise, level / count + 2 * m->link[g->link].latency_us);
}

/* ln of the odds that there is such a switch at all. */
static double ln_exists(const struct nt_model *m, const struct group *g)
{
    const struct nt_link *l = &m->link[g->link];
    double z = l->latency_us / l->latency_se_us;
    double all = g->inside + g->outside;
    if (!(z > 0))
        return -10;
    return 0.5 * z * z - log1p(z) - RARE - nt_ways_two((size_t)all, (size_t)g->inside) +
           log(g->alike);
}

/* Chance that a host of one of two groups belongs to the other: all its readings to both would
 * change by their distance. to: hosts of the other; 1: a lone host. */
static double strays(double hosts, double to, double gap, double all)
{
    double own = hosts - 1;
    if (own < 1) /* a lone host changes its readings to the group against all others */
        return nt_normal_cdf(-0.5 * gap * sqrt(to * (all - to) / all));
    double pairs = own + to;
    return hosts * nt_normal_cdf(-0.5 * gap * sqrt(4 * own * to / pairs));
}

/* Chance that a host stands on the wrong side of the link above v: one of v's that belongs to
 * another branch of the switch above, or the other way round. */
static double misplaced(const struct nt_work *w, const struct nt_model *m, const struct nt_hang *h,
                        const struct group *g)
{
    double us = m->link[g->link].latency_us, risk = 0, all = (double)w->n;
    for (uint32_t i = h->near[g->above]; i < h->near[g->above + 1]; i++) {
        double more, hosts = branch_of(w, m, h, g->above, h->at[i], &more);
        if (h->at[i] == g->link)
            continue;
        double gap = (us + more) / g->sd;
        risk += strays(fmin(hosts, MOVING), g->hosts, gap, all);
        if (g->hosts > 2 && hosts > 1) /* of two hosts the one's place is the other's */
            risk += strays(g->hosts, hosts, gap, all);
    }
    if (g->hosts > 2) /* to the switch above itself */
        risk += g->hosts * nt_normal_cdf(-us / g->sd * sqrt((g->hosts - 1) * g->others / all));
    return fmin(1, risk);
}

static double support_of(const struct nt_work *w, const struct nt_model *m, const struct nt_hang *h,
                         uint32_t v)
{
    struct group g;
    look_at(w, m, h, v, &g);
    double exists = 1 / (1 + exp(-ln_exists(m, &g)));
    return exists * (1 - misplaced(w, m, h, &g));
}

/* One round; *weak: a switch was taken out. */
static int support_round(const struct nt_work *w, struct nt_model **model, bool *weak,
                         struct nt_err *err)
{
    struct nt_model *m = *model;
    struct nt_hang *h;
    double least = 0.5;
    *weak = false;
    if (nt_hang_create(m, &h, err) < 0)
        return -1;
    bool *gone = calloc(m->links + 1, sizeof *gone);
    int status =
        gone == NULL ? nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu links", m->links) : 0;
    for (size_t k = 1; k < h->reached && status == 0 && h->tree; k++) {
        uint32_t v = h->order[k];
        if (v < m->hosts)
            continue;
        struct nt_link *l = &m->link[h->up[v] / 2];
        l->probability = support_of(w, m, h, v);
        least = fmin(least, l->probability);
    }
    /* the least sure first: others may gain from it */
    for (size_t k = 0; k < m->links && status == 0 && least < 0.5; k++) {
        gone[k] = m->link[k].a >= m->hosts && m->link[k].b >= m->hosts &&
                  m->link[k].probability <= fmax(least, 0.01);
        *weak = *weak || gone[k];
    }
    nt_hang_destroy(h);
    if (status == 0 && *weak)
        status = nt_regroup_contract(model, gone, err);
    free(gone);
    return status;
}

int nt_support(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    bool weak = true;
    for (int round = 0; round < ROUNDS && weak; round++) {
        if (support_round(w, model, &weak, err) < 0)
            return -1;
        if (weak && (nt_model_groups(*model, w, err) < 0 || nt_links_fit(w, *model, err) < 0))
            return -1;
    }
    return 0;
}
