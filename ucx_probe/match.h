/* One round on the wire, as rank 0 sees it: the order goes out, the outcomes come in. */
#ifndef NT_MATCH_H
#define NT_MATCH_H

#include "crew.h"
#include "pace.h"
#include "turn.h"

enum nt_match_standing {
    NT_GOOD,
    NT_FAILED,  /* both are there, but they could not measure */
    NT_EXCUSED, /* one of them has left the meeting: this says nothing of the other */
};

struct nt_match_outcome {
    enum nt_match_standing standing;
    struct nt_result result;           /* a and b are hosts */
    char reason[NT_WIRE_REASON_BYTES]; /* NT_FAILED */
};

struct nt_match {
    struct nt_meet *meet; /* these three are borrowed */
    struct nt_turn *turn;
    const struct nt_crew *crew;
    struct nt_piece *pieces; /* the rest is owned; ranks of them */
    struct nt_report *report;
    bool *came; /* the last report of this rank is there and well-formed */
    uint32_t (*pair)[2];
    uint32_t *skip;
    struct nt_letter *letter;               /* of a meeting that can scatter */
    struct nt_bytes *text;                  /* one a pair */
    struct nt_match_outcome *outcome;       /* of the pairs of the last round */
    bool clean;                             /* nobody failed in it */
    double round_trip_s, warm_s, measure_s; /* the longest of those that succeeded in it */
};

int nt_match_init(struct nt_match *match, struct nt_meet *meet, struct nt_turn *turn,
                  const struct nt_crew *crew, struct nt_err *err);
void nt_match_fini(struct nt_match *match);

/* Runs the order (pairs are hosts). Waits no longer than the pace allows. -1: the meeting is
 * broken. silent (hosts of them) says who of the crew did not report in one of the gathers. */
int nt_match_run(struct nt_match *match, const struct nt_order *order, uint32_t number,
                 const struct nt_pace *pace, bool *silent, struct nt_err *err);

#endif
