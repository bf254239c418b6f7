/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "confine.h"
#include "deny.h"
#include "sandbox.h"
#include "write_all.h"

enum { PROBE_FD = 3, FILES_FD, OPEN_FILES = 65536, STOP_MS = 50, FILE_FDS_FROM = 64 };

/* Exit statuses of the child when it fails before it executes the probe. */
enum { EXIT_SETUP = 125, EXIT_PRIVILEGE = 126, EXIT_EXEC = 127 };

/* UCX's constructors read the environment before main, so the agent sets it. */
void nt_child_environment(const struct nt_conf *conf, const struct nt_log *log,
                          struct nt_child_environment *env)
{
    static char *const fixed[] = {
        "PATH=/usr/bin:/bin",
        "HOME=/",
        "LANG=C",
        "UCX_HANDLE_ERRORS=none",
        "UCX_DEBUG_SIGNO=",
        "UCX_TCP_CONN_NB=y",
        "UCX_WARN_UNUSED_ENV_VARS=n",
        "UCX_VFS_ENABLE=n",
        "UCX_LOG_FILE=stderr", /* standard output is buffered, and lost when the probe is killed */
        "PMIX_MCA_gds=hash",
        "HWLOC_COMPONENTS=-gl,-opencl,-pci,-linuxio",
    };
    size_t n = sizeof fixed / sizeof *fixed;
    memcpy(env->text, fixed, sizeof fixed);
    snprintf(
        env->level, sizeof env->level, "UCX_LOG_LEVEL=%s",
        nt_ucx_log_name(log != NULL && log->level == NT_LOG_DEBUG && conf->log.ucx < NT_UCX_LOG_INFO
                            ? NT_UCX_LOG_INFO
                            : conf->log.ucx));
    env->text[n++] = env->level;
    if (conf->net_devices[0] != '\0') {
        snprintf(env->devices, sizeof env->devices, "UCX_NET_DEVICES=%s", conf->net_devices);
        env->text[n++] = env->devices;
    }
    if (conf->tls[0] != '\0') {
        snprintf(env->tls, sizeof env->tls, "UCX_TLS=%s", conf->tls);
        env->text[n++] = env->tls;
    }
    env->text[n] = NULL;
}

static bool set_limit(int what, rlim_t soft, rlim_t hard)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) != 0)
        return false;
    /* never above the current limits, which the administrator may have set */
    struct rlimit want = {.rlim_cur = soft < now.rlim_max ? soft : now.rlim_max,
                          .rlim_max = hard < now.rlim_max ? hard : now.rlim_max};
    return setrlimit((__rlimit_resource_t)what, &want) == 0;
}

static rlim_t cpu_limit(double seconds)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return (rlim_t)(seconds + 2) * (rlim_t)(cpus > 0 ? cpus : 1);
}

/* A sanitizer's shadow of the address space counts as data. */
#if defined __SANITIZE_ADDRESS__
#define HAS_SHADOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define HAS_SHADOW 1
#endif
#endif

/* Returns the limit of the probe's memory: a quarter of the host's memory, and at least 1 GiB.
 * Measured: 12 to 16 MB of data with UCX over TCP on 2 to 64 hosts, and at most 30 MB for rank 0 of
 * an adaptive sweep of 8,192 hosts. The margin is for transports with registered memory and for all
 * pairs of thousands of hosts. */
static rlim_t data_limit(void)
{
#ifdef HAS_SHADOW
    return RLIM_INFINITY;
#else
    const rlim_t least = (rlim_t)1 << 30;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    rlim_t quarter = pages > 0 && page > 0 ? (rlim_t)pages * (rlim_t)page / 4 : 0;
    return quarter > least ? quarter : least;
#endif
}

static bool set_limits(double seconds)
{
    rlim_t cpu = cpu_limit(seconds), data = data_limit();
    return set_limit(RLIMIT_DATA, data, data) && set_limit(RLIMIT_CORE, 0, 0) &&
           set_limit(RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES) &&
           set_limit(RLIMIT_FSIZE, NT_LOG_KEPT_BYTES, NT_LOG_KEPT_BYTES) &&
           set_limit(RLIMIT_CPU, cpu, cpu + 1);
}

/* Assigns the descriptor numbers. Moves all descriptors to high numbers first, so that none
 * overwrites another. A file that is -1 becomes /dev/null: otherwise a descriptor that the probe
 * opens itself could get this number, and the probe would read and close it. */
