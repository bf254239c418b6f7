/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which hosts are suspect and lost; no other module does. No clock and no I/O: the caller
 * makes the measurements.
 *
 * The states are those of SWIM (Das, Gupta, Motivala 2002, section 4.2), with the names of
 * flux-overlay(1):
 *   online   it greeted, and its last measurement succeeded
 *   suspect  its last measurement failed; either host of the pair may be the cause
 *   lost     it is not measured any more: it failed with two hosts, of which one was not suspect,
 *            and then with a third, or it did not report in a gather of the out-of-band exchange
 *   missing  it never greeted, or has no network (membership.h)
 *
 * If the same two hosts fail with each other again, an indirect probe decides: a third host that is
 * not suspect measures with each of them.
 *
 * Differences from SWIM: rank 0 alone decides, without gossip; the sweep's own measurements are the
 * direct probes; further measurements end a suspicion, not a timeout; and a lost host does not
 * return. */
#ifndef NT_FAILURE_DETECTOR_H
#define NT_FAILURE_DETECTOR_H

#include "membership.h"
#include "sweep.h"

/* Functions of the caller. context is passed to each. */
struct nt_failure_ops {
    /* Measures a few pings between two online hosts while all other hosts are idle, and sets *ok.
     * The caller calls nt_failure_note_reports for hosts that do not report in it. -1: the sweep
     * cannot continue. */
    int (*probe)(void *context, uint32_t a, uint32_t b, bool *ok, struct nt_err *err);
    /* Returns whether the time for measuring is over; failures after that are no evidence against a
     * host. */
    bool (*is_time_over)(void *context);
    /* Called when a host becomes lost. */
    void (*on_lost)(void *context, uint32_t host, const char *reason);
};

struct nt_failure_detector {
    struct nt_membership *membership; /* borrowed, as all pointers here */
    const struct nt_failure_ops *ops;
    void *context;
    const uint32_t *round; /* number of the current round, for reasons */
};

/* Marks the hosts that did not report in the round as lost. unreported: one per host. */
int nt_failure_note_reports(struct nt_failure_detector *detector, const bool *unreported,
                            struct nt_err *err);

/* Notes whether the measurement of a pair succeeded. Call it for all pairs of a round before the
 * next round. */
void nt_failure_note_pair(struct nt_failure_detector *detector, uint32_t a, uint32_t b, bool ok);

/* Call it after a round. Probes hosts that two others did not reach, and probes indirectly if both
 * hosts of a pair are suspect. -1: the sweep cannot continue. */
int nt_failure_resolve(struct nt_failure_detector *detector, const struct nt_order *order,
                       struct nt_err *err);

/* ---- the suspicions alone ---- */

/* Notes a measurement. A host that fails with two different partners in a row, of which the second
 * was not suspect, is probably at fault and becomes *lost; otherwise *lost is NT_NO_INDEX. A first
 * failure shows only that one of the two hosts may be lost, and further failures of the same pair
 * add no information. */
void nt_suspicion_note_pair(struct nt_membership *membership, uint32_t a, uint32_t b, bool ok,
                            uint32_t *lost);

/* Returns whether both hosts are not lost and have each failed at least that many times in a row,
 * so that the host at fault is not known. */
bool nt_suspicion_is_mutual(const struct nt_membership *membership, uint32_t a, uint32_t b,
                            unsigned failures);

/* Counts a failure of one host only, because it reached none of several hosts. */
void nt_suspicion_add(struct nt_membership *membership, uint32_t host);

/* Returns an online host that is not suspect, for indirect probes, or NT_NO_INDEX. */
uint32_t nt_suspicion_find_prober(const struct nt_membership *membership);

#endif
