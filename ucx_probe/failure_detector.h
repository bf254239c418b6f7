/* SPDX-License-Identifier: Apache-2.0 */
/* The policy by which a host becomes suspect and lost; nothing else decides that.
 *
 * The states are those of SWIM (Das, Gupta, Motivala 2002), as flux-overlay(1) names them:
 *   online   it greeted, and its last measurement succeeded
 *   suspect  its last measurement failed; of the two hosts of a pair either may be the cause
 *   lost     it is measured with no more: it failed with two hosts of which one was not suspect and
 *            then with a third, or did not report in a gather of the out-of-band exchange
 *   missing  it never greeted, or has no network (membership.h)
 * Where the same two hosts fail with each other again, an indirect probe decides: a third host that
 * is not suspect measures with each of them.
 *
 * What is different from SWIM: rank 0 alone decides, and nothing is disseminated by gossip; the
 * sweep's own measurements are the direct probes; a suspicion ends by further measurements and not
 * by a timeout; and a host that is lost does not come back.
 *
 * No clock and no I/O: the caller makes the probes. */
#ifndef NT_FAILURE_DETECTOR_H
#define NT_FAILURE_DETECTOR_H

#include "membership.h"
#include "sweep.h"

/* What the caller does for the detector; context is given to each. */
struct nt_failure_ops {
    /* A few pings between two online hosts while all others rest. -1: the sweep is broken. Hosts
     * that do not report in it are noted with nt_failure_note_reports by the caller. */
    int (*probe)(void *context, uint32_t a, uint32_t b, bool *ok, struct nt_err *err);
    /* The time for measuring is over: what fails from now on says nothing of a host. */
    bool (*is_time_over)(void *context);
    /* The host is lost from now on. */
    void (*on_lost)(void *context, uint32_t host, const char *reason);
};

struct nt_failure_detector {
    struct nt_membership *membership; /* borrowed, as are the others */
    const struct nt_failure_ops *ops;
    void *context;
    const uint32_t *round; /* the number of the current round, for reasons */
};

/* unreported: hosts of them; those that did not report in the round are lost. */
int nt_failure_note_reports(struct nt_failure_detector *detector, const bool *unreported,
                            struct nt_err *err);

/* How the measurement of a pair ended, all pairs of a round before the next. */
void nt_failure_note_pair(struct nt_failure_detector *detector, uint32_t a, uint32_t b, bool ok);

/* After a round: probes hosts that two others did not reach, and indirectly where both hosts of a
 * pair are suspect. */
int nt_failure_resolve(struct nt_failure_detector *detector, const struct nt_order *order,
                       struct nt_err *err);

/* ---- the suspicions alone ---- */

/* A host that fails with two different partners in a row, of which the second was not suspect
 * itself, is likely at fault: *lost is it, else NT_NO_INDEX. The first failure alone says only
 * that one of the two may be lost, and no number of failures with each other says more. */
void nt_suspicion_note_pair(struct nt_membership *membership, uint32_t a, uint32_t b, bool ok,
                            uint32_t *lost);

/* Whether a and b have failed so often in a row, and nothing says which of them is at fault. */
bool nt_suspicion_of_both(const struct nt_membership *membership, uint32_t a, uint32_t b,
                          unsigned failures);

/* One more failure of this host alone: it reached none of several. */
void nt_suspicion_add(struct nt_membership *membership, uint32_t host);

/* A host that is online and not suspect, for indirect probes; NT_NO_INDEX. */
uint32_t nt_suspicion_find_prober(const struct nt_membership *membership);

#endif