static bool set_descriptors(int socket, int log_fd, const int *files)
{
    enum { FIRST_FILE = FILES_FD, ALL = FIRST_FILE + NT_CHILD_FILES };
    int null = open("/dev/null", O_RDWR), out = log_fd >= 0 ? log_fd : null;
    int from[ALL] = {null, out, out, socket};
    for (int k = 0; k < NT_CHILD_FILES; k++)
        from[FIRST_FILE + k] = files[k] >= 0 ? files[k] : null;
    for (int k = 0; k < ALL; k++)
        if ((from[k] = fcntl(from[k], F_DUPFD, FILE_FDS_FROM)) < 0)
            return false;
    for (int k = 0; k < ALL; k++)
        if (dup2(from[k], k) < 0)
            return false;
    return nt_confine_close(ALL, -1);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int k = 1; k < NSIG; k++)
        signal(k, SIG_DFL); /* has no effect on SIGKILL and SIGSTOP */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool privileges_are_dropped(uid_t uid, gid_t gid)
{
    uid_t r, e, s;
    gid_t rg, eg, sg;
    if (getresuid(&r, &e, &s) != 0 || getresgid(&rg, &eg, &sg) != 0)
        return false;
    if (r != uid || e != uid || s != uid || rg != gid || eg != gid || sg != gid)
        return false;
    return uid == 0 || setuid(0) != 0; /* and root cannot be regained */
}

/* Sets the supplementary groups. A job's user without an entry on this host gets the job's group
 * only. */
static bool set_groups(const struct nt_child_user *user)
{
    const struct passwd *entry = user->name == NULL ? getpwuid(user->uid) : NULL;
    return entry != NULL ? initgroups(entry->pw_name, user->gid) == 0
                         : setgroups(user->name == NULL, &user->gid) == 0;
}

/* Changes to that user for good. Queries name services, which may take long. */
static bool drop_privileges(struct nt_child_user user)
{
    if (geteuid() == 0 && user.name != NULL) {
        struct nt_sandbox found;
        nt_sandbox_find_user(user.name, &found);
        user.uid = found.uid;
        user.gid = found.gid;
    } else if (geteuid() != 0) {
        user.uid = geteuid();
        user.gid = getegid();
    }
    if (geteuid() == 0 && (!set_groups(&user) || setresgid(user.gid, user.gid, user.gid) != 0 ||
                           setresuid(user.uid, user.uid, user.uid) != 0))
        return false;
    return privileges_are_dropped(user.uid, user.gid) &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && nt_confine_keyring();
}

/* The probe needs the devices of its networks and writes to nothing else. */
static bool deny_writes(void)
{
    static const char *const devices[] = {"/dev/null", "/dev/infiniband"};
    int fd[sizeof devices / sizeof *devices];
    size_t n = 0;
    for (size_t k = 0; k < sizeof devices / sizeof *devices; k++)
        if ((fd[n] = open(devices[k], O_PATH | O_CLOEXEC)) >= 0)
            n++;
    bool done = nt_deny_writes(fd, n);
    while (n > 0)
        close(fd[--n]);
    return done;
}

/* Copies the path into the page at address 0, where only root can map memory (vm.mmap_min_addr). A
 * system call filter that compares this address can then allow one execve. NULL: the kernel does
 * not map it here; then the probe itself gives up execve. */
static const char *place_path(const char *path)
{
    static char *const volatile at =
        (char *)512; /* volatile: otherwise compilers report an invalid pointer */
    _Static_assert(512 + NT_CONF_PATH_BYTES <= 4096, "in the first page");
    if (mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != NULL)
        return NULL;
    return memcpy(at, path, strlen(path) + 1);
}

struct nt_child_user nt_child_probe_user(const struct nt_conf *conf, uid_t uid, gid_t gid)
{
    bool is_job = strcmp(conf->probe_user, "job") == 0;
    return (struct nt_child_user){.uid = uid, .gid = gid, .name = is_job ? NULL : conf->probe_user};
}

/* ---- files that the probe reads ---- */

