/* SPDX-License-Identifier: Apache-2.0 */
#include "deny.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The architectures on which the first argument of a system call is the lower half of args[0], and
 * the first argument of clone its flags. */
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

/* Numbers from 424 on are the same on all architectures; older headers lack them. */
enum {
    PIDFD_SEND_SIGNAL = 424,
    IO_URING_SETUP = 425,
    OPEN_TREE = 428,
    MOVE_MOUNT = 429,
    FSOPEN = 430,
    PIDFD_OPEN = 434,
    CLONE3 = 435,
    PIDFD_GETFD = 438,
    PROCESS_MADVISE = 440,
    MEMFD_SECRET = 447,
};

static const struct {
    unsigned set;
    long call;
} denied[] = {
#ifdef SYS_fork
    {NT_DENY_PROCESSES, SYS_fork},
#endif
#ifdef SYS_vfork
    {NT_DENY_PROCESSES, SYS_vfork},
#endif
    {NT_DENY_OTHERS, SYS_unshare},
    {NT_DENY_OTHERS, SYS_setns},
    {NT_DENY_OTHERS, SYS_mount},
    {NT_DENY_OTHERS, SYS_umount2},
    {NT_DENY_OTHERS, SYS_pivot_root},
    {NT_DENY_OTHERS, SYS_chroot},
    {NT_DENY_OTHERS, OPEN_TREE},
    {NT_DENY_OTHERS, MOVE_MOUNT},
    {NT_DENY_OTHERS, FSOPEN},
    {NT_DENY_OTHERS, SYS_open_by_handle_at},
    {NT_DENY_OTHERS, SYS_ptrace},
    {NT_DENY_OTHERS, SYS_process_vm_readv},
    {NT_DENY_OTHERS, SYS_process_vm_writev},
    {NT_DENY_OTHERS, PROCESS_MADVISE},
    {NT_DENY_OTHERS, SYS_kcmp},
    {NT_DENY_OTHERS, SYS_kill},
    {NT_DENY_OTHERS, SYS_tkill},
    {NT_DENY_OTHERS, SYS_rt_sigqueueinfo},
    {NT_DENY_OTHERS, PIDFD_OPEN},
    {NT_DENY_OTHERS, PIDFD_GETFD},
    {NT_DENY_OTHERS, PIDFD_SEND_SIGNAL},
    {NT_DENY_OTHERS, SYS_add_key},
    {NT_DENY_OTHERS, SYS_request_key},
    {NT_DENY_OTHERS, SYS_keyctl},
    {NT_DENY_OTHERS, SYS_bpf},
    {NT_DENY_OTHERS, SYS_perf_event_open},
    {NT_DENY_OTHERS, SYS_userfaultfd},
    {NT_DENY_OTHERS, IO_URING_SETUP},
    {NT_DENY_SOCKETS, SYS_socketpair},
    {NT_DENY_MEMORY, SYS_memfd_create},
    {NT_DENY_MEMORY, MEMFD_SECRET},
    {NT_DENY_MEMORY, SYS_shmget},
    {NT_DENY_EXEC, SYS_execveat},
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(test, value, skip) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, (skip))
#define SKIP_IF(test, value, skip) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (skip), 0)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static const struct sock_filter start[] = {
    LOAD(arch), /* the numbers of another architecture mean other calls */
    SKIP_IF(BPF_JEQ, OUR_ARCH, 1),
    REFUSE(EPERM),
    LOAD(nr),
#ifdef __x86_64__
    IF(BPF_JGE, 0x40000000, 1), /* x32 */
    REFUSE(EPERM),
#endif
};

/* Each of these filters starts and ends with the number of the call loaded. */
static const struct sock_filter only_threads[] = {
    IF(BPF_JEQ, CLONE3, 1), /* its flags are behind a pointer; libc then uses clone */
    REFUSE(ENOSYS),
    IF(BPF_JEQ, SYS_clone, 4),
    LOAD(args[0]),
    IF(BPF_JSET, CLONE_THREAD, 1),
    ALLOW,
    REFUSE(EPERM),
};

static const struct sock_filter only_networks[] = {
    IF(BPF_JEQ, SYS_socket, 18),
    LOAD(args[0]),
    SKIP_IF(BPF_JEQ, AF_NETLINK, 11),
    SKIP_IF(BPF_JEQ, AF_INET, 1),
    IF(BPF_JEQ, AF_INET6, 13),
    LOAD(args[1]),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
    SKIP_IF(BPF_JEQ, SOCK_STREAM, 1),
    IF(BPF_JEQ, SOCK_DGRAM, 9),
    LOAD(args[2]),
    SKIP_IF(BPF_JEQ, 0, 6),
    SKIP_IF(BPF_JEQ, IPPROTO_TCP, 5),
    SKIP_IF(BPF_JEQ, IPPROTO_UDP, 4),
    REFUSE(EPERM),
    LOAD(args[2]), /* protocol of netlink */
    SKIP_IF(BPF_JEQ, NETLINK_ROUTE, 1),
    IF(BPF_JEQ, NETLINK_RDMA, 1),
    ALLOW,
    REFUSE(EPERM),
};

