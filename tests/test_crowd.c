/* Stress kernels among processes of this machine, of which one is held up again and again. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "pair.h"
#include "pair_crowd.h"

enum { CROWD = 4, ROUNDS = 40, ADDRESS_MAX = 4096 };

/* What a participant says of a round. */
struct said {
    int rc;
    uint32_t count;
    char why[96];
};

struct address {
    size_t bytes;
    unsigned char data[ADDRESS_MAX];
};

static bool give(int fd, const void *data, size_t bytes)
{
    return write(fd, data, bytes) == (ssize_t)bytes;
}

static bool take(int fd, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        ssize_t n = read(fd, at, bytes);
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static struct nt_order order_of(uint32_t round)
{
    static const char *const kernels[] = {"a2a", "o2a", "a2o", "sr:4", "gups"};
    struct nt_order order = {
        .kind = NT_ORDER_KERNEL, .message_bytes = 1024, .batches = 2, .count = 16, .pairs = CROWD};
    snprintf(order.kernel, sizeof order.kernel, "%s", kernels[round % 5]);
    return order;
}

/* Connects when told to, says so, plays when told to, says how it was, and goes at once: as in a
 * sweep, where nobody knows how far the others are. */
static int take_part(int fd, size_t self)
{
    struct nt_pair *pair;
    struct address mine = {0}, all[CROWD];
    struct nt_crowd crowd = {.n = CROWD, .self = self};
    struct nt_err err = {0};
    char go;
    if (nt_pair_create(&pair, &err) != 0)
        return 1;
    const void *address = nt_pair_address(pair, &mine.bytes);
    if (mine.bytes > sizeof mine.data)
        return 1;
    memcpy(mine.data, address, mine.bytes);
    if (!give(fd, &mine, sizeof mine) || !take(fd, all, sizeof all))
        return 1;
    for (size_t k = 0; k < CROWD; k++) {
        crowd.address[k] = all[k].data;
        crowd.address_bytes[k] = all[k].bytes;
    }
    for (; take(fd, &go, 1); crowd.round++) {
        struct nt_order order = order_of(crowd.round);
        struct nt_result result = {0};
        struct said said = {0};
        double now = nt_clock_s();
        said.rc = nt_crowd_connect(pair, &crowd, &order, now + 10, &err);
        if (!give(fd, &go, 1) || !take(fd, &go, 1))
            return 1;
        now = nt_clock_s();
        if (said.rc == 0)
            said.rc = nt_crowd_run(pair, &order, now + 5, now + 10, &result, &err);
        said.count = result.count;
        if (said.rc != 0)
            snprintf(said.why, sizeof said.why, "%.95s", err.text);
        if (!give(fd, &said, sizeof said))
            return 1;
        nt_pair_close(pair);
    }
    nt_pair_destroy(pair);
    return 0;
}

struct people {
    pid_t pid[CROWD];
    int fd[CROWD];
};

static void gather(struct people *p)
{
    struct address all[CROWD];
    for (size_t k = 0; k < CROWD; k++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        p->pid[k] = fork();
        assert_true(p->pid[k] >= 0);
        if (p->pid[k] == 0) {
            for (size_t j = 0; j < k; j++)
                close(p->fd[j]);
            close(ends[0]);
            _exit(take_part(ends[1], k));
        }
        close(ends[1]);
        p->fd[k] = ends[0];
    }
    for (size_t k = 0; k < CROWD; k++)
        assert_true(take(p->fd[k], &all[k], sizeof all[k]));
    for (size_t k = 0; k < CROWD; k++)
        assert_true(give(p->fd[k], all, sizeof all));
}

static bool has_spoken(int fd)
{
    struct pollfd look = {fd, POLLIN, 0};
    return poll(&look, 1, 0) == 1;
}

static void hold_up(struct people *p, size_t victim)
{
    for (int k = 0; k < 400 && !has_spoken(p->fd[victim]); k++) {
        kill(p->pid[victim], SIGSTOP);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        kill(p->pid[victim], SIGCONT);
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
}

/* The victim is stopped for as long as it takes the others to go, or for a while. */
static void play_round(struct people *p, uint32_t round, size_t victim)
{
    char go = 1;
    /* late in closing what it had, while the others connect anew */
    for (size_t k = 0; k < CROWD; k++)
        assert_true(give(p->fd[k], &go, 1));
    hold_up(p, victim);
    for (size_t k = 0; k < CROWD; k++)
        assert_true(take(p->fd[k], &go, 1));
    for (size_t k = 0; k < CROWD; k++)
        assert_true(give(p->fd[k], &go, 1));
    hold_up(p, victim);
    for (size_t k = 0; k < CROWD; k++) {
        struct said said;
        assert_true(take(p->fd[k], &said, sizeof said));
        if (said.rc != 0)
            fail_msg("round %u, %s, participant %zu: %s", round, order_of(round).kernel, k,
                     said.why);
        assert_int_equal(said.count, k == 0 ? 2 : 0);
        if (k == (victim + 1) % CROWD) /* the next victim has not closed yet, with luck */
            kill(p->pid[k], SIGSTOP);
    }
}

static void who_is_late_does_not_lose_what_the_others_have(void **state)
{
    struct people p;
    (void)state;
    gather(&p);
    for (uint32_t round = 0; round < ROUNDS; round++)
        play_round(&p, round, round % CROWD);
    for (size_t k = 0; k < CROWD; k++) {
        int status;
        close(p.fd[k]);
        kill(p.pid[k], SIGCONT);
        assert_int_equal(waitpid(p.pid[k], &status, 0), p.pid[k]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_late_does_not_lose_what_the_others_have),
    };
    /* as the probe sets it for itself, before the library looks */
    setenv("UCX_TLS", "tcp", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
    setenv("UCX_VFS_ENABLE", "n", 1);
    setenv("UCX_TCP_CONN_NB", "y", 1);
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
