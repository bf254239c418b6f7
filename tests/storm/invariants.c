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
#include "samples.h"
#include "shape.h"
#include "subtree.h"

/* After its budget an agent gives up in 0.25 s and passes its last frames on for 0.25 s more. */
static const double GRACE_S = 0.25, SETTLED_S = 0.5;
/* From here on a map claims to be right. */
static const double CLAIMED = 0.5, CERTAIN = 0.99;

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

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Who ends a connection has said all before: whatever becomes of the host, its agent reads that. */
static void judge_unread(const struct host *h, uint32_t k)
{
    const struct nt_session *session = h->session;
    if (session == NULL || isnan(h->ended_s) || h->agent_killed || h->injected ||
        cluster.is_altered || h->probe_allocations != 0 || h->agent_allocations != 0)
        return;
    if (h->unread_of_leader > 0 && begins(h->outcome.text, "failed lost the connection to"))
        world_violation("n%u: lost its leader with %zu bytes of it unread", k + 1,
                        h->unread_of_leader);
    if (h->unread_of_probe > 0 && session->probe_lost &&
        (begins(session->probe_end.text, "exit ") || begins(session->probe_end.text, "killed ") ||
         begins(session->probe_end.text, "connection closed")))
        world_violation("n%u: lost its probe (%s) with %zu bytes of it unread", k + 1,
                        session->probe_end.text, h->unread_of_probe);
}

/* The reason of a failure names what has failed. */
static void judge_reason(const struct host *h, uint32_t k)
{
    if (h->relay_is_killed && !h->agent_killed && h->outcome.decided && h->worker->status == 0 &&
        !begins(h->outcome.text, "failed the agent's relay was killed by signal") &&
        !h->relay_stays && !h->service.has_result)
        world_violation("n%u: its relay was killed, and it says: %s", k + 1, h->outcome.text);
    double give_up = h->began_s + cluster.option.budget_s + GRACE_S;
    if (h->munge_asked_s > h->began_s && h->munge_asked_s < give_up && h->munge_until_s > give_up &&
        isfinite(h->munge_until_s) &&
        strstr(h->outcome.text, "did not end within the budget") != NULL)
        world_violation("n%u: its munged was silent, and it says: %s", k + 1, h->outcome.text);
}

/* It is asked every 0.5 s, from 0.5 s after the beginning on. */
static void judge_cancelled(void)
{
    const struct host *first = &cluster.host[0];
    double latest_s = fmax(cluster.cancelled_s, first->began_s) + 1.25;
    if (!first->faulty && !isnan(first->ended_s) && first->ended_s > latest_s)
        world_violation("the job goes on for %.3f s after it was cancelled",
                        first->ended_s - cluster.cancelled_s);
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
        if (a != NT_ARTIFACT_ARCHIVE && /* which the first host keeps alone */
            (h->published.bytes[a] != first->published.bytes[a] ||
             (h->published.bytes[a] > 0 &&
              memcmp(h->published.text[a], first->published.text[a], h->published.bytes[a]) != 0)))
            world_violation("n%u: artifact %d differs from that of the first host", k + 1, a);
}

/* What the job reads is what the agent's line says. */
static void judge_status(const struct host *h, uint32_t k)
{
    static const char status[] = "NETTOPO_STATUS=";
    const char *env = h->published.text[NT_ARTIFACT_ENV];
    if (cluster.is_hostile || !is_good(h) || env == NULL)
        return;
    size_t bytes = strcspn(h->outcome.text, " ");
    if (!begins(env, status) || strncmp(env + strlen(status), h->outcome.text, bytes) != 0)
        world_violation("n%u: hint.env begins with %.*s, and the agent says: %s", k + 1,
                        (int)strcspn(env, "\n"), env, h->outcome.text);
}

static size_t index_of(const struct nt_map *map, const char *name)
{
    for (size_t k = 0; k < map->model->hosts; k++)
        if (strcmp(map->host_name[k], name) == 0)
            return k;
    return SIZE_MAX;
}

/* Which host of the network a name is. */
static uint32_t host_number(const struct nt_samples *samples, uint32_t host)
{
    return (uint32_t)strtoul(samples->host_name[host] + 1, NULL, 10) - 1;
}

/* Only a measurement with another host that is well shows that one is. Of three and more hosts, the
 * only one that nothing happened to fails with each of the others, as one without a network does:
 * while others are cut off, nothing says which it is, and who is lost then is lost for good. (Of
 * two the first stays.) */
static bool is_alone_in_being_well(void)
{
    size_t well = 0, cut_off = 0;
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        well += !cluster.host[k].faulty;
        cut_off += cluster.host[k].was_cut_off;
    }
    return cluster.hosts > 2 && well == 1 && cut_off > 0;
}

static void judge_missing(const struct nt_map *map)
{
    bool alone = is_alone_in_being_well();
    size_t missing = 0;
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        size_t at = index_of(map, cluster.host[k].name);
        bool is_missing = at == SIZE_MAX || map->model->missing[at];
        missing += is_missing;
        if (is_missing && !cluster.host[k].faulty && !alone)
            world_violation("n%u is well and reported missing", k + 1);
    }
    if (missing > 0 && map->status == NT_STATUS_OK)
        world_violation("%zu hosts are missing, and the status is ok", missing);
    if (cluster.faults == 0 && map->status != NT_STATUS_OK)
        world_violation("nothing went wrong, and the status is %s", nt_status_name(map->status));
}

