/* SPDX-License-Identifier: Apache-2.0 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "decimal.h"
#include "hostlist.h"
#include "lines.h"
#include "memory.h"

/* ---- a file of the archive ---- */

enum { FIRST_BYTES = 65536, GZIP_WINDOW = 15 + 16 };

bool nt_archive_text_is(const void *file, size_t bytes)
{
    return bytes > 2 && memcmp(file, "\x1f\x8b", 2) == 0;
}

/* The map is before the samples. No line of a map starts with the header of the samples: they all
 * start with a brace or a space. */
size_t nt_archive_text_split(const char *text, size_t bytes)
{
    static const char first[] = "\nnettopo-samples/";
    const char *found = memmem(text, bytes, first, sizeof first - 1);
    return found != NULL ? (size_t)(found + 1 - text) : bytes;
}

void nt_archive_text_fini(struct nt_archive_text *text)
{
    free(text->comment);
    free(text->text);
    *text = (struct nt_archive_text){0};
}

static int inflate_all(z_stream *z, size_t most, struct nt_archive_text *out, struct nt_err *err)
{
    size_t room = 0;
    for (int rc = Z_OK; rc != Z_STREAM_END;) {
        if (out->bytes == room) {
            if (room >= most)
                return nt_err_set(err, NT_ERR_INPUT, "expected at most %zu bytes unpacked", most);
            room = room == 0 ? FIRST_BYTES : room * 2;
            room = room > most ? most : room;
            char *grown = realloc(out->text, room + 1);
            if (grown == NULL)
                return nt_err_memory(err);
            out->text = grown;
        }
        size_t left = room - out->bytes;
        z->next_out = (unsigned char *)out->text + out->bytes;
        z->avail_out = (unsigned)(left < 1u << 30 ? left : 1u << 30);
        size_t before = z->avail_out;
        rc = inflate(z, Z_NO_FLUSH);
        out->bytes += before - z->avail_out;
        if (rc == Z_MEM_ERROR)
            return nt_err_memory(err);
        if (rc != Z_OK && rc != Z_STREAM_END)
            return nt_err_set(err, NT_ERR_INPUT, "expected gzip, found %s",
                              rc == Z_BUF_ERROR ? "a truncated file" : "other bytes");
    }
    out->text[out->bytes] = '\0';
    return 0;
}

static int read_member(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                       struct nt_err *err)
{
    z_stream z = {0};
    gz_header head = {.comment = (unsigned char *)out->comment, .comm_max = NT_ARCHIVE_COMMENT_MAX};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return nt_err_memory(err);
    z.next_in = (unsigned char *)file;
    z.avail_in = (unsigned)bytes;
    int rc =
        inflateGetHeader(&z, &head) == Z_OK ? inflate_all(&z, most, out, err) : nt_err_memory(err);
    inflateEnd(&z);
    return rc;
}

int nt_archive_text_read(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                         struct nt_err *err)
{
    struct nt_archive_text text = {0};
    if (bytes > 1u << 30)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %u bytes", 1u << 30);
    text.comment = calloc(1, NT_ARCHIVE_COMMENT_MAX + 1);
    if (text.comment == NULL)
        return nt_err_memory(err);
    if (read_member(file, bytes, most, &text, err) != 0) {
        nt_archive_text_fini(&text);
        return -1;
    }
    text.map_bytes = nt_archive_text_split(text.text, text.bytes);
    *out = text;
    return 0;
}

/* ---- the line of root ---- */

static const char HEAD[] = "nettopo-archive/1";

enum { TIME_MAX_S = 1 << 30 };

void nt_origin_fini(struct nt_origin *origin)
{
    nt_names_fini(&origin->hosts);
    *origin = NT_ORIGIN_NONE;
}

static int add_host(void *context, const char *name, struct nt_err *err)
{
    struct nt_names *hosts = context;
    uint32_t index;
    return nt_names_add_copy(hosts, name, strlen(name), &index, err) < 0 ? -1 : 0;
}

static int word_error(const char *word, size_t bytes, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "the archive's head: unexpected \"%.*s\"",
                      (int)(bytes < 64 ? bytes : 64), word);
}

static bool starts(const char *word, size_t bytes, const char *key, const char **value,
                   size_t *value_bytes)
{
    size_t n = strlen(key);
    if (bytes <= n || memcmp(word, key, n) != 0)
        return false;
    *value = word + n;
    *value_bytes = bytes - n;
    return true;
}

static int read_cluster(const char *value, size_t bytes, struct nt_origin *o)
{
    if (bytes >= sizeof o->cluster)
        return -1;
    memcpy(o->cluster, value, bytes);
    o->cluster[bytes] = '\0';
    return 0;
}

static int read_word(const char *word, size_t bytes, struct nt_origin *o, struct nt_err *err)
{
    const char *value;
    size_t n;
    uint64_t number = 0;
    int rc = -1;
    if (starts(word, bytes, "cluster=", &value, &n)) {
        rc = read_cluster(value, n, o);
    } else if (starts(word, bytes, "job=", &value, &n)) {
        rc = nt_decimal_whole(value, n, UINT32_MAX, &o->job);
        o->has_job = true;
    } else if (starts(word, bytes, "restart=", &value, &n)) {
        rc = nt_decimal_whole(value, n, UINT32_MAX, &number);
        o->restart = (uint32_t)number;
        o->has_restart = true;
    } else if (starts(word, bytes, "uid=", &value, &n)) {
        rc = nt_decimal_whole(value, n, NT_NO_USER - 1, &number);
        o->user = (uint32_t)number;
    } else if (starts(word, bytes, "time=", &value, &n)) {
        rc = nt_decimal_whole(value, n, (uint64_t)TIME_MAX_S * 8, &number);
        o->time_s = (int64_t)number;
    } else if (starts(word, bytes, "hosts=", &value, &n)) {
        return nt_hostlist_visit(value, n, add_host, &o->hosts, err);
    }
    return rc == 0 ? 0 : word_error(word, bytes, err);
}

