/* SPDX-License-Identifier: Apache-2.0 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "hostlist.h"
#include "lines.h"
#include "memory.h"

struct slurm_job {
    uint64_t id;
    uint32_t user; /* NT_NO_USER: not a number */
    size_t line;
    const char *hosts; /* Slurm's list, "" when it has none; from memory */
};

struct nt_slurm_jobs {
    struct nt_arena memory;
    char file[128];
    size_t jobs, room;
    struct slurm_job *job; /* by id */
};

struct reading {
    struct nt_slurm_jobs *jobs;
    size_t line;
    struct slurm_job open;                     /* of scontrol: what was read of it; id 0: nothing */
    int job_column, user_column, hosts_column; /* of sacct; -1: none */
};

static int keep(struct nt_slurm_jobs *jobs, struct slurm_job job, struct nt_err *err)
{
    struct slurm_job *grown =
        nt_arena_grow(&jobs->memory, jobs->job, &jobs->room, jobs->jobs + 1, sizeof *jobs->job);
    if (grown == NULL)
        return nt_arena_check(&jobs->memory, err);
    jobs->job = grown;
    jobs->job[jobs->jobs++] = job;
    return 0;
}

static uint32_t user_of(struct nt_word text)
{
    uint64_t number;
    const char *open = memchr(text.at, '(', text.bytes); /* scontrol: alice(1001) */
    if (open != NULL) {
        size_t left = text.bytes - (size_t)(open + 1 - text.at);
        const char *close = memchr(open + 1, ')', left);
        text = (struct nt_word){open + 1, close != NULL ? (size_t)(close - open - 1) : left};
    }
    bool good = nt_decimal_whole(text.at, text.bytes, NT_NO_USER - 1, &number) == 0;
    return good ? (uint32_t)number : NT_NO_USER;
}

static const char *hosts_of(struct nt_slurm_jobs *jobs, struct nt_word text)
{
    bool none = nt_word_is(text, "None assigned") || nt_word_is(text, "(null)");
    return nt_arena_text(&jobs->memory, text.at, none ? 0 : text.bytes);
}

/* ---- sacct -P ---- */

static void read_columns(struct reading *r, struct nt_word line)
{
    for (int k = 0; line.bytes > 0; k++) {
        struct nt_word name = nt_word_cut(&line, '|');
        if (nt_word_is(name, "JobID") || nt_word_is(name, "JobIDRaw"))
            r->job_column = k;
        else if (nt_word_is(name, "UID") || (nt_word_is(name, "User") && r->user_column < 0))
            r->user_column = k;
        else if (nt_word_is(name, "NodeList"))
            r->hosts_column = k;
    }
}

/* Steps, "42.batch", and what is no number are passed over. */
static int read_row(struct reading *r, struct nt_word line, struct nt_err *err)
{
    struct slurm_job job = {.user = NT_NO_USER, .line = r->line};
    bool has_id = false;
    for (int k = 0; line.bytes > 0; k++) {
        struct nt_word value = nt_word_cut(&line, '|');
        if (k == r->job_column)
            has_id = nt_decimal_whole(value.at, value.bytes, UINT32_MAX, &job.id) == 0;
        else if (k == r->user_column)
            job.user = user_of(value);
        else if (k == r->hosts_column)
            job.hosts = hosts_of(r->jobs, value);
    }
    if (!has_id || job.hosts == NULL)
        return nt_arena_check(&r->jobs->memory, err);
    return keep(r->jobs, job, err);
}

/* ---- scontrol show job ---- */

static int close_job(struct reading *r, struct nt_err *err)
{
    struct slurm_job job = r->open;
    r->open = (struct slurm_job){.user = NT_NO_USER};
    if (job.id == 0)
        return 0;
    if (job.hosts == NULL)
        job.hosts = nt_arena_text(&r->jobs->memory, "", 0);
    return job.hosts == NULL ? nt_arena_check(&r->jobs->memory, err) : keep(r->jobs, job, err);
}

