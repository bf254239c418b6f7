#include "match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* Each connects with many, not one. */
static const double KERNEL_WARM = 6;

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
                               .outcome = calloc(n, sizeof *match->outcome)};
    if (match->pieces != NULL && match->report != NULL && match->came != NULL &&
        match->pair != NULL && match->skip != NULL && match->outcome != NULL)
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

static int order_and_warm(struct nt_match *m, const struct nt_round *round, struct nt_err *err)
{
    struct nt_bytes bytes;
    struct nt_report mine;
    if (nt_round_encode(round, &bytes, err) != 0 || cast(m, &bytes, err) != 0)
        return -1;
    double until = nt_clock_s() + round->warm_s + nt_pace_slack_s();
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

static int go_and_measure(struct nt_match *m, const struct nt_round *round,
                          const struct nt_pace *pace, struct nt_err *err)
{
    struct nt_go go = {.skip = m->skip};
    struct nt_bytes bytes;
    struct nt_report mine;
    go.skips = list_skips(m, &round->order);
    nt_pace_limit(pace, &round->order, m->round_trip_s, nt_clock_s(), &go);
    if (nt_go_encode(&go, &bytes, err) != 0 || cast(m, &bytes, err) != 0)
        return -1;
    double until = nt_clock_s() + go.give_up_s + nt_pace_slack_s();
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
    double now = nt_clock_s(), left = pace->stop_s - now;
    round.warm_s = nt_pace_warm_s(pace, now);
    if (order->kind == NT_ORDER_KERNEL && left > round.warm_s)
        round.warm_s = fmin(KERNEL_WARM * round.warm_s, left);
    int rc = order_and_warm(m, &round, err);
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
