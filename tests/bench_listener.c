/* What a host costs at the door of the host that it comes to: connection, greeting and one MUNGE
 * credential each way, with munged on the same machine. The door and who knocks are the real ones.
 */
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "connector.h"
#include "listener.h"
#include "own_munge.h"
#include "subtree.h"

enum { MEMBERS = 192 };

struct bill {
    double cpu_s, wall_s;
};

static void give_up(const char *what)
{
    fprintf(stderr, "bench_listener: %s\n", what);
    exit(4);
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void *take(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (memory == NULL)
        give_up("out of memory");
    return memory;
}

static char **make_names(size_t n)
{
    char **name = take(n, sizeof *name);
    for (size_t k = 0; k < n; k++) {
        name[k] = take(16, 1);
        snprintf(name[k], 16, "n%zu", k);
    }
    return name;
}

static struct bill run_listener(const struct nt_conf *conf, const struct nt_job *job, int ready)
{
    static struct nt_listener listener;
    struct nt_err err = {0};
    struct bill bill = {0};
    struct pollfd polls[NT_LISTENER_POLLFDS];
    if (nt_listener_open(&listener, conf, job, &err) != 0 || write(ready, "", 1) != 1)
        give_up(err.text);
    double began = 0, cpu = 0;
    for (size_t in = 1; in < job->hosts;) {
        struct nt_conn conn;
        size_t host;
        poll(polls, (nfds_t)nt_listener_pollfds(&listener, polls), 100);
        if (began == 0) {
            began = nt_clock_s();
            cpu = cpu_s();
        }
        while (nt_listener_step(&listener, &host, &conn) == 1)
            in++; /* stays open until we end */
    }
    bill.wall_s = nt_clock_s() - began;
    bill.cpu_s = cpu_s() - cpu;
    return bill;
}

static void connect_all(const struct nt_conf *conf, const struct nt_job *job)
{
    size_t n = job->hosts, in = 1;
    struct nt_connector *connector = take(n, sizeof *connector);
    struct nt_job *each = take(n, sizeof *each);
    struct nt_conn *conn = take(n, sizeof *conn);
    struct nt_addresses at = {.count = 1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&at.at[0], &to, sizeof to);
    for (size_t k = 1; k < n; k++) {
        each[k] = *job;
        each[k].self = k;
        conn[k].fd = -1;
        nt_connector_init(&connector[k], conf, &each[k], 0, &at);
    }
    for (double until = nt_clock_s() + 60; in < n && nt_clock_s() < until;)
        for (size_t k = 1; k < n; k++)
            in += !nt_conn_is_open(&conn[k]) && nt_connector_step(&connector[k], &conn[k]) == 1;
    if (in < n)
        give_up("not everyone was let in");
    for (size_t k = 1; k < n; k++)
        nt_conn_fini(&conn[k]);
    free(connector);
    free(each);
    free(conn);
}

/* The door in a process of its own, for its bill; everybody knocks from this one. */
static struct bill listen_and_connect(const struct nt_conf *conf, const struct nt_job *job)
{
    int ready[2], told[2];
    char byte;
    struct bill bill;
    if (pipe(ready) != 0 || pipe(told) != 0)
        give_up("pipe refused");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        bill = run_listener(conf, job, ready[1]);
        _exit(write(told[1], &bill, sizeof bill) == (ssize_t)sizeof bill ? 0 : 4);
    }
    close(ready[1]);
    close(told[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1)
        give_up("no door");
    connect_all(conf, job);
    if (read(told[0], &bill, sizeof bill) != (ssize_t)sizeof bill)
        give_up("the door failed");
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(told[0]);
    return bill;
}

static void print_table(const struct bill *bill)
{
    double each = bill->wall_s / MEMBERS;
    printf("%d hosts at once: %.2f ms each, of which %.2f ms of the agent's own. At that pace\n"
           "everybody has been let in after, in seconds\n\n"
           " hosts    a star   in blocks\n",
           MEMBERS, each * 1e3, bill->cpu_s / MEMBERS * 1e3);
    for (size_t hosts = 64; hosts <= 65536; hosts *= 4) {
        size_t block = nt_block_hosts(hosts, 0);
        size_t most = block - 1 + (hosts + block - 1) / block - 1;
        printf("%6zu %9.2f", hosts, (double)(hosts - 1) * each);
        if (block < hosts)
            printf(" %11.2f", (double)most * each);
        putchar('\n');
    }
}

int main(void)
{
    struct own_munge munge;
    struct nt_conf conf;
    signal(SIGPIPE, SIG_IGN);
    nt_conf_default(&conf);
    if (!own_munge_start(&munge))
        return 77;
    snprintf(conf.munge_socket, sizeof conf.munge_socket, "%s", munge.socket);
    conf.port_first = 32100;
    conf.port_last = 32227;
    struct nt_job job = {
        .id = (uint32_t)getpid(), .hosts = MEMBERS + 1, .host = make_names(MEMBERS + 1)};
    struct bill bill = listen_and_connect(&conf, &job);
    own_munge_stop(&munge);
    print_table(&bill);
    for (size_t k = 0; k <= MEMBERS; k++)
        free(job.host[k]);
    free(job.host);
    return 0;
}
