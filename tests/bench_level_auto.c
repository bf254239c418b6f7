/* SPDX-License-Identifier: Apache-2.0 */
/* What level = auto of nettopo.conf costs and loses: 20,000 jobs of 60 days on 2,000 hosts.
 *
 *     build/tests/bench_level_auto [JOBS, default 20000 [MOVES, hosts in 10,000 that move a day,
 * 1]]
 *
 * Jobs have 2 to 512 hosts, small ones more often, runs of neighbours; their time limits are even
 * on a logarithmic scale from 2 minutes to 2 days, one in ten has none (taken for 2 days). Hosts
 * move, and links get narrow (half as often; mended after 10 days), at random. The prior is written
 * once a day from what was measured until then: a host is where it was last measured, on that day,
 * with a support that grows with the jobs that met it (0.8, 0.9, 0.96, ...). Seconds of a level are
 * assumed, for the budget of 5 s: skip 0.05, quick 1, quick from a prior 0.4, standard 5.
 *
 * A row a policy: the share of jobs that skip, are quick, are standard; seconds that a job waits,
 * host-hours that all wait, and those in millionths of what the jobs have; jobs in 1,000 whose map
 * has a host where it is not (only of jobs that skip: sweeps verify); and jobs in 1,000 in which a
 * narrow link is not seen, of those that have one. The first ten days teach and do not count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "level_auto.h"
#include "rng.h"

enum { HOSTS = 2000, DAYS = 60, WARM_DAYS = 10, MOST = 512, MEND_DAYS = 10 };
static const double SKIP_S = 0.05, QUICK_S = 1, VERIFY_S = 0.4, STANDARD_S = 5, LONGEST_S = 172800;

enum policy { ALWAYS_STANDARD, ALWAYS_QUICK, AUTO };

struct host {
    double moved, narrow; /* when last; narrow until narrow + MEND_DAYS */
    double seen, told;    /* when last measured; as the prior has it, -1: never */
    unsigned jobs, told_jobs;
};

struct tally {
    double jobs, level[3], wait_s, host_wait_s, host_s, wrong, narrow, unseen;
};

static void change_hosts(struct host *h, double from, double to, double rate, struct nt_rng *rng)
{
    for (size_t k = 0; k < HOSTS; k++) {
        if (nt_rng_uniform(rng) < rate * (to - from))
            h[k].moved = to;
        if (nt_rng_uniform(rng) < 0.5 * rate * (to - from))
            h[k].narrow = to;
    }
}

static double support_of(unsigned jobs)
{
    return jobs == 0 ? 0 : 1 - 0.5 * pow(0.4, jobs);
}

/* The facts of a job of hosts from at on. */
static struct nt_auto_facts facts_of(const struct host *h, size_t at, size_t hosts, double now)
{
    struct nt_auto_facts f = {.hosts = hosts, .support = 1, .budget_s = STANDARD_S};
    double oldest = now;
    for (size_t k = at; k < at + hosts; k++) {
        if (h[k].told < 0)
            continue;
        f.known++;
        oldest = fmin(oldest, h[k].told);
        f.support = fmin(f.support, support_of(h[k].told_jobs));
    }
    f.whole = f.known == hosts;
    f.age_days = (int64_t)(floor(now) - floor(oldest));
    return f;
}

static void run_job(struct host *h, enum policy policy, double now, struct nt_rng *rng,
                    struct tally *t)
{
    size_t hosts = (size_t)exp2(1 + 8 * pow(nt_rng_uniform(rng), 2));
    size_t at = nt_rng_below(rng, HOSTS - MOST);
    double limit_s = 120 * pow(LONGEST_S / 120, nt_rng_uniform(rng));
    bool unlimited = nt_rng_below(rng, 10) == 0;
    struct nt_auto_facts f = facts_of(h, at, hosts, now);
    f.limit_s = unlimited ? 0 : limit_s;
    enum nt_auto_level level = policy == ALWAYS_STANDARD ? NT_AUTO_STANDARD
                               : policy == ALWAYS_QUICK  ? NT_AUTO_QUICK
                                                         : nt_auto_level_choose(&f);
    double latency_s = f.known * 2 >= hosts ? VERIFY_S : QUICK_S;
    double wait_s = level == NT_AUTO_SKIP    ? SKIP_S
                    : level == NT_AUTO_QUICK ? latency_s
                                             : STANDARD_S;
    bool wrong = false, narrow = false;
    for (size_t k = at; k < at + hosts; k++) {
        wrong |= h[k].moved > h[k].told;
        narrow |= now < h[k].narrow + MEND_DAYS;
        if (level == NT_AUTO_SKIP)
            continue;
        h[k].jobs = h[k].moved > h[k].seen ? 1 : h[k].jobs + 1;
        h[k].seen = now;
    }
    if (now < WARM_DAYS)
        return;
    t->jobs++;
    t->level[level]++;
    t->wait_s += wait_s;
    t->host_wait_s += wait_s * (double)hosts;
    t->host_s += (unlimited ? LONGEST_S : limit_s) * (double)hosts;
    t->wrong += wrong && level == NT_AUTO_SKIP;
    t->narrow += narrow;
    t->unseen += narrow && level != NT_AUTO_STANDARD;
}

static struct tally run(enum policy policy, size_t jobs, double rate)
{
    static struct host h[HOSTS];
    struct tally t = {0};
    struct nt_rng rng;
    double last = 0;
    nt_rng_init(&rng, 7);
    for (size_t k = 0; k < HOSTS; k++)
        h[k] = (struct host){.moved = -1, .narrow = -1000, .seen = -1, .told = -1};
    for (size_t j = 0; j < jobs; j++) {
        double now = (double)j * DAYS / (double)jobs;
        if (floor(now) > floor(last))
            for (size_t k = 0; k < HOSTS; k++) {
                h[k].told = h[k].seen;
                h[k].told_jobs = h[k].jobs;
            }
        change_hosts(h, last, now, rate, &rng);
        run_job(h, policy, now, &rng, &t);
        last = now;
    }
    return t;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {"standard", "quick", "auto"};
    size_t jobs = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    double moves = argc > 2 ? strtod(argv[2], NULL) : 1;
    printf("%zu jobs, %g of 10,000 hosts move a day\n", jobs, moves);
    printf("level    skip%% quick%% standard%% s/job host-hours millionths wrong/1000 "
           "narrow-unseen/1000\n");
    for (int p = ALWAYS_STANDARD; p <= AUTO; p++) {
        struct tally t = run((enum policy)p, jobs < 100 ? 100 : jobs, moves * 1e-4);
        printf("%-8s %5.1f %6.1f %9.1f %5.2f %10.1f %10.1f %10.2f %18.0f\n", name[p],
               100 * t.level[0] / t.jobs, 100 * t.level[1] / t.jobs, 100 * t.level[2] / t.jobs,
               t.wait_s / t.jobs, t.host_wait_s / 3600, 1e6 * t.host_wait_s / t.host_s,
               1000 * t.wrong / t.jobs, t.narrow > 0 ? 1000 * t.unseen / t.narrow : 0);
    }
    return 0;
}
