/* SPDX-License-Identifier: Apache-2.0 */
#include "shortcuts.h"

#include <math.h>

#include "memory.h"
#include "stats.h"
#include "switch_support.h"

#define BY_CHANCE 0.5    /* support of groups of switches where no tree fits */
#define NOT_SURE 0.8     /* and of groups that shortcuts explain as well */
#define UNLIKELY 0.5     /* of a shape, at the most; likelier ones may be surer by as much */
#define COVERED 0.8      /* of the hosts are on switches that are sure */
#define EQUAL_SHARE 0.2  /* lengths that differ by less, or by so many */
#define EQUAL_ERRORS 4.0 /*   standard errors, are equal */
#define SKEWED 0.2       /* of the readings between groups: more has a reason */
#define SKEW_ERRORS 3    /* and by so many standard errors */
/* Standard error of the skew of n normal readings, times sqrt(n): by the covariances of quantiles,
 * the tenth and the ninth of which are 2.563 sd apart */
#define SKEW_ERROR 1.04
enum { SKEW_HOSTS = 256, SKEW_PAIRS_MIN = 20 };
enum { LEAVES_MIN = 3, HUB_MIN = 3, LEAF_MIN = 2 };

/* Skewness of the quantiles (Bowley 1901; Hinkley 1975 for the tenth): 0 of what is symmetric,
 * below it where the low ones are far. r: n values, reordered. */
static double quantile_skew(float *r, size_t n)
{
    double low = (double)nt_stats_quantile(r, n, 0.1), high = (double)nt_stats_quantile(r, n, 0.9);
    double middle = (double)nt_stats_quantile(r, n, 0.5);
    return high > low ? (high + low - 2 * middle) / (high - low) : 0;
}

int nt_shortcuts_find(const struct nt_work *w, const struct nt_matrix *modelled, bool *found,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t step = w->n / SKEW_HOSTS + 1, hosts = w->n / step, count = 0;
    float *r = nt_arena_array(&memory, hosts * hosts / 2 + 1, sizeof *r);
    *found = false;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t i = 1; i < hosts; i++)
        for (size_t j = 0; j < i; j++) {
            size_t a = i * step, b = j * step;
            float v = w->d[a * w->n + b], p = nt_matrix_get(modelled, w->host[a], w->host[b]);
            if (w->group[a] != w->group[b] && v == v && p == p)
                r[count++] = (v - p) / p;
        }
    if (count < SKEW_PAIRS_MIN)
        return 0;
    double skew = quantile_skew(r, count);
    *found = skew < -SKEWED && skew * sqrt((double)count) < -SKEW_ERRORS * SKEW_ERROR;
    return 0;
}

static bool is_switch(const struct nt_model *m, uint32_t v)
{
    return v >= m->hosts;
}

static size_t hosts_on(const struct nt_model *m, uint32_t v)
{
    size_t n = 0;
    for (size_t k = 0; k < m->links; k++)
        n += (m->link[k].a == v && !is_switch(m, m->link[k].b)) ||
             (m->link[k].b == v && !is_switch(m, m->link[k].a));
    return n;
}

static void limit(struct nt_model *m, uint32_t lowest_tier, double most)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        uint32_t a = nt_model_tier(m, l->a), b = nt_model_tier(m, l->b);
        if ((a < b ? a : b) >= lowest_tier)
            l->probability = fmin(l->probability, most);
    }
}

/* Leaves that are sure, with two hosts and more, hold most of the hosts. */
static bool is_hierarchy(const struct nt_model *m)
{
    size_t leaves = 0, covered = 0, present = 0;
    for (size_t h = 0; h < m->hosts; h++)
        present += !m->missing[h];
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (!is_switch(m, l->a) || !is_switch(m, l->b) || l->probability < NT_SUPPORT_ACTED)
            continue;
        uint32_t leaf = nt_model_tier(m, l->a) <= nt_model_tier(m, l->b) ? l->a : l->b;
        size_t n = nt_model_tier(m, leaf) == 1 ? hosts_on(m, leaf) : 0;
        leaves += n >= LEAF_MIN;
        covered += n >= LEAF_MIN ? n : 0;
    }
    return leaves >= LEAVES_MIN && (double)covered >= COVERED * (double)present;
}

static bool is_equal(const struct nt_link *x, const struct nt_link *y)
{
    double se = hypot(x->latency_se_us, y->latency_se_us), off = x->latency_us - y->latency_us;
    return fabs(off) < EQUAL_SHARE * fmax(x->latency_us, y->latency_us) ||
           fabs(off) < EQUAL_ERRORS * se;
}

/* Whether the links of the switch at the lower end of up to others are all as long as that. */
static bool is_hub(const struct nt_model *m, const struct nt_link *up, uint32_t hub)
{
    size_t others = 0, equal = 0;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l == up || (l->a != hub && l->b != hub))
            continue;
        if (!is_switch(m, l->a) || !is_switch(m, l->b))
            return false;
        others++;
        equal += is_equal(l, up);
    }
    return others >= HUB_MIN && 4 * equal >= 3 * others;
}

static void doubt_hubs(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        if (!is_switch(m, l->a) || !is_switch(m, l->b))
            continue;
        bool a = is_hub(m, l, l->a) && hosts_on(m, l->b) > 0;
        bool b = is_hub(m, l, l->b) && hosts_on(m, l->a) > 0;
        uint32_t ta = nt_model_tier(m, l->a), tb = nt_model_tier(m, l->b);
        if ((a && ta <= tb) || (b && tb <= ta))
            l->probability = fmin(l->probability, NOT_SURE);
    }
}

/* The hosts of one router are equally far from it; those of several are not. */
static bool is_uneven(const struct nt_model *m, uint32_t leaf)
{
    const struct nt_link *least = NULL, *most = NULL;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if ((l->a != leaf && l->b != leaf) || (is_switch(m, l->a) && is_switch(m, l->b)))
            continue;
        least = least == NULL || l->latency_us < least->latency_us ? l : least;
        most = most == NULL || l->latency_us > most->latency_us ? l : most;
    }
    return least != NULL && !is_equal(least, most);
}

static void doubt_uneven_leaves(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        uint32_t low = nt_model_tier(m, l->a) <= nt_model_tier(m, l->b) ? l->a : l->b;
        if (is_switch(m, l->a) && is_switch(m, l->b) && is_uneven(m, low))
            l->probability = fmin(l->probability, NOT_SURE);
    }
}

void nt_shortcuts_doubt(struct nt_model *model)
{
    if (model->switches < 2 || model->family == NT_FAMILY_DRAGONFLY)
        return;
    if (model->family == NT_FAMILY_UNDETERMINED) {
        limit(model, 2, BY_CHANCE);
        if (is_hierarchy(model)) {
            model->family = NT_FAMILY_TREE;
            model->shortcuts = true;
            doubt_uneven_leaves(model);
        } else {
            limit(model, 1, NOT_SURE);
        }
    } else {
        if (model->shortcuts)
            limit(model, 1, NOT_SURE);
        limit(model, 1, NOT_SURE + fmax(model->confidence - UNLIKELY, 0));
    }
    doubt_hubs(model);
    nt_confidence_limit(model);
}
