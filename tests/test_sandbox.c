/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay that has been taken over cannot do. Each attack runs in a process of its own, before
 * the sandbox (where it succeeds) and in it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "sandbox.h"

enum { USER = 65534, FILE_BYTES = 1000 };

static int file_fd = -1, other_fd = -1;
static struct stat stat_of_null;

/* ---- attacks: 0 when it succeeded ---- */

static int open_a_file(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0 ? 0 : -1;
}

static int create_a_file(void)
{
    char name[64];
    snprintf(name, sizeof name, "nettopo-sandbox-%d", (int)getpid());
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0)
        unlink(name);
    return fd >= 0 ? 0 : -1;
}

static int become_root(void)
{
    return setuid(0);
}

static int make_a_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0 ? 0 : -1;
}

static int run_a_program(void)
{
    execl("/bin/true", "true", (char *)NULL); /* exits with 0 */
    return -1;
}

static int open_a_local_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : -1;
}

static int open_a_raw_socket(void)
{
    return socket(AF_INET, SOCK_RAW, IPPROTO_TCP) >= 0 ? 0 : -1;
}

static int open_a_datagram_socket(void)
{
    return socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? 0 : -1;
}

static int open_a_socket_of_another_protocol(void)
{
    return socket(AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */) >= 0 ? 0 : -1;
}

/* Of slurmd, perhaps. */
static int write_to_standard_error(void)
{
    struct stat error;
    return stat_of_null.st_rdev != 0 && fstat(2, &error) == 0 &&
                   error.st_rdev != stat_of_null.st_rdev
               ? 0
               : -1;
}

static int trace_its_parent(void)
{
    return (int)ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

static int signal_its_parent(void)
{
    return kill(getppid(), 0);
}

static int map_memory_to_execute(void)
{
    void *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? 0 : -1;
}

static int use_another_descriptor(void)
{
    return write(other_fd, "x", 1) == 1 ? 0 : -1;
}

static int fill_its_file(void)
{
    char much[FILE_BYTES + 1] = {0};
    return write(file_fd, much, sizeof much) == (ssize_t)sizeof much ? 0 : -1;
}

static int make_a_namespace(void)
{
    return (int)syscall(SYS_unshare, 0x00020000 /* CLONE_NEWNS */);
}

static int change_its_root(void)
{
    return chroot("/");
}

static const struct {
    const char *name;
    int (*attack)(void);
} attacks[] = {
    {"open a file", open_a_file},
    {"create a file", create_a_file},
    {"become root", become_root},
    {"make a process", make_a_process},
    {"run a program", run_a_program},
    {"open a local socket", open_a_local_socket},
    {"open a raw socket", open_a_raw_socket},
    {"open a datagram socket", open_a_datagram_socket},
    {"open a socket of another protocol", open_a_socket_of_another_protocol},
    {"write to standard error", write_to_standard_error},
    {"trace its parent", trace_its_parent},
    {"signal its parent", signal_its_parent},
    {"map memory to execute", map_memory_to_execute},
    {"use another descriptor", use_another_descriptor},
    {"fill its file", fill_its_file},
    {"make a namespace", make_a_namespace},
    {"change its root", change_its_root},
};

static struct nt_sandbox sandbox_of_relay(bool binds_reserved_ports)
{
    return (struct nt_sandbox){.uid = USER,
                               .gid = USER,
                               .binds_reserved_ports = binds_reserved_ports,
                               .file_bytes = FILE_BYTES,
                               .fds = 1,
                               .fd = {file_fd}};
}

/* Its exit status: 0 when the attack succeeded, 1 when it failed, 2 without a sandbox. */
static int try_attack(int (*attack)(void), bool in_sandbox, bool binds_reserved_ports)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct nt_sandbox sandbox = sandbox_of_relay(binds_reserved_ports);
        if (in_sandbox && nt_sandbox_enter(&sandbox, &err) != 0)
            _exit(2);
        _exit(attack() == 0 ? 0 : 1);
    }
    assert_above(pid, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int make_files(void **state)
{
    (void)state;
    stat("/dev/null", &stat_of_null);
    file_fd = memfd_create("file", 0);
    other_fd = memfd_create("other", 0);
    return file_fd >= 0 && other_fd >= 0 ? chdir("/tmp") : -1;
}

TEST(every_attack_is_refused)
{
    if (geteuid() != 0)
        skip();
    for (size_t k = 0; k < sizeof attacks / sizeof *attacks; k++) {
        if (try_attack(attacks[k].attack, false, false) != 0)
            print_message("%s: refused here without a sandbox, too\n", attacks[k].name);
        for (int binds = 0; binds <= 1; binds++)
            if (try_attack(attacks[k].attack, true, binds != 0) != 1)
                fail_msg("in the sandbox: %s", attacks[k].name);
    }
}

/* ---- what it needs ---- */

static int bind_to(uint16_t first, uint16_t last)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    for (unsigned port = first; port <= last; port++) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return -1;
    }
    return -1;
}

static int bind_a_reserved_port(void)
{
    return bind_to(600, 1023);
}

static int write_its_file(void)
{
    return lseek(file_fd, 0, SEEK_SET) == 0 && write(file_fd, "x", 1) == 1 ? 0 : -1;
}

static int take_memory(void)
{
    char *at = malloc(64 << 20);
    if (at == NULL)
        return -1;
    memset(at, 1, 64 << 20);
    free(at);
    return 0;
}

TEST(what_a_relay_needs_works)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(try_attack(bind_a_reserved_port, true, true), 0);
    assert_int_equal(try_attack(bind_a_reserved_port, true, false), 1);
    assert_int_equal(try_attack(write_its_file, true, true), 0);
    assert_int_equal(try_attack(take_memory, true, true), 0);
}

/* Facts of the kernel about a process in the sandbox. */
TEST(the_kernel_shows_it)
{
    int ready[2], go[2];
    char path[64], text[4096], root[128] = "";
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct nt_sandbox sandbox = sandbox_of_relay(true);
        sandbox.fd[sandbox.fds++] = ready[1];
        sandbox.fd[sandbox.fds++] = go[0];
        char byte = nt_sandbox_enter(&sandbox, &err) == 0;
        if (write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 0)
            _exit(0);
        _exit(1);
    }
    char byte = 0;
    close(go[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    n = readlink(path, root, sizeof root - 1);
    close(go[1]);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_non_null(strstr(text, "Uid:\t65534\t65534\t65534\t65534\n"));
    assert_non_null(strstr(text, "Gid:\t65534\t65534\t65534\t65534\n"));
    assert_non_null(strstr(text, "Groups:\t65534"));
    assert_non_null(strstr(text, "CapPrm:\t0000000000000400\n"));
    assert_non_null(strstr(text, "CapEff:\t0000000000000400\n"));
    assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
    assert_non_null(strstr(text, "Seccomp:\t2\n"));
    assert_true(n > 0 && strstr(root, "fdinfo") != NULL);
}

TEST(an_unknown_user_is_nobody)
{
    struct nt_sandbox sandbox = {0};
    nt_sandbox_find_user("no-such-user", &sandbox);
    assert_int_equal(sandbox.uid, USER);
    nt_sandbox_find_user("root", &sandbox);
    assert_int_equal(sandbox.uid, USER);
    assert_int_equal(sandbox.gid, USER);
}

int main(void)
{
    return run_group(make_files, NULL);
}