/* Opens the file; -1: *why is the reason. Does not block on a named pipe. */
static int open_to_read(const char *path, bool trusted, const char **why)
{
    struct stat st;
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    *why = path[0] != '/'         ? "expected a path that begins with /"
           : fd < 0               ? strerror(errno)
           : fstat(fd, &st) != 0  ? strerror(errno)
           : !S_ISREG(st.st_mode) ? "expected a regular file"
           : trusted && (st.st_uid != 0 || (st.st_mode & 022) != 0)
               ? "expected a file of root that nobody else can write"
               : NULL;
    return *why == NULL ? fd : -1;
}

static _Noreturn void copy_file(const char *path, bool trusted, int out)
{
    static char bytes[65536];
    const char *why;
    ssize_t n = 0;
    int fd = open_to_read(path, trusted, &why);
    bool going = fd >= 0 && nt_write_all(out, "+", 1) == 0;
    if (fd < 0)
        going = nt_write_all(out, "-", 1) == 0 && nt_write_all(out, why, strlen(why)) == 0;
    while (fd >= 0 && going && (n = read(fd, bytes, sizeof bytes)) > 0)
        going = nt_write_all(out, bytes, (size_t)n) == 0;
    _exit(going && n == 0 ? 0 : 1);
}

int nt_child_read_file(const char *path, const struct nt_child_user *user, bool trusted)
{
    enum { OUT = 3 };
    int pipe_fd[2];
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        nt_confine_memory();
        if (!drop_privileges(*user) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
            getppid() != parent || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
            (pipe_fd[1] != OUT && dup2(pipe_fd[1], OUT) < 0) || !nt_confine_close(OUT + 1, -1))
            _exit(EXIT_PRIVILEGE);
        copy_file(path, trusted, OUT);
    }
    close(pipe_fd[1]);
    if (pid < 0) {
        close(pipe_fd[0]);
        return -1;
    }
    return pipe_fd[0];
}

struct launch {
    const struct nt_child_task *task;
    int socket, parent_socket, log_fd; /* log_fd: -1 for none */
    struct nt_child_environment env;
};

/* Makes the kernel kill this process when the parent dies; false if the parent has died already.
 * Checks the parent's end of the socket, which only the parent has open, because getppid returns 0
 * in a new PID namespace. */
static bool dies_with_parent(const struct launch *l)
{
    struct pollfd other_end = {.fd = l->socket};
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && poll(&other_end, 1, 0) == 0;
}

static void run_probe(const struct launch *l)
{
    enum { SETS = NT_DENY_PROCESSES | NT_DENY_OTHERS | NT_DENY_SOCKETS | NT_DENY_MEMORY };
    const struct nt_conf *conf = l->task->conf;
    char *const argv[] = {(char *)conf->probe, "--agent-fd", "3", NULL};
    const char *path = place_path(conf->probe);
    close(l->parent_socket);
    /* first, because the next steps query name services, which may take long */
    if (!dies_with_parent(l) || setsid() < 0 || !set_limits(l->task->seconds) || chdir("/") != 0)
        _exit(EXIT_SETUP);
    umask(077);
    reset_signals();
    signal(SIGXFSZ, SIG_IGN); /* then write fails */
    nt_confine_memory();
    if (!drop_privileges(l->task->user))
        _exit(EXIT_PRIVILEGE);
    if (!dies_with_parent(l)) /* again, because the change of user clears the setting */
        _exit(EXIT_SETUP);
    /* last, because the lookup of the user opens descriptors */
    if (!set_descriptors(l->socket, l->log_fd, l->task->files))
        _exit(EXIT_SETUP);
    if (!deny_writes() || !nt_deny_calls(path != NULL ? SETS | NT_DENY_EXEC : SETS, path))
        _exit(EXIT_PRIVILEGE);
    execve(path != NULL ? path : conf->probe, argv, l->env.text);
    _exit(EXIT_EXEC);
}

/* Returns the limit of CPU time at which the kernel kills the probe. As the first process of a PID
 * namespace the probe ignores SIGXCPU, so SIGKILL ends it, at the hard limit. */
static double cpu_limit_s(double seconds)
{
    struct rlimit now;
    rlim_t cpu = cpu_limit(seconds);
    if (getrlimit(RLIMIT_CPU, &now) == 0 && now.rlim_max < cpu)
        cpu = now.rlim_max;
    return (double)cpu;
}