int nt_origin_parse(const char *text, size_t bytes, struct nt_origin *out, struct nt_err *err)
{
    struct nt_origin o = NT_ORIGIN_NONE;
    size_t at = sizeof HEAD - 1;
    int rc = 0;
    if (bytes < at || memcmp(text, HEAD, at) != 0 || (bytes > at && text[at] != ' '))
        return word_error(text, bytes, err);
    while (rc == 0 && at < bytes) {
        const char *word = text + at + 1, *end = memchr(word, ' ', bytes - at - 1);
        size_t n = end != NULL ? (size_t)(end - word) : bytes - at - 1;
        rc = read_word(word, n, &o, err);
        at += n + 1;
    }
    if (rc == 0 && !o.has_job)
        rc = nt_err_set(err, NT_ERR_INPUT, "the archive's head: expected a job, found none");
    if (rc != 0) {
        nt_origin_fini(&o);
        return -1;
    }
    *out = o;
    return 0;
}

/* ---- Slurm's records ---- */

struct slurm_job {
    uint64_t id;
    uint32_t user; /* NT_NO_USER: not a number */
    size_t line;
    const char *hosts; /* Slurm's list; "" if there is none; from memory */
};

struct nt_slurm_jobs {
    struct nt_arena memory;
    char file[128];
    bool parts; /* some ids are of parts of jobs, 12_3 or 12+1, which are not the job's number */
    size_t jobs, room;
    struct slurm_job *job; /* by id */
};

struct reading {
    struct nt_slurm_jobs *jobs;
    size_t line;
    struct slurm_job open;                     /* scontrol: the job being read; id 0: none */
    bool raw;                                  /* the job column has only the job's number */
    int job_column, user_column, hosts_column; /* sacct; -1: no such column */
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
        bool raw = nt_word_is(name, "JobIDRaw");
        if (raw || (nt_word_is(name, "JobID") && !r->raw)) {
            r->job_column = k;
            r->raw = raw;
        }
        if (nt_word_is(name, "UID"))
            r->user_column = k;
        else if (nt_word_is(name, "NodeList"))
            r->hosts_column = k;
    }
}

/* Returns whether an id is of a part: "12_3" of an array, "12+1" of a heterogeneous job. */
static bool is_part(struct nt_word id)
{
    struct nt_word rest = id, leader = nt_word_cut(&rest, '_');
    uint64_t number;
    if (rest.bytes == 0) {
        rest = id;
        leader = nt_word_cut(&rest, '+');
    }
    return rest.bytes > 0 && nt_decimal_whole(leader.at, leader.bytes, UINT32_MAX, &number) == 0;
}

/* Reads a row of sacct. Skips steps, such as "42.batch", and ids that are no number. */
static int read_row(struct reading *r, struct nt_word line, struct nt_err *err)
{
    struct slurm_job job = {.user = NT_NO_USER, .line = r->line};
    bool has_id = false;
    for (int k = 0; line.bytes > 0; k++) {
        struct nt_word value = nt_word_cut(&line, '|');
        if (k == r->job_column) {
            has_id = nt_decimal_whole(value.at, value.bytes, UINT32_MAX, &job.id) == 0;
            r->jobs->parts = r->jobs->parts || (!has_id && is_part(value));
        } else if (k == r->user_column)
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
    return NT_ORDER(a->id, b->id, NT_ORDER(a->line, b->line, 0));
}

static int read_lines(struct reading *r, struct nt_word text, struct nt_err *err)
{
    bool table = false;
    for (r->line = 1; text.bytes > 0; r->line++) {
        struct nt_word line = nt_word_cut(&text, '\n');
        if (r->line == 1 && memchr(line.at, '|', line.bytes) != NULL) {
            table = true;
            read_columns(r, line);
            if (r->job_column < 0 || r->user_column < 0 || r->hosts_column < 0)
                return nt_err_set(
                    err, NT_ERR_INPUT,
                    "%s:1: expected the columns JobIDRaw, UID and NodeList of sacct -P",
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
    if (rc == 0 && jobs->jobs == 0 && jobs->parts)
        rc = nt_err_set(err, NT_ERR_INPUT,
                        "%s: expected sacct's column JobIDRaw, found parts of jobs such as 12_3",
                        jobs->file);
    else if (rc == 0 && jobs->jobs == 0)
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

/* A job that was requeued has several entries; all their hosts count. */
int nt_slurm_jobs_add_facts(const struct nt_slurm_jobs *jobs, uint64_t job,
                            struct nt_origin *origin, struct nt_err *err)
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
        return nt_err_set(
            err, NT_ERR_INPUT, "%s does not contain job %llu%s", jobs->file,
            (unsigned long long)job,
            jobs->parts ? ". Arrays and heterogeneous jobs need sacct's column JobIDRaw." : "");
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
