/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_status.h"

#include <stdio.h>

const char nt_no_network_advice[] = "compare net_devices and tls in nettopo.conf (by hand: "
                                    "UCX_NET_DEVICES, UCX_TLS) with what ucx_info -d lists there";
static const char reach[] =
    "UCX finds no way from one host to another: see on two of them that they "
    "have a network in common (ucx_info -d; net_devices and tls in "
    "nettopo.conf), that its links are up, and that no firewall is between";
static const char time_up[] =
    "give it more time: budget=SECONDS, within budget_max of nettopo.conf";
static const char host[] = "look at this job in the log of the hosts that are named";
static const char connect[] =
    "run nettopo-prolog --check on the hosts: munged and its key, the ports of nettopo.conf in "
    "firewalls (--host HOST)";
static const char broke[] = "look at this job in the log of its first host";

struct cause {
    const char *what, *advice;
};

/* No other host's agent or launcher brought a greeting. */
static bool is_alone(const struct nt_membership *membership)
{
    size_t greeted = 0;
    for (size_t h = 0; h < membership->hosts; h++)
        greeted += membership->rank_of[h] != NT_NO_INDEX;
    return greeted == 1;
}

/* Why not a single pair has a figure. */
static struct cause cause_of_nothing(const struct nt_sweep_facts *f)
{
    if (f->broken != NULL)
        return (struct cause){f->broken, broke};
    if (f->first_failure[0] != '\0')
        return (struct cause){f->first_failure, reach};
    if (is_alone(f->membership))
        return (struct cause){
            "no other host connected (nettopo-prolog --check tells munge, firewalls, "
            "prologs that did not start)",
            connect};
    if (nt_campaign_cut(f->campaign) != NULL)
        return (struct cause){"the time was too short", time_up};
    for (size_t h = 0; h < f->membership->hosts; h++)
        if (f->membership->lost[h] != NULL) /* one that greeted and is lost has no network */
            return (struct cause){f->membership->lost[h], f->membership->rank_of[h] == NT_NO_INDEX
                                                              ? host
                                                              : nt_no_network_advice};
    return (struct cause){"no reason known", ""};
}

static struct cause cause_of_too_few(const struct nt_sweep_facts *f,
                                     char text[NT_PAIR_FAILURE_BYTES], bool *named)
{
    const char *untold = nt_campaign_undetermined(f->campaign);
    if (untold != NULL)
        return (struct cause){untold, ""};
    if (f->failures->apart > 0) {
        nt_pair_failures_text(f->samples, f->failures, false, text);
        *named = true;
        return (struct cause){text, reach};
    }
    if (f->first_failure[0] != '\0')
        return (struct cause){f->first_failure, reach};
    return (struct cause){"the time was up", time_up};
}

static size_t first_lost(const struct nt_membership *membership, size_t *lost)
{
    size_t first = 0;
    *lost = 0;
    for (size_t h = 0; h < membership->hosts; h++)
        if (membership->lost[h] != NULL && (*lost)++ == 0)
            first = h;
    return first;
}

/* What the job's user, who does not see the hosts' logs, can tell an administrator. */
static void put_loss(const struct nt_membership *m, size_t first, size_t lost,
                     char reason[NT_REASON_BYTES])
{
    int n = snprintf(reason, NT_REASON_BYTES, "%zu of %zu hosts did not answer to the end: %.64s%s",
                     lost, m->hosts, m->name[first], lost > 1 ? " and others" : "");
    if (m->rank_of[first] == NT_NO_INDEX)
        snprintf(reason + n, NT_REASON_BYTES - (size_t)n,
                 " (never connected: nettopo-prolog --check --host %.32s tells munge, firewalls, a "
                 "prolog that did not start)",
                 m->name[first]);
    else
        snprintf(reason + n, NT_REASON_BYTES - (size_t)n, " (%.120s)", m->lost[first]);
}

static void advise_mtu(const struct nt_sweep_facts *f, char advice[NT_REASON_BYTES])
{
    const struct nt_pair_failure *pair = &f->failures->stuck_pair[0];
    const char *a = f->samples->host_name[pair->a], *b = f->samples->host_name[pair->b];
    snprintf(advice, NT_REASON_BYTES,
             "set one MTU (ip link) on %.32s, %.32s and the switches between; on %.32s: "
             "nettopo-prolog --check --host with the fabric's address of %.32s",
             a, b, a, b);
}

void nt_sweep_status_find(const struct nt_sweep_facts *f, struct nt_sweep_status *out)
{
    size_t present = nt_membership_online(f->membership), lost, measured = f->measured->pairs;
    size_t first = first_lost(f->membership, &lost);
    struct cause why = {"", ""};
    char pairs[NT_PAIR_FAILURE_BYTES];
    *out = (struct nt_sweep_status){.status = NT_STATUS_PARTIAL};
    if (f->membership->hosts > 1 && measured == 0) {
        why = cause_of_nothing(f);
        out->status = NT_STATUS_FAILED;
        snprintf(out->reason, NT_REASON_BYTES, "no pair of hosts could be measured: %.160s",
                 why.what);
    } else if (lost > 0) {
        why.advice = host;
        put_loss(f->membership, first, lost, out->reason);
    } else if (f->broken != NULL) {
        why.advice = broke;
        snprintf(out->reason, NT_REASON_BYTES, "the sweep broke off after %zu of %zu pairs: %.128s",
                 measured, f->pairs_total, f->broken);
    } else if (!nt_campaign_is_verified(f->campaign) && present > 1 &&
               measured < present * (present - 1) / 2) {
        why = cause_of_too_few(f, pairs, &out->named);
        snprintf(out->reason, NT_REASON_BYTES, "%zu of %zu pairs measured: %.200s", measured,
                 f->pairs_total, why.what);
    } else if (f->failures->stuck > 0) {
        out->named = true;
        nt_pair_failures_text(f->samples, f->failures, true, pairs);
        snprintf(out->reason, NT_REASON_BYTES, "%.250s", pairs);
        advise_mtu(f, out->advice);
        return;
    } else if (nt_campaign_cut(f->campaign) != NULL) {
        why.advice = time_up;
        snprintf(out->reason, NT_REASON_BYTES, "%s", nt_campaign_cut(f->campaign));
    } else {
        out->status = NT_STATUS_OK;
    }
    snprintf(out->advice, sizeof out->advice, "%s", why.advice);
}
