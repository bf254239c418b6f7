/* What a sweep came to: its status, why it is not ok, and what to do about that. */
#ifndef NT_VERDICT_H
#define NT_VERDICT_H

#include "campaign.h"
#include "conduct.h"
#include "crew.h"
#include "map.h"
#include "measured_pairs.h"

/* A host on which UCX finds nothing to use. */
extern const char nt_verdict_no_network[];

struct nt_verdict {
    enum nt_status status;
    char reason[NT_REASON_BYTES]; /* "" when the status is ok */
    const char *to_do;            /* a constant; "" when there is nothing */
};

/* All borrowed. */
struct nt_sweep_facts {
    const struct nt_campaign *campaign;
    const struct nt_crew *crew;
    const struct nt_measured_pairs *measured;
    size_t pairs_total;
    const char *trouble; /* why the first pair failed; "": none did */
    const char *broken;  /* what ended the sweep early; NULL: nothing */
};

void nt_verdict_find(const struct nt_sweep_facts *findings, struct nt_verdict *out);

#endif
