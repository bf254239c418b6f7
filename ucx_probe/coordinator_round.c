/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "probe_log.h"
#include "rescue.h"

/* With more ranks no rounds are planned in advance. */
enum { SERIES_RANKS_MAX = 1024 };

int nt_coordinator_round_init(struct nt_coordinator_round *round, struct nt_oob *oob,
                              struct nt_participant *participant,
                              const struct nt_membership *membership, struct nt_err *err)
{
    struct nt_coordinator_round r = {
        .oob = oob, .participant = participant, .membership = membership};
    struct nt_arena *m = &r.memory;
    size_t n = (size_t)oob->size + 1;
    r.turns_max = oob->size <= SERIES_RANKS_MAX ? NT_WIRE_TURNS_MAX : 1;
    /* a kernel has as many pairs as there are ranks, a turn half as many */
    size_t pairs = n * (r.turns_max > 2 ? r.turns_max / 2 : 1);
    r.contributions = nt_arena_array(m, n, sizeof *r.contributions);
    r.report = nt_arena_array(m, n * r.turns_max, sizeof *r.report);
    r.reported = nt_arena_array(m, n, sizeof *r.reported);
    r.pair = nt_arena_array(m, pairs, sizeof *r.pair);
    r.turn = nt_arena_array(m, pairs, sizeof *r.turn);
    r.at = nt_arena_array(m, pairs, sizeof *r.at);
    r.pair_kept = nt_arena_array(m, pairs, sizeof *r.pair_kept);
    r.outcome = nt_arena_array(m, pairs, sizeof *r.outcome);
    r.series.pair = nt_arena_array(m, pairs, sizeof *r.series.pair);
    r.slot = nt_arena_array(m, n * r.turns_max, sizeof *r.slot);
    r.rank_turns = nt_arena_array(m, n, sizeof *r.rank_turns);
    if (oob->size <= NT_KEPT_RANKS_MAX)
        r.kept = nt_arena_array(m, n, sizeof *r.kept);
    r.loss_announced = nt_arena_array(m, n, sizeof *r.loss_announced);
    r.lost_rank = nt_arena_array(m, n, sizeof *r.lost_rank);
    r.skip = nt_arena_array(m, n, sizeof *r.skip);
    r.unicast = nt_arena_array(m, n, sizeof *r.unicast);
    r.text = nt_arena_array(m, n, sizeof *r.text);
    *round = r;
    if (nt_arena_check(&round->memory, NULL) == 0)
        return 0;
    nt_coordinator_round_fini(round);
    return nt_err_set(err, NT_ERR_SYSTEM, "a round of %u ranks: out of memory", oob->size);
}

void nt_coordinator_round_fini(struct nt_coordinator_round *round)
{
    nt_arena_fini(&round->memory);
    *round = (struct nt_coordinator_round){0};
}

static int bcast(struct nt_coordinator_round *m, struct nt_bytes *bytes, struct nt_err *err)
{
    int rc = m->oob->ops->bcast(m->oob, bytes->data, bytes->bytes, err);
    free(bytes->data);
    return rc;
}

