/* SPDX-License-Identifier: Apache-2.0 */
#include "shortcuts.h"

#include <math.h>

#include "switch_support.h"

#define BY_CHANCE 0.5    /* support of groups of switches where no tree fits */
#define NOT_SURE 0.8     /* and of groups that shortcuts explain as well */
#define UNLIKELY 0.5     /* of a shape, at the most; likelier ones may be surer by as much */
#define COVERED 0.8      /* of the hosts are on switches that are sure */
#define EQUAL_SHARE 0.2  /* lengths that differ by less, or by so many */
#define EQUAL_ERRORS 4.0 /*   standard errors, are equal */
enum { LEAVES_MIN = 3, HUB_MIN = 3, LEAF_MIN = 2 };

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
        limit(model, 1, NOT_SURE + fmax(model->confidence - UNLIKELY, 0));
    }
    doubt_hubs(model);
    nt_confidence_limit(model);
}
