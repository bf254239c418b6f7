/* SPDX-License-Identifier: Apache-2.0 */
/* storm [-n SCHEDULES] [-s FIRST] [-j PROCESSES] [-H HOSTS] [-f FAULT] [-v] [-1]
 *
 * Runs schedules of simulated jobs, one for each seed from FIRST on; prints each that breaks an
 * invariant, and a table of what was met. -H bounds the hosts of a job, which changes what a seed
 * draws. With -f the first fault of each is of that kind, by its name in the table. -v prints the
 * story of each and its record, -1 ends after the first that is broken. Exit 1 when one is broken.
 * Each schedule in a hundred runs twice, and must give the same story. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster.h"
#include "files.h"

enum { BATCH = 100, AGAIN = 100, HOSTS_MAX = 1024 };

const char *fault_name(size_t kind);
bool fault_is_first(const char *name);

#ifdef __SANITIZE_ADDRESS__
/* What killed processes had is no leak; what agents leave is an invariant. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

struct totals {
    uint64_t schedules, broken, faults_reached;
    uint64_t fault[64];
    uint64_t ok, partial, failed, hosts;
    uint64_t maps_claimed, maps_wrong;
    double maps_wrong_expected;
};

struct settings {
    uint64_t first, schedules;
    size_t processes, hosts_max;
    bool tells, ends_at_first;
    char as[64]; /* the options that change what a seed draws */
};

static uint64_t run_once(uint64_t seed, const struct settings *set, char violation[512])
{
    world_begin(seed, set->tells, seed % AGAIN == 0);
    cluster_begin(set->hosts_max);
    world_tell(0, "storm", "seed %llu: %s, level %s, %.2f s, blocks of %u",
               (unsigned long long)seed, cluster.topology, nt_level_name(cluster.option.level),
               cluster.option.budget_s, cluster.conf.block_hosts);
    cluster_run(seed);
    cluster_judge();
    const char *record = cluster.host[0].published.text[NT_ARTIFACT_SAMPLES];
    if (set->tells && record != NULL)
        printf("\n%s\n", record);
    memcpy(violation, world.violation, sizeof world.violation);
    uint64_t hash = world.hash;
    return hash;
}

static void forget(void)
{
    cluster_end();
    world_end();
}

static void count(struct totals *t)
{
    const char *text = cluster.host[0].outcome.text;
    t->schedules++;
    t->hosts += cluster.hosts;
    t->ok += strncmp(text, "ok", 2) == 0;
    t->partial += strncmp(text, "partial", 7) == 0;
    t->failed += strncmp(text, "failed", 6) == 0;
    t->maps_claimed += cluster.maps_claimed;
    t->maps_wrong += cluster.maps_wrong;
    t->maps_wrong_expected += cluster.maps_wrong_expected;
    for (size_t k = 0; k < 64; k++)
        t->fault[k] += faults_reached >> k & 1;
}

static void run_seed(uint64_t seed, const struct settings *set, struct totals *t)
{
    char violation[512], again[512];
    faults_reached = 0;
    uint64_t hash = run_once(seed, set, violation);
    count(t);
    char topology[64];
    memcpy(topology, cluster.topology, sizeof topology);
    forget();
    if (violation[0] == '\0' && seed % AGAIN == 0) {
        if (run_once(seed, set, again) != hash)
            snprintf(violation, sizeof violation, "the same seed gives another story");
        forget();
    }
    if (violation[0] == '\0')
        return;
    t->broken++;
    printf("seed %llu, %s: %s (storm -v -n 1 -s %llu%s)\n", (unsigned long long)seed, topology,
           violation, (unsigned long long)seed, set->as);
    fflush(stdout);
}

/* What a schedule that kills the program has broken, to be written by a handler of signals. */
static char killed[160];

static void say_killed(int number)
{
    ssize_t n = write(STDOUT_FILENO, killed, strlen(killed));
    _exit(n < 0 ? number : 128 + number);
}

static void expect_death(uint64_t seed, const struct settings *set)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    snprintf(killed, sizeof killed, "seed %llu: the program was killed (storm -v -n 1 -s %llu%s)\n",
             (unsigned long long)seed, (unsigned long long)seed, set->as);
    for (size_t k = 0; k < sizeof deaths / sizeof *deaths; k++)
        signal(deaths[k], say_killed);
}

