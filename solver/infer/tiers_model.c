/* SPDX-License-Identifier: Apache-2.0 */
#include "tiers_model.h"

#include <math.h>
#include <stdlib.h>

#include "tiers.h"

struct cells { /* of a matrix: both directions of a pair together */
    const struct nt_matrix *latency, *se;
    size_t i, j;
    bool back;
};

static void rewind_cells(void *of)
{
    struct cells *c = of;
    c->i = 0;
    c->j = 1;
    c->back = false;
}

enum { AHEAD = 16 };

static bool next_cell(void *of, struct nt_pair_value *value)
{
    struct cells *c = of;
    while (c->i + 1 < c->latency->n) {
        size_t i = c->i, j = c->j, a = c->back ? j : i, b = c->back ? i : j;
        if (c->back && j + AHEAD < c->latency->n) /* each cell back is in another row */
            __builtin_prefetch(c->latency->at + (j + AHEAD) * c->latency->n + i);
        if (c->back && ++c->j == c->latency->n)
            c->j = ++c->i + 1;
        c->back = !c->back;
        float us = nt_matrix_get(c->latency, a, b);
        if (!nt_work_usable(us))
            continue;
        *value = (struct nt_pair_value){.a = (uint32_t)i, .b = (uint32_t)j, .us = (double)us};
        if (c->se != NULL)
            value->se_us = fabs((double)nt_matrix_get(c->se, a, b));
        return true;
    }
    return false;
}

int nt_tiers_readings(const struct nt_matrix *latency, const struct nt_matrix *se,
                      struct nt_pairs **out, struct nt_err *err)
{
    struct cells cells = {.latency = latency, .se = se};
    struct nt_pair_source source = {&cells, rewind_cells, next_cell, latency->n * latency->n,
                                    se != NULL};
    return nt_pairs_read((uint32_t)latency->n, &source, out, err);
}

/* The vertices of the groups. The root is a switch unless it has two links and no host: then the
 * links of the two groups below it are one. */
struct vertices {
    uint32_t root;
    uint32_t join, into; /* groups that one link connects; NT_TIERS_NONE: the root is a switch */
};

static struct vertices choose_root(const struct nt_tiers *t)
{
    uint32_t hosts = t->hosts, tops = 0, top[2] = {0};
    struct vertices v = {hosts + (uint32_t)t->groups, NT_TIERS_NONE, NT_TIERS_NONE};
    for (uint32_t g = 0; g < t->groups; g++)
        if (t->group[g].parent == NT_TIERS_NONE) {
            top[tops < 2 ? tops : 1] = g;
            tops++;
        }
    for (uint32_t h = 0; h < hosts; h++)
        tops += t->group_of[h] == NT_TIERS_NONE && !isnan(t->end_us[h]);
    if (tops == 2 && t->groups >= 2 && t->group[top[1]].parent == NT_TIERS_NONE &&
        top[0] != top[1]) {
        v.join = top[0];
        v.into = top[1];
    }
    return v;
}

static void add_link(struct nt_model *m, size_t *k, uint32_t a, uint32_t b, double us, double error,
                     double probability)
{
    struct nt_link *l = &m->link[(*k)++];
    l->a = a;
    l->b = b;
    l->latency_us = fmax(us, 1e-6);
    l->latency_se_us = error;
    l->probability = probability;
}

static void add_links(struct nt_model *m, const struct nt_tiers *t, const struct vertices *v)
{
    uint32_t hosts = t->hosts;
    size_t k = 0;
    for (uint32_t h = 0; h < hosts; h++) {
        uint32_t g = t->group_of[h];
        if (!isnan(t->end_us[h]))
            add_link(m, &k, h, g == NT_TIERS_NONE ? v->root : hosts + g, t->end_us[h],
                     t->end_error_us[h], 1);
    }
    for (uint32_t g = 0; g < t->groups; g++) {
        const struct nt_tiers_group *group = &t->group[g];
        if (g == v->into)
            continue;
        if (g == v->join)
            add_link(m, &k, hosts + g, hosts + v->into,
                     group->length_us + t->group[v->into].length_us, group->error_us,
                     fmin(group->support, t->group[v->into].support));
        else
            add_link(m, &k, hosts + g,
                     group->parent == NT_TIERS_NONE ? v->root : hosts + group->parent,
                     group->length_us, group->error_us, group->support);
    }
}

static void set_noise(struct nt_noise *noise, const struct nt_tiers *t)
{
    const double digits = 1e-4, rounding = 0.3; /* 1 / sqrt(12) */
    if (!(t->scale_us > 0))
        return;
    noise->power = t->power;
    noise->scale = t->noise_us / pow(t->scale_us, t->power);
    noise->least = fmax(digits, rounding * t->quantum_us / t->scale_us);
    noise->known = t->noise_known;
}

static int set_deciding(struct nt_model *m, const struct nt_tiers *t, struct nt_err *err)
{
    free(m->decides);
    m->decides = calloc(t->deciding + 1, sizeof *m->decides);
    if (m->decides == NULL)
        return nt_err_memory(err);
    for (; m->deciding < t->deciding; m->deciding++) {
        m->decides[m->deciding][0] = t->decides[m->deciding].a;
        m->decides[m->deciding][1] = t->decides[m->deciding].b;
    }
    return 0;
}

int nt_tiers_model(struct nt_pairs *readings, struct nt_model **out, struct nt_noise *noise,
                   double *evidence, struct nt_err *err)
{
    size_t links = 0;
    struct nt_tiers *t = NULL;
    if (nt_tiers_solve(readings, &t, err) != 0)
        return -1;
    struct vertices v = choose_root(t);
    bool joined = v.join != NT_TIERS_NONE;
    for (size_t h = 0; h < t->hosts; h++)
        links += isnan(t->end_us[h]) ? 0 : 1;
    int status =
        nt_model_create(t->hosts, t->groups + !joined, links + t->groups - joined, out, err);
    if (status == 0 && t->deciding > 0)
        status = set_deciding(*out, t, err);
    if (status == 0) {
        add_links(*out, t, &v);
        (*out)->family = t->groups == 0 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
        (*out)->confidence = t->confidence;
        (*out)->shortcuts = t->hierarchy < 0.5;
        set_noise(noise, t);
        *evidence = t->evidence;
    }
    nt_tiers_destroy(t);
    return status;
}