/* Exact readings by the order of the map's hosts: of all pairs, or of those that were measured. */
static int exact_readings(const struct nt_map *map, const struct nt_samples *samples, bool all,
                          struct nt_matrix **out)
{
    struct nt_matrix *measured = NULL;
    size_t n = map->model->hosts;
    struct nt_err err;
    if (nt_samples_latency(samples, 0, &measured, NULL, &err) != 0 ||
        nt_matrix_create(n, NT_MATRIX_LATENCY_US, out, &err) != 0) {
        nt_matrix_destroy(measured);
        return -1;
    }
    for (uint32_t a = 0; a < samples->hosts; a++)
        for (uint32_t b = 0; b < samples->hosts; b++) {
            size_t i = index_of(map, samples->host_name[a]),
                   j = index_of(map, samples->host_name[b]);
            bool known = (all || !isnan(nt_matrix_get(measured, a, b))) && a != b && i < n &&
                         j < n && !map->model->missing[i] && !map->model->missing[j];
            if (known)
                nt_matrix_set(*out, i, j,
                              (float)nt_network_latency(cluster.network, host_number(samples, a),
                                                        host_number(samples, b)));
        }
    nt_matrix_destroy(measured);
    return 0;
}

static int read_samples(const struct published *p, struct nt_samples **out)
{
    struct nt_samples_reader *reader = NULL;
    struct nt_err err;
    int rc = nt_samples_reader_create("samples", &reader, &err);
    if (rc == 0)
        rc = nt_samples_reader_feed(reader, p->text[NT_ARTIFACT_SAMPLES],
                                    p->bytes[NT_ARTIFACT_SAMPLES], &err);
    if (rc == 0)
        rc = nt_samples_reader_finish(reader, out, &err);
    nt_samples_reader_destroy(reader);
    return rc;
}

/* 1: the map has the network that exact readings show; 0: another; -1: error */
static int is_planted(const struct nt_map *map, const struct nt_samples *samples, bool all)
{
    struct nt_matrix *exact = NULL;
    struct nt_model *truth = NULL;
    int rc = exact_readings(map, samples, all, &exact);
    if (rc == 0 && nt_infer_latency(exact, NULL, 1, &truth, NULL) != 0)
        rc = -1;
    if (rc == 0)
        rc = nt_shape_equal(map->model, truth);
    nt_matrix_destroy(exact);
    nt_model_destroy(truth);
    return rc;
}

/* A map may be wrong as often as it says; one that is certain may not. Where a pair failed, what
 * the others show is right, too. */
static void judge_network(const struct nt_map *map, const struct published *p)
{
    struct nt_samples *samples = NULL;
    double confidence = map->model->confidence;
    if (p->text[NT_ARTIFACT_SAMPLES] == NULL || !(confidence >= CLAIMED) ||
        map->model->family == NT_FAMILY_UNDETERMINED)
        return;
    int right = read_samples(p, &samples) != 0 ? -1 : is_planted(map, samples, true);
    if (right == 0)
        right = is_planted(map, samples, false);
    nt_samples_destroy(samples);
    cluster.maps_claimed++;
    cluster.maps_wrong += right == 0;
    cluster.maps_wrong_expected += 1 - confidence;
    if (right < 0)
        world_violation("the samples cannot be read");
    if (right == 0)
        world_tell(0, "map", "another network than the one planted, confidence %.3f", confidence);
    if (right == 0 && confidence > CERTAIN)
        world_violation("another network than the one planted, confidence %.3f", confidence);
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
    judge_network(map, p);
    nt_map_destroy(map);
}

/* What its block's leader had for it when it died is lost, and its probe is out of step. */
static bool missed_a_call(uint32_t k)
{
    size_t block = nt_block_hosts(cluster.hosts, cluster.conf.block_hosts);
    const struct host *leader = &cluster.host[k - k % block];
    const struct process *probe = cluster.host[k].probe;
    return leader->faulty && leader != &cluster.host[k] && probe != NULL && !probe->alive &&
           probe->status == NT_ERR_SYSTEM << 8;
}

void cluster_judge(void)
{
    for (uint32_t k = 0; k < cluster.hosts; k++)
        cluster.host[k].faulty = cluster.host[k].faulty || missed_a_call(k);
    for (uint32_t k = 0; k < cluster.hosts; k++) {
        judge_end(&cluster.host[k], k);
        judge_same(&cluster.host[k], k);
        judge_status(&cluster.host[k], k);
        judge_unread(&cluster.host[k], k);
        judge_reason(&cluster.host[k], k);
    }
    for (uint32_t k = 0; cluster.rival != NULL && k < cluster.hosts; k++)
        if (!cluster.host[cluster.rival[k].number].faulty) {
            judge_end(&cluster.rival[k], k);
            judge_unread(&cluster.rival[k], k);
        }
    judge_cancelled();
    judge_map();
}
