/* SPDX-License-Identifier: Apache-2.0 */
#include "matrices.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "matrix_csv.h"
#include "terminal.h"

enum {
    HEAD_BYTES = 16384,            /* in which the format shows: after a launcher's own lines */
    WHOLE_MAX = 256 * 1024 * 1024, /* of a text that is no CSV */
    LINE_MAX_BYTES = 1 << 22       /* of such a text: a row of as many hosts as there may be */
};

static const struct {
    const char *name;
    enum nt_matrix_text text;
} names[] = {{"csv", NT_TEXT_CSV},
             {"mpigraph", NT_TEXT_MPIGRAPH},
             {"osu", NT_TEXT_OSU},
             {"parus", NT_TEXT_PARUS}};

/* How a line begins that only one of the programs writes. */
static const struct {
    const char *begin;
    enum nt_matrix_text text;
} signs[] = {{",", NT_TEXT_CSV},           {"START mpiGraph", NT_TEXT_MPIGRAPH},
             {"Send\t", NT_TEXT_MPIGRAPH}, {"Recv\t", NT_TEXT_MPIGRAPH},
             {"# hosts ", NT_TEXT_OSU},    {"# hosts\t", NT_TEXT_OSU},
             {"# OSU MPI", NT_TEXT_OSU},   {"processors ", NT_TEXT_PARUS}};

int nt_matrix_text_named(const char *name, enum nt_matrix_text *text, struct nt_err *err)
{
    enum nt_matrix_text found = NT_TEXT_ANY;
    for (size_t k = 0; name != NULL && k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k].name) == 0)
            found = names[k].text;
    if (name != NULL && found == NT_TEXT_ANY)
        return nt_err_set(err, NT_ERR_USAGE, "--from %.64s: expected csv, mpigraph, osu or parus",
                          name);
    *text = found;
    return 0;
}

/* A file on its way in: the head until the format is known, then a stream or a whole text. */
struct incoming {
    const char *file;
    enum nt_matrix_text text;
    enum nt_matrix_kind kind;
    struct nt_csv_reader *csv; /* once it is known to be one */
    char *kept;                /* terminated */
    size_t bytes, capacity;
    size_t line, line_bytes; /* lines that ended; of the one that has not */
};

static enum nt_matrix_text recognise_text(const char *head)
{
    for (const char *line = head; *line != '\0';) {
        for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
            if (strncmp(line, signs[k].begin, strlen(signs[k].begin)) == 0)
                return signs[k].text;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NT_TEXT_CSV;
}

/* A text without lines is none of these programs', and shows early. */
static int count_lines(struct incoming *in, const char *text, size_t bytes, struct nt_err *err)
{
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        in->line_bytes += (size_t)((stop == NULL ? end : stop) - at);
        if (in->line_bytes > LINE_MAX_BYTES)
            return nt_err_set(err, NT_ERR_INPUT,
                              "%s:%zu: expected lines of at most %d bytes, found a longer one",
                              in->file, in->line + 1, (int)LINE_MAX_BYTES);
        if (stop == NULL)
            break;
        in->line++;
        in->line_bytes = 0;
        at = stop + 1;
    }
    return 0;
}

static int keep_text(struct incoming *in, const char *text, size_t bytes, struct nt_err *err)
{
    if (bytes > WHOLE_MAX - in->bytes)
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected at most %d bytes, found more", in->file,
                          (int)WHOLE_MAX);
    if (count_lines(in, text, bytes, err) != 0)
        return -1;
    if (in->bytes + bytes >= in->capacity) {
        size_t capacity = (in->bytes + bytes) * 2 + 1;
        capacity = capacity > (size_t)WHOLE_MAX + 1 ? (size_t)WHOLE_MAX + 1 : capacity;
        char *grown = realloc(in->kept, capacity);
        if (grown == NULL)
            return nt_err_memory(err);
        in->kept = grown;
        in->capacity = capacity;
    }
    if (bytes > 0)
        memcpy(in->kept + in->bytes, text, bytes);
    in->bytes += bytes;
    in->kept[in->bytes] = '\0';
    return 0;
}