static const struct sock_filter only_counted_memory[] = {
    IF(BPF_JEQ, SYS_mmap, 5),    LOAD(args[3]), IF(BPF_JSET, MAP_ANONYMOUS, 2),
    IF(BPF_JSET, MAP_SHARED, 1), REFUSE(EPERM), ALLOW,
};

/* Compares the two halves of a pointer. */
static void make_exec_rule(const char *program, struct sock_filter rule[7])
{
    const unsigned high = offsetof(struct seccomp_data, args[0]) + 4;
    const struct sock_filter made[] = {
        IF(BPF_JEQ, SYS_execve, 6),
        LOAD(args[0]),
        IF(BPF_JEQ, (unsigned)(uintptr_t)program, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, high),
        IF(BPF_JEQ, (unsigned)((uint64_t)(uintptr_t)program >> 32), 1),
        ALLOW,
        REFUSE(EPERM),
    };
    memcpy(rule, made, sizeof made);
    if (program == NULL) /* no path is at address 0, but the kernel would try to read it */
        rule[5] = rule[6];
}

enum { EXEC_RULE = 7, PARTS_MAX = 160 };

struct program {
    unsigned short n;
    struct sock_filter at[PARTS_MAX];
};

static void add(struct program *p, const struct sock_filter *parts, size_t n)
{
    for (size_t k = 0; k < n; k++)
        p->at[p->n++] = parts[k];
}

#define ADD(p, parts) add((p), (parts), sizeof(parts) / sizeof *(parts))
_Static_assert(sizeof start / sizeof *start + sizeof only_threads / sizeof *only_threads +
                       sizeof only_networks / sizeof *only_networks +
                       sizeof only_counted_memory / sizeof *only_counted_memory +
                       2 * sizeof denied / sizeof *denied + EXEC_RULE + 1 <=
                   PARTS_MAX,
               "room for all sets");

bool nt_deny_calls(unsigned sets, const char *program)
{
    struct program p = {0};
    ADD(&p, start);
    for (size_t k = 0; k < sizeof denied / sizeof *denied; k++)
        if ((denied[k].set & sets) != 0) {
            const struct sock_filter one[] = {IF(BPF_JEQ, (unsigned)denied[k].call, 1),
                                              REFUSE(EPERM)};
            ADD(&p, one);
        }
    if ((sets & NT_DENY_PROCESSES) != 0)
        ADD(&p, only_threads);
    if ((sets & NT_DENY_SOCKETS) != 0)
        ADD(&p, only_networks);
    if ((sets & NT_DENY_MEMORY) != 0)
        ADD(&p, only_counted_memory);
    if ((sets & NT_DENY_EXEC) != 0) {
        struct sock_filter rule[EXEC_RULE];
        make_exec_rule(program, rule);
        ADD(&p, rule);
    }
    p.at[p.n++] = (struct sock_filter)ALLOW;
    const struct sock_fprog filter = {.len = p.n, .filter = p.at};
    /* otherwise older kernels slow down branches of the probe, which would affect its
     * measurements */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) ==
            0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0)
        return true;
    return errno == ENOSYS || errno == EINVAL;
}

#else

bool nt_deny_calls(unsigned sets, const char *program)
{
    (void)sets;
    (void)program;
    return true;
}

#endif

/* The kernel's numbers and structs, which older headers lack. */
enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446, LANDLOCK_BENEATH = 1 };
struct landlock_files {
    uint64_t rights;
};
struct landlock_beneath {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

/* Returns the rights to write files and to create and remove entries of directories; from version 2
 * on also to move between directories, from 3 on to truncate. */
static uint64_t write_rights(long version)
{
    const uint64_t write = 1 << 1, entries = 0x1ff << 4, refer = 1 << 13, truncate = 1 << 14;
    return write | entries | (version >= 2 ? refer : 0) | (version >= 3 ? truncate : 0);
}

static bool allow_beneath(int ruleset, int fd, uint64_t rights)
{
    struct stat st;
    const uint64_t of_files = 1 << 1 | 1 << 14;
    if (fstat(fd, &st) != 0)
        return false;
    struct landlock_beneath rule = {S_ISDIR(st.st_mode) ? rights : rights & of_files, fd};
    return syscall(LANDLOCK_ADD, ruleset, LANDLOCK_BENEATH, &rule, 0) == 0;
}

bool nt_deny_writes(const int *except, size_t n)
{
    long version = syscall(LANDLOCK_CREATE, NULL, 0, 1);
    if (version < 1)
        return true; /* no Landlock, or disabled */
    struct landlock_files files = {write_rights(version)};
    int ruleset = (int)syscall(LANDLOCK_CREATE, &files, sizeof files, 0);
    bool done = ruleset >= 0;
    for (size_t k = 0; k < n && done; k++)
        done = allow_beneath(ruleset, except[k], files.rights);
    done = done && syscall(LANDLOCK_RESTRICT, ruleset, 0) == 0;
    if (ruleset >= 0)
        close(ruleset);
    return done;
}
