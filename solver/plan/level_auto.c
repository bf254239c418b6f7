/* SPDX-License-Identifier: Apache-2.0 */
#include "level_auto.h"

#include "switch_support.h"

static bool is_certain(const struct nt_auto_facts *f)
{
    return f->hosts > 1 && f->known == f->hosts && f->whole && f->support >= NT_SUPPORT_USED &&
           f->age_days >= 0 && f->age_days <= NT_AUTO_DAYS &&
           (uint64_t)f->hosts * (uint64_t)(f->age_days + 1) <= NT_AUTO_HOST_DAYS;
}

enum nt_auto_level nt_auto_level_choose(const struct nt_auto_facts *f)
{
    bool is_short = f->limit_s > 0 && f->limit_s < NT_AUTO_SHORT_BUDGETS * f->budget_s;
    bool is_long = !(f->limit_s > 0) || f->limit_s >= NT_AUTO_LONG_BUDGETS * f->budget_s;
    bool is_partial = f->known > 0 && 2 * f->known >= f->hosts;
    if (is_certain(f))
        return is_long ? NT_AUTO_QUICK : NT_AUTO_SKIP;
    if (is_short || (is_partial && !is_long))
        return NT_AUTO_QUICK;
    return NT_AUTO_STANDARD;
}