/* From here on the format is known; of a CSV the head is passed on. */
static int settle_format(struct incoming *in, struct nt_err *err)
{
    if (in->text == NT_TEXT_ANY)
        in->text = recognise_text(in->kept);
    if (in->text != NT_TEXT_CSV)
        return 0;
    if (nt_csv_reader_create(in->file, in->kind, &in->csv, err) != 0)
        return -1;
    return nt_csv_reader_feed(in->csv, in->kept, in->bytes, err);
}

static int feed_text(void *context, const char *text, size_t bytes, struct nt_err *err)
{
    struct incoming *in = context;
    if (in->csv != NULL)
        return nt_csv_reader_feed(in->csv, text, bytes, err);
    if (keep_text(in, text, bytes, err) != 0)
        return -1;
    bool open = in->text == NT_TEXT_ANY || in->text == NT_TEXT_CSV;
    return open && in->bytes >= HEAD_BYTES ? settle_format(in, err) : 0;
}

/* A series of one; takes the table over. */
static int wrap_matrix(struct nt_named_matrix *table, struct nt_matrix_series **out,
                       struct nt_err *err)
{
    struct nt_matrix_series *s = calloc(1, sizeof *s);
    double *bytes = malloc(sizeof *bytes);
    struct nt_matrix **matrix = malloc(sizeof *matrix);
    if (s == NULL || bytes == NULL || matrix == NULL) {
        free(s);
        free(bytes);
        free(matrix);
        nt_named_matrix_destroy(table);
        return nt_err_memory(err);
    }
    *bytes = table->message_bytes;
    *matrix = table->matrix;
    *s = (struct nt_matrix_series){.hosts = table->matrix->n,
                                   .host_name = table->host_name,
                                   .matrices = 1,
                                   .message_bytes = bytes,
                                   .matrix = matrix};
    free(table);
    *out = s;
    return 0;
}

static int finish_matrices(struct incoming *in, struct nt_matrix_series **out, struct nt_err *err)
{
    struct nt_named_matrix *table;
    int rc;
    if (in->csv == NULL && settle_format(in, err) != 0)
        return -1;
    bool latency = in->kind == NT_MATRIX_LATENCY_US;
    if (in->text == (latency ? NT_TEXT_MPIGRAPH : NT_TEXT_PARUS))
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected %s, found a text of %s", in->file,
                          latency ? "latencies" : "bandwidths", latency ? "mpiGraph" : "PARUS");
    if (in->text == NT_TEXT_PARUS)
        return nt_import_parus(in->file, in->kept, in->bytes, out, err);
    if (in->text == NT_TEXT_MPIGRAPH)
        rc = nt_import_mpigraph(in->file, in->kept, in->bytes, &table, err);
    else if (in->text == NT_TEXT_OSU)
        rc = nt_import_osu(in->file, in->kept, in->bytes, in->kind, &table, err);
    else
        rc = nt_csv_reader_finish(in->csv, &table, err);
    if (rc != 0 || wrap_matrix(table, out, err) != 0)
        return -1;
    (*out)->contended = in->text == NT_TEXT_MPIGRAPH; /* each to its n-th next, all together */
    return 0;
}

int nt_matrices_read(const char *path, enum nt_matrix_text text, enum nt_matrix_kind kind,
                     struct nt_matrix_series **out, struct nt_err *err)
{
    struct incoming in = {.file = nt_file_name(path), .text = text, .kind = kind};
    nt_terminal_progress("reading %s", in.file);
    int rc = keep_text(&in, "", 0, err); /* so that an empty file is an empty text */
    if (rc == 0)
        rc = nt_file_stream(path, feed_text, &in, err);
    if (rc == 0)
        rc = finish_matrices(&in, out, err);
    nt_csv_reader_destroy(in.csv);
    free(in.kept);
    return rc;
}
