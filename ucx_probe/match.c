#include "match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pair_crowd.h"

int nt_match_init(struct nt_match *match, struct nt_meet *meet, struct nt_turn *turn,
                  const struct nt_crew *crew, struct nt_err *err)
{
    size_t n = (size_t)meet->size + 1;
    *match = (struct nt_match){.meet = meet,
                               .turn = turn,
                               .crew = crew,
                               .pieces = calloc(n, sizeof *match->pieces),
                               .report = calloc(n, sizeof *match->report),
                               .came = calloc(n, sizeof *match->came),
                               .pair = calloc(n, sizeof *match->pair),
                               .skip = calloc(n, sizeof *match->skip),
                               .letter = calloc(n, sizeof *match->letter),
                               .text = calloc(n, sizeof *match->text),
                               .outcome = calloc(n, sizeof *match->outcome)};
    if (match->pieces != NULL && match->report != NULL && match->came != NULL &&
        match->pair != NULL && match->skip != NULL && match->letter != NULL &&
        match->text != NULL && match->outcome != NULL)
        return 0;
    nt_match_fini(match);
    return nt_err_set(err, NT_ERR_SYSTEM, "a round of %u ranks: out of memory", meet->size);
}

void nt_match_fini(struct nt_match *match)
{
    free(match->pieces);
    free(match->report);
    free(match->came);
    free(match->pair);
    free(match->skip);
    free(match->letter);
    free(match->text);
    free(match->outcome);
    *match = (struct nt_match){0};
}

static int cast(struct nt_match *m, struct nt_bytes *bytes, struct nt_err *err)
{
    int rc = m->meet->ops->cast(m->meet, bytes->data, bytes->bytes, NULL, NULL, 1, err);
    free(bytes->data);
    return rc;
}

static int gather(struct nt_match *m, enum nt_wire_kind kind, const struct nt_report *mine,
                  double until_s, struct nt_err *err)
{
    struct nt_bytes piece;
    if (nt_report_encode(kind, mine, &piece, err) != 0)
        return -1;
    double wait = until_s - nt_clock_s();
    int rc = m->meet->ops->gather(m->meet, piece.data, piece.bytes, wait > 0.01 ? wait : 0.01,
                                  m->pieces, err);
    free(piece.data);
    if (rc != 0)
        return -1;
    for (size_t r = 0; r < m->meet->size; r++)
        m->came[r] =
            m->pieces[r].present &&
            nt_report_decode(kind, m->pieces[r].data, m->pieces[r].bytes, &m->report[r], NULL) == 0;
    nt_pieces_free(m->pieces, m->meet->size);
    return 0;
}

static void note_silent(const struct nt_match *m, bool *silent)
{
    for (size_t h = 0; h < m->crew->hosts; h++)
        if (m->crew->gone[h] == NULL && !m->came[m->crew->rank_of[h]])
            silent[h] = true;
}

/* What the two reports of each pair that is still good say together. measured: the first's
 * result counts, even when the second fell over after it had served. */
static void judge(struct nt_match *m, const struct nt_order *order, bool measured,
                  double *longest_s)
{
    for (size_t k = 0; k < order->pairs; k++) {
        struct nt_match_outcome *o = &m->outcome[k];
        for (int end = 0; end < 2 && o->standing == NT_GOOD; end++) {
            const struct nt_report *r = &m->report[m->pair[k][end]];
            if (!m->came[m->pair[k][end]]) {
                o->standing = measured && end == 1 ? NT_GOOD : NT_EXCUSED;
            } else if (!r->ok && !(measured && end == 1)) {
                o->standing = NT_FAILED;
                memcpy(o->reason, r->reason, sizeof o->reason);
            } else if (r->ok && r->seconds > *longest_s) {
                *longest_s = r->seconds;
            }
        }
        m->clean = m->clean && o->standing == NT_GOOD;
        if (o->standing != NT_GOOD)
            continue;
        if (!measured) {
            m->round_trip_s =
                fmax(m->round_trip_s, m->report[m->pair[k][0]].result.value_us * 1e-6);
            continue;
        }
        o->result = m->report[m->pair[k][0]].result;
        o->result.a = order->pair[k][0];
        o->result.b = order->pair[k][1];
    }
}

/* The round with these of its pairs alone, and where their ranks sit. */
static int encode_part(const struct nt_match *m, const struct nt_round *round, size_t first,
                       size_t pairs, struct nt_bytes *out, struct nt_err *err)
{
    uint32_t rank[2 * NT_CROWD_MAX];
    struct nt_peer seat[2 * NT_CROWD_MAX];
    struct nt_round part = *round;
    size_t n = 0;
    part.order.pair = round->order.pair + first;
    part.order.pairs = pairs;
    size_t ends = round->order.kind == NT_ORDER_KERNEL ? 1 : 2;
    for (size_t k = 0; k < ends * pairs && n < 2UL * NT_CROWD_MAX; k++) {
        uint32_t r = part.order.pair[k / ends][k % ends];
        if (r >= m->turn->table.ranks)
            continue;
        rank[n] = r;
        seat[n++] = m->turn->table.seat[r];
    }
    part.seats = n;
    part.seat_rank = rank;
    part.seat = seat;
    return nt_round_encode(&part, out, err);
}