int nt_child_start(struct nt_child *child, const struct nt_child_task *task, int *socket,
                   struct nt_err *err)
{
    int pair[2];
    const struct nt_conf *conf = task->conf;
    struct launch launch = {.task = task, .log_fd = task->log != NULL ? task->log->probe_fd : -1};
    *child = (struct nt_child){.pidfd = -1, .cpu_limit_s = cpu_limit_s(task->seconds)};
    if (access(conf->probe, X_OK) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", conf->probe, strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "socketpair: %s", strerror(errno));
    nt_child_environment(conf, task->log, &launch.env);
    launch.socket = pair[1];
    launch.parent_socket = pair[0];
    pid_t pid = nt_confine_fork();
    if (pid == 0)
        run_probe(&launch);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
    }
    child->pid = pid;
    child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (child->pidfd < 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "pidfd: %s", strerror(errno));
        close(pair[0]);
        nt_child_stop(child);
        return -1;
    }
    *socket = pair[0];
    /* never closed: closing the socket would also close descriptors that the probe sent and nobody
     * received. That can take as long as the probe wants, except when this process exits. */
    fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
    return 0;
}

static void describe_exit(int status, char *text, size_t bytes)
{
    if (WIFSIGNALED(status))
        snprintf(text, bytes, "killed by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == EXIT_EXEC)
        snprintf(text, bytes, "could not be run");
    else if (WEXITSTATUS(status) == EXIT_PRIVILEGE)
        snprintf(text, bytes, "could not be confined");
    else if (WEXITSTATUS(status) == EXIT_SETUP)
        snprintf(text, bytes, "could not be set up");
    else
        snprintf(text, bytes, "exit %d", WEXITSTATUS(status));
}

enum nt_advice nt_child_advice(const struct nt_child *child)
{
    if (WIFSIGNALED(child->status))
        switch (WTERMSIG(child->status)) {
        case SIGKILL:
            return child->cpu_s >= 0.5 * child->cpu_limit_s ? NT_ADVICE_CPU_TIME : NT_ADVICE_KILLED;
        case SIGXCPU:
            return NT_ADVICE_CPU_TIME;
        default:
            return NT_ADVICE_CRASH;
        }
    switch (WEXITSTATUS(child->status)) {
    case 0:
        return NT_ADVICE_NONE;
    case EXIT_EXEC:
        return NT_ADVICE_PROGRAM;
    case EXIT_PRIVILEGE:
    case EXIT_SETUP:
        return NT_ADVICE_PRIVILEGE;
    default:
        return NT_ADVICE_PROBE;
    }
}

static void forget_child(struct nt_child *child)
{
    child->pid = 0;
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pidfd = -1;
}

int nt_child_ended(struct nt_child *child, char *text, size_t bytes)
{
    if (child->pid > 0) {
        /* kill its group before wait4 frees the process id for reuse */
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == 0)
            return 0;
        struct rusage used = {0};
        kill(-child->pid, SIGKILL);
        wait4(child->pid, &child->status, 0, &used);
        child->cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
        forget_child(child);
    }
    describe_exit(child->status, text, bytes);
    return 1;
}

void nt_child_stop(struct nt_child *child)
{
    if (child->pid > 0) {
        struct pollfd ending = {.fd = child->pidfd, .events = POLLIN};
        kill(-child->pid, SIGKILL); /* fails if the probe has not called setsid yet */
        kill(child->pid, SIGKILL);
        if (poll(&ending, 1, STOP_MS) > 0)
            waitpid(child->pid, &child->status, WNOHANG);
    }
    forget_child(child);
}

/* Kills the children of this process and reaps those that have ended; false if there are none. A
 * process id is not reused before it is reaped. */
static bool kill_children(void)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    char *at = text, *end;
    /* the next pass kills a process whose id is cut off at the end of the text */
    for (long pid; (pid = strtol(at, &end, 10)) > 0 && *end == ' '; at = end)
        kill((pid_t)pid, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return at != text;
}

void nt_child_kill_all(double give_up)
{
    /* run before the children: if they multiply, they use all processors */
    setpriority(PRIO_PROCESS, 0, -20);
    /* Kill all children, then repeat: a killed process cannot create another one, and processes
     * that it had created are children of this process by then. */
    for (unsigned pass = 0; nt_clock_s() < give_up && kill_children(); pass++)
        if (pass % 16 == 15)
            poll(NULL, 0, 1); /* give processes that cannot end yet some time */
}
