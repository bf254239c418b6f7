/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel holds a probe by: this program is the probe, and does what it is told on its
 * socket. And what outruns whoever ends processes one after the other. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "clock.h"
#include "confine.h"
#include "sanitized.h"

enum { USER = 65534, POOL = 40 };

static const char POOL_NAME[] = "nettopo-pool", KEY_NAME[] = "nettopo-test-key";
static char copy[] = "/tmp/nettopo-confine-XXXXXX";

/* ---- as the probe ---- */

static void *answer(void *given)
{
    return given;
}

/* Bits: the ways to a new process that worked, and the last one if no thread could be made. */
static unsigned char try_processes(void)
{
    unsigned char made = 0;
    pthread_t thread;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    made |= pid > 0 ? 1 : 0;
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } args = {.exit_signal = SIGCHLD};
    long raw = syscall(SYS_clone3, &args, sizeof args);
    if (raw == 0)
        _exit(0);
    made |= raw > 0 ? 2 : 0;
    raw = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (raw == 0)
        _exit(0);
    made |= raw > 0 ? 4 : 0;
#ifdef SYS_fork
    raw = syscall(SYS_fork);
    if (raw == 0)
        _exit(0);
    made |= raw > 0 ? 8 : 0;
#endif
    if (pthread_create(&thread, NULL, answer, NULL) != 0 || pthread_join(thread, NULL) != 0)
        made |= 16;
    return made;
}

/* 1: a key of the process that started us can be found here. */
static unsigned char find_key(void)
{
    return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", KEY_NAME, 0) >= 0;
}

static unsigned char count_open(void)
{
    unsigned char n = 0;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            n++;
    return n;
}

/* Bits: 512 MiB of memory could be had, and more than a quarter of the host's and 1 GiB. */
static unsigned char try_memory(void)
{
    size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {(size_t)512 << 20, host / 4 + ((size_t)1 << 30)};
    unsigned char got = 0;
    for (size_t k = 0; k < 2; k++) {
        void *at = mmap(NULL, sizes[k], PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) {
            got |= (unsigned char)(1 << k);
            munmap(at, sizes[k]);
        }
    }
    return got;
}

static int be_probe(void)
{
    char what;
    while (read(3, &what, 1) == 1) {
        unsigned char said = 0;
        if (what == 'f')
            said = try_processes();
        if (what == 'k')
            said = find_key();
        if (what == 'm')
            said = try_memory();
        if (what == 'd')
            said = count_open();
        while (what == 's') /* uses up its processor time */
            ;
        if (write(3, &said, 1) != 1)
            return 1;
    }
    for (;;)
        pause();
}

/* ---- as the agent ---- */

static int copy_self(void **state)
{
    (void)state;
    char bytes[65536];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(copy);
    ssize_t n = -1;
    if (from >= 0 && to >= 0)
        while ((n = read(from, bytes, sizeof bytes)) > 0 && write(to, bytes, (size_t)n) == n)
            ;
    int rc = n == 0 && fchmod(to, 0711) == 0 ? 0 : -1;
    close(from);
    close(to);
    return rc;
}

static int remove_copy(void **state)
{
    (void)state;
    return unlink(copy);
}

static struct nt_child begin(double seconds, int *socket)
{
    struct nt_child child;
    struct nt_conf conf;
    struct nt_err err = {0};
    uid_t uid = geteuid() == 0 ? USER : geteuid();
    gid_t gid = geteuid() == 0 ? USER : getegid();
    nt_conf_default(&conf);
    memcpy(conf.probe, copy, sizeof copy);
    if (nt_child_start(&child, &conf, NULL, uid, gid, seconds, socket, &err) != 0)
        fail_msg("%s", err.text);
    return child;
}

static int ask(int socket, char what)
{
    unsigned char said;
    if (write(socket, &what, 1) != 1 || read(socket, &said, 1) != 1)
        return -1;
    return said;
}

static void a_probe_has_threads_and_no_processes(void **state)
{
    (void)state;
    int socket;
    struct nt_child child = begin(5, &socket);
    int said = ask(socket, 'f');
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(said, 0);
}

