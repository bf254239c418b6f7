/* SPDX-License-Identifier: Apache-2.0 */
/* fabric: an emulated network between network namespaces, or what it declares. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "err.h"
#include "loop.h"

/* ---- processors that do not rest --------------------------------------------------------*/

/* Keeps this machine's processors awake while a network is emulated.
 *
 * A virtual processor with nothing to do is given back to the machine's host, and waits for its
 * turn there whenever something wakes up: on a host that has much to do most of a round trip is
 * that wait. So does a real one in a deep state of rest, for less. */
enum { STACK_BYTES = 64 << 10, TURNS = 4000 };

/* Behind everything else, so that it takes nobody's time, and counted as nice. */
static int be_last(size_t processor)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    struct sched_param none = {.sched_priority = 0};
    if (sched_setaffinity(0, sizeof only, &only) != 0 ||
        sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        return -1;
    return setpriority(PRIO_PROCESS, 0, 19); /* of this thread */
}

static void *stay_awake(void *processor)
{
    if (be_last((size_t)(uintptr_t)processor) != 0)
        return NULL;
    for (;;) {
        for (volatile int k = 0; k < TURNS; k++)
            continue;
        sched_yield(); /* a kernel that preempts lazily looks here */
    }
}

/* The scheduler groups processes by session, and a group that has nothing but this gets as much as
 * any other: the class counts within a group. */
static void be_last_session(void)
{
    static const char nice[] = "19";
    setsid();
    int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd < 0) /* no such groups */
        return;
    (void)!write(fd, nice, sizeof nice - 1);
    close(fd);
}

static void stay_awake_all(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    pthread_attr_t attr;
    pthread_t thread;
    be_last_session();
    if (pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (long k = 0; k < processors && k < CPU_SETSIZE; k++)
        (void)pthread_create(&thread, &attr, stay_awake, (void *)(uintptr_t)k);
    for (;;)
        pause();
}

static void stay_awake_meanwhile(void)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        stay_awake_all();
    _exit(0);
}

/* ---- the program --------------------------------------------------------------------------*/

static const char USAGE[] =
    "usage: fabric [--netns PREFIX] [--ready FILE] [--control SOCKET] [--spin US] [--rest] FABRIC\n"
    "                                      run, with a card in each namespace PREFIX + host;\n"
    "                                      --rest: others keep the processors awake\n"
    "       fabric --set SOCKET host NAME|link A B [rate=MBIT] [latency=US] [loss=PERCENT]\n"
    "              [mtu=BYTES] [down|up] [way=out|in|both]\n"
    "                                      change a link of the one that runs with that SOCKET\n"
    "       fabric --hosts FABRIC          the hosts, one a line\n"
    "       fabric --truth FABRIC [BYTES [RAIL]]\n"
    "                                      declared one-way latencies in us, as matrix CSV\n"
    "       fabric --shape FABRIC [RAIL]   the tree, as one line\n"
    "       fabric --can                   whether this machine can run one, in a fresh "
    "namespace\n";

enum { PING_BYTES = 119, BYTES_MAX = 1 << 20, SPIN_US = 100, SPIN_MAX_US = 10000 };

struct options {
    int verb; /* 'r'un, 'h'osts, 't'ruth, 's'hape, 'c'an, chan'g'e */
    const char *netns, *ready, *control, *file;
    char *const *words; /* of a change */
    int word_count;
    long spin_us, bytes, rail;
    bool rest;
};

static int parse_long(const char *word, long min, long max, long *value)
{
    char *end;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || number < min || number > max)
        return -1;
    *value = number;
    return 0;
}

