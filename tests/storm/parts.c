/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent has around it: munged, resolver and slurmctld, the probe as a process, the job's
 * directory, the log (munged is in munge.c). In place of prolog/child.c, lookup.c, publish.c,
 * archive.c, log.c, job.c and libmunge.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "child.h"
#include "cluster.h"
#include "files.h"
#include "job.h"
#include "log.h"
#include "lookup.h"
#include "probe_log.h"
#include "publish.h"

/* ---- resolver and slurmctld, in a child's place ---- */

int nt_lookup_start(struct nt_lookup *lookup, size_t want, int (*find)(const void *, void *),
                    const void *query, struct nt_err *err)
{
    unsigned char bytes[NT_LOOKUP_BYTES_MAX] = {0};
    (void)err;
    *lookup = (struct nt_lookup){.fd = -1, .want = want};
    bool found = find(query, bytes) == 0;
    double takes = draw_between(0.0005, 0.004) + this_host()->lookup_s;
    lookup->fd = files_pipe(found ? bytes : NULL, want, process_time() + takes);
    return 0;
}

int nt_lookup_poll(struct nt_lookup *lookup)
{
    ssize_t n = lookup->fd < 0 ? -1 : read(lookup->fd, lookup->bytes, lookup->want);
    if (lookup->fd >= 0 && n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n == (ssize_t)lookup->want ? 1 : -1;
}

void nt_lookup_fini(struct nt_lookup *lookup)
{
    if (lookup->fd >= 0)
        close(lookup->fd);
    lookup->fd = -1;
}

int nt_job_addresses(const char *host, struct nt_addresses *addresses, struct nt_err *err)
{
    for (uint32_t k = 0; k < cluster.hosts && !this_host()->no_resolver; k++)
        if (strcmp(cluster.host[k].name, host) == 0) {
            struct sockaddr_in at = {.sin_family = AF_INET};
            struct sockaddr_in6 six = {.sin6_family = AF_INET6};
            at.sin_addr.s_addr = htonl(10U << 24 | k);
            memcpy(six.sin6_addr.s6_addr + 12, &at.sin_addr, sizeof at.sin_addr);
            *addresses = (struct nt_addresses){.count = cluster.dual_stack ? 2 : 1};
            memcpy(&addresses->at[cluster.dual_stack], &at, sizeof at);
            if (cluster.dual_stack)
                memcpy(&addresses->at[0], &six, sizeof six);
            return 0;
        }
    return nt_err_set(err, NT_ERR_SYSTEM, "no address");
}

void nt_job_load_use(const struct nt_job *job, struct nt_job_use *use)
{
    (void)job;
    *use = (struct nt_job_use){cluster.exclusive, cluster.tasks, cluster.task_cpus, 0};
}

bool nt_job_is_over(uint32_t id)
{
    (void)id;
    return this_host()->job_hosts == cluster.host && cluster.cancelled_s <= world.now_s;
}

/* ---- the probe as a process ---- */

struct nt_child_user nt_child_probe_user(const struct nt_conf *conf, uid_t uid, gid_t gid)
{
    return (struct nt_child_user){uid, gid, conf->probe_user};
}

int nt_child_read_file(const char *path, const struct nt_child_user *user, bool trusted)
{
    (void)path;
    (void)user;
    (void)trusted;
    return -1;
}

int nt_child_start(struct nt_child *child, const struct nt_child_task *task, int *socket,
                   struct nt_err *err)
{
    int fd[2];
    struct host *h = this_host();
    (void)task;
    process_spend(0.001);
    if (h->no_probe) {
        *child = (struct nt_child){.pidfd = -1};
        *socket = -1;
        return nt_err_set(err, NT_ERR_SYSTEM, "nettopo-probe: No such file or directory");
    }
    double loads = process_time() + draw_between(0.01, 0.03) + h->probe_late_s;
    struct process *p = process_start(world.running->host, PROCESS_PROBE, loads,
                                      h->probe_is_hostile ? hostile_probe_main : probe_main, NULL);
    p->slowness = world.running->slowness;
    p->allocations_left = h->probe_allocations;
    p->faults = h->probe_calls;
    p->trap = h->probe_trap;
    h->probe_trap.calls = 0; /* once */
    p->node = h;
    files_local_pair(p, fd);
    p->argument = (void *)(intptr_t)fd[1];
    *socket = fd[0];
    *child = (struct nt_child){.pid = p->pid, .pidfd = files_pidfd(p)};
    h->probe = p;
    return 0;
}

static void forget_child(struct nt_child *child)
{
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pidfd = -1;
    child->pid = 0;
}

int nt_child_ended(struct nt_child *child, char *text, size_t bytes)
{
    process_spend(1e-6);
    if (child->pid > 0) {
        const struct process *p = process_find(child->pid);
        if (p->alive)
            return 0;
        child->status = p->status;
        forget_child(child);
    }
    if ((child->status & 255) != 0)
        snprintf(text, bytes, "killed by signal %d", child->status);
    else
        snprintf(text, bytes, "exit %d", child->status >> 8);
    return 1;
}

enum nt_advice nt_child_advice(const struct nt_child *child)
{
    return child->status == 0           ? NT_ADVICE_NONE
           : (child->status & 255) != 0 ? NT_ADVICE_KILLED
                                        : NT_ADVICE_PROBE;
}

void nt_child_stop(struct nt_child *child)
{
    if (child->pid > 0)
        process_kill(process_find(child->pid), SIGKILL);
    forget_child(child);
}

/* ---- the job's directory ---- */

int nt_publish_begin(struct nt_publish *publish, const struct nt_conf *conf, uint32_t job,
                     uid_t uid, gid_t gid, struct nt_err *err)
{
    (void)job;
    *publish = (struct nt_publish){.run_fd = -1,
                                   .dir_fd = -1,
                                   .reason_fd = -1,
                                   .limit_bytes = conf->publish_limit_bytes,
                                   .uid = uid,
                                   .gid = gid};
    nt_artifact_files_init(&publish->artifacts, conf->publish_limit_bytes);
    process_spend(0.0003);
    if (this_host()->disk_bytes == 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "/run/nettopo: No space left on device");
    return 0;
}

int nt_publish_limit_total(struct nt_publish *publish, uint64_t limit_bytes, struct nt_err *err)
{
    (void)err;
    publish->total_limit_bytes = limit_bytes;
    return 0;
}

void nt_artifact_files_init(struct nt_artifact_files *artifacts, uint64_t limit_bytes)
{
    *artifacts = (struct nt_artifact_files){.limit_bytes = limit_bytes};
}

int nt_artifact_files_write(struct nt_artifact_files *artifacts, uint32_t artifact, bool more,
                            const void *data, size_t bytes, struct nt_err *err)
{
    struct host *h = this_host();
    struct published *p = &h->published;
    process_spend(0.0001);
    if (artifact == 0 || artifact >= NT_ARTIFACT_END || artifacts->complete[artifact])
        return nt_err_set(err, NT_ERR_INPUT, "artifact %u", artifact);
    bool may_lack = artifact == NT_ARTIFACT_SAMPLES || artifact == NT_ARTIFACT_ARCHIVE;
    if (may_lack && p->used + bytes > artifacts->limit_bytes) {
        artifacts->dropped[artifact] = true;
        return 0;
    }
    if (bytes > h->disk_bytes - p->used)
        return nt_err_set(err, NT_ERR_SYSTEM, "/run/nettopo: No space left on device");
    p->text[artifact] = realloc(p->text[artifact], p->bytes[artifact] + bytes + 1);
    if (bytes > 0)
        memcpy(p->text[artifact] + p->bytes[artifact], data, bytes);
    p->bytes[artifact] += bytes;
    p->text[artifact][p->bytes[artifact]] = '\0';
    p->used += bytes;
    artifacts->complete[artifact] = p->complete[artifact] = !more;
    return 0;
}

int nt_publish_finish(struct nt_publish *publish, struct nt_err *err)
{
    struct published *p = &this_host()->published;
    process_spend(0.0003);
    for (int k = 1; k < NT_ARTIFACT_END; k++)
        if (p->text[k] != NULL && !publish->artifacts.complete[k])
            return nt_err_set(err, NT_ERR_SYSTEM, "artifact %d is not complete", k);
    if (!publish->artifacts.complete[NT_ARTIFACT_ENV])
        return nt_err_set(err, NT_ERR_SYSTEM, "no hint.env");
    p->renamed = true;
    return 0;
}

void nt_publish_log(struct nt_publish *publish, const char *text, size_t bytes)
{
    (void)publish;
    (void)text;
    (void)bytes;
}

int nt_publish_archive_fd(const struct nt_publish *publish)
{
    (void)publish;
    return -1;
}

void nt_archive_add(const struct nt_conf *conf, const struct nt_job *job, const struct nt_log *log,
                    int fd)
{
    (void)conf;
    (void)job;
    (void)log;
    (void)fd;
}

int nt_publish_failed(struct nt_publish *publish, const char *reason, struct nt_err *err)
{
    struct published *p = &this_host()->published;
    (void)publish;
    (void)err;
    process_spend(0.0003);
    p->failed = p->renamed = true;
    snprintf(p->reason, sizeof p->reason, "%s", reason);
    return 0;
}

void nt_publish_fini(struct nt_publish *publish)
{
    (void)publish;
}

/* ---- logs: into the story ---- */

static void tell_line(const char *who, const char *format, va_list args)
{
    char line[400];
    vsnprintf(line, sizeof line, format, args);
    world_tell(world.running->host, who, "%s", line);
}

void nt_log(const struct nt_log *log, enum nt_log_level level, const char *format, ...)
{
    va_list args;
    (void)log;
    (void)level;
    va_start(args, format);
    tell_line("agent", format, args);
    va_end(args);
}

size_t nt_log_text(const struct nt_log *log, const char *outcome, const char *advice, char *text,
                   size_t room)
{
    (void)log;
    (void)outcome;
    (void)advice;
    (void)room;
    text[0] = '\0';
    return 0;
}

void nt_probe_log(enum nt_log_level level, const char *format, ...)
{
    va_list args;
    (void)level;
    va_start(args, format);
    tell_line("probe", format, args);
    va_end(args);
}

void nt_probe_log_set(enum nt_log_level level, double began_s)
{
    (void)level;
    (void)began_s;
}