/* What another process of the user gets to see and do: bits of what it could. */
static int pry(pid_t pid)
{
    char path[64], target[64];
    int could = 0, status;
    pid_t thief = fork();
    if (thief == 0) {
        if (setresgid(USER, USER, USER) != 0 || setresuid(USER, USER, USER) != 0)
            _exit(64);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
        could |= open(path, O_RDWR | O_CLOEXEC) >= 0 ? 1 : 0;
        could |= ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 2 : 0;
        snprintf(path, sizeof path, "/proc/%d/fd/3", (int)pid);
        could |= readlink(path, target, sizeof target) >= 0 ? 4 : 0;
        _exit(could);
    }
    waitpid(thief, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nobody_of_the_same_user_traces_a_probe(void **state)
{
    (void)state;
    int socket;
    if (geteuid() != 0)
        skip();
    struct nt_child child = begin(5, &socket);
    assert_int_equal(ask(socket, '?'), 0); /* it runs */
    int could = pry(child.pid);
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(could, 0);
}

static long number_in(pid_t pid, const char *file)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtol(text, NULL, 10) : -1;
}

static void memory_is_taken_from_the_probe_first(void **state)
{
    (void)state;
    int socket;
    struct nt_child child = begin(5, &socket);
    assert_int_equal(ask(socket, '?'), 0);
    long score = number_in(child.pid, "oom_score_adj");
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(score, 1000);
}

static bool is_first_of_a_namespace(pid_t pid)
{
    char path[64], line[128];
    bool first = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "NSpid:", 6) == 0)
            first = strstr(line, "\t1\n") != NULL;
    if (file != NULL)
        fclose(file);
    return first;
}

