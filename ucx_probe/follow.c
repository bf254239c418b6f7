#include "follow.h"

#include <stdlib.h>

#include "clock.h"

static double left_s(const struct nt_meet *meet)
{
    double left = meet->deadline_s - nt_clock_s();
    return left > 0 ? left : 0;
}

static int say(struct nt_meet *meet, const struct nt_bytes *piece, struct nt_err *err)
{
    return meet->ops->gather(meet, piece->data, piece->bytes, left_s(meet), NULL, err);
}

static int hear(struct nt_meet *meet, struct nt_bytes *cast, struct nt_err *err)
{
    return meet->ops->cast(meet, NULL, 0, &cast->data, &cast->bytes, left_s(meet), err);
}

static int report(struct nt_meet *meet, enum nt_wire_kind kind, const struct nt_report *report,
                  struct nt_err *err)
{
    struct nt_bytes piece;
    if (nt_report_encode(kind, report, &piece, err) != 0)
        return -1;
    int rc = say(meet, &piece, err);
    free(piece.data);
    return rc;
}

int nt_probe_greet(struct nt_meet *meet, struct nt_turn *turn, struct nt_err *err)
{
    struct nt_bytes piece;
    if (nt_turn_greet(turn, meet, &piece, err) != 0)
        return -1;
    int rc = say(meet, &piece, err);
    free(piece.data);
    return rc;
}

/* From READY on: GO, the measuring, RESULT. */
static int play(struct nt_meet *meet, struct nt_turn *turn, const struct nt_round *round,
                struct nt_err *err)
{
    struct nt_report said;
    struct nt_bytes cast;
    struct nt_go go;
    nt_turn_warm(turn, round, &said);
    if (report(meet, NT_WIRE_READY, &said, err) != 0 || hear(meet, &cast, err) != 0)
        return -1;
    int rc = nt_go_decode(cast.data, cast.bytes, &go, err);
    free(cast.data);
    if (rc != 0)
        return -1;
    nt_turn_measure(turn, round, &go, &said);
    nt_go_fini(&go);
    return report(meet, NT_WIRE_RESULT, &said, err);
}

/* 1: go on; 0: END; -1: error */
static int obey(struct nt_meet *meet, struct nt_turn *turn, struct nt_bytes *cast,
                struct nt_err *err)
{
    struct nt_round round;
    int rc;
    switch (nt_wire_kind(cast->data, cast->bytes)) {
    case NT_WIRE_TABLE:
        rc = nt_turn_sit_down(turn, cast->data, cast->bytes, err);
        cast->data = NULL;
        return rc == 0 ? 1 : -1;
    case NT_WIRE_ROUND:
        if (nt_round_decode(cast->data, cast->bytes, meet->size, &round, err) != 0)
            return -1;
        rc = play(meet, turn, &round, err);
        nt_turn_end(turn);
        nt_round_fini(&round);
        return rc == 0 ? 1 : -1;
    case NT_WIRE_END:
        return 0;
    default:
        return nt_err_set(err, NT_ERR_INPUT, "the leading probe sent something unknown");
    }
}

int nt_probe_follow(struct nt_meet *meet, struct nt_turn *turn, struct nt_err *err)
{
    int rc = nt_probe_greet(meet, turn, err) == 0 ? 1 : -1;
    while (rc == 1) {
        struct nt_bytes cast;
        if (hear(meet, &cast, err) != 0)
            return -1;
        rc = obey(meet, turn, &cast, err);
        free(cast.data);
    }
    return rc;
}
