/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator, on rank 0: gathers the greetings, runs the campaign round by round within the
 * time, and records all of it.
 *
 * A round is two gathers of the out-of-band exchange, apart from the measured network: ORDER,
 * connect, READY; GO, measure, RESULT (coordinator_round.h). Rounds of latencies that are planned
 * already are one gather together, as long as all goes well: what fails in it is measured again, a
 * round at a time, before anything is said of a host. Which hosts are lost on the way is
 * decided in failure_detector.h. */
#ifndef NT_COORDINATOR_H
#define NT_COORDINATOR_H

#include "campaign.h"
#include "infer.h"
#include "job_record.h"
#include "participant.h"
#include "samples.h"

enum { NT_REASON_BYTES = 256 };

/* What to do about a host on which UCX finds nothing to use. */
extern const char nt_no_network_advice[];

struct nt_coordinator_result {
    struct nt_samples *samples;               /* finished; owned */
    struct nt_inferred known;                 /* what the sweep inferred of them already; owned */
    char reason[NT_REASON_BYTES];             /* one line when the status is not ok, else "" */
    char networks[NT_NETWORKS_WARNING_BYTES]; /* job_record.h: what is wrong with them; "": nothing
                                               */
};

void nt_coordinator_result_fini(struct nt_coordinator_result *result);

/* Called before each round. */
typedef void nt_progress(void *context, const struct nt_campaign_progress *progress);

struct nt_coordinator_options {
    nt_progress *progress; /* may be NULL */
    void *progress_context;
    const char *created; /* the time of day as text, for the record; "" for none */
};

/* Fails only when no sweep could begin; once it has, what was measured is recorded whatever fails
 * later, with status partial or failed and a reason. */
int nt_coordinator_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, const struct nt_coordinator_options *how,
                       struct nt_coordinator_result *out, struct nt_err *err);

#endif
