/* SPDX-License-Identifier: Apache-2.0 */
#include "level_choice.h"

#include <math.h>
#include <string.h>

#include "level_auto.h"
#include "probe_log.h"

static bool is_whole(const struct nt_membership *membership, const struct nt_belief *b)
{
    for (size_t h = 0; h < membership->hosts; h++)
        if (membership->lost[h] != NULL)
            return false;
    return b != NULL && b->levels > 0 && isfinite(b->us[b->levels - 1]);
}

static int take_belief(struct nt_samples *samples, const struct nt_belief *belief,
                       const struct nt_prior_facts *f, struct nt_err *err)
{
    char day[16];
    nt_prior_day_write(f->oldest_day, day);
    if (nt_samples_take_belief(samples, belief->us, (double)f->least_support, f->oldest_day, err) !=
        0)
        return -1;
    return nt_samples_warn(samples, err,
                           "not measured: level = auto of nettopo.conf takes the network from what "
                           "earlier jobs measured, its oldest part on %s, its support %.2g or more",
                           day, (double)f->least_support);
}

int nt_level_choose(const struct nt_probe_job *job, const struct nt_membership *membership,
                    const struct nt_belief *belief, const struct nt_prior_facts *f,
                    struct nt_samples *samples, struct nt_level_choice *out, struct nt_err *err)
{
    int32_t today;
    const char *created = samples->created;
    bool dated = f->known > 0 && nt_prior_day(created, strlen(created), &today) == 0;
    const struct nt_auto_facts facts = {.hosts = membership->hosts,
                                        .known = f->known,
                                        .whole = is_whole(membership, belief),
                                        .support = (double)f->least_support,
                                        .age_days = dated ? (int64_t)today - f->oldest_day : -1,
                                        .limit_s = job->limit_s,
                                        .budget_s = job->option.budget_s};
    *out = (struct nt_level_choice){.level = job->option.level};
    if (!job->option.level_auto)
        return 0;
    enum nt_auto_level choice = nt_auto_level_choose(&facts);
    if (choice != NT_AUTO_STANDARD)
        out->level = NT_LEVEL_QUICK;
    out->taken = choice == NT_AUTO_SKIP;
    const char *name = out->taken ? "skip" : nt_level_name(out->level);
    nt_probe_log(NT_LOG_INFO,
                 "level auto: %s; %zu of %zu hosts known, support %.2g, %lld days old, limit %u s",
                 name, f->known, facts.hosts, facts.support, (long long)facts.age_days,
                 job->limit_s);
    if (nt_samples_set_word(&samples->level, name, err) != 0)
        return -1;
    return out->taken ? take_belief(samples, belief, f, err) : 0;
}
