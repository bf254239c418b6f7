/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

int nt_coordinator_round_init(struct nt_coordinator_round *round, struct nt_oob *oob,
                              struct nt_participant *participant,
                              const struct nt_membership *membership, struct nt_err *err)
{
    size_t n = (size_t)oob->size + 1;
    *round = (struct nt_coordinator_round){.oob = oob,
                                           .participant = participant,
                                           .membership = membership,
                                           .contributions = calloc(n, sizeof *round->contributions),
                                           .report = calloc(n, sizeof *round->report),
                                           .reported = calloc(n, sizeof *round->reported),
                                           .pair = calloc(n, sizeof *round->pair),
                                           .skip = calloc(n, sizeof *round->skip),
                                           .unicast = calloc(n, sizeof *round->unicast),
                                           .text = calloc(n, sizeof *round->text),
                                           .outcome = calloc(n, sizeof *round->outcome)};
    if (round->contributions != NULL && round->report != NULL && round->reported != NULL &&
        round->pair != NULL && round->skip != NULL && round->unicast != NULL &&
        round->text != NULL && round->outcome != NULL)
        return 0;
    nt_coordinator_round_fini(round);
    return nt_err_set(err, NT_ERR_SYSTEM, "a round of %u ranks: out of memory", oob->size);
}

void nt_coordinator_round_fini(struct nt_coordinator_round *round)
{
    free(round->contributions);
    free(round->report);
    free(round->reported);
    free(round->pair);
    free(round->skip);
    free(round->unicast);
    free(round->text);
    free(round->outcome);
    *round = (struct nt_coordinator_round){0};
}

static int bcast(struct nt_coordinator_round *m, struct nt_bytes *bytes, struct nt_err *err)
{
    int rc = m->oob->ops->bcast(m->oob, bytes->data, bytes->bytes, NULL, NULL, 1, err);
    free(bytes->data);
    return rc;
}

static int gather(struct nt_coordinator_round *m, enum nt_wire_kind kind,
                  const struct nt_report *mine, double until_s, struct nt_err *err)
{
    struct nt_bytes contribution;
    if (nt_report_encode(kind, mine, &contribution, err) != 0)
        return -1;
    double wait = until_s - nt_clock_s();
    int rc = m->oob->ops->gather(m->oob, contribution.data, contribution.bytes,
                                 wait > 0.01 ? wait : 0.01, m->contributions, err);
    free(contribution.data);
    if (rc != 0)
        return -1;
    for (size_t r = 0; r < m->oob->size; r++)
        m->reported[r] = m->contributions[r].present &&
                         nt_report_decode(kind, m->contributions[r].data, m->contributions[r].bytes,
                                          &m->report[r], NULL) == 0;
    nt_contributions_free(m->contributions, m->oob->size);
    return 0;
}

static void note_unreported(struct nt_coordinator_round *m, bool *unreported)
{
    for (size_t h = 0; h < m->membership->hosts; h++)
        if (m->membership->lost[h] == NULL && !m->reported[m->membership->rank_of[h]]) {
            unreported[h] = true;
            m->all_reported = false;
        }
}

/* A rank that says what its connections go over; the record keeps how many hosts do so. */
static void note_transport(struct nt_coordinator_round *m, const char *used)
{
    size_t k = 0;
    while (k < m->transports && strcmp(m->transport[k].used, used) != 0)
        k++;
    if (used[0] == '\0' || k == NT_SWEEP_TRANSPORTS_MAX)
        return;
    memcpy(m->transport[k].used, used, strlen(used) + 1);
    m->transport[k].hosts++;
    m->transports += k == m->transports;
}

/* What the two reports of each pair that is still good say together. measured: the first's
 * result counts, even when the second failed after its part of the measurement. */
