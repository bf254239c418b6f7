/* Rank 0: gathers the crew, drives the campaign round by round within the time, records all of it.
 *
 * A round is two barriers over the meeting, apart from the measured network: order, connect,
 * READY; go, measure, RESULT. A host whose piece stays away is out at once; a host that the
 * network does not reach is out when a second partner fails with it (crew.h). */
#ifndef NT_CONDUCT_H
#define NT_CONDUCT_H

#include "campaign.h"
#include "samples.h"
#include "turn.h"

enum { NT_REASON_BYTES = 256 };

struct nt_conducted {
    struct nt_samples *samples;   /* finished; owned */
    char reason[NT_REASON_BYTES]; /* one line when the status is not ok, else "" */
};

/* Shown while it goes on, before each round. */
typedef void nt_progress(void *context, const struct nt_campaign_progress *progress);

struct nt_conductor {
    nt_progress *progress; /* may be NULL */
    void *progress_context;
    const char *created; /* the time of day as text, for the record; "" for none */
};

/* created and progress come from the main. Fails only when no sweep could begin; once it has,
 * what is known is recorded whatever breaks, with status partial or failed and a reason. */
int nt_conduct(struct nt_meet *meet, struct nt_turn *turn, const struct nt_conductor *how,
               struct nt_conducted *out, struct nt_err *err);

#endif
