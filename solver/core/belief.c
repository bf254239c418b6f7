/* SPDX-License-Identifier: Apache-2.0 */
#include "belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int nt_belief_create(size_t hosts, size_t levels, struct nt_belief **out, struct nt_err *err)
{
    if (levels > NT_BELIEF_LEVELS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu levels of switches: at most %d", levels,
                          (int)NT_BELIEF_LEVELS_MAX);
    struct nt_belief *c = calloc(1, sizeof *c);
    size_t cells = levels > 1 ? (levels - 1) * hosts : 0;
    if (c == NULL)
        return nt_err_memory(err);
    *c = (struct nt_belief){
        .hosts = hosts, .levels = levels, .cluster = malloc((cells + 1) * sizeof *c->cluster)};
    if (c->cluster == NULL) {
        free(c);
        return nt_err_memory(err);
    }
    memset(c->cluster, 0xff, (cells + 1) * sizeof *c->cluster);
    for (size_t l = 0; l < NT_BELIEF_LEVELS_MAX; l++)
        c->us[l] = NAN;
    *out = c;
    return 0;
}

void nt_belief_destroy(struct nt_belief *c)
{
    if (c == NULL)
        return;
    free(c->cluster);
    free(c);
}

int nt_belief_set(struct nt_belief *c, size_t host, const uint32_t *cluster, struct nt_err *err)
{
    if (host >= c->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "host %zu: expected a number below %zu", host,
                          c->hosts);
    for (size_t l = 0; l + 1 < c->levels; l++)
        if (cluster[l] >= c->hosts)
            return nt_err_set(err, NT_ERR_INPUT, "cluster %u of host %zu: expected one below %zu",
                              cluster[l], host, c->hosts);
    for (size_t l = 0; l + 1 < c->levels; l++)
        c->cluster[l * c->hosts + host] = cluster[l];
    c->known++;
    return 0;
}

int nt_belief_check(const struct nt_belief *c, struct nt_err *err)
{
    uint32_t *first = malloc((c->hosts + 1) * sizeof *first);
    int rc = first != NULL ? 0 : nt_err_memory(err);
    for (size_t l = 0; rc == 0 && l + 2 < c->levels; l++) {
        const uint32_t *at = c->cluster + l * c->hosts, *above = at + c->hosts;
        memset(first, 0xff, (c->hosts + 1) * sizeof *first);
        for (size_t h = 0; rc == 0 && h < c->hosts; h++) {
            if (at[h] == NT_BELIEF_LOOSE)
                continue;
            uint32_t other = first[at[h]];
            if (other == UINT32_MAX)
                first[at[h]] = (uint32_t)h;
            else if (above[h] != above[other])
                rc = nt_err_set(err, NT_ERR_INPUT,
                                "hosts %u and %zu: together at level %zu and apart above it", other,
                                h, l);
        }
    }
    free(first);
    return rc;
}

/* Whether the level joins clusters that the level below (NULL: single hosts) separates. above NULL:
 * one cluster of all hosts. */
static int joins_any(const struct nt_belief *c, const uint32_t *below, const uint32_t *above,
                     uint32_t *first)
{
    memset(first, 0xff, (c->hosts + 1) * sizeof *first);
    for (size_t h = 0; h < c->hosts; h++) {
        uint32_t at = above != NULL ? above[h] : 0;
        uint32_t own = below != NULL ? below[h] : (uint32_t)h;
        if (c->levels > 1 && c->cluster[h] == NT_BELIEF_LOOSE)
            continue;
        if (first[at] == UINT32_MAX)
            first[at] = own;
        else if (first[at] != own)
            return 1;
    }
    return 0;
}

void nt_belief_reduce(struct nt_belief *c)
{
    uint32_t *first = malloc((c->hosts + 1) * sizeof *first);
    size_t kept = 0, n = c->hosts;
    if (first == NULL)
        return; /* levels that are not needed do no harm */
    for (size_t l = 0; l < c->levels; l++) {
        const uint32_t *below = kept > 0 ? c->cluster + (kept - 1) * n : NULL;
        const uint32_t *at = l + 1 < c->levels ? c->cluster + l * n : NULL;
        if (at == NULL || !joins_any(c, below, at, first))
            continue;
        c->us[kept] = c->us[l];
        memmove(c->cluster + kept++ * n, at, n * sizeof *at);
    }
    /* the highest level has no list of clusters, since all hosts are in one: it is removed if it
     * joins no more than the level below */
    const uint32_t *last = kept > 0 ? c->cluster + (kept - 1) * n : NULL;
    if (c->levels > 0 && joins_any(c, last, NULL, first))
        c->us[kept++] = c->us[c->levels - 1];
    c->levels = kept;
    free(first);
}
