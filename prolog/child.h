/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, watches and ends the probe, which runs as a separate system user and inherits nothing
 * from the agent. Independent of what the probe measures.
 *
 * The probe starts in its own session with a socket as descriptor 3, /dev/null as 0, the log's
 * memfd as 1 and 2 (UCX logs there; /dev/null without a log), the job's traffic as 4 and the prior
 * as 5 (/dev/null if there is no such file), a fixed environment, resource limits and no new
 * privileges. Every other descriptor is closed. The kernel kills it when the agent dies. confine.h
 * and deny.h describe the other limits. */
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
    pid_t pid; /* 0: none, or already reaped */
    int pidfd; /* readable after the process has ended; -1: none */
    int status;
    double cpu_s, cpu_limit_s; /* CPU time: used until its end; its limit */
};

enum { NT_CHILD_VARIABLES = 24 };

/* The probe's environment, which replaces the agent's. text points to static strings and to the
 * other fields. */
struct nt_child_environment {
    char devices[NT_CONF_WORD_BYTES + 20], tls[NT_CONF_WORD_BYTES + 20], level[48];
    char *text[NT_CHILD_VARIABLES];
};
void nt_child_environment(const struct nt_conf *conf, const struct nt_log *log,
                          struct nt_child_environment *env);

/* The user that a process runs as: the job's user with all groups, or the probe's user with its
 * first group only (probe_user in nettopo.conf; nobody if that user does not exist). */
struct nt_child_user {
    uid_t uid; /* IDs of the job's user */
    gid_t gid;
    const char *name; /* name of the probe's user; NULL: use the job's user */
};
struct nt_child_user nt_child_probe_user(const struct nt_conf *conf, uid_t uid, gid_t gid);

/* Files that the probe reads although its user may not be able to open them. */
enum { NT_CHILD_TRAFFIC, NT_CHILD_PRIOR, NT_CHILD_FILES };

/* Starts a process of that user, which reads the file and writes to a pipe: '+' and the contents,
 * or '-' and why the file cannot be read. Returns the reading end, which the caller closes; -1 if
 * the pipe or the process could not be created. trusted: accept only a file that belongs to root
 * and that nobody else can write. The process may block in the file system; it ends with the
 * caller. */
int nt_child_read_file(const char *path, const struct nt_child_user *user, bool trusted);

struct nt_child_task {
    const struct nt_conf *conf;
    const struct nt_log *log; /* NULL: no log */
    struct nt_child_user user;
    /* By NT_CHILD_TRAFFIC and NT_CHILD_PRIOR; the caller keeps and closes them; -1: none */
    int files[NT_CHILD_FILES];
    double seconds; /* expected run time, from which the limit of CPU time follows */
};

/* Starts the probe. The caller closes *socket, the agent's end of the probe's descriptor 3. */
int nt_child_start(struct nt_child *child, const struct nt_child_task *task, int *socket,
                   struct nt_err *err);

/* Returns 1 if the process has ended, and describes the end in text (of that many bytes), for
 * example "exit 3". Reaps the process. Returns 0 otherwise. */
int nt_child_ended(struct nt_child *child, char *text, size_t bytes);

/* Returns the advice for the way in which the process ended. */
enum nt_advice nt_child_advice(const struct nt_child *child);

/* Kills the process and its process group, and reaps it. Does not wait for a process that cannot be
 * killed, such as one that reads from a file system that does not respond; the subreaper reaps it
 * later. Does nothing if the process has ended or was never started. */
void nt_child_stop(struct nt_child *child);

/* For a process that has set PR_SET_CHILD_SUBREAPER: kills and reaps all its children, including
 * orphans of the probe, until none is left or until give_up (nt_clock_s). */
void nt_child_kill_all(double give_up);

#endif
