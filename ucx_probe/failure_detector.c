/* SPDX-License-Identifier: Apache-2.0 */
#include "failure_detector.h"

#include <stdio.h>

/* Numbers of failures in a row. FAILURES_LOST: after these a host is lost if it has more of them
 * than its partner. FAILURES_PAIR_LOST: failures of the same two hosts with each other, if no host
 * is left to probe them indirectly. */
enum { FAILURES_LOST = 3, FAILURES_PAIR_LOST = 3, FAILURES_MAX = 100 };

enum { PROBERS_MAX = 2 }; /* probers per pair, because each may wait for both hosts in vain */

/* ---- suspicions ---- */
void nt_suspicion_add(struct nt_membership *membership, uint32_t host)
{
    if (membership->suspicion[host] == 0)
        membership->suspected_with[host] = NT_NO_INDEX;
    if (membership->suspicion[host] < FAILURES_MAX)
        membership->suspicion[host]++;
}

void nt_suspicion_note_pair(struct nt_membership *membership, uint32_t a, uint32_t b, bool ok,
                            uint32_t *lost)
{
    unsigned char *x = &membership->suspicion[a], *y = &membership->suspicion[b];
    *lost = NT_NO_INDEX;
    if (ok) {
        *x = *y = 0;
        return;
    }
    /* a second failure with the same partner does not show which of the two is at fault */
    bool again = (*x > 0 && membership->suspected_with[a] == b) ||
                 (*y > 0 && membership->suspected_with[b] == a);
    if (!again && (*x == 0) != (*y == 0)) {
        *lost = *x > 0 ? a : b;
        return; /* the failure is explained, so the other host does not become suspect */
    }
    nt_suspicion_add(membership, a);
    nt_suspicion_add(membership, b);
    membership->suspected_with[a] = b;
    membership->suspected_with[b] = a;
    if (!again && *x != *y && (*x >= FAILURES_LOST || *y >= FAILURES_LOST))
        *lost = *x > *y ? a : b;
}

bool nt_suspicion_is_mutual(const struct nt_membership *membership, uint32_t a, uint32_t b,
                            unsigned failures)
{
    return membership->lost[a] == NULL && membership->lost[b] == NULL &&
           membership->suspicion[a] >= failures && membership->suspicion[b] >= failures;
}

/* Returns a prober other than a, b and c, each of which may be NT_NO_INDEX. */
static uint32_t find_prober_except(const struct nt_membership *membership, uint32_t a, uint32_t b,
                                   uint32_t c)
{
    for (uint32_t h = 0; h < membership->hosts; h++)
        if (membership->lost[h] == NULL && membership->suspicion[h] == 0 && h != a && h != b &&
            h != c)
            return h;
    return NT_NO_INDEX;
}

uint32_t nt_suspicion_find_prober(const struct nt_membership *membership)
{
    return find_prober_except(membership, NT_NO_INDEX, NT_NO_INDEX, NT_NO_INDEX);
}

/* ---- lost ---- */
/* A failure with a lost host is explained: its partner is not suspect because of it. */
static void clear_partners(struct nt_membership *membership, uint32_t host)
{
    for (uint32_t h = 0; h < membership->hosts; h++)
        if (membership->suspicion[h] == 1 && membership->suspected_with[h] == host)
            membership->suspicion[h] = 0;
}

static int set_lost(struct nt_failure_detector *d, uint32_t host, const char *reason,
                    struct nt_err *err)
{
    if (host == NT_NO_INDEX || d->membership->lost[host] != NULL)
        return 0;
    d->ops->on_lost(d->context, host, reason);
    clear_partners(d->membership, host);
    return nt_membership_set_lost(d->membership, host, reason, err);
}

int nt_failure_note_reports(struct nt_failure_detector *d, const bool *unreported,
                            struct nt_err *err)
{
    char reason[64];
    snprintf(reason, sizeof reason, "stopped answering in round %u", *d->round);
    for (uint32_t h = 0; h < d->membership->hosts; h++)
        if (unreported[h] && set_lost(d, h, reason, err) != 0)
            return -1;
    return 0;
}

void nt_failure_note_pair(struct nt_failure_detector *d, uint32_t a, uint32_t b, bool ok)
{
    struct nt_membership *m = d->membership;
    uint32_t accused;
    if (!ok && (m->lost[a] != NULL || m->lost[b] != NULL))
        return; /* the failure is explained */
    nt_suspicion_note_pair(m, a, b, ok, &accused);
    if (ok)
        m->accused_by[a] = m->accused_by[b] = NT_NO_INDEX;
    else if (accused != NT_NO_INDEX)
        m->accused_by[accused] = accused == a ? b : a;
}

/* ---- indirect probes ---- */
static bool is_undecided(const struct nt_failure_detector *d, uint32_t a, uint32_t b)
{
    return d->membership->lost[a] == NULL && d->membership->lost[b] == NULL &&
           !d->ops->is_time_over(d->context);
}

