#include "verdict.h"

#include <stdio.h>

const char nt_verdict_no_network[] = "compare net_devices and tls in nettopo.conf (by hand: "
                                     "UCX_NET_DEVICES, UCX_TLS) with what ucx_info -d lists there";
static const char reach[] =
    "UCX finds no way from one host to another: see on two of them that they "
    "have a network in common (ucx_info -d; net_devices and tls in "
    "nettopo.conf), that its links are up, and that no firewall is between";
static const char time_up[] =
    "give it more time: budget=SECONDS, within budget_max of nettopo.conf";
static const char host[] = "look at this job in the log of the hosts that are named";
static const char broke[] = "look at this job in the log of its first host";

struct cause {
    const char *what, *to_do;
};

/* Why not a single pair has a figure. */
static struct cause why_nothing(const struct nt_sweep_facts *f)
{
    if (f->broken != NULL)
        return (struct cause){f->broken, broke};
    if (f->trouble[0] != '\0')
        return (struct cause){f->trouble, reach};
    if (nt_campaign_cut(f->campaign) != NULL)
        return (struct cause){"the time was too short", time_up};
    for (size_t h = 0; h < f->crew->hosts; h++)
        if (f->crew->gone[h] != NULL) /* one that came and is gone has no network */
            return (struct cause){f->crew->gone[h],
                                  f->crew->rank_of[h] == NT_NOBODY ? host : nt_verdict_no_network};
    return (struct cause){"no reason known", ""};
}

static struct cause why_too_few(const struct nt_sweep_facts *f)
{
    const char *untold = nt_campaign_undetermined(f->campaign);
    if (untold != NULL)
        return (struct cause){untold, ""};
    if (f->trouble[0] != '\0')
        return (struct cause){f->trouble, reach};
    return (struct cause){"the time was up", time_up};
}

static const char *first_gone(const struct nt_crew *crew, size_t *gone)
{
    const char *first = "";
    *gone = 0;
    for (size_t h = 0; h < crew->hosts; h++)
        if (crew->gone[h] != NULL && (*gone)++ == 0)
            first = crew->name[h];
    return first;
}

void nt_verdict_find(const struct nt_sweep_facts *f, struct nt_verdict *out)
{
    size_t present = nt_crew_present(f->crew), gone, measured = f->measured->pairs;
    const char *name = first_gone(f->crew, &gone);
    struct cause why = {"", ""};
    *out = (struct nt_verdict){.status = NT_STATUS_PARTIAL};
    if (f->crew->hosts > 1 && measured == 0) {
        why = why_nothing(f);
        out->status = NT_STATUS_FAILED;
        snprintf(out->reason, NT_REASON_BYTES, "no pair of hosts could be measured: %.160s",
                 why.what);
    } else if (gone > 0) {
        why.to_do = host;
        snprintf(out->reason, NT_REASON_BYTES,
                 "%zu of %zu hosts did not answer to the end: %.64s%s", gone, f->crew->hosts, name,
                 gone > 1 ? " and others" : "");
    } else if (f->broken != NULL) {
        why.to_do = broke;
        snprintf(out->reason, NT_REASON_BYTES, "the sweep broke off after %zu of %zu pairs: %.128s",
                 measured, f->pairs_total, f->broken);
    } else if (!nt_campaign_is_verified(f->campaign) && present > 1 &&
               measured < present * (present - 1) / 2) {
        why = why_too_few(f);
        snprintf(out->reason, NT_REASON_BYTES, "%zu of %zu pairs measured: %s", measured,
                 f->pairs_total, why.what);
    } else if (nt_campaign_cut(f->campaign) != NULL) {
        why.to_do = time_up;
        snprintf(out->reason, NT_REASON_BYTES, "%s", nt_campaign_cut(f->campaign));
    } else {
        out->status = NT_STATUS_OK;
    }
    out->to_do = why.to_do;
}
