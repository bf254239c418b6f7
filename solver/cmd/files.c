/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_write.h"
#include "json.h"
#include "map_json.h"
#include "terminal.h"

enum { PIECE_BYTES = 1 << 18 };

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char nt_file_inline_map[] = "$NETTOPO_JSON";

const char *nt_file_name(const char *path)
{
    return is_standard(path) ? "standard input" : path;
}

/* ---- reading ---- */

static int refuse_file(const char *path, const char *doing, struct nt_err *err)
{
    bool absent =
        errno == ENOENT || errno == ENOTDIR || errno == EISDIR || errno == ELOOP || errno == ENXIO;
    return nt_err_set(err, absent ? NT_ERR_INPUT : NT_ERR_SYSTEM, "cannot %s %s: %s", doing,
                      nt_file_name(path), strerror(errno));
}

/* Passes the rest of the file to feed. */
static int feed_all(int fd, const char *path, nt_feed *feed, void *context, struct nt_err *err)
{
    char *piece = malloc(PIECE_BYTES);
    int rc = 0;
    if (piece == NULL)
        rc = nt_err_memory(err);
    while (rc == 0) {
        ssize_t got = read(fd, piece, PIECE_BYTES);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = refuse_file(path, "read", err);
        else
            rc = feed(context, piece, (size_t)got, err);
    }
    free(piece);
    return rc;
}

int nt_file_stream(const char *path, nt_feed *feed, void *context, struct nt_err *err)
{
    const char *map = path == nt_file_inline_map ? getenv("NETTOPO_JSON") : NULL;
    if (map != NULL)
        return feed(context, map, strlen(map), err);
    int fd = is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse_file(path, "open", err);
    int rc = feed_all(fd, path, feed, context, err);
    if (fd != STDIN_FILENO)
        close(fd);
    return rc;
}

static int give_file(const void *path, nt_feed *feed, void *to, struct nt_err *err)
{
    nt_terminal_progress("reading %s", nt_file_name(path));
    int rc = nt_file_stream(path, feed, to, err);
    nt_terminal_progress(NULL);
    return rc;
}

struct nt_text_source nt_file_source(const char *path)
{
    return (struct nt_text_source){nt_file_name(path), give_file, path};
}

int nt_file_keep(void *to, const char *text, size_t bytes, struct nt_err *err)
{
    struct nt_file_text *w = to;
    if (bytes > w->most - w->used)
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected at most %zu bytes, found more",
                          nt_file_name(w->path), w->most);
    if (w->used + bytes >= w->capacity) {
        size_t capacity = (w->used + bytes) * 2 + 1;
        capacity = capacity > w->most + 1 ? w->most + 1 : capacity;
        char *grown = realloc(w->text, capacity);
        if (grown == NULL)
            return nt_err_memory(err);
        w->text = grown;
        w->capacity = capacity;
    }
    memcpy(w->text + w->used, text, bytes);
    w->used += bytes;
    w->text[w->used] = '\0';
    return 0;
}

int nt_file_read(const char *path, size_t most, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_file_text w = {.path = path, .most = most};
    if (nt_file_keep(&w, "", 0, err) != 0 || nt_file_stream(path, nt_file_keep, &w, err) != 0) {
        free(w.text);
        return -1;
    }
    *text = w.text;
    *bytes = w.used;
    return 0;
}

int nt_file_read_regular(const char *path, size_t most, char **text, size_t *bytes, struct stat *st,
                         struct nt_err *err)
{
    struct nt_file_text w = {.path = path, .most = most};
    int rc = -1, fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, st) != 0)
        refuse_file(path, "open", err);
    else if (!S_ISREG(st->st_mode))
        nt_err_set(err, NT_ERR_INPUT, "%s: not a regular file", path);
    else
        rc = nt_file_keep(&w, "", 0, err) == 0 ? feed_all(fd, path, nt_file_keep, &w, err) : -1;
    if (fd >= 0)
        close(fd);
    if (rc != 0) {
        free(w.text);
        return -1;
    }
    *text = w.text;
    *bytes = w.used;
    return 0;
}

const char *nt_file_map_path(const char *path, struct nt_err *err)
{
    const char *own = getenv("NETTOPO_MAP"), *text = getenv("NETTOPO_JSON");
    bool is_own = path == NULL || (own != NULL && strcmp(path, own) == 0);
    bool is_there = own != NULL && own[0] != '\0';
    if (is_own && text != NULL && text[0] != '\0' && (!is_there || access(own, R_OK) != 0))
        return nt_file_inline_map;
    if (!is_own || is_there)
        return is_own ? own : path;
    const char *status = getenv("NETTOPO_STATUS"), *reason = getenv("NETTOPO_REASON");
    if (status != NULL && status[0] != '\0')
        nt_err_set(err, NT_ERR_NO, "this job has no map (NETTOPO_STATUS=%.32s)%s%s", status,
                   reason != NULL ? ": " : "", reason != NULL ? reason : "");
    else
        nt_err_set(err, NT_ERR_USAGE,
                   "no map given and NETTOPO_MAP is not set. Pass a file, or run inside a job "
                   "submitted with --nettopo (in salloc: with srun).");
    return NULL;
}

int nt_file_write_json(const char *path, struct nt_json_writer *w, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (w->depth > 0) {
        nt_json_end(w, '}');
        nt_strbuf_puts(&w->buf, "\n");
    }
    return nt_strbuf_finish(&w->buf, &text, &bytes, err) != 0
               ? -1
               : nt_file_write_text(path, text, bytes, err);
}

int nt_file_read_map(const char *path, struct nt_map **out, struct nt_err *err)
{
    char *text;
    size_t bytes;
    path = nt_file_map_path(path, err);
    if (path == NULL || nt_file_read(path, NT_JSON_TEXT_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_map_read(nt_file_name(path), text, bytes, out, err);
    free(text);
    return rc;
}

/* ---- the record of a sweep ---- */

static int feed_samples(void *reader, const char *text, size_t bytes, struct nt_err *err)
{
    return nt_samples_reader_feed(reader, text, bytes, err);
}

int nt_file_read_samples(const char *path, struct nt_samples **out, struct nt_err *err)
{
    struct nt_samples_reader *reader;
    if (nt_samples_reader_create(nt_file_name(path), &reader, err) != 0)
        return -1;
    int rc = give_file(path, feed_samples, reader, err);
    if (rc == 0)
        rc = nt_samples_reader_finish(reader, out, err);
    nt_samples_reader_destroy(reader);
    return rc;
}

int nt_file_write_text(const char *path, char *text, size_t bytes, struct nt_err *err)
{
    int rc = nt_file_write(path, text, bytes, err);
    free(text);
    return rc;
}