static int probe_pair(struct nt_failure_detector *d, uint32_t a, uint32_t b, bool *ok,
                      struct nt_err *err)
{
    *ok = false;
    return is_undecided(d, a, b) ? d->ops->probe(d->context, a, b, ok, err) : 0;
}

/* Decides on a host that two partners did not reach. The paths to two hosts may be blocked although
 * it has a network, so a third host, which has not measured with it yet, decides. If no such host
 * is left, the two failures are enough. */
static int resolve_accused(struct nt_failure_detector *d, uint32_t host, struct nt_err *err)
{
    struct nt_membership *m = d->membership;
    char reason[64];
    uint32_t by = m->accused_by[host];
    bool ok = false;
    m->accused_by[host] = NT_NO_INDEX;
    if (by == NT_NO_INDEX || m->lost[host] != NULL)
        return 0;
    uint32_t prober = find_prober_except(m, host, by, m->suspected_with[host]);
    snprintf(reason, sizeof reason, "not reached by two hosts, last in round %u", *d->round);
    if (prober != NT_NO_INDEX && probe_pair(d, host, prober, &ok, err) != 0)
        return -1;
    if (ok)
        nt_failure_note_pair(d, host, prober, true);
    return ok ? 0 : set_lost(d, host, reason, err);
}

/* Measures the prober with both hosts: a host that it reaches is online, the other is not. *decided
 * is false if the prober reaches neither, because the prober may be the host without a network, or
 * if it was lost in the meantime. The prober then becomes suspect, so that it probes no other
 * host. */
static int probe_indirectly(struct nt_failure_detector *d, uint32_t a, uint32_t b, uint32_t prober,
                            bool *decided, struct nt_err *err)
{
    bool a_ok, b_ok;
    *decided = true;
    if (probe_pair(d, a, prober, &a_ok, err) != 0 || probe_pair(d, b, prober, &b_ok, err) != 0)
        return -1;
    if (!is_undecided(d, a, b))
        return 0;
    *decided = d->membership->lost[prober] == NULL && (a_ok || b_ok);
    if (!*decided) {
        nt_suspicion_add(d->membership, prober);
        return 0;
    }
    /* the success first, so that the prober is not suspect when the failure is noted */
    uint32_t first = a_ok ? a : b, second = a_ok ? b : a;
    nt_failure_note_pair(d, first, prober, true);
    nt_failure_note_pair(d, second, prober, a_ok && b_ok);
    return resolve_accused(d, second, err);
}

/* Gives up one of two hosts if no third host is left as prober. The host with the lower index
 * stays: rank 0 continues in any case, and for two other hosts there is no evidence. */
static int lose_one_of(struct nt_failure_detector *d, uint32_t a, uint32_t b, struct nt_err *err)
{
    char reason[64];
    snprintf(reason, sizeof reason, "not reached, last in round %u", *d->round);
    return set_lost(d, a > b ? a : b, reason, err);
}

/* Decides on two hosts that are both suspect. Without a prober they measure with each other again:
 * flows that shared a link in the round may have failed although both hosts are online. */
static int resolve_pair(struct nt_failure_detector *d, uint32_t a, uint32_t b, struct nt_err *err)
{
    bool decided = false, ok;
    for (int k = 0; k < PROBERS_MAX && !decided; k++) {
        uint32_t prober = nt_suspicion_find_prober(d->membership);
        if (prober == NT_NO_INDEX)
            break;
        if (probe_indirectly(d, a, b, prober, &decided, err) != 0)
            return -1;
    }
    if (decided)
        return 0;
    if (probe_pair(d, a, b, &ok, err) != 0)
        return -1;
    if (!is_undecided(d, a, b))
        return 0;
    nt_failure_note_pair(d, a, b, ok);
    return nt_suspicion_is_mutual(d->membership, a, b, FAILURES_PAIR_LOST)
               ? lose_one_of(d, a, b, err)
               : 0;
}

/* Latency rounds change partners, so the next round may decide. Flows may be repeated with the same
 * pairs, so one failure is enough. A failed kernel is no evidence for any pair. */
int nt_failure_resolve(struct nt_failure_detector *d, const struct nt_order *order,
                       struct nt_err *err)
{
    unsigned failures = order->kind == NT_ORDER_LATENCY ? 2 : 1;
    for (size_t k = 0; k < order->pairs && order->kind != NT_ORDER_KERNEL; k++)
        if (resolve_accused(d, order->pair[k][0], err) != 0 ||
            resolve_accused(d, order->pair[k][1], err) != 0)
            return -1;
    for (size_t k = 0; k < order->pairs && order->kind != NT_ORDER_KERNEL; k++) {
        uint32_t a = order->pair[k][0], b = order->pair[k][1];
        if (!d->ops->is_time_over(d->context) &&
            nt_suspicion_is_mutual(d->membership, a, b, failures) &&
            resolve_pair(d, a, b, err) != 0)
            return -1;
    }
    return 0;
}
