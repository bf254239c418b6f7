/* One rank's part in a round: the same on rank 0 and on all others. Never fails as a call: what
 * went wrong stands in the report, for rank 0 to judge. */
#ifndef NT_TURN_H
#define NT_TURN_H

#include "meet.h"
#include "pair.h"
#include "wire.h"

struct nt_turn {
    struct nt_pair *pair; /* NULL: no network here; borrowed */
    const char *no_pair;  /* then why */
    uint32_t rank;
    double deadline_s;
    bool knows_core; /* whether it has a core of its own; said once, later it is seen */
    char inside[NT_MACHINE_TEXT_BYTES]; /* what the greeting says of this host; "" */
    double core_us[NT_BETWEEN_END];
    unsigned char *cast;        /* the table's bytes; owned */
    struct nt_peer_table table; /* empty where a round brings its addresses itself */
};

void nt_turn_init(struct nt_turn *turn, const struct nt_meet *meet, struct nt_pair *pair,
                  const char *no_pair);
void nt_turn_fini(struct nt_turn *turn);

/* Finds out what this host is inside and, when cores_s is not 0, measures for so long in all
 * between its cores. */
void nt_turn_look_inside(struct nt_turn *turn, double cores_s);

/* This rank's GREETING. */
int nt_turn_greet(const struct nt_turn *turn, const struct nt_meet *meet, struct nt_bytes *out,
                  struct nt_err *err);

/* Takes the TABLE cast over, also when it fails. */
int nt_turn_sit_down(struct nt_turn *turn, unsigned char *cast, size_t bytes, struct nt_err *err);

void nt_turn_warm(struct nt_turn *turn, const struct nt_round *round, struct nt_report *report);
void nt_turn_measure(struct nt_turn *turn, const struct nt_round *round, const struct nt_go *go,
                     struct nt_report *report);
void nt_turn_end(struct nt_turn *turn); /* of the round: closes the connection */

#endif
