/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t nt_confine_fork(void)
{
    int ours = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    bool apart = ours >= 0 && unshare(CLONE_NEWPID) == 0;
    pid_t pid = fork();
    int refused = errno;
    /* our other children stay in our own namespace: in the probe's they would end with it */
    if (pid > 0 && apart && setns(ours, CLONE_NEWPID) != 0) {
        refused = errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        pid = -1;
    } else if (pid < 0 && apart) {
        setns(ours, CLONE_NEWPID);
    }
    if (ours >= 0)
        close(ours);
    errno = refused;
    return pid;
}

bool nt_confine_close(int first, int last)
{
    if (syscall(SYS_close_range, first, last < 0 ? ~0U : (unsigned)last, 0) == 0)
        return true;
    DIR *open_files = opendir("/proc/self/fd"); /* kernels before 5.9 */
    if (open_files == NULL)
        return false;
    for (struct dirent *e; (e = readdir(open_files)) != NULL;) {
        long fd = strtol(e->d_name, NULL, 10); /* 0 for "." and ".." */
        if (fd >= first && (last < 0 || fd <= last) && fd != dirfd(open_files))
            close((int)fd);
    }
    return closedir(open_files) == 0;
}

void nt_confine_memory(void)
{
    static const char first[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = write(fd, first, sizeof first - 1);
        (void)n; /* without /proc the limits still hold */
        close(fd);
    }
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

bool nt_confine_keyring(void)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
        return true;
    /* a container's filter refuses keyctl to the probe as well */
    return errno == ENOSYS || errno == EPERM;
}

/* Where a system call's first argument is the lower half of args[0], and clone's is the flags. */
#if defined __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__ && defined __AARCH64EL__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
#define OUR_ARCH AUDIT_ARCH_PPC64LE
#elif defined __riscv && __riscv_xlen == 64
#define OUR_ARCH AUDIT_ARCH_RISCV64
#endif

#ifdef OUR_ARCH

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(test, value) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, 1)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(error) ANSWER(SECCOMP_RET_ERRNO | (error))

static const struct sock_filter no_processes[] = {
    LOAD(arch), /* another's numbers mean other calls */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
    REFUSE(EPERM),
    LOAD(nr),
#ifdef __x86_64__
    UNLESS(BPF_JGE, 0x40000000), /* x32 */
    REFUSE(EPERM),
#endif
#ifdef SYS_fork
    UNLESS(BPF_JEQ, SYS_fork),
    REFUSE(EPERM),
#endif
#ifdef SYS_vfork
    UNLESS(BPF_JEQ, SYS_vfork),
    REFUSE(EPERM),
#endif
    UNLESS(BPF_JEQ, SYS_clone3), /* its flags are behind a pointer; libc turns to clone */
    REFUSE(ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
    ANSWER(SECCOMP_RET_ALLOW),
    LOAD(args[0]),
    UNLESS(BPF_JSET, CLONE_THREAD),
    ANSWER(SECCOMP_RET_ALLOW),
    REFUSE(EPERM),
};

bool nt_confine_processes(void)
{
    const struct sock_fprog program = {.len = sizeof no_processes / sizeof *no_processes,
                                       .filter = (struct sock_filter *)no_processes};
    /* else older kernels slow the probe's branches down, which it would measure */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) ==
            0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return true;
    return errno == ENOSYS || errno == EINVAL;
}

#else

bool nt_confine_processes(void)
{
    return true;
}

#endif