/* Gathers the reports of every rank: for a series one per turn of the rank. */
static int gather(struct nt_coordinator_round *m, enum nt_wire_kind kind,
                  const struct nt_report *mine, size_t reports, double until_s, struct nt_err *err)
{
    struct nt_bytes message;
    if (nt_reports_encode(kind, mine, reports, &message, err) != 0)
        return -1;
    int rc = m->oob->ops->gather(m->oob, message.data, message.bytes,
                                 fmax(until_s - nt_clock_s(), 0.01), m->contributions, err);
    free(message.data);
    if (rc != 0)
        return -1;
    for (size_t r = 0; r < m->oob->size; r++) {
        const struct nt_contribution *c = &m->contributions[r];
        m->reported[r] =
            c->present &&
            nt_reports_decode(kind, c->data, c->bytes, &m->report[r * m->turns_max],
                              kind == NT_WIRE_SERIES ? m->rank_turns[r] : 1, NULL) == 0;
    }
    m->reported[0] = m->reported[0] && !m->own_lost;
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

/* Counts the hosts per transport for the samples. */
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

/* Combines the two reports of each pair that has not failed. measured: the result of the first end
 * counts, even if the second end failed after its part of the measurement. */
static void evaluate_reports(struct nt_coordinator_round *m, const struct nt_order *order,
                             bool measured, double *longest_s)
{
    for (size_t k = 0; k < order->pairs; k++) {
        struct nt_pair_outcome *o = &m->outcome[k];
        const struct nt_report *first = &m->report[m->at[k][0]], *second = &m->report[m->at[k][1]];
        for (int end = 0; end < 2 && o->status == NT_PAIR_OK; end++) {
            const struct nt_report *r = end == 0 ? first : second;
            if (m->reported[m->pair[k][end]] && r->ok)
                note_transport(m, r->used);
            if (!m->reported[m->pair[k][end]]) {
                o->status = measured && end == 1 ? NT_PAIR_OK : NT_PAIR_NO_REPORT;
            } else if (!r->ok && !(measured && end == 1)) {
                o->status = NT_PAIR_FAILED;
                memcpy(o->reason, r->reason, sizeof o->reason);
            } else if (r->ok && r->seconds > *longest_s && (measured || !m->pair_kept[k])) {
                *longest_s = r->seconds;
            }
        }
        m->all_ok = m->all_ok && o->status == NT_PAIR_OK;
        if (o->status != NT_PAIR_OK)
            continue;
        if (!measured) {
            m->round_trip_s = fmax(m->round_trip_s, first->result.value_us * 1e-6);
            continue;
        }
        o->result = first->result;
        o->result.a = order->pair[k][0];
        o->result.b = order->pair[k][1];
        if (m->reported[m->pair[k][1]])
            o->result.sent[1] = second->result.sent[0];
    }
}

/* Encodes the round with some of its pairs only, and the addresses of their ranks. */
static int encode_part(const struct nt_coordinator_round *m, const struct nt_round *round,
                       size_t first, size_t pairs, struct nt_bytes *out, struct nt_err *err)
{
    uint32_t rank[2 * NT_KERNEL_GROUP_MAX];
    struct nt_peer peer[2 * NT_KERNEL_GROUP_MAX];
    struct nt_round part = *round;
    size_t n = 0;
    part.order.pair = round->order.pair + first;
    part.order.pairs = pairs;
    part.kept = round->kept + first;
    part.turn = round->turn + first;
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

/* Frees the first n texts; a text that could not be encoded is NULL. */
static void free_texts(struct nt_coordinator_round *m, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        free(m->text[k].data);
        m->text[k] = (struct nt_bytes){0};
    }
}

/* Sends each pair's part to its two ranks, and an order without pairs to all others. */
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
    free_texts(m, texts);
    free(rest.data);
    return rc;
}

/* Sends the order. All ranks receive the same order of a kernel, because all take part. */
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

/* ---- this rank's part ---- */
enum step { CONNECT, MEASURE, SERIES, DISCONNECT };

struct part {
    enum step step;
    struct nt_participant *participant;
    const struct nt_round *round;
    const struct nt_go *go;
    struct nt_report *report;
    size_t reports; /* number of reports of a series */
};

static void run_step(void *context)
{
    struct part *p = context;
    switch (p->step) {
    case CONNECT:
        nt_participant_connect(p->participant, p->round, p->report);
        break;
    case MEASURE:
        nt_participant_measure(p->participant, p->round, p->go, p->report);
        break;
    case SERIES:
        p->reports = nt_participant_series(p->participant, p->round, p->report);
        break;
    case DISCONNECT:
        nt_participant_disconnect(p->participant);
    }
}

/* A call hangs if all its own time limits were exceeded this long ago. */
static const double HANGS_S = 1;