static void evaluate_reports(struct nt_coordinator_round *m, const struct nt_order *order,
                             bool measured, double *longest_s)
{
    for (size_t k = 0; k < order->pairs; k++) {
        struct nt_pair_outcome *o = &m->outcome[k];
        for (int end = 0; end < 2 && o->status == NT_PAIR_OK; end++) {
            const struct nt_report *r = &m->report[m->pair[k][end]];
            if (!measured && m->reported[m->pair[k][end]] && r->ok)
                note_transport(m, r->used);
            if (!m->reported[m->pair[k][end]]) {
                o->status = measured && end == 1 ? NT_PAIR_OK : NT_PAIR_NO_REPORT;
            } else if (!r->ok && !(measured && end == 1)) {
                o->status = NT_PAIR_FAILED;
                memcpy(o->reason, r->reason, sizeof o->reason);
            } else if (r->ok && r->seconds > *longest_s) {
                *longest_s = r->seconds;
            }
        }
        m->all_ok = m->all_ok && o->status == NT_PAIR_OK;
        if (o->status != NT_PAIR_OK)
            continue;
        if (!measured) {
            m->round_trip_s =
                fmax(m->round_trip_s, m->report[m->pair[k][0]].result.value_us * 1e-6);
            continue;
        }
        o->result = m->report[m->pair[k][0]].result;
        o->result.a = order->pair[k][0];
        o->result.b = order->pair[k][1];
        if (m->reported[m->pair[k][1]])
            o->result.sent[1] = m->report[m->pair[k][1]].result.sent[0];
    }
}

/* The round with these of its pairs alone, and the addresses of their ranks. */
static int encode_part(const struct nt_coordinator_round *m, const struct nt_round *round,
                       size_t first, size_t pairs, struct nt_bytes *out, struct nt_err *err)
{
    uint32_t rank[2 * NT_KERNEL_GROUP_MAX];
    struct nt_peer peer[2 * NT_KERNEL_GROUP_MAX];
    struct nt_round part = *round;
    size_t n = 0;
    part.order.pair = round->order.pair + first;
    part.order.pairs = pairs;
    size_t ends = round->order.kind == NT_ORDER_KERNEL ? 1 : 2;
    for (size_t k = 0; k < ends * pairs && n < 2UL * NT_KERNEL_GROUP_MAX; k++) {
        uint32_t r = part.order.pair[k / ends][k % ends];
        if (r >= m->participant->table.ranks)
            continue;
        rank[n] = r;
        peer[n++] = m->participant->table.peer[r];
    }
    part.peers = n;
    part.peer_rank = rank;
    part.peer = peer;
    return nt_round_encode(&part, out, err);
}

/* Each pair's part to its two ranks, and to all others an order without pairs. */
static int scatter_pairs(struct nt_coordinator_round *m, const struct nt_round *round,
                         struct nt_err *err)
{
    struct nt_bytes rest;
    size_t texts = 0, unicasts = 0;
    int rc = encode_part(m, round, 0, 0, &rest, err);
    if (rc != 0)
        return -1;
    for (; texts < round->order.pairs && rc == 0; texts++) {
        rc = encode_part(m, round, texts, 1, &m->text[texts], err);
        for (int end = 0; end < 2 && rc == 0; end++)
            if (m->pair[texts][end] != 0)
                m->unicast[unicasts++] = (struct nt_unicast){
                    m->pair[texts][end], m->text[texts].data, m->text[texts].bytes};
    }
    if (rc == 0)
        rc = m->oob->ops->scatter(m->oob, m->unicast, unicasts, rest.data, rest.bytes, err);
    for (size_t k = 0; k < texts; k++) {
        free(m->text[k].data);
        m->text[k] = (struct nt_bytes){0};
    }
    free(rest.data);
    return rc;
}

/* All ranks take part in a kernel, so all receive the same. */
static int send_order(struct nt_coordinator_round *m, const struct nt_round *round,
                      struct nt_err *err)
{
    struct nt_bytes bytes;
    bool can_scatter = m->oob->ops->scatter != NULL;
    if (can_scatter && round->order.kind != NT_ORDER_KERNEL)
        return scatter_pairs(m, round, err);
    int rc = can_scatter ? encode_part(m, round, 0, round->order.pairs, &bytes, err)
                         : nt_round_encode(round, &bytes, err);
    return rc == 0 ? bcast(m, &bytes, err) : -1;
}

