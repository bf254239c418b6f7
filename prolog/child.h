/* SPDX-License-Identifier: Apache-2.0 */
/* The probe process, which runs as the job's user and inherits nothing from the agent.
 *
 * It starts in its own session with a socket on fd 3, /dev/null on 0, the log's memfd on 1 and 2
 * (UCX logs there; /dev/null without one), a fixed environment, resource limits, no new privileges,
 * and every other descriptor closed. The kernel kills it when the agent dies, and
 * confines it as in confine.h. */
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

/* *socket becomes the agent's end of the probe's fd 3; the caller closes it. seconds bounds its CPU
 * time. log: NULL for none. */
int nt_child_start(struct nt_child *child, const struct nt_conf *conf, const struct nt_log *log,
                   uid_t uid, gid_t gid, double seconds, int *socket, struct nt_err *err);

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