/* Runs this rank's part. After a crash of UCX this rank's host has no network. */
static void run_part(struct nt_coordinator_round *m, struct part *part, double until_s)
{
    char why[NT_RESCUE_WHY_BYTES];
    double most_s = fmax(until_s - nt_clock_s(), 0) + HANGS_S;
    part->participant = m->participant;
    if (m->own_lost) {
        run_step(part);
    } else if (!nt_rescue_run(run_step, part, most_s, why)) {
        nt_probe_log(NT_LOG_ERROR, "UCX %s on this host, so that it measures nothing more", why);
        m->own_lost = true;
        m->participant->pair = NULL; /* leaked, because UCX cannot be called any more */
        m->participant->no_pair_reason = "UCX crashed";
        run_step(part);
    }
}

static int order_and_connect(struct nt_coordinator_round *m, const struct nt_round *round,
                             const struct nt_timeouts *timeouts, struct nt_err *err)
{
    struct nt_report mine;
    if (send_order(m, round, err) != 0)
        return -1;
    double now = nt_clock_s(), until = now + round->connect_s + nt_timeouts_slack_s(timeouts, now);
    struct part part = {.step = CONNECT, .round = round, .report = &mine};
    run_part(m, &part, until);
    return gather(m, NT_WIRE_READY, &mine, 1, until, err);
}

/* Lists the ranks that cannot measure; for a kernel all or none. */
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

/* Sends GO. If the transport has unicasts, only ranks that skip the round receive the list of
 * skips. */
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
    struct part part = {.step = MEASURE, .round = round, .go = &go, .report = &mine};
    run_part(m, &part, until);
    return gather(m, NT_WIRE_RESULT, &mine, 1, until, err);
}

/* ---- connections that are kept ---- */
/* Returns whether both ends will still have the connection at that turn. */
static bool is_kept(const struct nt_coordinator_round *m, const uint32_t pair[2], uint32_t turn)
{
    return m->kept != NULL && pair[0] != pair[1] &&
           nt_kept_stays(&m->kept[pair[0]], pair[1], turn) &&
           nt_kept_stays(&m->kept[pair[1]], pair[0], turn);
}

/* Updates the connections that each rank keeps, by its report; a rank whose turn did not start
 * changed nothing. */
static void note_kept(struct nt_coordinator_round *m, const struct nt_round *round)
{
    if (m->kept == NULL || round->order.kind == NT_ORDER_KERNEL)
        return;
    for (size_t k = 0; k < round->order.pairs; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t rank = m->pair[k][end], peer = m->pair[k][!end];
            const struct nt_report *r = &m->report[m->at[k][end]];
            if (m->reported[rank] && r->kept)
                nt_kept_use(&m->kept[rank], peer);
            else if (round->turns == 0 || !m->reported[rank] || !r->idle)
                nt_kept_drop(&m->kept[rank], peer);
        }
}

/* Stores the pairs of the order as ranks, from index k on. */
static void place_pairs(struct nt_coordinator_round *m, const struct nt_order *order, size_t k,
                        uint32_t turn)
{
    for (size_t i = 0; i < order->pairs; i++, k++) {
        m->turn[k] = turn;
        for (int end = 0; end < 2; end++) {
            m->pair[k][end] = m->membership->rank_of[order->pair[i][end]];
            m->at[k][end] = m->pair[k][end] * m->turns_max;
        }
        m->pair_kept[k] = is_kept(m, m->pair[k], turn);
        m->outcome[k] = (struct nt_pair_outcome){.status = NT_PAIR_OK};
    }
}

/* Lists the ranks that were lost since the last round and drops the connections with them. */
static void note_lost(struct nt_coordinator_round *m, struct nt_round *round)
{
    round->lost = 0;
    round->lost_rank = m->lost_rank;
    for (size_t h = 0; h < m->membership->hosts; h++) {
        uint32_t rank = m->membership->rank_of[h];
        if (m->membership->lost[h] == NULL || m->loss_announced[h] || rank == NT_NO_INDEX)
            continue;
        m->loss_announced[h] = true;
        m->lost_rank[round->lost++] = rank;
        if (m->kept != NULL)
            m->kept[rank].n = 0;
    }
    for (size_t k = 0; k < round->lost && m->kept != NULL; k++)
        for (uint32_t r = 0; r < m->oob->size; r++)
            nt_kept_drop(&m->kept[r], m->lost_rank[k]);
}