static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"netns", required_argument, NULL, 'n'},
        {"ready", required_argument, NULL, 'r'},
        {"spin", required_argument, NULL, 'w'},
        {"control", required_argument, NULL, 'o'},
        {"set", required_argument, NULL, 'g'},
        {"hosts", no_argument, NULL, 'h'},
        {"truth", no_argument, NULL, 't'},
        {"shape", no_argument, NULL, 's'},
        {"can", no_argument, NULL, 'c'},
        {"rest", no_argument, NULL, 'e'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){.verb = 'r', .netns = "", .spin_us = SPIN_US, .bytes = PING_BYTES};
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (c == 'n')
            options->netns = optarg;
        else if (c == 'r')
            options->ready = optarg;
        else if (c == 'o' || c == 'g')
            options->control = optarg;
        options->rest = options->rest || c == 'e';
        if (strchr("htscg", c) != NULL)
            options->verb = c;
        else if (c == '?' ||
                 (c == 'w' && parse_long(optarg, 0, SPIN_MAX_US, &options->spin_us) != 0))
            return -1;
    }
    options->words = argv + optind;
    options->word_count = argc - optind;
    if (options->verb == 'g')
        return options->word_count > 0 ? 0 : -1;
    if (options->verb == 'c')
        return optind == argc ? 0 : -1;
    if (optind == argc)
        return -1;
    options->file = argv[optind++];
    if (options->verb == 't' && optind < argc &&
        parse_long(argv[optind++], 0, BYTES_MAX, &options->bytes) != 0)
        return -1;
    if ((options->verb == 't' || options->verb == 's') && optind < argc &&
        parse_long(argv[optind++], 0, NT_FAB_RAILS_MAX - 1, &options->rail) != 0)
        return -1;
    return optind == argc ? 0 : -1;
}

static void print_hosts(const struct nt_fab *fab)
{
    for (int h = 0; h < fab->host_count; h++)
        puts(fab->hosts[h].name);
}

static void print_truth(const struct nt_fab *fab, const struct nt_fab_routes *routes,
                        const struct options *options)
{
    for (int h = 0; h < fab->host_count; h++)
        if (fab->hosts[h].ports[options->rail] >= 0)
            printf(",%s", fab->hosts[h].name);
    putchar('\n');
    for (int a = 0; a < fab->host_count; a++) {
        int from = fab->hosts[a].ports[options->rail];
        if (from < 0)
            continue;
        printf("%s", fab->hosts[a].name);
        for (int b = 0; b < fab->host_count; b++) {
            int to = fab->hosts[b].ports[options->rail];
            if (to == from)
                putchar(',');
            else if (to >= 0)
                printf(",%.3f",
                       (double)nt_fab_path_ns(fab, routes, from, to, (uint32_t)options->bytes) /
                           1e3);
        }
        putchar('\n');
    }
}

static int print_shape(const struct nt_fab *fab, const struct options *options, struct nt_err *err)
{
    static char text[NT_FAB_SHAPE_BYTES];
    if (nt_fab_shape(options->file, fab, (int)options->rail, text, err) != 0)
        return -1;
    puts(text);
    return 0;
}

static double card_rate(const struct nt_fab *fab, int node)
{
    for (int l = 0; l < fab->link_count; l++)
        if (fab->links[l].from == node)
            return fab->links[l].rate_mbit;
    return 0;
}

/* Opens the cards of all ports, each from inside its namespace, and comes back. */
static int open_taps(const struct nt_fab *fab, const char *netns, struct nt_fab_tap *taps,
                     struct nt_err *err)
{
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "/proc/self/ns/net: %s", strerror(errno));
    int stamp = nt_fab_stamp_load(err), status = stamp < 0 ? -1 : 0;
    for (int p = 0; status == 0 && p < fab->port_count; p++) {
        const struct nt_fab_port *port = &fab->ports[p];
        char path[sizeof "/run/netns/" + 2 * NT_FAB_NAME_BYTES];
        snprintf(path, sizeof path, "/run/netns/%s%s", netns, fab->hosts[port->host].name);
        struct nt_fab_card card = {path, port->host, port->rail, card_rate(fab, port->node), stamp};
        status = nt_fab_tap_open(&card, &taps[p], err);
    }
    if (stamp >= 0)
        close(stamp);
    if (setns(home, CLONE_NEWNET) != 0 && status == 0)
        status = nt_err_set(err, NT_ERR_SYSTEM, "setns: %s", strerror(errno));
    close(home);
    return status;
}

static int write_ready(const char *path, struct nt_err *err)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

static int open_stop(struct nt_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    int fd = -1;
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        nt_err_set(err, NT_ERR_SYSTEM, "signalfd: %s", strerror(errno));
    return fd;
}

/* Being late shows as latency: no page faults, no coarse timers, ahead of the hosts. Niceness alone
 * is not ahead: a kernel that preempts lazily lets whoever runs, however nice, run on to its tick,
 * milliseconds away. */
