/* SPDX-License-Identifier: Apache-2.0 */
/* level = auto of nettopo.conf: decides whether to measure a job, and how much. Pure, no clock.
 *
 *   the prior is    time limit under 100 budgets   under 1,000   from 1,000 on, or none
 *   certain         skip                           skip          quick
 *   partial         quick                          quick         standard
 *   missing         quick                          standard      standard
 *
 * Certain: the prior covers every host and knows where all of them meet, with a support of
 * NT_SUPPORT_USED, below which hints ignore groups. Its least recent part was measured within the
 * last NT_AUTO_DAYS days. Hosts times days, including today, are at most NT_AUTO_HOST_DAYS: if one
 * host in 10,000 moves per day, at most one certain prior in twenty is then wrong. Partial: the
 * prior covers half of the hosts, so that verifying it is faster than finding the network without
 * it. tests/bench level_auto shows the costs and errors of the rule.
 * Tests: test_level_auto.c. */
#ifndef NT_LEVEL_AUTO_H
#define NT_LEVEL_AUTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NT_AUTO_DAYS = 30, NT_AUTO_HOST_DAYS = 500 };
enum { NT_AUTO_SHORT_BUDGETS = 100, NT_AUTO_LONG_BUDGETS = 1000 };

enum nt_auto_level { NT_AUTO_SKIP, NT_AUTO_QUICK, NT_AUTO_STANDARD };

struct nt_auto_facts {
    size_t hosts, known; /* of the job; of these, covered by the prior */
    bool whole;          /* all covered hosts take part, and the prior knows where they meet */
    double support;      /* of the least certain part, 0 to 1 */
    /* Of the least recent part; negative: in the future, then the prior is not used */
    int64_t age_days;
    double limit_s;  /* time limit of the job; 0: none, or unknown */
    double budget_s; /* of a sweep, above 0 */
};

enum nt_auto_level nt_auto_level_choose(const struct nt_auto_facts *facts);

#endif
