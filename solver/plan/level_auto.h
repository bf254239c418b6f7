/* SPDX-License-Identifier: Apache-2.0 */
/* Whether to measure a job at all, and how much: level = auto of nettopo.conf.
 *
 *   the prior is    time limit under 100 budgets   under 1,000   from 1,000 on, or none
 *   sure            skip                           skip          quick
 *   partial         quick                          quick         standard
 *   missing         quick                          standard      standard
 *
 * Sure: it knows every host and where all of them meet, with NT_SUPPORT_ACTED, below which no hint
 * acts; its oldest part is of the last NT_AUTO_DAYS days; and hosts times days, today counted, are
 * at most NT_AUTO_HOST_DAYS: with one host in 10,000 moved a day, one sure prior in twenty is then
 * wrong at the most. Partial: it knows half of the hosts, and verifying it is faster than finding
 * the network anew.
 * tests/bench level_auto has what the rule costs and loses. Pure, no clock.
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
    size_t hosts, known; /* of the job; of them, known to the prior */
    bool whole;          /* all of them take part, and it knows where all known hosts meet */
    double support;      /* of the least certain part, 0 to 1 */
    int64_t age_days;    /* of the oldest part; negative: of the future, which is not believed */
    double limit_s;      /* of the job's time; 0: none, or not known */
    double budget_s;     /* of a sweep, over 0 */
};

enum nt_auto_level nt_auto_level_choose(const struct nt_auto_facts *facts);

#endif
