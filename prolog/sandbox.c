/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"

enum { NOBODY = 65534 };

void nt_sandbox_find_user(const char *name, struct nt_sandbox *sandbox)
{
    const struct passwd *user = getpwnam(name);
    if (user == NULL)
        user = getpwnam("nobody");
    bool found = user != NULL && user->pw_uid != 0 && user->pw_gid != 0;
    sandbox->uid = found ? user->pw_uid : NOBODY;
    sandbox->gid = found ? user->pw_gid : NOBODY;
}

static int failed(const char *what, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", what, strerror(errno));
}

static int compare_fds(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Closes all descriptors except those in the sandbox and 0 to 2. */
static int close_others(const struct nt_sandbox *sandbox, struct nt_err *err)
{
    int keep[NT_SANDBOX_FDS], first = 3;
    if (!nt_confine_standard())
        return failed("/dev/null", err);
    memcpy(keep, sandbox->fd, sizeof keep);
    qsort(keep, sandbox->fds, sizeof keep[0], compare_fds);
    for (size_t k = 0; k <= sandbox->fds; k++) {
        if (k < sandbox->fds && keep[k] < first)
            continue;
        int last = k < sandbox->fds ? keep[k] - 1 : -1;
        if ((k == sandbox->fds || last >= first) && !nt_confine_close(first, last))
            return failed("close_range", err);
        first = k < sandbox->fds ? keep[k] + 1 : first;
    }
    return 0;
}

static int set_limits(const struct nt_sandbox *sandbox, struct nt_err *err)
{
    struct rlimit none = {0}, file = {sandbox->file_bytes, sandbox->file_bytes};
    signal(SIGXFSZ, SIG_IGN); /* so that write fails instead */
    if (setrlimit(RLIMIT_CORE, &none) != 0 || setrlimit(RLIMIT_FSIZE, &file) != 0)
        return failed("setrlimit", err);
    return 0;
}

static int set_capabilities(bool binds_reserved_ports)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (binds_reserved_ports)
        data[0].permitted = data[0].effective = 1U << CAP_NET_BIND_SERVICE;
    return (int)syscall(SYS_capset, &head, data);
}

/* Changes the root to the directory of this process's descriptors: nobody can create a file in it,
 * and the system call filter denies opening its entries. */
static int change_root(struct nt_err *err)
{
    if (chroot("/proc/self/fdinfo") != 0 || chdir("/") != 0)
        return failed("chroot", err);
    return 0;
}

static int change_user(const struct nt_sandbox *sandbox, struct nt_err *err)
{
    uid_t uid = sandbox->uid;
    gid_t gid = sandbox->gid;
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setgroups(1, &gid) != 0 ||
        setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ||
        set_capabilities(sandbox->binds_reserved_ports) != 0 ||
        prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) != 0)
        return failed("the change of user", err);
    if (getuid() != uid || geteuid() != uid || getgid() != gid || getegid() != gid ||
        setuid(0) == 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "the change of user had no effect");
    return 0;
}

/* The system calls of poll loops, sockets, memory management and process exit. All others fail with
 * EPERM. */
static const int allowed[] = {
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(connect),
    SCMP_SYS(shutdown),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockopt),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(_llseek),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fstat),
    SCMP_SYS(fstatfs),
    SCMP_SYS(fstatfs64),
    SCMP_SYS(fcntl),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(getrandom),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(tgkill),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/* Allows TCP sockets only, and no executable memory. */
static int allow_in_part(scmp_filter_ctx filter)
{
    enum { FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK };
    const scmp_datum_t type = ~(scmp_datum_t)FLAGS & UINT32_MAX;
    const struct {
        int call;
        unsigned conditions;
        struct scmp_arg_cmp only[3];
    } parts[] = {
        {SCMP_SYS(socket),
         3,
         {SCMP_A0(SCMP_CMP_EQ, AF_INET, 0), SCMP_A1(SCMP_CMP_MASKED_EQ, type, SOCK_STREAM),
          SCMP_A2(SCMP_CMP_EQ, 0, 0)}},
        {SCMP_SYS(socket),
         3,
         {SCMP_A0(SCMP_CMP_EQ, AF_INET6, 0), SCMP_A1(SCMP_CMP_MASKED_EQ, type, SOCK_STREAM),
          SCMP_A2(SCMP_CMP_EQ, 0, 0)}},
        {SCMP_SYS(mmap), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
        {SCMP_SYS(mprotect), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
    };
    int rc = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts && rc == 0; k++)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, parts[k].call, parts[k].conditions,
                                    parts[k].only);
    return rc;
}

static int filter_calls(struct nt_err *err)
{
    int rc;
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
        return 0; /* a kernel without seccomp filters */
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter == NULL)
        return nt_err_memory(err);
    if ((rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM))) != 0)
        goto release;
    for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
        if ((rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[k], 0)) != 0)
            goto release;
    rc = allow_in_part(filter);
    if (rc == 0)
        rc = seccomp_load(filter);
release:
    seccomp_release(filter);
    return rc == 0 ? 0 : nt_err_set(err, NT_ERR_SYSTEM, "seccomp: %s", strerror(-rc));
}

int nt_sandbox_enter(const struct nt_sandbox *sandbox, struct nt_err *err)
{
    if (close_others(sandbox, err) != 0 || set_limits(sandbox, err) != 0)
        return -1;
    if (geteuid() == 0 && (change_root(err) != 0 || change_user(sandbox, err) != 0))
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failed("prctl", err);
    return filter_calls(err);
}
