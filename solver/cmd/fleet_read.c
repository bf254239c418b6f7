/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_text.h"
#include "files.h"
#include "fleet.h"
#include "json.h"
#include "map_json.h"

/* A job publishes at most 4 MiB compressed (publish_limit), of which no map and record makes more
 * than five times that. JSON takes memory by objects and values, which a text can have more of than
 * any map: 65,536 hosts have 200,000 objects. */
enum {
    PATH_BYTES = 4096,
    TEXT_MAX = 20 << 20,
    OBJECT_BYTES = 900,
    VALUE_BYTES = 80,
    JSON_MEMORY_MAX = 160 << 20
};

/* What was read of one file. */
struct source {
    const char *path;
    struct nt_archive_text text; /* a plain file: without comment */
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

/* A file without root's line: its owner is the user, but for root, who publishes every job's files.
 */
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

/* Before it is parsed; what is in names counts, too, and matters little. */
static int bound_map(const struct source *s, struct nt_err *err)
{
    size_t objects = 0, values = 0;
    for (size_t k = 0; k < s->text.map_bytes; k++) {
        objects += s->text.text[k] == '{';
        values += s->text.text[k] == ',' || s->text.text[k] == '[';
    }
    if (objects * OBJECT_BYTES + values * VALUE_BYTES <= JSON_MEMORY_MAX)
        return 0;
    return nt_err_set(err, NT_ERR_INPUT, "%s: %zu objects and %zu values are more than a map has",
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
            rc = nt_slurm_jobs_say(records, map->job_id, &s->origin, err);
        if (rc == 0)
            rc = nt_fleet_job_create(map, samples, &s->origin, now_s, out, err);
        if (rc != 0)
            nt_err_prefix(err, "%s", s->path);
    }
    nt_samples_destroy(samples);
    nt_map_destroy(map);
    return rc;
}

int nt_fleet_read_job(const char *path, const struct nt_slurm_jobs *records, int64_t now_s,
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
