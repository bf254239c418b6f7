/* What every rank but 0 does: as it is told, until END. */
#ifndef NT_FOLLOW_H
#define NT_FOLLOW_H

#include "turn.h"

/* 0: the sweep is over; -1: the meeting broke, or its deadline passed. */
int nt_probe_follow(struct nt_meet *meet, struct nt_turn *turn, struct nt_err *err);

/* Only says who this is, and whether it has a network. */
int nt_probe_greet(struct nt_meet *meet, struct nt_turn *turn, struct nt_err *err);

#endif
