/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_prune.h"
#include "clock.h"
#include "decimal.h"
#include "files.h"
#include "fleet.h"
#include "json.h"
#include "json_write.h"
#include "map_json.h"
#include "memory.h"
#include "origin.h"
#include "terminal.h"

enum { PATH_BYTES = 4096, RECORD_MAX = 256 << 20, OPERANDS_MAX = 4096 };

struct arguments {
    const char *store, *record, *fold, *keep, *operand[OPERANDS_MAX + 1]; /* NULL after the last */
    bool quiet, json;
};

static const struct nt_flag flags[] = {
    {"store", 0, "FILE", NT_AT(store), 1,
     "Store (default: fleet_store in nettopo.conf). A new one is created"},
    {"record", 0, "FILE", NT_AT(record), 1,
     "Users and hosts of jobs, as printed by sacct -P or scontrol show job. Maps of other jobs, or "
     "with other hosts, are rejected"},
    {"fold", 0, "SPAN", NT_AT(fold), 1,
     "Condense measurements older than SPAN to one value per pair, user and day (default 14d)"},
    {"keep", 0, "SPAN", NT_AT(keep), 1, "Remove data older than SPAN (default 400d)"},
    {"quiet", 'q', NULL, NT_AT(quiet), 1, "Do not print the summary"},
    {"json", 0, NULL, NT_AT(json), 1, "Print the summary as JSON, with the rejected files"},
    NT_OPERANDS(operand, OPERANDS_MAX)};

static const struct nt_command_help help = {
    "nettopo fleet ingest [OPTION...] PATH...",
    "Import maps of jobs into the store, each once (by cluster, job and restart count). PATH is a "
    "file of the archive, a map with a file samples beside it, or a directory of such files or of "
    "jobs' directories. If a file is rejected, the reason is on standard error, the others are "
    "imported, and the exit status is 3.\n",
    flags, "nettopo fleet ingest --store fleet.db archive"};

/* Maximum duration of a write transaction; a commit takes some milliseconds. */
static const double HOLD_S = 0.25;

/* A job publishes at most 4 MiB compressed (publish_limit); maps and samples expand to less than
 * five times that. The memory for JSON depends on the number of objects and values, of which a text
 * could have more than any map: 65,536 hosts have 200,000 objects. */
enum { TEXT_MAX = 20 << 20, OBJECT_BYTES = 900, VALUE_BYTES = 80, JSON_MEMORY_MAX = 160 << 20 };

/* The contents of one file. */
struct source {
    const char *path;
    struct nt_archive_text text; /* a plain file has no comment */
    struct nt_origin origin;
};

static int read_samples(const char *path, const char *text, size_t bytes, struct nt_samples **out,
                        struct nt_err *err)
{
    struct nt_samples_reader *reader;
    if (nt_samples_reader_create(path, &reader, err) != 0)
        return -1;
    int rc = nt_samples_reader_feed(reader, text, bytes, err);
    if (rc == 0)
        rc = nt_samples_reader_finish(reader, out, err);
    nt_samples_reader_destroy(reader);
    return rc;
}