static void begin_round(struct nt_coordinator_round *m, bool *unreported)
{
    memset(unreported, 0, m->membership->hosts * sizeof *unreported);
    m->round_trip_s = m->connect_s = m->measure_s = 0;
    m->all_ok = m->all_reported = true;
}

int nt_coordinator_round_run(struct nt_coordinator_round *m, const struct nt_order *order,
                             uint32_t number, const struct nt_timeouts *timeouts, bool *unreported,
                             struct nt_err *err)
{
    struct nt_round round = {
        .number = number, .order = *order, .kept = m->pair_kept, .turn = m->turn};
    round.order.pair = m->pair;
    begin_round(m, unreported);
    note_lost(m, &round);
    place_pairs(m, order, 0, 0);
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
        note_kept(m, &round);
    }
    run_part(m, &(struct part){.step = DISCONNECT}, 0);
    return rc;
}

/* ---- several at once ---- */
void nt_coordinator_series_begin(struct nt_coordinator_round *m, const struct nt_order *order)
{
    m->series.turns = 0;
    m->series.begin[0] = 0;
    m->series.order = *order;
    m->series.order.pair = NULL;
    m->series.order.pairs = 0;
    nt_coordinator_series_add(m, order);
}

void nt_coordinator_series_add(struct nt_coordinator_round *m, const struct nt_order *order)
{
    struct nt_series *s = &m->series;
    size_t begin = s->begin[s->turns];
    memcpy(s->pair + begin, order->pair, order->pairs * sizeof *s->pair);
    s->begin[++s->turns] = begin + order->pairs;
}

struct nt_order nt_coordinator_series_turn(const struct nt_coordinator_round *m, size_t turn)
{
    struct nt_order order = m->series.order;
    order.pair = m->series.pair + m->series.begin[turn];
    order.pairs = m->series.begin[turn + 1] - m->series.begin[turn];
    return order;
}

void nt_coordinator_series_keep_failed(struct nt_coordinator_round *m)
{
    struct nt_series *s = &m->series;
    size_t n = 0, k = 0;
    for (size_t t = 0; t < s->turns; t++) {
        size_t end = s->begin[t + 1];
        s->begin[t] = n;
        for (; k < end; k++)
            if (m->outcome[k].status != NT_PAIR_OK)
                memmove(s->pair[n++], s->pair[k], sizeof *s->pair);
    }
    s->begin[s->turns] = n;
}

/* Returns whether the two ranks are a pair in an earlier turn: then they keep that connection, or
 * fail again. */
static bool is_earlier_pair(const struct nt_coordinator_round *m, const uint32_t pair[2])
{
    for (size_t i = 0; i < m->rank_turns[pair[0]]; i++) {
        const uint32_t *before = m->pair[m->slot[(size_t)pair[0] * m->turns_max + i]];
        if (before[0] == pair[1] || before[1] == pair[1])
            return true;
    }
    return false;
}

/* Assigns an index to each rank's reports, in the order of its turns. */
static void place_reports(struct nt_coordinator_round *m, size_t pairs)
{
    memset(m->rank_turns, 0, m->oob->size * sizeof *m->rank_turns);
    for (size_t k = 0; k < pairs; k++) {
        m->pair_kept[k] = m->pair_kept[k] || (m->kept != NULL && is_earlier_pair(m, m->pair[k]));
        for (int end = 0; end < 2; end++) {
            m->at[k][end] += m->rank_turns[m->pair[k][end]]++;
            m->slot[m->at[k][end]] = (uint32_t)k;
        }
    }
}