/* Each pair's part to its two ranks, and to all others that they rest. */
static int scatter_pairs(struct nt_match *m, const struct nt_round *round, struct nt_err *err)
{
    struct nt_bytes rest;
    size_t texts = 0, letters = 0;
    int rc = encode_part(m, round, 0, 0, &rest, err);
    if (rc != 0)
        return -1;
    for (; texts < round->order.pairs && rc == 0; texts++) {
        rc = encode_part(m, round, texts, 1, &m->text[texts], err);
        for (int end = 0; end < 2 && rc == 0; end++)
            if (m->pair[texts][end] != 0)
                m->letter[letters++] = (struct nt_letter){m->pair[texts][end], m->text[texts].data,
                                                          m->text[texts].bytes};
    }
    if (rc == 0)
        rc = m->meet->ops->scatter(m->meet, m->letter, letters, rest.data, rest.bytes, err);
    for (size_t k = 0; k < texts; k++) {
        free(m->text[k].data);
        m->text[k] = (struct nt_bytes){0};
    }
    free(rest.data);
    return rc;
}

/* All take part in a kernel, so all hear the same. */
static int cast_order(struct nt_match *m, const struct nt_round *round, struct nt_err *err)
{
    struct nt_bytes bytes;
    bool can_scatter = m->meet->ops->scatter != NULL;
    if (can_scatter && round->order.kind != NT_ORDER_KERNEL)
        return scatter_pairs(m, round, err);
    int rc = can_scatter ? encode_part(m, round, 0, round->order.pairs, &bytes, err)
                         : nt_round_encode(round, &bytes, err);
    return rc == 0 ? cast(m, &bytes, err) : -1;
}

static int order_and_warm(struct nt_match *m, const struct nt_round *round,
                          const struct nt_pace *pace, struct nt_err *err)
{
    struct nt_report mine;
    if (cast_order(m, round, err) != 0)
        return -1;
    double now = nt_clock_s(), until = now + round->warm_s + nt_pace_slack_s(pace, now);
    nt_turn_warm(m->turn, round, &mine);
    return gather(m, NT_WIRE_READY, &mine, until, err);
}

/* Who cannot measure; of a kernel all or nobody. */
static size_t list_skips(struct nt_match *m, const struct nt_order *order)
{
    bool kernel = order->kind == NT_ORDER_KERNEL, all = kernel && !m->clean;
    size_t n = 0;
    for (size_t k = 0; k < order->pairs; k++)
        for (int end = 0; end < (kernel ? 1 : 2); end++)
            if (all || m->outcome[k].standing != NT_GOOD)
                m->skip[n++] = m->pair[k][end];
    return n;
}

/* Where each can be told apart, only who sits out hears of it. */
static int cast_go(struct nt_match *m, const struct nt_go *go, struct nt_err *err)
{
    struct nt_bytes all, one = {0};
    struct nt_go none = *go, sit_out = *go;
    uint32_t you = NT_WIRE_YOU;
    size_t letters = 0;
    if (m->meet->ops->scatter == NULL || go->skips == 0)
        return nt_go_encode(go, &all, err) == 0 ? cast(m, &all, err) : -1;
    none.skips = 0;
    sit_out.skips = 1;
    sit_out.skip = &you;
    if (nt_go_encode(&none, &all, err) != 0)
        return -1;
    int rc = nt_go_encode(&sit_out, &one, err);
    for (size_t k = 0; k < go->skips; k++)
        if (go->skip[k] != 0)
            m->letter[letters++] = (struct nt_letter){go->skip[k], one.data, one.bytes};
    if (rc == 0)
        rc = m->meet->ops->scatter(m->meet, m->letter, letters, all.data, all.bytes, err);
    free(all.data);
    free(one.data);
    return rc;
}

static int go_and_measure(struct nt_match *m, const struct nt_round *round,
                          const struct nt_pace *pace, struct nt_err *err)
{
    struct nt_go go = {.skip = m->skip};
    struct nt_report mine;
    go.skips = list_skips(m, &round->order);
    nt_pace_limit(pace, &round->order, m->round_trip_s, nt_clock_s(), &go);
    if (cast_go(m, &go, err) != 0)
        return -1;
    double now = nt_clock_s(), until = now + go.give_up_s + nt_pace_slack_s(pace, now);
    nt_turn_measure(m->turn, round, &go, &mine);
    return gather(m, NT_WIRE_RESULT, &mine, until, err);
}

int nt_match_run(struct nt_match *m, const struct nt_order *order, uint32_t number,
                 const struct nt_pace *pace, bool *silent, struct nt_err *err)
{
    struct nt_round round = {.number = number, .order = *order};
    round.order.pair = m->pair;
    memset(silent, 0, m->crew->hosts * sizeof *silent);
    m->round_trip_s = m->warm_s = m->measure_s = 0;
    m->clean = true;
    for (size_t k = 0; k < order->pairs; k++) {
        m->pair[k][0] = m->crew->rank_of[order->pair[k][0]];
        m->pair[k][1] = m->crew->rank_of[order->pair[k][1]];
        m->outcome[k] = (struct nt_match_outcome){.standing = NT_GOOD};
    }
    round.warm_s = nt_pace_warm_s(pace, order, nt_clock_s());
    int rc = order_and_warm(m, &round, pace, err);
    if (rc == 0) {
        note_silent(m, silent);
        judge(m, order, false, &m->warm_s);
        rc = go_and_measure(m, &round, pace, err);
    }
    if (rc == 0) {
        note_silent(m, silent);
        judge(m, order, true, &m->measure_s);
    }
    nt_turn_end(m->turn);
    return rc;
}
