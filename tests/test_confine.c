/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel holds a probe by: this program is the probe, and does what it is told on its
 * socket. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "child.h"
#include "clock.h"
#include "confine.h"
#include "sanitized.h"

enum { USER = 65534, OTHER_USER = 65533 };

static const char KEY_NAME[] = "nettopo-test-key";
static char copy[] = "/tmp/nettopo-confine-XXXXXX";
static const char shared_file[] = "/tmp/nettopo-confine-shared",
                  private_file[] = "/tmp/nettopo-confine-private";

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

static bool is_written(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, "x", 1) == 1;
    close(fd);
    return done;
}

static bool is_executed(void)
{
    /* where the agent has put the path of the one program that may be executed */
    static char *const volatile low = (char *)512;
    char *const argv[] = {"true", NULL};
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
        MAP_FAILED)
        memcpy(low, "/bin/true", sizeof "/bin/true");
    execve(low, argv, NULL);
    if (errno != EFAULT)
        return true;
    execve("/bin/true", argv, NULL);
    return errno != EPERM || syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0) == 0 ||
           errno != EPERM;
}

static bool is_open(int fd)
{
    return fd >= 0;
}

/* The number of the first thing that worked of those that a probe must not do; 0: none. */
static unsigned char try_escapes(void)
{
    const bool worked[] = {
        is_written(shared_file),
        open(private_file, O_RDONLY | O_CLOEXEC) >= 0,
        is_open(open("/tmp/nettopo-escaped", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)),
        unshare(CLONE_NEWUSER) == 0,
        unshare(CLONE_NEWNET) == 0,
        is_open(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}) == 0,
        is_open(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)),
        is_open(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP)),
        ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0,
        kill(1, 0) == 0,
        is_open((int)syscall(SYS_memfd_create, "m", 0)),
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED,
        syscall(SYS_shmget, 0, 4096, 01600) >= 0,
        is_open((int)syscall(SYS_io_uring_setup, 1, NULL)) || errno != EPERM,
        setuid(0) == 0 || getgroups(0, NULL) != 0,
        is_executed(),
        !is_open(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), /* but this: */
        !is_open(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)),
    };
    for (unsigned char k = 0; k < sizeof worked; k++)
        if (worked[k])
            return (unsigned char)(k + 1);
    return 0;
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
        if (what == 'e')
            said = try_escapes();
        if (what == 't' && read(4, &said, 1) != 1) /* what was read for it */
            said = 0;
        if (what == 'p' && read(5, &said, 1) != 1)
            said = 0;
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

static struct nt_child begin_with(const int *files, double seconds, int *socket)
{
    struct nt_child child;
    struct nt_conf conf;
    struct nt_err err = {0};
    struct nt_child_task task = {.conf = &conf,
                                 .user = {.uid = OTHER_USER, .gid = OTHER_USER, .name = "nobody"},
                                 .files = {-1, -1},
                                 .seconds = seconds};
    if (files != NULL)
        memcpy(task.files, files, sizeof task.files);
    nt_conf_default(&conf);
    memcpy(conf.probe, copy, sizeof copy);
    if (nt_child_start(&child, &task, socket, &err) != 0)
        fail_msg("%s", err.text);
    return child;
}

static struct nt_child begin(double seconds, int *socket)
{
    return begin_with(NULL, seconds, socket);
}

static int ask(int socket, char what)
{
    unsigned char said;
    if (write(socket, &what, 1) != 1 || read(socket, &said, 1) != 1)
        return -1;
    return said;
}

TEST(a_probe_has_threads_and_no_processes)
{
    int socket;
    struct nt_child child = begin(5, &socket);
    int said = ask(socket, 'f');
    nt_child_stop(&child);
    close(socket);
    assert_int_equal(said, 0);
}

static void make_file(const char *path, mode_t mode, uid_t uid)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "A", 1), 1);
    assert_int_equal(fchown(fd, uid, uid), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* As one that another host's messages have taken over would try. */
TEST(a_probe_has_nothing_to_steal)
{
    int socket;
    if (geteuid() != 0)
        skip();
    make_file(shared_file, 0666, 0);
    make_file(private_file, 0600, OTHER_USER);
    struct nt_child child = begin(5, &socket);
    int escaped = ask(socket, 'e');
    nt_child_stop(&child);
    close(socket);
    unlink(shared_file);
    unlink(private_file);
    assert_int_equal(escaped, 0);
}

/* The file's user reads it, and the probe gets its contents. */
TEST(a_private_file_of_the_job_comes_through_a_pipe)
{
    int socket;
    const struct nt_child_user owner = {.uid = OTHER_USER, .gid = OTHER_USER},
                               stranger = {.uid = USER, .gid = USER};
    if (geteuid() != 0)
        skip();
    make_file(private_file, 0600, OTHER_USER);
    const int files[NT_CHILD_FILES] = {nt_child_read_file(private_file, &owner, false),
                                       nt_child_read_file(private_file, &stranger, false)};
    int untrusted = nt_child_read_file(private_file, &owner, true);
    struct nt_child child = begin_with(files, 5, &socket);
    char text[64] = "";
    for (ssize_t n = 0, more; (more = read(untrusted, text + n, sizeof text - 1 - (size_t)n)) > 0;)
        n += more;
    assert_string_equal(text, "-expected a file of root that nobody else can write");
    assert_int_equal(ask(socket, 't'), '+');
    assert_int_equal(ask(socket, 't'), 'A');
    assert_int_equal(ask(socket, 't'), 0);
    assert_int_equal(ask(socket, 'p'), '-');
    assert_int_equal(ask(socket, 'p'), 'P'); /* ermission denied */
    assert_int_equal(ask(socket, 'd'), 6);
    nt_child_stop(&child);
    close(socket);
    close(files[0]);
    close(files[1]);
    close(untrusted);
    unlink(private_file);
}

/* What another process of the user can see and do, as bits. */
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

TEST(nobody_of_the_same_user_traces_a_probe)
{
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

TEST(memory_is_taken_from_the_probe_first)
{
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
TEST(a_probe_is_the_first_of_its_own_namespace)
{
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
    assert_above(later, 0);
    waitpid(later, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* The agent dies, without a chance to end anything. */
TEST(a_probe_dies_with_its_agent)
{
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

TEST(a_spent_processor_is_told_from_a_kill)
{
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
TEST(keys_of_root_do_not_come_with_the_probe)
{
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
TEST(a_probe_cannot_take_all_memory)
{
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

TEST(descriptors_are_closed_on_older_kernels)
{
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
        _exit(seen == 4 + NT_CHILD_FILES ? 0 : 1);
    }
    waitpid(agent, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--agent-fd") == 0)
        return be_probe();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return run_group(copy_self, remove_copy);
}
