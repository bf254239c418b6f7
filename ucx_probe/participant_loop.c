/* SPDX-License-Identifier: Apache-2.0 */
#include "participant_loop.h"

#include <stdlib.h>

#include "clock.h"

static double time_left_s(const struct nt_oob *oob)
{
    double left = oob->deadline_s - nt_clock_s();
    return left > 0 ? left : 0;
}

static int contribute(struct nt_oob *oob, const struct nt_bytes *message, struct nt_err *err)
{
    return oob->ops->gather(oob, message->data, message->bytes, time_left_s(oob), NULL, err);
}

static int receive_bcast(struct nt_oob *oob, struct nt_bytes *message, struct nt_err *err)
{
    return oob->ops->bcast(oob, NULL, 0, &message->data, &message->bytes, time_left_s(oob), err);
}

static int send_report(struct nt_oob *oob, enum nt_wire_kind kind, const struct nt_report *report,
                       struct nt_err *err)
{
    struct nt_bytes message;
    if (nt_report_encode(kind, report, &message, err) != 0)
        return -1;
    int rc = contribute(oob, &message, err);
    free(message.data);
    return rc;
}

int nt_participant_send_greeting(struct nt_oob *oob, const struct nt_probe_job *job,
                                 struct nt_participant *participant, struct nt_err *err)
{
    struct nt_bytes message;
    if (nt_participant_greeting(participant, job, &message, err) != 0)
        return -1;
    int rc = contribute(oob, &message, err);
    free(message.data);
    return rc;
}

/* A round of turns: all of it, then SERIES. */
static int run_series(struct nt_oob *oob, struct nt_participant *participant,
                      const struct nt_round *round, struct nt_err *err)
{
    struct nt_report report[NT_WIRE_TURNS_MAX];
    struct nt_bytes message;
    size_t n = nt_participant_series(participant, round, report);
    if (nt_series_encode(report, n, &message, err) != 0)
        return -1;
    int rc = contribute(oob, &message, err);
    free(message.data);
    return rc;
}

/* From READY on: GO, the measuring, RESULT. */
static int run_round(struct nt_oob *oob, struct nt_participant *participant,
                     const struct nt_round *round, struct nt_err *err)
{
    struct nt_report sent;
    struct nt_bytes message;
    struct nt_go go;
    nt_participant_connect(participant, round, &sent);
    if (send_report(oob, NT_WIRE_READY, &sent, err) != 0 || receive_bcast(oob, &message, err) != 0)
        return -1;
    int rc = nt_go_decode(message.data, message.bytes, &go, err);
    free(message.data);
    if (rc != 0)
        return -1;
    nt_participant_measure(participant, round, &go, &sent);
    nt_go_fini(&go);
    return send_report(oob, NT_WIRE_RESULT, &sent, err);
}

/* 1: go on; 0: END; -1: error */
static int handle_message(struct nt_oob *oob, struct nt_participant *participant,
                          struct nt_bytes *message, struct nt_err *err)
{
    struct nt_round round;
    int rc;
    switch (nt_wire_kind(message->data, message->bytes)) {
    case NT_WIRE_TABLE:
        rc = nt_participant_set_table(participant, message->data, message->bytes, err);
        message->data = NULL;
        return rc == 0 ? 1 : -1;
    case NT_WIRE_ROUND:
        if (nt_round_decode(message->data, message->bytes, oob->size, &round, err) != 0)
            return -1;
        rc = (round.turns > 0 ? run_series : run_round)(oob, participant, &round, err);
        nt_participant_disconnect(participant);
        nt_round_fini(&round);
        return rc == 0 ? 1 : -1;
    case NT_WIRE_END:
        return 0;
    default:
        return nt_err_set(err, NT_ERR_INPUT, "rank 0 sent a message of an unknown kind");
    }
}

int nt_participant_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, struct nt_err *err)
{
    int rc = nt_participant_send_greeting(oob, job, participant, err) == 0 ? 1 : -1;
    while (rc == 1) {
        struct nt_bytes message;
        if (receive_bcast(oob, &message, err) != 0)
            return -1;
        rc = handle_message(oob, participant, &message, err);
        free(message.data);
    }
    return rc;
}