static int read_fields(struct reading *r, struct nt_word line, struct nt_err *err)
{
    while (line.bytes > 0) {
        struct nt_word word = nt_word_cut(&line, ' '), value = word, key = nt_word_cut(&value, '=');
        if (nt_word_is(key, "JobId")) {
            if (close_job(r, err) != 0)
                return -1;
            r->open.line = r->line;
            if (nt_decimal_whole(value.at, value.bytes, UINT32_MAX, &r->open.id) != 0)
                r->open.id = 0;
        } else if (nt_word_is(key, "UserId")) {
            r->open.user = user_of(value);
        } else if (nt_word_is(key, "NodeList")) {
            r->open.hosts = hosts_of(r->jobs, value);
        }
    }
    return nt_arena_check(&r->jobs->memory, err);
}

static int compare_ids(const void *x, const void *y)
{
    const struct slurm_job *a = x, *b = y;
    return a->id != b->id ? (a->id > b->id) - (a->id < b->id)
                          : (a->line > b->line) - (a->line < b->line);
}

static int read_lines(struct reading *r, struct nt_word text, struct nt_err *err)
{
    bool table = false;
    for (r->line = 1; text.bytes > 0; r->line++) {
        struct nt_word line = nt_word_cut(&text, '\n');
        if (r->line == 1 && memchr(line.at, '|', line.bytes) != NULL) {
            table = true;
            read_columns(r, line);
            if (r->job_column < 0 || r->hosts_column < 0)
                return nt_err_set(err, NT_ERR_INPUT,
                                  "%s:1: expected the columns JobID and NodeList of sacct -P",
                                  r->jobs->file);
        } else if (table ? read_row(r, line, err) != 0 : read_fields(r, line, err) != 0) {
            return -1;
        }
    }
    return close_job(r, err);
}

int nt_slurm_jobs_parse(const char *file, const char *text, size_t bytes,
                        struct nt_slurm_jobs **out, struct nt_err *err)
{
    struct nt_slurm_jobs *jobs = nt_object_create(sizeof *jobs, err);
    if (jobs == NULL)
        return -1;
    size_t n = strlen(file);
    memcpy(jobs->file, file, n < sizeof jobs->file ? n : sizeof jobs->file - 1);
    struct reading r = {.jobs = jobs,
                        .open = {.user = NT_NO_USER},
                        .job_column = -1,
                        .user_column = -1,
                        .hosts_column = -1};
    int rc = read_lines(&r, (struct nt_word){text, bytes}, err);
    if (rc == 0 && jobs->jobs == 0)
        rc = nt_err_set(err, NT_ERR_INPUT,
                        "%s: expected jobs as sacct -P or scontrol show job print them, found none",
                        jobs->file);
    if (rc != 0) {
        nt_slurm_jobs_destroy(jobs);
        return -1;
    }
    qsort(jobs->job, jobs->jobs, sizeof *jobs->job, compare_ids);
    *out = jobs;
    return 0;
}

void nt_slurm_jobs_destroy(struct nt_slurm_jobs *jobs)
{
    nt_object_destroy(jobs);
}

static int add_host(void *context, const char *name, struct nt_err *err)
{
    struct nt_names *hosts = context;
    uint32_t index;
    return nt_names_add_copy(hosts, name, strlen(name), &index, err) < 0 ? -1 : 0;
}

/* A job that was requeued comes more than once: all its hosts count. */
int nt_slurm_jobs_say(const struct nt_slurm_jobs *jobs, uint64_t job, struct nt_origin *origin,
                      struct nt_err *err)
{
    size_t low = 0, high = jobs->jobs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (jobs->job[middle].id < job)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == jobs->jobs || jobs->job[low].id != job)
        return nt_err_set(err, NT_ERR_INPUT, "%s has no job %llu", jobs->file,
                          (unsigned long long)job);
    nt_names_fini(&origin->hosts);
    for (size_t k = low; k < jobs->jobs && jobs->job[k].id == job; k++) {
        const struct slurm_job *j = &jobs->job[k];
        if (j->user != NT_NO_USER)
            origin->user = j->user;
        if (j->hosts[0] != '\0' &&
            nt_hostlist_visit(j->hosts, strlen(j->hosts), add_host, &origin->hosts, err) != 0)
            return nt_err_prefix(err, "%s:%zu", jobs->file, j->line);
    }
    if (origin->hosts.count == 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s: job %llu has no hosts", jobs->file,
                          (unsigned long long)job);
    return 0;
}
