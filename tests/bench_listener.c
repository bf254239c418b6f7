/* SPDX-License-Identifier: Apache-2.0 */
/* What a member costs the listener of its leader: the connection, HELLO and one MUNGE credential
 * each way, with munged on the same machine. Listener and connectors are those of the agent. */
#include <errno.h>
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

struct cost {
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

static struct cost run_listener(const struct nt_conf *conf, const struct nt_job *job, int ready)
{
    static struct nt_listener listener;
    struct nt_err err = {0};
    struct cost cost = {0};
    struct pollfd polls[NT_LISTENER_POLLFDS];
    struct nt_service service = {.conf = conf, .job = job};
    struct nt_client client = {.fd = -1, .local = &service};
    if (nt_listener_open(&listener, conf, job, &client, &err) != 0 || write(ready, "", 1) != 1)
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
            in++; /* stays open until this process ends */
    }
    cost.wall_s = nt_clock_s() - began;
    cost.cpu_s = cpu_s() - cpu;
    return cost;
}

static void connect_all(const struct nt_conf *conf, const struct nt_job *job)
{
    size_t n = job->hosts, in = 1;
    struct nt_connector *connector = take(n, sizeof *connector);
    struct nt_job *each = take(n, sizeof *each);
    struct nt_conn *conn = take(n, sizeof *conn);
    struct nt_service *service = take(n, sizeof *service);
    struct nt_client *client = take(n, sizeof *client);
    struct nt_addresses at = {.count = 1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&at.at[0], &to, sizeof to);
    for (size_t k = 1; k < n; k++) {
        each[k] = *job;
        each[k].self = k;
        conn[k].fd = -1;
        service[k] = (struct nt_service){.conf = conf, .job = &each[k]};
        client[k] = (struct nt_client){.fd = -1, .local = &service[k]};
        nt_connector_init(&connector[k], conf, &each[k], &client[k], 0, &at);
    }
    for (double until = nt_clock_s() + 60; in < n && nt_clock_s() < until;)
        for (size_t k = 1; k < n; k++)
            in += !nt_conn_is_open(&conn[k]) && nt_connector_step(&connector[k], &conn[k]) == 1;
    if (in < n)
        give_up("not every member was accepted");
    for (size_t k = 1; k < n; k++)
        nt_conn_fini(&conn[k]);
    free(connector);
    free(each);
    free(service);
    free(client);
    free(conn);
}

/* The listener in its own process, for its cost; all members connect from this one. */
static struct cost listen_and_connect(const struct nt_conf *conf, const struct nt_job *job,
                                      double wait_s, double *took_s)
{
    int ready[2], told[2];
    char byte;
    struct cost cost;
    if (pipe(ready) != 0 || pipe(told) != 0)
        give_up("pipe failed");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        cost = run_listener(conf, job, ready[1]);
        _exit(write(told[1], &cost, sizeof cost) == (ssize_t)sizeof cost ? 0 : 4);
    }
    close(ready[1]);
    close(told[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1)
        give_up("no listener");
    nt_clock_sleep(wait_s);
    *took_s = -nt_clock_s();
    connect_all(conf, job);
    *took_s += nt_clock_s();
    if (read(told[0], &cost, sizeof cost) != (ssize_t)sizeof cost)
        give_up("the listener failed");
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(told[0]);
    return cost;
}

static void print_table(const struct cost *cost)
{
    double each = cost->wall_s / MEMBERS;
    printf("%d hosts at once: %.2f ms each, of which %.2f ms of the agent's own. At that pace\n"
           "all have connected after, in seconds\n\n"
           " hosts no blocks   in blocks\n",
           MEMBERS, each * 1e3, cost->cpu_s / MEMBERS * 1e3);
    for (size_t hosts = 64; hosts <= 65536; hosts *= 4) {
        size_t block = nt_block_hosts(hosts, 0);
        size_t most = block - 1 + (hosts + block - 1) / block - 1;
        printf("%6zu %9.2f", hosts, (double)(hosts - 1) * each);
        if (block < hosts)
            printf(" %11.2f", (double)most * each);
        putchar('\n');
    }
}

/* ---- while a machine without the key connects ---- */

enum { FLOOD_HZ = 2000, FLOOD_OPEN = 4096, TRIES = 20 };
static const double FLOOD_S = 1; /* before the member comes */

/* Root's of another machine, which says nothing: from reserved ports, 127.0.0.9. */
static _Noreturn void flood(const struct nt_conf *conf, uint32_t job)
{
    static int open_fd[FLOOD_OPEN];
    const double began = nt_clock_s();
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000009)},
                       to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    for (size_t n = 0;; n++) {
        int *fd = &open_fd[n % FLOOD_OPEN];
        if (*fd > 0)
            close(*fd);
        *fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        to.sin_port = htons(nt_port_candidate(conf, job, 0));
        for (unsigned k = 0; k < 512; k++) {
            from.sin_port = htons((uint16_t)(512 + (n + k) % 512));
            if (bind(*fd, (struct sockaddr *)&from, sizeof from) == 0 &&
                (connect(*fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS))
                break;
        }
        double next = began + (double)n / FLOOD_HZ;
        if (next > nt_clock_s())
            nt_clock_sleep(next - nt_clock_s());
    }
}

static void measure_flood(struct nt_conf *conf, struct nt_job *job)
{
    double most = 0;
    conf->reserved_ports = true;
    job->hosts = 2;
    for (int k = 0; k < TRIES; k++) {
        job->id++;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            flood(conf, job->id);
        double took;
        listen_and_connect(conf, job, FLOOD_S, &took);
        most = took > most ? took : most;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    printf(
        "\nwhile one machine makes %d connections per second from reserved ports, a member is in\n"
        "after %.3f s at most, of %d\n",
        FLOOD_HZ, most, TRIES);
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
    double took;
    struct cost cost = listen_and_connect(&conf, &job, 0, &took);
    print_table(&cost);
    measure_flood(&conf, &job);
    own_munge_stop(&munge);
    for (size_t k = 0; k <= MEMBERS; k++)
        free(job.host[k]);
    free(job.host);
    return 0;
}
