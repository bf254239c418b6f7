/* The probe: a process of the job's user that inherits nothing of ours.
 *
 * It starts in a session of its own with a socket on fd 3, /dev/null on 0, the log's memory file on
 * 1 and 2 (UCX logs there; /dev/null without one), a made environment, limits, no new privileges,
 * and every other descriptor closed. It dies with us. */
#ifndef NT_CHILD_H
#define NT_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "advice.h"
#include "conf.h"
#include "err.h"
#include "log.h"

struct nt_child {
    pid_t pid; /* 0: none, or reaped */
    int pidfd; /* readable when it has ended; -1 */
    int status;
};

/* *socket becomes our end of its fd 3 (the caller's). seconds bounds its CPU time. log: NULL for
 * none. */
int nt_child_start(struct nt_child *child, const struct nt_conf *conf, const struct nt_log *log,
                   uid_t uid, gid_t gid, double seconds, int *socket, struct nt_err *err);

/* Whether it has ended; text (at most bytes long) then says how, such as "exit 3". */
int nt_child_ended(struct nt_child *child, char *text, size_t bytes);

/* What to do about that end. */
enum nt_advice nt_child_advice(const struct nt_child *child);

/* Kills it and its group, and reaps it; does not wait for what cannot be killed, as a read from a
 * file system that hangs: that is left to the subreaper. Fine when it has ended or never began. */
void nt_child_stop(struct nt_child *child);

/* For a process that set PR_SET_CHILD_SUBREAPER: kills and reaps whatever children it has,
 * including those that a probe left behind, until there are none or give_up (monotonic). */
void nt_child_kill_all(double give_up);

#endif