static void be_punctual(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        fprintf(stderr, "fabric: memory is not locked: %s\n", strerror(errno));
    struct sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0)
        return;
    if (setpriority(PRIO_PROCESS, 0, -10) != 0)
        fprintf(stderr, "fabric: no priority: %s\n", strerror(errno));
}

static int run_loop(struct nt_fab *fab, const struct nt_fab_routes *routes,
                    const struct options *options, const struct nt_fab_tap *taps, int stop,
                    int control, struct nt_err *err)
{
    be_punctual();
    if (options->ready != NULL && write_ready(options->ready, err) != 0)
        return -1;
    struct nt_fab_counts counts = {0};
    fprintf(stderr, "fabric: up, %d hosts, %d links\n", fab->host_count, fab->link_count / 2);
    int status =
        nt_fab_loop(fab, routes, taps, stop, control, options->spin_us * 1000, &counts, err);
    fprintf(stderr,
            "fabric: down, in %llu out %llu lost %llu dropped %llu refused %llu frames, %.1f MB, "
            "at most %.0f us late\n",
            (unsigned long long)counts.in, (unsigned long long)counts.out,
            (unsigned long long)counts.lost, (unsigned long long)counts.dropped,
            (unsigned long long)counts.refused, (double)counts.bytes / 1e6,
            (double)counts.late_max_ns / 1e3);
    if (options->ready != NULL)
        unlink(options->ready);
    return status;
}

static int run(struct nt_fab *fab, const struct nt_fab_routes *routes,
               const struct options *options, struct nt_err *err)
{
    static struct nt_fab_tap taps[NT_FAB_PORTS_MAX];
    for (int p = 0; p < fab->port_count; p++)
        taps[p] = (struct nt_fab_tap){-1, -1};
    if (!options->rest)
        stay_awake_meanwhile(); /* before there are cards, which its process would keep */
    int stop = open_stop(err), control = -1;
    if (stop < 0)
        return -1;
    int status = open_taps(fab, options->netns, taps, err);
    if (status == 0 && options->control != NULL) {
        control = nt_fab_control_open(options->control, err);
        status = control < 0 ? -1 : 0;
    }
    if (status == 0)
        status = run_loop(fab, routes, options, taps, stop, control, err);
    if (control >= 0) {
        close(control);
        unlink(options->control);
    }
    for (int p = 0; p < fab->port_count; p++)
        nt_fab_tap_close(&taps[p]);
    close(stop);
    return status;
}

/* Tries all that the kernel must be able to do, out of everybody's way. */
static int try_card(struct nt_err *err)
{
    if (unshare(CLONE_NEWNET) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "no network namespace: %s", strerror(errno));
    int stamp = nt_fab_stamp_load(err);
    if (stamp < 0)
        return -1;
    struct nt_fab_tap tap;
    struct nt_fab_card card = {"/proc/self/ns/net", 0, 0, 1000, stamp};
    int status = nt_fab_tap_open(&card, &tap, err);
    if (status == 0)
        nt_fab_tap_close(&tap);
    close(stamp);
    return status;
}

static int act(const struct options *options, struct nt_err *err)
{
    static struct nt_fab fab;
    static struct nt_fab_routes routes;
    if (options->verb == 'c')
        return try_card(err);
    if (options->verb == 'g')
        return nt_fab_control_ask(options->control, options->words, options->word_count, err);
    if (nt_fab_read(options->file, &fab, err) != 0)
        return -1;
    if (nt_fab_routes_find(options->file, &fab, &routes, err) != 0)
        return -1;
    if (options->verb == 'r')
        return run(&fab, &routes, options, err);
    if (options->verb == 's')
        return print_shape(&fab, options, err);
    if (options->verb == 't')
        print_truth(&fab, &routes, options);
    else
        print_hosts(&fab);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    if (parse_options(argc, argv, &options) != 0) {
        fputs(USAGE, stderr);
        return NT_ERR_USAGE;
    }
    struct nt_err err = {0};
    if (act(&options, &err) != 0) {
        fprintf(stderr, "fabric: %s\n", err.text);
        return (int)err.kind;
    }
    return fflush(stdout) == 0 ? 0 : NT_ERR_SYSTEM;
}
