/* SPDX-License-Identifier: Apache-2.0 */
#include "job_record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "level_auto.h"
#include "option.h"
#include "plan_json.h"
#include "probe_log.h"
#include "traffic.h"
#include "traffic_text.h"

/* ---- files ---- */

struct file {
    const char
        *path; /* begins with '/', because the probe has another working directory than the user */
    int fd;    /* pipe; 0: open path */
    size_t bytes_max;
    double wait_s;
    bool trusted; /* accept only a file of root or of this user that nobody else can write */
    bool here;    /* path may be relative, because the user started the probe */
};

enum { SHOWN_BYTES = 160, PATH_BYTES = 1200 };

/* State of a read in a thread of its own. A read that hangs cannot be cancelled; then the caller
 * leaves this memory to the thread. */
struct file_read {
    char path[PATH_BYTES];
    struct file file;
    char *text;
    size_t bytes;
    int rc;
    struct nt_err err;
};

/* Returns the end of a path for errors, so that the rest of the message fits. */
static const char *shown_name(const char *path)
{
    size_t n = strlen(path);
    return n > SHOWN_BYTES ? path + n - SHOWN_BYTES : path;
}

static int read_error(struct file_read *r, const char *why)
{
    return nt_err_set(&r->err, NT_ERR_INPUT, "%s: %s", shown_name(r->path), why);
}