/* Encodes the rank's own pairs, and the addresses of partners that it has no connection with. */
static int encode_turns(const struct nt_coordinator_round *m, const struct nt_round *round,
                        uint32_t rank, struct nt_bytes *out, struct nt_err *err)
{
    uint32_t pair[NT_WIRE_TURNS_MAX][2], turn[NT_WIRE_TURNS_MAX];
    uint32_t peer_rank[NT_WIRE_TURNS_MAX + 1] = {rank};
    struct nt_peer peer[NT_WIRE_TURNS_MAX + 1] = {m->participant->table.peer[rank]};
    bool kept[NT_WIRE_TURNS_MAX];
    struct nt_round part = *round;
    size_t peers = 1;
    for (size_t i = 0; i < m->rank_turns[rank]; i++) {
        uint32_t k = m->slot[(size_t)rank * m->turns_max + i];
        memcpy(pair[i], m->pair[k], sizeof pair[i]);
        turn[i] = m->turn[k];
        kept[i] = m->pair_kept[k];
        if (kept[i])
            continue;
        peer_rank[peers] = pair[i][pair[i][0] == rank];
        peer[peers] = m->participant->table.peer[peer_rank[peers]];
        peers++;
    }
    part.order.pair = pair;
    part.order.pairs = m->rank_turns[rank];
    part.turn = turn;
    part.kept = kept;
    part.peers = peers;
    part.peer_rank = peer_rank;
    part.peer = peer;
    return nt_round_encode(&part, out, err);
}

/* Sends each rank its own turns, and an order without pairs to all others. */
static int scatter_turns(struct nt_coordinator_round *m, const struct nt_round *round,
                         struct nt_err *err)
{
    struct nt_bytes rest;
    size_t texts = 0;
    int rc = encode_part(m, round, 0, 0, &rest, err);
    if (rc != 0)
        return -1;
    for (uint32_t r = 1; r < m->oob->size && rc == 0; r++) {
        if (m->rank_turns[r] == 0)
            continue;
        rc = encode_turns(m, round, r, &m->text[texts], err);
        if (rc == 0) {
            m->unicast[texts] = (struct nt_unicast){r, m->text[texts].data, m->text[texts].bytes};
            texts++;
        }
    }
    if (rc == 0)
        rc = m->oob->ops->scatter(m->oob, m->unicast, texts, rest.data, rest.bytes, err);
    free_texts(m, texts);
    free(rest.data);
    return rc;
}

int nt_coordinator_series_run(struct nt_coordinator_round *m, uint32_t number,
                              const struct nt_timeouts *timeouts, bool *unreported,
                              struct nt_err *err)
{
    const struct nt_series *s = &m->series;
    struct nt_round round = {.number = number,
                             .order = s->order,
                             .kept = m->pair_kept,
                             .turn = m->turn,
                             .turns = s->turns};
    struct nt_report mine[NT_WIRE_TURNS_MAX];
    struct nt_order all = s->order;
    all.pair = s->pair;
    all.pairs = s->begin[s->turns];
    begin_round(m, unreported);
    note_lost(m, &round);
    for (uint32_t t = 0; t < s->turns; t++) {
        struct nt_order order = nt_coordinator_series_turn(m, t);
        place_pairs(m, &order, s->begin[t], t);
    }
    place_reports(m, all.pairs);
    round.order.pair = m->pair;
    round.order.pairs = all.pairs;
    nt_timeouts_series(timeouts, &s->order, s->turns, nt_clock_s(), &round);
    if ((m->oob->ops->scatter != NULL ? scatter_turns : send_order)(m, &round, err) != 0)
        return -1;
    double now = nt_clock_s(), until = now + round.series_s + nt_timeouts_slack_s(timeouts, now);
    struct part part = {.step = SERIES, .round = &round, .report = mine};
    run_part(m, &part, until);
    if (gather(m, NT_WIRE_SERIES, mine, part.reports, until, err) != 0)
        return -1;
    note_unreported(m, unreported);
    evaluate_reports(m, &all, true, &m->measure_s);
    note_kept(m, &round);
    return 0;
}
