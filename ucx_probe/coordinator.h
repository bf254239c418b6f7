/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator, on rank 0: gathers the greetings, runs the rounds of the campaign
 * (solver/join/campaign.h) within the time limit, and adds the results to the samples. Does not
 * use UCX, and is independent of whether the out-of-band exchange uses the agents or PMIx.
 *
 * A round consists of two gathers over the out-of-band exchange, which is separate from the
 * measured network: ORDER, connect, READY; then GO, measure, RESULT (coordinator_round.h). Latency
 * rounds that are planned in advance share one gather. Pairs that fail in such a series are
 * measured again, round by round, before the failure counts against a host. failure_detector.h
 * decides which hosts are lost. */
#ifndef NT_COORDINATOR_H
#define NT_COORDINATOR_H

#include "campaign.h"
#include "infer.h"
#include "job_record.h"
#include "participant.h"
#include "samples.h"

enum { NT_REASON_BYTES = 256 };

/* Advice for a host on which UCX finds no usable network. */
extern const char nt_no_network_advice[];

struct nt_coordinator_result {
    struct nt_samples *samples;   /* complete samples; owned */
    struct nt_inferred known;     /* results that the campaign has inferred already; owned */
    char reason[NT_REASON_BYTES]; /* one line; "" if the status is ok */
    char networks[NT_NETWORKS_WARNING_BYTES]; /* warning of nt_networks_compare; "": none */
};

void nt_coordinator_result_fini(struct nt_coordinator_result *result);

/* Callback before each round. */
typedef void nt_progress(void *context, const struct nt_campaign_progress *progress);

struct nt_coordinator_options {
    nt_progress *progress; /* may be NULL */
    void *progress_context;
    const char *created; /* date and time as text, for the samples; "": none */
};

/* Runs a sweep. Fails only if no sweep could start. After that, all measurements are recorded
 * whatever fails later, with status partial or failed and a reason. */
int nt_coordinator_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, const struct nt_coordinator_options *how,
                       struct nt_coordinator_result *out, struct nt_err *err);

#endif