/* What a killed process had allocated is not freed: each batch has a process of its own. */
static int run_batch(uint64_t first, uint64_t n, const struct settings *set, int to)
{
    struct totals t = {0};
    for (uint64_t k = 0; k < n && !(set->ends_at_first && t.broken > 0); k++) {
        expect_death(first + k, set);
        run_seed(first + k, set, &t);
    }
    return write(to, &t, sizeof t) == (ssize_t)sizeof t ? 0 : 1;
}

static void add(struct totals *sum, const struct totals *t)
{
    sum->schedules += t->schedules;
    sum->broken += t->broken;
    sum->ok += t->ok;
    sum->partial += t->partial;
    sum->failed += t->failed;
    sum->hosts += t->hosts;
    sum->maps_claimed += t->maps_claimed;
    sum->maps_wrong += t->maps_wrong;
    sum->maps_wrong_expected += t->maps_wrong_expected;
    for (size_t k = 0; k < 64; k++)
        sum->fault[k] += t->fault[k];
}

static void reap(int from, struct totals *sum, size_t *running)
{
    struct totals t;
    int status;
    pid_t pid = wait(&status);
    if (pid < 0)
        return;
    --*running;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
        read(from, &t, sizeof t) == (ssize_t)sizeof t) {
        add(sum, &t);
    } else {
        printf("a batch ended badly: status %d\n", status);
        sum->broken++;
    }
}

static void print_totals(const struct totals *t)
{
    printf("%llu schedules, %llu hosts: %llu ok, %llu partial, %llu failed; %llu broken\n",
           (unsigned long long)t->schedules, (unsigned long long)t->hosts,
           (unsigned long long)t->ok, (unsigned long long)t->partial, (unsigned long long)t->failed,
           (unsigned long long)t->broken);
    printf("%llu maps state a confidence of 0.5 and more: %llu wrong, %.1f by what they state\n",
           (unsigned long long)t->maps_claimed, (unsigned long long)t->maps_wrong,
           t->maps_wrong_expected);
    for (size_t k = 0; fault_name(k) != NULL; k++)
        printf("  %-26s %8llu\n", fault_name(k), (unsigned long long)t->fault[k]);
}

int main(int argc, char **argv)
{
    struct settings set = {.first = 1, .schedules = 2000, .hosts_max = HOSTS_MAX};
    struct totals sum = {0};
    int c, fd[2];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    set.processes = cores > 0 ? (size_t)cores : 1;
    const char *fault = NULL;
    while ((c = getopt(argc, argv, "n:s:j:H:f:v1")) != -1) {
        unsigned long value = optarg != NULL ? strtoul(optarg, NULL, 10) : 0;
        if (c == 'n')
            set.schedules = value;
        else if (c == 's')
            set.first = value;
        else if (c == 'j')
            set.processes = value;
        else if (c == 'H')
            set.hosts_max = value;
        else if (c == 'f')
            fault = optarg;
        else if (c == 'v')
            set.tells = true;
        else if (c == '1')
            set.ends_at_first = true;
        else
            return 2;
    }
    if (set.processes < 1 || set.hosts_max < 2 || !fault_is_first(fault) || pipe(fd) != 0)
        return 2;
    snprintf(set.as, sizeof set.as, " -H %zu%s%s%s", set.hosts_max, fault != NULL ? " -f '" : "",
             fault != NULL ? fault : "", fault != NULL ? "'" : "");
    mallopt(M_TRIM_THRESHOLD, INT_MAX); /* the pages of one schedule are those of the next */
    mallopt(M_MMAP_THRESHOLD, INT_MAX);
    size_t running = 0;
    for (uint64_t k = 0; k < set.schedules && !(set.ends_at_first && sum.broken > 0); k += BATCH) {
        uint64_t n = set.schedules - k < BATCH ? set.schedules - k : BATCH;
        if (running == set.processes)
            reap(fd[0], &sum, &running);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            int rc = run_batch(set.first + k, n, &set, fd[1]);
            fflush(stdout);
            exit(rc);
        }
        running += pid > 0;
    }
    while (running > 0)
        reap(fd[0], &sum, &running);
    print_totals(&sum);
    return sum.broken > 0;
}
