/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const nt_family_names[] = {
    [NT_FAMILY_UNDETERMINED] = "undetermined",
    [NT_FAMILY_STAR] = "star",
    [NT_FAMILY_TREE] = "tree",
    [NT_FAMILY_TORUS] = "torus",
    [NT_FAMILY_MESH] = "mesh",
    [NT_FAMILY_RING] = "ring",
    [NT_FAMILY_HYPERCUBE] = "hypercube",
    [NT_FAMILY_FULL_MESH] = "full-mesh",
    [NT_FAMILY_IRREGULAR] = "irregular",
    [NT_FAMILY_DRAGONFLY] = "dragonfly",
};

const char *nt_family_name(enum nt_family family)
{
    return nt_family_names[family];
}

static bool allocate_model(struct nt_model *m)
{
    m->link = calloc(m->links + 1, sizeof *m->link);
    m->overhead_us = calloc(m->hosts + 1, sizeof *m->overhead_us);
    m->missing = calloc(m->hosts + 1, sizeof *m->missing);
    m->host_suspect = calloc(m->hosts + 1, sizeof *m->host_suspect);
    m->tier = calloc(m->switches + 1, sizeof *m->tier);
    m->oversubscription = calloc(m->switches + 1, sizeof *m->oversubscription);
    m->throughput = calloc(m->switches + 1, sizeof *m->throughput);
    m->pair_off = calloc(m->pairs_off + 1, sizeof *m->pair_off);
    m->deciding_pair = calloc(m->deciding + 1, sizeof *m->deciding_pair);
    return m->link && m->overhead_us && m->missing && m->host_suspect && m->tier &&
           m->oversubscription && m->throughput && m->pair_off && m->deciding_pair;
}

int nt_model_create(size_t hosts, size_t switches, size_t links, struct nt_model **out,
                    struct nt_err *err)
{
    if (hosts > NT_HOSTS_MAX || switches > NT_HOSTS_MAX || links > (size_t)NT_HOSTS_MAX * 1024)
        return nt_err_set(err, NT_ERR_INPUT, "a model of %zu hosts, %zu switches and %zu links",
                          hosts, switches, links);
    struct nt_model *m = calloc(1, sizeof *m);
    if (m == NULL)
        return nt_err_memory(err);
    m->hosts = hosts;
    m->switches = switches;
    m->links = links;
    m->r2 = m->rms_us = m->resolution_us = m->bisection_MBps = NAN;
    if (!allocate_model(m)) {
        nt_model_destroy(m);
        return nt_err_memory(err);
    }
    for (size_t k = 0; k < links; k++)
        m->link[k] = (struct nt_link){.latency_us = NAN,
                                      .latency_se_us = NAN,
                                      .bandwidth_MBps = NAN,
                                      .bandwidth_back_MBps = NAN,
                                      .bandwidth_se_MBps = NAN,
                                      .bandwidth_back_se_MBps = NAN,
                                      .probability = 1};
    for (size_t k = 0; k < switches; k++) {
        m->tier[k] = 1;
        m->oversubscription[k] = NAN;
        m->throughput[k].MBps = NAN;
    }
    *out = m;
    return 0;
}

void nt_model_parents(const struct nt_model *m, uint32_t *parent)
{
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        parent[v] = UINT32_MAX;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (parent[l->a] == UINT32_MAX && nt_model_tier(m, l->a) < nt_model_tier(m, l->b))
            parent[l->a] = l->b;
    }
}

int nt_model_copy(const struct nt_model *model, struct nt_model **out, struct nt_err *err)
{
    struct nt_model *m = malloc(sizeof *m);
    if (m == NULL)
        return nt_err_memory(err);
    *m = *model;
    if (!allocate_model(m)) {
        nt_model_destroy(m);
        return nt_err_memory(err);
    }
    memcpy(m->link, model->link, m->links * sizeof *m->link);
    memcpy(m->overhead_us, model->overhead_us, m->hosts * sizeof *m->overhead_us);
    memcpy(m->missing, model->missing, m->hosts * sizeof *m->missing);
    memcpy(m->host_suspect, model->host_suspect, m->hosts * sizeof *m->host_suspect);
    memcpy(m->tier, model->tier, m->switches * sizeof *m->tier);
    memcpy(m->oversubscription, model->oversubscription, m->switches * sizeof *m->oversubscription);
    memcpy(m->throughput, model->throughput, m->switches * sizeof *m->throughput);
    memcpy(m->pair_off, model->pair_off, m->pairs_off * sizeof *m->pair_off);
    memcpy(m->deciding_pair, model->deciding_pair, m->deciding * sizeof *m->deciding_pair);
    *out = m;
    return 0;
}

void nt_model_destroy(struct nt_model *model)
{
    if (model == NULL)
        return;
    free(model->link);
    free(model->overhead_us);
    free(model->missing);
    free(model->host_suspect);
    free(model->tier);
    free(model->oversubscription);
    free(model->throughput);
    free(model->pair_off);
    free(model->deciding_pair);
    free(model);
}
