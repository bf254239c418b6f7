/* SPDX-License-Identifier: Apache-2.0 */
/* The two roles of an agent. Each function runs the event loop of its role and returns when the
 * session's outcome is decided, at the latest shortly after session->give_up.
 * Tests: test_agent.c. */
#ifndef NT_ROLE_H
#define NT_ROLE_H

#include "session.h"

/* The leader, on the job's first host: accepts the others, collects gathers for rank 0, and sends
 * its broadcasts and artifacts to all. */
void nt_leader_run(struct nt_session *session);

/* A member, on every other host: connects to its leader and relays frames between it and the probe;
 * the first host of a block also relays for its block. */
void nt_member_run(struct nt_session *session);

#endif
