/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank but 0: does what the coordinator broadcasts, until END.
 * Tests: test_coordinator.c. */
#ifndef NT_PARTICIPANT_LOOP_H
#define NT_PARTICIPANT_LOOP_H

#include "participant.h"

/* 0: the sweep is over; -1: the out-of-band exchange failed, or the deadline passed. */
int nt_participant_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, struct nt_err *err);

/* Only contributes the greeting: of a rank without a network. */
int nt_participant_send_greeting(struct nt_oob *oob, const struct nt_probe_job *job,
                                 struct nt_participant *participant, struct nt_err *err);

#endif
