/* SPDX-License-Identifier: Apache-2.0 */
/* The probe process, which runs as a system user of its own and inherits nothing from the agent.
 *
 * It starts in its own session with a socket on fd 3, /dev/null on 0, the log's memfd on 1 and 2
 * (UCX logs there; /dev/null without one), the job's traffic on 4 and the prior on 5 if there are
 * such files, a fixed environment, resource limits, no new privileges, and every other descriptor
 * closed. The kernel kills it when the agent dies, and confines it as in confine.h and deny.h. */
#ifndef NT_CHILD_H
#define NT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "conf.h"
#include "err.h"
#include "log.h"
#include "outcome.h"

struct nt_child {
    pid_t pid; /* 0: none, or reaped */
    int pidfd; /* readable once it has ended; -1: none */
    int status;
    double cpu_s, cpu_limit_s; /* processor time: used until it ended, and what it may use */
};

enum { NT_CHILD_VARIABLES = 24 };

/* What the probe is given in place of the agent's environment. text points into the rest. */
struct nt_child_environment {
    char devices[NT_CONF_WORD_BYTES + 20], tls[NT_CONF_WORD_BYTES + 20], level[48];
    char *text[NT_CHILD_VARIABLES];
};
void nt_child_environment(const struct nt_conf *conf, const struct nt_log *log,
                          struct nt_child_environment *env);

/* Whom a process acts for: the job's user with all groups, or the probe's with its first group
 * alone (probe_user of nettopo.conf; nobody if there is no such user). */
struct nt_child_user {
    uid_t uid; /* of the job */
    gid_t gid;
    const char *name; /* of the probe's user; NULL: the job's user is meant */
};
struct nt_child_user nt_child_probe_user(const struct nt_conf *conf, uid_t uid, gid_t gid);

/* What the probe reads that its user may not be able to open; -1: there is no such file. */
enum { NT_CHILD_TRAFFIC, NT_CHILD_PRIOR, NT_CHILD_FILES };

/* A pipe from a process of that user which reads the file: '+' and what is in it, or '-' and why it
 * cannot be read. trusted: only if it is root's, and nobody else can write to it. The process may
 * hang with the file system; it ends with the caller. -1: no pipe or process could be made. */
int nt_child_read_file(const char *path, const struct nt_child_user *user, bool trusted);

struct nt_child_task {
    const struct nt_conf *conf;
    const struct nt_log *log; /* NULL: none */
    struct nt_child_user user;
    int files[NT_CHILD_FILES]; /* descriptors, which stay the caller's; -1: none */
    double seconds;            /* bounds its CPU time */
};

/* *socket becomes the agent's end of the probe's fd 3; the caller closes it. */
int nt_child_start(struct nt_child *child, const struct nt_child_task *task, int *socket,
                   struct nt_err *err);

/* Whether it has ended; text (of that many bytes) then says how, such as "exit 3". */
int nt_child_ended(struct nt_child *child, char *text, size_t bytes);

/* The advice for that end. */
enum nt_advice nt_child_advice(const struct nt_child *child);

/* Kills it and its process group, and reaps it. Does not wait for a process that cannot be killed,
 * such as one that reads from a hanging file system: the subreaper reaps it later. Fine when it has
 * ended or was never started. */
void nt_child_stop(struct nt_child *child);

/* For a process that set PR_SET_CHILD_SUBREAPER: kills and reaps all its children, including
 * orphans of the probe, until there are none or until give_up (nt_clock_s). */
void nt_child_kill_all(double give_up);

#endif
