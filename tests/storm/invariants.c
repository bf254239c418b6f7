/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold when a schedule is over. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "files.h"
#include "infer.h"
#include "map_json.h"
#include "shape.h"

/* After its budget an agent gives up in 0.25 s and passes its last frames on for 0.25 s more. */
static const double SETTLED_S = 0.5;
/* From here on a map claims to be right. */
static const double CLAIMED = 0.5;

static void judge_end(const struct host *h, uint32_t k)
{
    if (h->faulty)
        return;
    if (isnan(h->ended_s) || h->agent_killed) {
        world_violation("n%u: not settled by itself within its budget", k + 1);
    } else if (h->ended_s > h->began_s + cluster.option.budget_s + SETTLED_S) {
        world_violation("n%u: settled %.3f s after its budget", k + 1,
                        h->ended_s - h->began_s - cluster.option.budget_s);
    } else if (!h->outcome.decided || !h->published.renamed) {
        world_violation("n%u: ended without a result", k + 1);
    }
}

static bool is_good(const struct host *h)
{
    return h->outcome.decided && !h->published.failed && h->published.renamed;
}

/* All hosts that are well publish what the first one does. */
static void judge_same(const struct host *h, uint32_t k)
{
    const struct host *first = &cluster.host[0];
    if (h->faulty || cluster.leader_faulty)
        return;
    if (!is_good(h)) {
        world_violation("n%u is well, and its job fails there: %s", k + 1, h->outcome.text);
        return;
    }
    for (int a = 1; a < NT_ARTIFACT_END; a++)
        if (h->published.bytes[a] != first->published.bytes[a] ||
            (h->published.bytes[a] > 0 &&
             memcmp(h->published.text[a], first->published.text[a], h->published.bytes[a]) != 0))
            world_violation("n%u: artifact %d differs from that of the first host", k + 1, a);
}

static size_t index_of(const struct nt_map *map, const char *name)
{
    for (size_t k = 0; k < map->model->hosts; k++)
        if (strcmp(map->host_name[k], name) == 0)
            return k;
    return SIZE_MAX;
}

static void judge_missing(const struct nt_map *map)
{
    size_t missing = 0;
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        size_t at = index_of(map, cluster.host[k].name);
        bool is_missing = at == SIZE_MAX || map->model->missing[at];
        missing += is_missing;
        if (is_missing && !cluster.host[k].faulty)
            world_violation("n%u is well and reported missing", k + 1);
    }
    if (missing > 0 && map->status == NT_STATUS_OK)
        world_violation("%zu hosts are missing, and the status is ok", missing);
    if (cluster.faults == 0 && map->status != NT_STATUS_OK)
        world_violation("nothing went wrong, and the status is %s", nt_status_name(map->status));
}

/* What exact readings of the hosts that are in the map would show. */
static struct nt_model *known_model(const struct nt_map *map)
{
    size_t n = map->model->hosts;
    struct nt_matrix *exact = NULL;
    struct nt_model *truth = NULL;
    struct nt_err err;
    if (nt_matrix_create(n, NT_MATRIX_LATENCY_US, &exact, &err) != 0)
        return NULL;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            unsigned at = (unsigned)strtoul(map->host_name[a] + 1, NULL, 10) - 1;
            unsigned bt = (unsigned)strtoul(map->host_name[b] + 1, NULL, 10) - 1;
            bool gone = a == b || map->model->missing[a] || map->model->missing[b];
            nt_matrix_set(exact, a, b,
                          gone ? NAN : (float)nt_network_latency(cluster.network, at, bt));
        }
    if (nt_infer_latency(exact, NULL, 1, &truth, &err) != 0)
        truth = NULL;
    nt_matrix_destroy(exact);
    return truth;
}

static void judge_network(const struct nt_map *map)
{
    if (map->model->confidence < CLAIMED || map->model->family == NT_FAMILY_UNDETERMINED)
        return;
    struct nt_model *truth = known_model(map);
    if (truth != NULL && !nt_shape_equal(map->model, truth))
        world_violation("another network than the one planted (%s), confidence %.3f",
                        cluster.topology, map->model->confidence);
    nt_model_destroy(truth);
}

static void judge_map(void)
{
    const struct published *p = &cluster.host[0].published;
    struct nt_map *map = NULL;
    struct nt_err err;
    if (cluster.leader_faulty || !is_good(&cluster.host[0]) || p->text[NT_ARTIFACT_MAP] == NULL)
        return;
    if (nt_map_read("map.json", p->text[NT_ARTIFACT_MAP], p->bytes[NT_ARTIFACT_MAP], &map, &err) !=
        0) {
        world_violation("the map cannot be read: %s", err.text);
        return;
    }
    judge_missing(map);
    judge_network(map);
    nt_map_destroy(map);
}

void cluster_judge(void)
{
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        judge_end(&cluster.host[k], k);
        judge_same(&cluster.host[k], k);
    }
    judge_map();
}