static int order_and_connect(struct nt_coordinator_round *m, const struct nt_round *round,
                             const struct nt_timeouts *timeouts, struct nt_err *err)
{
    struct nt_report mine;
    if (send_order(m, round, err) != 0)
        return -1;
    double now = nt_clock_s(), until = now + round->connect_s + nt_timeouts_slack_s(timeouts, now);
    nt_participant_connect(m->participant, round, &mine);
    return gather(m, NT_WIRE_READY, &mine, until, err);
}

/* The ranks that cannot measure; of a kernel all or none. */
static size_t list_skips(struct nt_coordinator_round *m, const struct nt_order *order)
{
    bool kernel = order->kind == NT_ORDER_KERNEL, all = kernel && !m->all_ok;
    size_t n = 0;
    for (size_t k = 0; k < order->pairs; k++)
        for (int end = 0; end < (kernel ? 1 : 2); end++)
            if (all || m->outcome[k].status != NT_PAIR_OK)
                m->skip[n++] = m->pair[k][end];
    return n;
}

/* Where the transport has unicasts, only the ranks that skip the round receive their skip. */
static int send_go(struct nt_coordinator_round *m, const struct nt_go *go, struct nt_err *err)
{
    struct nt_bytes all, one = {0};
    struct nt_go none = *go, sit_out = *go;
    uint32_t you = NT_WIRE_YOU;
    size_t unicasts = 0;
    if (m->oob->ops->scatter == NULL || go->skips == 0)
        return nt_go_encode(go, &all, err) == 0 ? bcast(m, &all, err) : -1;
    none.skips = 0;
    sit_out.skips = 1;
    sit_out.skip = &you;
    if (nt_go_encode(&none, &all, err) != 0)
        return -1;
    int rc = nt_go_encode(&sit_out, &one, err);
    for (size_t k = 0; k < go->skips; k++)
        if (go->skip[k] != 0)
            m->unicast[unicasts++] = (struct nt_unicast){go->skip[k], one.data, one.bytes};
    if (rc == 0)
        rc = m->oob->ops->scatter(m->oob, m->unicast, unicasts, all.data, all.bytes, err);
    free(all.data);
    free(one.data);
    return rc;
}

static int go_and_measure(struct nt_coordinator_round *m, const struct nt_round *round,
                          const struct nt_timeouts *timeouts, struct nt_err *err)
{
    struct nt_go go = {.skip = m->skip};
    struct nt_report mine;
    go.skips = list_skips(m, &round->order);
    nt_timeouts_measure(timeouts, &round->order, m->round_trip_s, nt_clock_s(), &go);
    if (send_go(m, &go, err) != 0)
        return -1;
    double now = nt_clock_s(), until = now + go.give_up_s + nt_timeouts_slack_s(timeouts, now);
    nt_participant_measure(m->participant, round, &go, &mine);
    return gather(m, NT_WIRE_RESULT, &mine, until, err);
}

int nt_coordinator_round_run(struct nt_coordinator_round *m, const struct nt_order *order,
                             uint32_t number, const struct nt_timeouts *timeouts, bool *unreported,
                             struct nt_err *err)
{
    struct nt_round round = {.number = number, .order = *order};
    round.order.pair = m->pair;
    memset(unreported, 0, m->membership->hosts * sizeof *unreported);
    m->round_trip_s = m->connect_s = m->measure_s = 0;
    m->all_ok = m->all_reported = true;
    for (size_t k = 0; k < order->pairs; k++) {
        m->pair[k][0] = m->membership->rank_of[order->pair[k][0]];
        m->pair[k][1] = m->membership->rank_of[order->pair[k][1]];
        m->outcome[k] = (struct nt_pair_outcome){.status = NT_PAIR_OK};
    }
    round.connect_s = nt_timeouts_connect_s(timeouts, order, nt_clock_s());
    int rc = order_and_connect(m, &round, timeouts, err);
    if (rc == 0) {
        note_unreported(m, unreported);
        evaluate_reports(m, order, false, &m->connect_s);
        rc = go_and_measure(m, &round, timeouts, err);
    }
    if (rc == 0) {
        note_unreported(m, unreported);
        evaluate_reports(m, order, true, &m->measure_s);
    }
    nt_participant_disconnect(m->participant);
    return rc;
}
