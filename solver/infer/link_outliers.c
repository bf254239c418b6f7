/* SPDX-License-Identifier: Apache-2.0 */
/* Links that are worse than others of their kind. */
#include "links.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "stats.h"

/* A class of fewer links has no usual value. */
enum { CLASS_MIN = 5 };

static uint32_t class_of(const struct nt_model *m, const struct nt_link *l)
{
    uint32_t tier_a = nt_model_tier(m, l->a);
    uint32_t tier_b = nt_model_tier(m, l->b);
    /* a host's position says nothing about its own link */
    return tier_a == 0 || tier_b == 0 ? 0 : tier_a * (m->tiers + 1) + tier_b;
}

struct member {
    uint32_t class, link;
};

static int member_compare(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->link < b->link ? -1 : a->link > b->link;
}

static void judge_class(struct nt_model *m, const struct member *member, size_t count, double limit,
                        float *values)
{
    double errors = 0, known = 0; /* a link of which too little is known has no error */
    for (size_t k = 0; k < count; k++) {
        const struct nt_link *l = &m->link[member[k].link];
        values[k] = (float)l->latency_us;
        if (isnan(l->latency_se_us))
            continue;
        errors += l->latency_se_us * l->latency_se_us;
        known++;
    }
    errors /= fmax(known, 1);
    double middle = (double)nt_stats_median(values, count);
    double spread = (double)nt_stats_mad(values, count);
    double own = spread * spread > errors ? spread * spread - errors : 0;
    for (size_t k = 0; k < count; k++) {
        struct nt_link *l = &m->link[member[k].link];
        double t = (l->latency_us - middle) / sqrt(l->latency_se_us * l->latency_se_us + own);
        l->suspect = t > limit; /* also false without errors */
        uint32_t host = l->a < m->hosts ? l->a : l->b;
        if (l->suspect && host < m->hosts)
            m->host_suspect[host] = true;
    }
}

int nt_link_outliers_mark(struct nt_model *model, struct nt_err *err)
{
    size_t links = model->links;
    NT_SCOPED struct nt_arena memory = {0};
    struct member *member = nt_arena_array(&memory, links + 1, sizeof *member);
    float *values = nt_arena_array(&memory, links + 1, sizeof *values);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < links; k++)
        member[k] = (struct member){class_of(model, &model->link[k]), (uint32_t)k};
    qsort(member, links, sizeof *member, member_compare);
    for (size_t first = 0, last; first < links; first = last) {
        for (last = first; last < links && member[last].class == member[first].class;)
            last++;
        size_t count = last - first;
        /* the spread of a class is estimated from its members: Student's tail; a median of
         * absolutes is worth about a third of them */
        double df = fmax(2, 0.37 * ((double)count - 1));
        double limit = nt_student_quantile(1 - 0.01 / (double)links, df);
        if (count >= CLASS_MIN)
            judge_class(model, member + first, count, limit, values);
    }
    return 0;
}
