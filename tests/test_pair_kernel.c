/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels among processes of this machine, whose participant 0 is slow to say that it is
 * over: each other leaves at once when it knows, and the rest learn it after that. */
#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "pair.h"
#include "ucx_environment.h"

enum { MEMBERS = 4, ADDRESS_MAX = 4096 };

/* Of pair_kernel.c's tags. */
enum { TAG_SHIFT = 24, TAG_CONTINUE = 0x42 };

/* Stands before the library's own: each verdict waits until the one before has had its effect. */
ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*real)(ucp_ep_h, const void *, size_t, ucp_tag_t,
                                    const ucp_request_param_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    if ((tag >> TAG_SHIFT & 0xff) == TAG_CONTINUE)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return real(ep, buffer, count, tag, param);
}

/* What a participant says of it. */
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

/* Runs the kernel and ends the process, and its connections with it. */
static int take_part(int fd, size_t self, const char *kernel)
{
    struct nt_pair *pair;
    struct address mine = {0}, all[MEMBERS];
    struct nt_kernel_group group = {.n = MEMBERS, .self = self};
    struct nt_order order = {.kind = NT_ORDER_KERNEL,
                             .message_bytes = 1024,
                             .batches = 2,
                             .count = 16,
                             .pairs = MEMBERS};
    struct nt_result result = {0};
    struct said said = {0};
    snprintf(order.kernel, sizeof order.kernel, "%s", kernel);
    if (nt_pair_create(&pair, &err) != 0)
        return 1;
    const void *address = nt_pair_address(pair, &mine.bytes);
    if (mine.bytes > sizeof mine.data)
        return 1;
    memcpy(mine.data, address, mine.bytes);
    if (!give(fd, &mine, sizeof mine) || !take(fd, all, sizeof all))
        return 1;
    for (size_t k = 0; k < MEMBERS; k++) {
        group.address[k] = all[k].data;
        group.address_bytes[k] = all[k].bytes;
    }
    double now = nt_clock_s();
    said.rc = nt_pair_connect_group(pair, &group, &order, now + 10, &err);
    if (said.rc == 0)
        said.rc = nt_pair_measure(pair, &order, now + 15, now + 20, &result, &err);
    said.count = result.count;
    if (said.rc != 0)
        snprintf(said.why, sizeof said.why, "%.95s", err.text);
    return give(fd, &said, sizeof said) ? 0 : 1;
}

struct people {
    pid_t pid[MEMBERS];
    int fd[MEMBERS];
};

static void gather(struct people *p, const char *kernel)
{
    struct address all[MEMBERS];
    for (size_t k = 0; k < MEMBERS; k++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        p->pid[k] = fork();
        assert_at_least(p->pid[k], 0);
        if (p->pid[k] == 0) {
            for (size_t j = 0; j < k; j++)
                close(p->fd[j]);
            close(ends[0]);
            _exit(take_part(ends[1], k, kernel));
        }
        close(ends[1]);
        p->fd[k] = ends[0];
    }
    for (size_t k = 0; k < MEMBERS; k++)
        assert_true(take(p->fd[k], &all[k], sizeof all[k]));
    for (size_t k = 0; k < MEMBERS; k++)
        assert_true(give(p->fd[k], all, sizeof all));
}

TEST(who_leaves_first_takes_nothing_from_the_others)
{
    static const char *const kernels[] = {"a2a", "o2a", "a2o", "sr:4", "gups"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct people p;
        gather(&p, kernels[i]);
        for (size_t k = 0; k < MEMBERS; k++) {
            struct said said;
            int status;
            assert_true(take(p.fd[k], &said, sizeof said));
            if (said.rc != 0)
                fail_msg("%s, participant %zu: %s", kernels[i], k, said.why);
            assert_int_equal(said.count, k == 0 ? 2 : 0);
            close(p.fd[k]);
            assert_int_equal(waitpid(p.pid[k], &status, 0), p.pid[k]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    set_ucx_environment(argv);
    /* as the probe sets it for itself, before the library looks */
    setenv("UCX_TLS", "tcp", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
    setenv("UCX_VFS_ENABLE", "n", 1);
    setenv("UCX_TCP_CONN_NB", "y", 1);
    signal(SIGPIPE, SIG_IGN);
    return run_group(NULL, NULL);
}