/* Its end is the end of all that came from it; and what we make later does not end with it. */
static void a_probe_is_the_first_of_its_own_namespace(void **state)
{
    (void)state;
    int socket, status;
    if (geteuid() != 0)
        skip();
    struct nt_child child = begin(5, &socket);
    assert_int_equal(ask(socket, '?'), 0);
    bool first = is_first_of_a_namespace(child.pid);
    nt_child_stop(&child);
    close(socket);
    assert_true(first);
    pid_t later = fork();
    if (later == 0)
        _exit(7);
    assert_true(later > 0);
    waitpid(later, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* The agent dies, without a chance to end anything. */
static void a_probe_dies_with_its_agent(void **state)
{
    (void)state;
    int told[2];
    pid_t pid = 0;
    assert_int_equal(pipe(told), 0);
    pid_t agent = fork();
    if (agent == 0) {
        int socket;
        struct nt_child child = begin(5, &socket);
        if (ask(socket, '?') == 0 && write(told[1], &child.pid, sizeof child.pid) > 0)
            pause();
        _exit(1);
    }
    close(told[1]);
    assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
    kill(agent, SIGKILL);
    waitpid(agent, NULL, 0);
    /* we are its subreaper now */
    double until = nt_clock_s() + 60;
    int rc = 0;
    while (rc == 0 && nt_clock_s() < until) {
        rc = waitpid(pid, NULL, WNOHANG);
        poll(NULL, 0, 1);
    }
    close(told[0]);
    assert_int_equal(rc, pid);
}

static void a_spent_processor_is_told_from_a_kill(void **state)
{
    (void)state;
    int status;
    pid_t agent = fork();
    if (agent == 0) { /* with a limit below the probe's own */
        const struct rlimit one = {1, 1};
        char end[48], what = 's';
        int socket, rc = 1;
        setrlimit(RLIMIT_CPU, &one);
        struct nt_child child = begin(5, &socket);
        if (write(socket, &what, 1) == 1)
            for (double until = nt_clock_s() + 60; rc == 1 && nt_clock_s() < until;
                 poll(NULL, 0, 10))
                if (nt_child_ended(&child, end, sizeof end))
                    rc = nt_child_advice(&child) == NT_ADVICE_CPU_TIME ? 0 : 2;
        _exit(rc);
    }
    waitpid(agent, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* slurmd's session keyring is root's: tickets and passwords may be in it. */
static void keys_of_root_do_not_come_with_the_probe(void **state)
{
    (void)state;
    int socket;
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
        skip();
    long key = syscall(SYS_add_key, "user", KEY_NAME, "secret", 6, KEY_SPEC_SESSION_KEYRING);
    /* whoever has the keyring may use it, the user too */
    const unsigned all = 0x3f3f3f3f;
    if (key < 0 || syscall(SYS_keyctl, KEYCTL_SETPERM, key, all) != 0 ||
        syscall(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING, all) != 0)
        skip();
    assert_int_equal(find_key(), 1);
    struct nt_child child = begin(5, &socket);
    int found = ask(socket, 'k');
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(found, 0);
}

/* A sanitizer's shadow has no room in a limit. */
static void a_probe_cannot_take_all_memory(void **state)
{
    (void)state;
    int socket;
    if (SANITIZED)
        skip();
    assert_int_equal(try_memory(), 3); /* as we are */
    struct nt_child child = begin(5, &socket);
    int got = ask(socket, 'm');
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(got, 1);
}

/* As before Linux 5.9. */
static void refuse_close_range(void)
{
    static struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof refuse / sizeof *refuse, .filter = refuse};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void descriptors_are_closed_on_older_kernels(void **state)
{
    (void)state;
    int status;
    pid_t agent = fork();
    if (agent == 0) {
        int socket;
        fcntl(1, F_DUPFD, 50);
        fcntl(1, F_DUPFD, 700);
        refuse_close_range();
        struct nt_child child = begin(5, &socket);
        int seen = ask(socket, 'd');
        nt_child_stop(&child);
        _exit(seen == 4 ? 0 : 1);
    }
    waitpid(agent, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- a pool of processes that refills itself ---- */

/* Each in a session of its own; whoever misses one makes another. */
static void live_in_pool(volatile pid_t *pool)
{
    double until = nt_clock_s() + 60; /* whatever becomes of the test */
    while (nt_clock_s() < until) {
        for (int k = 0; k < POOL; k++) {
            pid_t was = pool[k];
            if (was != 0 && kill(was, 0) == 0)
                continue;
            if (!__sync_bool_compare_and_swap(&pool[k], was, -1))
                continue;
            pid_t pid = fork();
            if (pid == 0) {
                setsid();
                pool[k] = getpid();
            }
        }
    }
    _exit(0);
}

/* Those of the pool that are alive, wherever they are. */
static size_t pool_alive(void)
{
    size_t n = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *e; proc != NULL && (e = readdir(proc)) != NULL;) {
        char path[300], line[128], name[32], how;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *file = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        n += fgets(line, sizeof line, file) != NULL &&
             sscanf(line, "%*d (%31[^)]) %c", name, &how) == 2 && strcmp(name, POOL_NAME) == 0 &&
             how != 'Z' && how != 'X';
        fclose(file);
    }
    if (proc != NULL)
        closedir(proc);
    return n;
}

/* A full pool, and its first process. */
static pid_t fill_pool(pid_t (*make)(void))
{
    volatile pid_t *pool =
        mmap(NULL, POOL * sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(pool != MAP_FAILED);
    pid_t first = make();
    if (first == 0) {
        prctl(PR_SET_NAME, POOL_NAME);
        signal(SIGCHLD, SIG_IGN);
        live_in_pool(pool);
    }
    assert_true(first > 0);
    for (double until = nt_clock_s() + 60; nt_clock_s() < until && pool_alive() < POOL;)
        poll(NULL, 0, 5);
    munmap((void *)pool, POOL * sizeof *pool);
    assert_true(pool_alive() >= POOL);
    return first;
}

static void a_pool_that_refills_itself_ends_with_its_namespace(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t first = fill_pool(nt_confine_fork);
    assert_true(is_first_of_a_namespace(first));
    kill(first, SIGKILL);
    waitpid(first, NULL, 0); /* the kernel lets it go when it is the last */
    assert_int_equal(pool_alive(), 0);
}

/* Where there is no such namespace. */
static void a_pool_that_refills_itself_is_ended(void **state)
{
    (void)state;
    kill(fill_pool(fork), SIGKILL);
    double began = nt_clock_s();
    nt_child_kill_all(began + 20);
    double took = nt_clock_s() - began;
    size_t left = pool_alive();
    print_message("%.3f s, %zu left\n", took, left);
    nt_child_kill_all(nt_clock_s() + 20);
    assert_int_equal(left, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--agent-fd") == 0)
        return be_probe();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_has_threads_and_no_processes),
        cmocka_unit_test(nobody_of_the_same_user_traces_a_probe),
        cmocka_unit_test(memory_is_taken_from_the_probe_first),
        cmocka_unit_test(a_probe_is_the_first_of_its_own_namespace),
        cmocka_unit_test(a_probe_dies_with_its_agent),
        cmocka_unit_test(keys_of_root_do_not_come_with_the_probe),
        cmocka_unit_test(a_probe_cannot_take_all_memory),
        cmocka_unit_test(descriptors_are_closed_on_older_kernels),
        cmocka_unit_test(a_spent_processor_is_told_from_a_kill),
        cmocka_unit_test(a_pool_that_refills_itself_ends_with_its_namespace),
        cmocka_unit_test(a_pool_that_refills_itself_is_ended),
    };
    return cmocka_run_group_tests(tests, copy_self, remove_copy);
}