/* "map.json" has "samples" beside it, as in a job's directory. */
static int read_beside(const char *path, struct nt_samples **out, struct nt_err *err)
{
    char beside[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    int n = snprintf(beside, sizeof beside, "%.*ssamples",
                     slash != NULL ? (int)(slash + 1 - path) : 0, path);
    struct stat st;
    char *text;
    size_t bytes;
    if (n < 0 || (size_t)n >= sizeof beside || lstat(beside, &st) != 0)
        return 0;
    if (nt_file_read_regular(beside, TEXT_MAX, &text, &bytes, &st, err) != 0)
        return -1;
    int rc = read_samples(beside, text, bytes, out, err);
    free(text);
    return rc;
}

/* Finds the origin of a file without root's line: its owner is the user, except root, who publishes
 * every job's files. */
static int read_origin(struct source *s, const struct stat *st, struct nt_err *err)
{
    bool has_line = s->text.comment != NULL && s->text.comment[0] != '\0';
    if (has_line && (st->st_uid == 0 || st->st_uid == geteuid()))
        return nt_origin_parse(s->text.comment, strlen(s->text.comment), &s->origin, err) == 0
                   ? 0
                   : nt_err_prefix(err, "%s", s->path);
    s->origin.user = st->st_uid == 0 ? NT_NO_USER : st->st_uid;
    return 0;
}

static int read_text(struct source *s, struct stat *st, struct nt_err *err)
{
    char *file;
    size_t bytes;
    if (nt_file_read_regular(s->path, TEXT_MAX, &file, &bytes, st, err) != 0)
        return -1;
    if (!nt_archive_text_is(file, bytes)) {
        s->text = (struct nt_archive_text){.text = file, .bytes = bytes};
        s->text.map_bytes = nt_archive_text_split(file, bytes);
        return 0;
    }
    int rc = nt_archive_text_read(file, bytes, TEXT_MAX, &s->text, err);
    free(file);
    return rc == 0 ? 0 : nt_err_prefix(err, "%s", s->path);
}

/* Limits a map before it is parsed, by its number of braces and commas; those in names count too,
 * which matters little. */
static int bound_map(const struct source *s, struct nt_err *err)
{
    size_t objects = 0, values = 0;
    for (size_t k = 0; k < s->text.map_bytes; k++) {
        objects += s->text.text[k] == '{';
        values += s->text.text[k] == ',' || s->text.text[k] == '[';
    }
    if (objects * OBJECT_BYTES + values * VALUE_BYTES <= JSON_MEMORY_MAX)
        return 0;
    return nt_err_set(err, NT_ERR_INPUT,
                      "%s: not a map: it has %zu objects and %zu values, more than any map",
                      s->path, objects, values);
}

static int make_job(struct source *s, const struct nt_slurm_jobs *records, int64_t now_s,
                    struct nt_fleet_job **out, struct nt_err *err)
{
    struct nt_map *map = NULL;
    struct nt_samples *samples = NULL;
    size_t rest = s->text.bytes - s->text.map_bytes;
    int rc = bound_map(s, err);
    if (rc == 0)
        rc = nt_map_read(s->path, s->text.text, s->text.map_bytes, &map, err);
    if (rc == 0)
        rc = rest > 0 ? read_samples(s->path, s->text.text + s->text.map_bytes, rest, &samples, err)
             : s->text.comment == NULL ? read_beside(s->path, &samples, err)
                                       : 0;
    if (rc == 0) {
        if (records != NULL)
            rc = nt_slurm_jobs_add_facts(records, map->job_id, &s->origin, err);
        if (rc == 0)
            rc = nt_fleet_job_create(map, samples, &s->origin, now_s, out, err);
        if (rc != 0)
            nt_err_prefix(err, "%s", s->path);
    }
    nt_samples_destroy(samples);
    nt_map_destroy(map);
    return rc;
}

/* Reads the job of a file: an archive file, a map followed by its samples, or a map with a file
 * "samples" beside it. If the file belongs neither to root nor to the caller, its owner is the
 * user, whatever its header contains. records: Slurm's accounting; may be NULL. */
static int read_job(const char *path, const struct nt_slurm_jobs *records, int64_t now_s,
                    struct nt_fleet_job **out, struct nt_err *err)
{
    struct source s = {.path = path, .origin = NT_ORIGIN_NONE};
    struct stat st;
    int rc = read_text(&s, &st, err);
    if (rc == 0)
        rc = read_origin(&s, &st, err);
    if (rc == 0)
        rc = make_job(&s, records, now_s, out, err);
    nt_origin_fini(&s.origin);
    nt_archive_text_fini(&s.text);
    return rc;
}

struct files {
    struct nt_arena memory;
    size_t count, room;
    char **path;
};

struct ingest {
    struct nt_store *store;
    struct nt_slurm_jobs *records;
    char cluster[NT_ORIGIN_CLUSTER_BYTES];
    int64_t now_s;
    size_t taken, known, refused;
    double held_s; /* start of the write transaction; 0: none */
    struct nt_json_writer rejected;
    bool quiet, json;
};

/* ---- which files ---- */

static int add_file(struct files *files, const char *path, struct nt_err *err)
{
    char **grown = nt_arena_grow(&files->memory, files->path, &files->room, files->count + 1,
                                 sizeof *files->path);
    char *copy = nt_arena_text(&files->memory, path, strlen(path));
    if (grown == NULL || copy == NULL)
        return nt_arena_check(&files->memory, err);
    files->path = grown;
    files->path[files->count++] = copy;
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds a file. A job's directory counts as its map; other directories in a directory are
 * ignored. */
static int add_entry(struct files *files, const char *folder, const char *name, struct nt_err *err)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (name[0] == '.' || n < 0 || (size_t)n >= sizeof path)
        return 0;
    if (!is_folder(path))
        return add_file(files, path, err);
    n = snprintf(path, sizeof path, "%s/%s/map.json", folder, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0 ? add_file(files, path, err)
                                                                       : 0;
}

static int add_folder(struct files *files, const char *folder, struct nt_err *err)
{
    char map[PATH_BYTES];
    int n = snprintf(map, sizeof map, "%s/map.json", folder), rc = 0;
    if (n > 0 && (size_t)n < sizeof map && access(map, F_OK) == 0)
        return add_file(files, map, err);
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot read %s: %s", folder, strerror(errno));
    for (struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;)
        rc = add_entry(files, folder, e->d_name, err);
    closedir(dir);
    return rc;
}

static int compare_paths(const void *x, const void *y)
{
    return nt_name_compare(*(char *const *)x, *(char *const *)y);
}

static int list_files(struct files *files, const char *const *operand, struct nt_err *err)
{
    for (size_t k = 0; operand[k] != NULL; k++) {
        size_t from = files->count;
        if ((is_folder(operand[k]) ? add_folder(files, operand[k], err)
                                   : add_file(files, operand[k], err)) != 0)
            return -1;
        qsort(files->path + from, files->count - from, sizeof *files->path, compare_paths);
    }
    return files->count > 0 || operand[0] != NULL
               ? 0
               : nt_err_set(err, NT_ERR_USAGE,
                            "no files given. Pass maps, or directories of maps.");
}

/* ---- one file ---- */

/* Returns whether the store contains the job of an archive file, by its name
 * JOB.RESTART.CLUSTER.gz, so that it need not be read. */
static bool is_known_name(const struct ingest *in, const char *path, uint64_t *job,
                          uint32_t *restart)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strchr(name, '.'), *next = dot != NULL ? strchr(dot + 1, '.') : NULL;
    size_t n = strlen(in->cluster);
    uint64_t number;
    if (next == NULL || n == 0 || strncmp(next + 1, in->cluster, n) != 0 ||
        strcmp(next + 1 + n, ".gz") != 0 ||
        nt_decimal_whole(name, (size_t)(dot - name), UINT32_MAX, job) != 0 ||
        nt_decimal_whole(dot + 1, (size_t)(next - dot - 1), UINT32_MAX, &number) != 0)
        return false;
    *restart = (uint32_t)number;
    return true;
}

/* Reports an invalid file and continues; a system error ends the command. */
static int refuse(struct ingest *in, const char *path, struct nt_err *err)
{
    if (err->kind != NT_ERR_INPUT)
        return -1;
    nt_terminal_progress(NULL);
    fprintf(stderr, "nettopo fleet ingest: rejected: %s\n", err->text);
    in->refused++;
    nt_json_begin(&in->rejected, NULL, '{', false);
    nt_json_put_text(&in->rejected, "file", path);
    nt_json_put_text(&in->rejected, "reason", err->text);
    nt_json_end(&in->rejected, '}');
    return 0;
}

static int learn_cluster(struct ingest *in, struct nt_err *err)
{
    struct nt_store_sums sums;
    if (nt_store_count(in->store, &sums, err) != 0)
        return -1;
    memcpy(in->cluster, sums.cluster, sizeof in->cluster);
    return 0;
}

static int put_job(struct ingest *in, const char *path, const struct nt_fleet_job *job,
                   struct nt_err *err)
{
    bool has;
    if (nt_store_has(in->store, job->job, job->restart, &has, err) != 0)
        return -1;
    if (nt_store_put(in->store, job, err) != 0) {
        nt_err_prefix(err, "%s", path);
        return refuse(in, path, err);
    }
    in->known += has;
    in->taken += !has;
    double now_s = nt_clock_s();
    in->held_s = in->held_s > 0 ? in->held_s : now_s;
    if (now_s - in->held_s < HOLD_S)
        return 0;
    in->held_s = 0;
    return nt_store_commit(in->store, err);
}

static int take_file(struct ingest *in, const char *path, struct nt_err *err)
{
    struct nt_fleet_job *job = NULL;
    uint64_t id;
    uint32_t restart;
    bool has = false;
    if (in->records == NULL && is_known_name(in, path, &id, &restart) &&
        nt_store_has(in->store, id, restart, &has, err) != 0)
        return -1;
    if (has) {
        in->known++;
        return 0;
    }
    if (read_job(path, in->records, in->now_s, &job, err) != 0)
        return refuse(in, path, err);
    int rc = put_job(in, path, job, err);
    nt_fleet_job_destroy(job);
    return rc;
}

static int take_files(struct ingest *in, const struct files *files, struct nt_err *err)
{
    if (learn_cluster(in, err) != 0)
        return -1;
    for (size_t k = 0; k < files->count; k++) {
        if (k % 100 == 0 && files->count > 100)
            nt_terminal_progress("%zu of %zu files", k, files->count);
        if (take_file(in, files->path[k], err) != 0)
            return -1;
    }
    nt_terminal_progress(NULL);
    return nt_store_commit(in->store, err);
}

/* ---- the archive ---- */

static bool is_same_folder(const char *x, const char *y)
{
    struct stat p, q;
    return stat(x, &p) == 0 && stat(y, &q) == 0 && p.st_dev == q.st_dev && p.st_ino == q.st_ino;
}

/* Prunes the archive of nettopo.conf after its maps are in the store, because the end of a job has
 * little time for it. Errors are reported, but the ingestion has succeeded. */
static void prune_archive(const char *const *operand)
{
    struct nt_conf conf;
    struct nt_err err;
    bool ours = false, done;
    if (nt_fleet_conf(&conf, &err) != 0 || conf.archive.dir[0] == '\0' ||
        access(conf.archive.dir, W_OK) != 0)
        return;
    for (size_t k = 0; operand[k] != NULL; k++)
        ours |= is_same_folder(operand[k], conf.archive.dir);
    if (ours && nt_archive_prune(conf.archive.dir, conf.archive.limit_bytes, (double)INFINITY,
                                 &done, &err) != 0)
        fprintf(stderr, "nettopo fleet ingest: %s\n", err.text);
}

/* ---- the command ---- */

static int read_records(const char *path, struct nt_slurm_jobs **out, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (path == NULL)
        return 0;
    if (nt_file_read(path, RECORD_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_slurm_jobs_parse(nt_file_name(path), text, bytes, out, err);
    free(text);
    return rc;
}

static int print_taken(struct ingest *in, struct nt_err *err)
{
    struct nt_json_writer *w = &in->rejected;
    if (!in->json) {
        printf("%zu taken, %zu known, %zu rejected\n", in->taken, in->known, in->refused);
        return 0;
    }
    nt_json_end(w, ']');
    nt_json_put_whole(w, "taken", in->taken);
    nt_json_put_whole(w, "known", in->known);
    nt_json_put_whole(w, "refused", in->refused);
    return nt_file_write_json("-", w, err);
}

static int ingest_files(struct ingest *in, const char *store, const struct files *files,
                        int64_t fold_s, int64_t keep_s, struct nt_err *err)
{
    nt_json_begin(&in->rejected, NULL, '{', true);
    nt_json_begin(&in->rejected, "rejected", '[', true);
    if (nt_fleet_open(store, false, &in->store, err) != 0)
        return -1;
    int rc = take_files(in, files, err);
    if (rc == 0)
        rc = nt_store_fold(in->store, in->now_s - fold_s, in->now_s - keep_s, err);
    nt_store_close(in->store);
    if (rc == 0 && !in->quiet)
        rc = print_taken(in, err);
    if (rc == 0 && in->refused > 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s", "");
    return rc;
}

static int ingest_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.fold = "14d", .keep = "400d"};
    int64_t fold_s, keep_s;
    struct ingest in = {.now_s = nt_fleet_now()};
    struct files files = {0};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("fold", a.fold, &fold_s, err) != 0 ||
        nt_fleet_span("keep", a.keep, &keep_s, err) != 0)
        return -1;
    in.quiet = a.quiet;
    in.json = a.json;
    int rc = list_files(&files, a.operand, err);
    if (rc == 0)
        rc = read_records(a.record, &in.records, err);
    if (rc == 0)
        rc = ingest_files(&in, a.store, &files, fold_s, keep_s, err);
    if (rc == 0)
        prune_archive(a.operand);
    free(in.rejected.buf.text);
    nt_slurm_jobs_destroy(in.records);
    nt_arena_fini(&files.memory);
    return rc;
}

const struct nt_verb nt_fleet_ingest = {"ingest", "import maps with their samples", &help,
                                        ingest_run};
