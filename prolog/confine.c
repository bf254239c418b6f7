/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
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
    /* other children of this process must stay in its own namespace: in the probe's namespace they
     * would end with the probe */
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
    DIR *open_files = opendir("/proc/self/fd"); /* Linux before 5.9 */
    if (open_files == NULL)
        return false;
    for (struct dirent *e; (e = readdir(open_files)) != NULL;) {
        long fd = strtol(e->d_name, NULL, 10); /* 0 for "." and ".." */
        if (fd >= first && (last < 0 || fd <= last) && fd != dirfd(open_files))
            close((int)fd);
    }
    return closedir(open_files) == 0;
}

bool nt_confine_standard(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool done = null >= 0;
    for (int fd = 0; fd < 3 && done; fd++)
        done = dup2(null, fd) >= 0;
    if (null >= 3)
        close(null);
    return done;
}

void nt_confine_memory(void)
{
    static const char first[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = write(fd, first, sizeof first - 1);
        (void)n; /* without /proc the resource limits still apply */
        close(fd);
    }
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

bool nt_confine_keyring(void)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
        return true;
    /* the filter of a container denies keyctl to the probe too */
    return errno == ENOSYS || errno == EPERM;
}
