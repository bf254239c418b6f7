/* The two parts that a host can play once its seat is taken. Each returns when the seat is
 * settled, at the latest soon after session->give_up. */
#ifndef NT_ROLE_H
#define NT_ROLE_H

#include "session.h"

/* The first host of the job: meets the others at its door, keeps the gathers, passes rank 0's
 * texts on to all. */
void nt_leader_run(struct nt_session *session);

/* Every other host: finds the leader, passes frames between it and the probe. */
void nt_member_run(struct nt_session *session);

#endif
