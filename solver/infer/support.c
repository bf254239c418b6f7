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

enum { ROUNDS = 200 };

/* A switch that is not the top, and the one above it. */
struct group {
    uint32_t v, above, link;
    double inside,
        outside; /* branches of v but the way up; of the one above but v and its own way up */
    double hosts, others; /* below v, and all others */
    double alike;         /* groups with as many branches below the same switch */
    double sd;            /* us, of a reading across the link */
};

static void look_at(const struct nt_work *w, const struct nt_model *m, const struct nt_hang *h,
                    uint32_t v, struct group *g)
{
    uint32_t above = h->parent[v];
    *g = (struct group){.v = v, .above = above, .link = h->up[v] / 2};
    g->inside = (double)(h->near[v + 1] - h->near[v]) - 1;
    g->outside = (double)(h->near[above + 1] - h->near[above]) - 1;
    g->hosts = nt_hang_count(h, v);
    g->others = (double)w->n - g->hosts;
    for (uint32_t i = h->first[above]; i < h->first[above + 1]; i++) {
        uint32_t x = h->child[i];
        g->alike += x >= m->hosts && (double)(h->near[x + 1] - h->near[x]) - 1 == g->inside;
    }
    double level = 0, count = 0;
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
    return 0.5 * z * z - log1p(z) - nt_ways_two((size_t)all, (size_t)g->inside) + log(g->alike);
}

/* Chance that one of the hosts is on the wrong side: a host that changes sides changes its readings
 * to all of the group by twice the link. */
static double misplaced(const struct nt_model *m, const struct group *g)
{
    double gap = 2 * m->link[g->link].latency_us / g->sd;
    double in = gap * sqrt((g->hosts - 1) * g->others / (g->hosts - 1 + g->others));
    double out = gap * sqrt(g->hosts * (g->others - 1) / (g->hosts + g->others - 1));
    /* of two hosts the one's place is the other's: whether there is a group at all */
    double risk = g->hosts > 2 ? g->hosts * nt_normal_cdf(-0.5 * in) : 0;
    return fmin(1, risk + (g->others > 2 ? g->others * nt_normal_cdf(-0.5 * out) : 0));
}

static double support_of(const struct nt_work *w, const struct nt_model *m, const struct nt_hang *h,
                         uint32_t v)
{
    struct group g;
    look_at(w, m, h, v, &g);
    double exists = 1 / (1 + exp(-ln_exists(m, &g)));
    return exists * (1 - misplaced(m, &g));
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