static bool is_trusted(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int read_to_end(struct file_read *r, int fd)
{
    size_t most = r->file.bytes_max, room = 65536;
    while (r->bytes <= most) {
        if (r->text == NULL || r->bytes == room) {
            room = r->text == NULL ? room : 2 * room;
            room = room < most + 1 ? room : most + 1;
            char *more = realloc(r->text, room);
            if (more == NULL)
                return read_error(r, "no memory for it");
            r->text = more;
        }
        ssize_t n = read(fd, r->text + r->bytes, room - r->bytes);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return read_error(r, strerror(errno));
        r->bytes += n > 0 ? (size_t)n : 0;
    }
    return nt_err_set(&r->err, NT_ERR_INPUT, "%s: over %zu MiB", shown_name(r->path), most >> 20);
}

static int read_open(struct file_read *r, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return read_error(r, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return read_error(r, "expected a regular file");
    if (r->file.trusted && !is_trusted(&st))
        return read_error(r, "expected a file of root that nobody else can write");
    return read_to_end(r, fd);
}

/* Reads from a pipe: '+' and the file, or '-' and why there is none. */
static int read_pipe(struct file_read *r, int fd)
{
    char mark = '\0';
    ssize_t n;
    while ((n = read(fd, &mark, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1 || (mark != '+' && mark != '-'))
        return read_error(r, "no process could read it");
    int rc = read_to_end(r, fd);
    if (rc != 0 || mark == '+')
        return rc;
    char why[SHOWN_BYTES];
    snprintf(why, sizeof why, "%.*s", (int)r->bytes, r->text);
    return read_error(r, why);
}

static void *read_file(void *context)
{
    struct file_read *r = context;
    if (r->file.fd > 0) {
        r->rc = read_pipe(r, r->file.fd);
        close(r->file.fd);
        return NULL;
    }
    if (r->path[0] != '/' && !r->file.here) {
        r->rc = read_error(r, "expected a path that begins with /");
        return NULL;
    }
    /* O_NONBLOCK: opening a named pipe without a writer must not block */
    int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        r->rc = read_error(r, strerror(errno));
        return NULL;
    }
    r->rc = read_open(r, fd);
    close(fd);
    return NULL;
}

static void file_read_free(struct file_read *r)
{
    if (r != NULL)
        free(r->text);
    free(r);
}

static struct timespec time_after(double wait_s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    double whole = floor(wait_s);
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((wait_s - whole) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

/* Reads a file within its limits. The caller frees *text. -1 with the reason, which names the
 * file. */
static int read_within(const struct file *file, char **text, size_t *bytes, struct nt_err *why)
{
    pthread_t thread;
    struct timespec until = time_after(file->wait_s);
    struct file_read *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(why);
    if (strlen(file->path) >= sizeof r->path) {
        file_read_free(r);
        return nt_err_set(why, NT_ERR_INPUT, "%s: the path is too long", shown_name(file->path));
    }
    strncpy(r->path, file->path, sizeof r->path - 1);
    r->file = *file;
    if (pthread_create(&thread, NULL, read_file, r) != 0) {
        file_read_free(r);
        return nt_err_set(why, NT_ERR_SYSTEM, "cannot start a thread to read the pattern");
    }
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
        pthread_detach(thread);
        return nt_err_set(why, NT_ERR_INPUT, "%s: not read within %.2g s", shown_name(file->path),
                          file->wait_s);
    }
    int rc = r->rc;
    if (rc != 0) {
        *why = r->err;
    } else {
        *text = r->text;
        *bytes = r->bytes;
        r->text = NULL;
    }
    file_read_free(r);
    return rc;
}

/* ---- the prior ---- */

static int read_belief(const char *path, int fd, double wait_s, struct nt_samples *samples,
                       struct nt_prior_found *found, struct nt_err *why)
{
    const struct file file = {
        .path = path, .fd = fd, .bytes_max = NT_PRIOR_BYTES_MAX, .wait_s = wait_s, .trusted = true};
    char *text = NULL;
    size_t bytes = 0;
    struct nt_prior *prior;
    if (read_within(&file, &text, &bytes, why) != 0)
        return -1;
    int rc = nt_prior_parse(shown_name(path), text, bytes, &prior, why);
    free(text);
    if (rc != 0)
        return -1;
    rc = nt_prior_to_belief(prior, (const char *const *)samples->host_name, samples->hosts,
                            &found->belief, &found->facts, why);
    /* values that this level does not measure are not taken from the prior */
    bool takes_loggp =
        rc == 0 && found->belief->levels > 0 && strcmp(samples->job.level, "full") == 0;
    for (size_t k = 0; takes_loggp && rc == 0 && k < prior->loggps; k++)
        rc = nt_samples_add_loggp(samples, &prior->loggp[k], why);
    nt_prior_destroy(prior);
    if (rc != 0) {
        nt_belief_destroy(found->belief);
        found->belief = NULL;
    }
    return rc;
}

int nt_prior_file_record(const char *path, int fd, double wait_s, struct nt_samples *samples,
                         struct nt_prior_found *found, struct nt_err *err)
{
    struct nt_err why = {0};
    *found = (struct nt_prior_found){.facts = {.oldest_day = INT32_MAX, .least_support = 1}};
    if (path == NULL || path[0] == '\0')
        return 0;
    if (read_belief(path, fd, wait_s, samples, found, &why) != 0)
        return nt_samples_warn(samples, err, "prior: %s; measured without it", why.text);
    bool has_belief = found->belief->levels > 0;
    int rc = has_belief ? nt_samples_set_belief(samples, found->belief, err) : 0;
    if (rc == 0 && has_belief)
        return 0;
    nt_belief_destroy(found->belief);
    found->belief = NULL;
    return rc;
}

/* ---- a plan ---- */

/* Warns about pairs and hosts that only the plan or only the job contains. */
static int warn_of_plan(const struct nt_plan *plan, struct nt_samples *samples, struct nt_err *err)
{
    size_t outside = 0, first = 0;
    bool *in_pair = calloc(samples->hosts + 1, sizeof *in_pair);
    if (in_pair == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < plan->pairs; k++)
        in_pair[plan->pair[k][0]] = in_pair[plan->pair[k][1]] = true;
    for (size_t h = samples->hosts; h-- > 0;)
        if (!in_pair[h])
            first = h, outside++;
    free(in_pair);
    int rc = 0;
    if (plan->absent > 0)
        rc = nt_samples_warn(samples, err,
                             "plan: %zu of %zu pairs have a host that is not in this job",
                             plan->absent, plan->absent + plan->pairs);
    if (rc == 0 && outside > 0)
        rc = nt_samples_warn(samples, err, "plan: %zu of %zu hosts are in no pair: %.64s%s",
                             outside, samples->hosts, samples->host_name[first],
                             outside > 1 ? " and others" : "");
    return rc;
}

int nt_planned_file_record(const char *path, double wait_s, struct nt_samples *samples,
                           struct nt_plan **out, struct nt_err *err)
{
    const struct file file = {
        .path = path, .bytes_max = NT_PLAN_BYTES_MAX, .wait_s = wait_s, .here = true};
    char *text = NULL;
    size_t bytes = 0;
    if (read_within(&file, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_plan_read(path, text, bytes, samples->names, out, err);
    free(text);
    return rc != 0 ? -1 : warn_of_plan(*out, samples, err);
}

/* ---- which ranks talk ---- */

/* Adds each pair once, in ascending order, as the samples require. */
static int record_traffic(const struct nt_traffic *t, struct nt_samples *samples,
                          struct nt_err *why)
{
    if (t->start[t->tasks] / 2 > NT_SAMPLES_TRAFFIC_MAX)
        return nt_err_set(why, NT_ERR_INPUT, "%zu pairs of ranks communicate, expected at most %d",
                          t->start[t->tasks] / 2, (int)NT_SAMPLES_TRAFFIC_MAX);
    for (size_t a = 0; a < t->tasks; a++)
        for (size_t k = t->start[a]; k < t->start[a + 1]; k++)
            if (t->partner[k] > a && nt_samples_add_traffic(samples, (uint32_t)a, t->partner[k],
                                                            (double)t->bytes[k], why) != 0)
                return -1;
    return 0;
}

static int record_file(const char *path, int fd, double wait_s, struct nt_samples *samples,
                       struct nt_err *why)
{
    const struct file file = {
        .path = path, .fd = fd, .bytes_max = NT_PATTERN_FILE_MAX, .wait_s = wait_s};
    char *text = NULL;
    size_t bytes = 0;
    struct nt_triples t;
    struct nt_traffic *traffic;
    if (read_within(&file, &text, &bytes, why) != 0)
        return -1;
    int rc = nt_triples_read(shown_name(path), text, bytes, &t, why);
    free(text);
    if (rc != 0)
        return -1;
    rc = t.n == 0 ? nt_err_set(why, NT_ERR_INPUT, "%s: expected ranks that communicate, found none",
                               shown_name(path))
                  : nt_traffic_from_triples(t.ntasks, (const uint32_t(*)[2])t.pair, t.bytes, t.n,
                                            &traffic, why);
    nt_triples_fini(&t);
    if (rc != 0)
        return -1;
    rc = record_traffic(traffic, samples, why);
    nt_traffic_destroy(traffic);
    return rc;
}

int nt_pattern_file_record(const char *pattern, int fd, double wait_s, struct nt_samples *samples,
                           struct nt_err *err)
{
    struct nt_err why;
    const char *path = nt_pattern_matrix(pattern);
    if (path == NULL || record_file(path, fd, wait_s, samples, &why) == 0)
        return 0;
    nt_samples_clear_traffic(samples);
    if (nt_samples_set_word(&samples->job.pattern, "neighbour", err) != 0)
        return -1;
    return nt_samples_warn(samples, err, "pattern matrix: %s; the hint is for neighbour", why.text);
}

/* ---- slots ---- */

static uint32_t host_limit(const uint32_t *cpus, uint32_t task_cpus, size_t host)
{
    return cpus == NULL ? UINT32_MAX : cpus[host] / (task_cpus > 0 ? task_cpus : 1);
}

void nt_slots_spread(uint32_t tasks, uint32_t task_cpus, const uint32_t *cpus, uint32_t *slots,
                     size_t hosts)
{
    uint64_t holds = 0;
    for (size_t h = 0; h < hosts; h++)
        holds += host_limit(cpus, task_cpus, h);
    if (holds < tasks)
        cpus = NULL; /* tasks share CPUs, so the CPUs are no limit */
    for (size_t h = 0; h < hosts; h++)
        slots[h] = tasks == 0 ? 1 : 0;
    /* add one task to each host in turn that can hold it, until all tasks have a slot */
    for (uint32_t left = tasks, level = 1; left > 0 && hosts > 0; level++) {
        for (size_t h = 0; h < hosts && left > 0; h++) {
            if (host_limit(cpus, task_cpus, h) < level)
                continue;
            slots[h]++;
            left--;
        }
    }
}

int nt_slots_record(const struct nt_probe_job *job, struct nt_samples *samples, struct nt_err *err)
{
    size_t hosts = samples->hosts;
    uint32_t *slots = calloc(hosts + 1, sizeof *slots), *cpus = calloc(hosts + 1, sizeof *cpus);
    if (slots == NULL || cpus == NULL) {
        free(slots);
        free(cpus);
        return nt_err_memory(err);
    }
    bool known = job->cpus != NULL && job->cpus[0] != '\0' &&
                 nt_tasks_per_node_read(job->cpus, cpus, hosts, NULL) == 0;
    nt_slots_spread(job->tasks, job->task_cpus, known ? cpus : NULL, slots, hosts);
    int rc = 0;
    for (size_t h = 0; h < hosts && rc == 0; h++)
        rc = nt_samples_set_slots(samples, h, slots[h], err);
    free(slots);
    free(cpus);
    return rc;
}

/* ---- the level ---- */

static bool is_whole(const struct nt_membership *membership, const struct nt_belief *b)
{
    for (size_t h = 0; h < membership->hosts; h++)
        if (membership->lost[h] != NULL)
            return false;
    return b != NULL && b->levels > 0 && isfinite(b->us[b->levels - 1]);
}

static int take_belief(struct nt_samples *samples, const struct nt_belief *belief,
                       const struct nt_prior_facts *f, struct nt_err *err)
{
    char day[16];
    nt_prior_day_write(f->oldest_day, day);
    if (nt_samples_take_belief(samples, belief->us, (double)f->least_support, f->oldest_day, err) !=
        0)
        return -1;
    return nt_samples_warn(samples, err,
                           "not measured (level = auto in nettopo.conf): the map is from earlier "
                           "jobs, its oldest part from %s, its support %.2g or more",
                           day, (double)f->least_support);
}

int nt_level_choose(const struct nt_probe_job *job, const struct nt_membership *membership,
                    const struct nt_prior_found *found, struct nt_samples *samples,
                    struct nt_level_choice *out, struct nt_err *err)
{
    const struct nt_prior_facts *f = &found->facts;
    int32_t today;
    const char *created = samples->job.created;
    bool dated = f->known > 0 && nt_prior_day(created, strlen(created), &today) == 0;
    const struct nt_auto_facts facts = {.hosts = membership->hosts,
                                        .known = f->known,
                                        .whole = is_whole(membership, found->belief),
                                        .support = (double)f->least_support,
                                        .age_days = dated ? (int64_t)today - f->oldest_day : -1,
                                        .limit_s = job->limit_s,
                                        .budget_s = job->option.budget_s};
    *out = (struct nt_level_choice){.level = job->option.level};
    if (!job->option.level_auto)
        return 0;
    enum nt_auto_level choice = nt_auto_level_choose(&facts);
    if (choice != NT_AUTO_STANDARD)
        out->level = NT_LEVEL_QUICK;
    out->taken = choice == NT_AUTO_SKIP;
    const char *name = out->taken ? "skip" : nt_level_name(out->level);
    nt_probe_log(NT_LOG_INFO,
                 "level auto: %s; %zu of %zu hosts known, support %.2g, %lld days old, limit %u s",
                 name, f->known, facts.hosts, facts.support, (long long)facts.age_days,
                 job->limit_s);
    if (nt_samples_set_word(&samples->job.level, name, err) != 0)
        return -1;
    return out->taken ? take_belief(samples, found->belief, f, err) : 0;
}

/* ---- networks ---- */

/* Returns whether a list of another host is valid for a warning; otherwise it counts as not
 * known. */
static bool is_known(const char *list)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-:/@ ,";
    return list != NULL && list[0] != '\0' && strspn(list, allowed) == strlen(list);
}

/* Returns whether both the device and the network of two texts "DEVICE NETWORK" both_differ. */
static bool both_differ(const char *a, const char *b)
{
    size_t n = strcspn(a, " "), m = strcspn(b, " ");
    return (n != m || strncmp(a, b, n) != 0) && strcmp(a + n, b + m) != 0;
}

void nt_networks_compare(const char *const *host, const char *const *list, size_t hosts,
                         char warning[NT_NETWORKS_WARNING_BYTES])
{
    static const char todo[] =
        "name the fabric's devices in net_devices of nettopo.conf or in UCX_NET_DEVICES";
    size_t first = hosts;
    warning[0] = '\0';
    for (size_t k = 0; k < hosts && warning[0] == '\0'; k++) {
        if (!is_known(list[k]))
            continue;
        first = first == hosts ? k : first;
        if (strchr(list[k], ',') != NULL)
            snprintf(warning, NT_NETWORKS_WARNING_BYTES,
                     "UCX may use devices of several networks (%.64s: %.110s), so the measurements "
                     "may not "
                     "be of the fabric: %s",
                     host[k], list[k], todo);
        else if (both_differ(list[k], list[first]))
            snprintf(warning, NT_NETWORKS_WARNING_BYTES,
                     "the hosts' devices do not lie in one network (%.60s: %.60s; %.60s: %.60s): "
                     "%s",
                     host[first], list[first], host[k], list[k], todo);
    }
}
