/* SPDX-License-Identifier: Apache-2.0 */
#include "map_faults.h"

#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "faults_text.h"
#include "link_flows.h"
#include "map_losses.h"
#include "map_rails.h"
#include "one_way_slow.h"

/* A warning each, of so many: an unbounded list would break the map's bound. */
enum { NAMED_MAX = 200 };

static void mark_suspects(struct nt_map *map)
{
    struct nt_model *m = map->model;
    for (size_t k = 0; k < m->links; k++)
        m->link[k].suspect = false;
    memset(m->host_suspect, 0, m->hosts * sizeof *m->host_suspect);
    for (size_t f = 0; f < map->faults; f++) {
        const struct nt_fault_part *p = &map->fault[f].part;
        for (size_t k = 0; k < m->links; k++)
            if ((m->link[k].a == p->a && m->link[k].b == p->b) ||
                (m->link[k].a == p->b && m->link[k].b == p->a))
                m->link[k].suspect = true;
        if (p->a < m->hosts && (p->b >= m->hosts || p->a == p->b))
            m->host_suspect[p->a] = true;
    }
}

/* What may be a fault as well as another adapter is no finding. */
static int warn_odd(struct nt_map *map, const bool *odd, struct nt_err *err)
{
    int rc = 0;
    for (size_t h = 0, named = 0; h < map->model->hosts && named < NAMED_MAX && rc == 0; h++)
        if (odd[h]) {
            rc = nt_map_warn(map, err,
                             "the link of %s differs from all other host links: by a fault, or by "
                             "another adapter",
                             map->host_name[h]);
            named++;
        }
    return rc;
}

static int warn(struct nt_map *map, struct nt_err *err)
{
    for (size_t f = 0; f < map->faults && f < NAMED_MAX; f++) {
        struct nt_strbuf text = {0};
        nt_fault_put_sentence(&text, map, &map->fault[f]);
        int rc = text.failed ? nt_err_memory(err) : nt_map_warn(map, err, "%s", text.text);
        free(text.text);
        if (rc != 0)
            return -1;
    }
    if (map->faults <= NAMED_MAX)
        return 0;
    return nt_map_warn(map, err, "%zu findings more", map->faults - NAMED_MAX);
}

int nt_map_faults(struct nt_map *map, const struct nt_faults_source *from, struct nt_err *err)
{
    struct nt_faults_found found;
    if (nt_faults_find(map->model, from->flows, &found, err) != 0)
        return -1;
    free(map->fault);
    map->fault = found.fault;
    map->faults = found.count;
    free(map->population_of);
    map->population_of = found.population_of;
    map->populations = found.populations;
    memcpy(map->population, found.population, sizeof map->population);
    map->judged = true;
    int rc = warn_odd(map, found.odd, err);
    free(found.odd);
    if (rc != 0)
        return -1;
    if (from->latency != NULL &&
        nt_one_way_slow_find(map->model, from->latency, map->fault, &map->faults, err) != 0)
        return -1;
    if (from->samples != NULL && nt_map_losses(from->samples, from->order, map, err) != 0)
        return -1;
    if (from->flows && nt_link_flows_shared(map, from->samples, from->order, err) != 0)
        return -1;
    if (from->samples != NULL && nt_map_rails(from->samples, from->order, map, err) != 0)
        return -1;
    mark_suspects(map);
    return warn(map, err);
}
