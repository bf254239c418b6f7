/* SPDX-License-Identifier: Apache-2.0 */
/* The text format of PARUS network_test2: "processors N", parameters a line each, "hosts:" and N
 * labels, then blocks "Message length L" with N rows of N times in seconds. */
#include "import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import_table.h"

enum { MATRICES_MAX = 65536 };

struct reading {
    struct nt_text text;
    struct nt_text_line line; /* read, not yet used */
    bool more;                /* line is one */
    size_t hosts;
    char **label;
    struct nt_matrix_series *series;
    size_t capacity;
};

static void next_row(struct reading *r)
{
    r->more = nt_text_next_line(&r->text, &r->line);
}

static int take_words(struct nt_text_line *line, const char *words)
{
    char copy[64];
    size_t bytes = strlen(words);
    memcpy(copy, words, bytes + 1);
    for (char *word = copy, *next; word != NULL; word = next) {
        next = strchr(word, ' ');
        if (next != NULL)
            *next++ = '\0';
        if (!nt_line_take_word(line, word))
            return -1;
    }
    return 0;
}

/* The parameters are for people, except that deviations are no latencies. */
static int read_head(struct reading *r, struct nt_err *err)
{
    uint64_t hosts;
    next_row(r);
    if (!r->more || !nt_line_take_word(&r->line, "processors"))
        return nt_line_fail(&r->line, err, "expected \"processors N\"");
    if (nt_line_take_whole(&r->line, "a number of processors", NT_HOSTS_MAX, &hosts, err) != 0)
        return -1;
    r->hosts = (size_t)hosts;
    if (r->hosts == 0 || (size_t)(r->text.end - r->text.at) / 2 / r->hosts < r->hosts)
        return nt_line_fail(&r->line, err,
                            "%zu processors, but the text ends before a matrix of them could",
                            r->hosts);
    for (next_row(r); r->more && !nt_line_begins(&r->line, "hosts:"); next_row(r)) {
        struct nt_text_line line = r->line;
        if (take_words(&line, "Message length") == 0)
            break;
        line = r->line;
        if (take_words(&line, "data type") == 0 &&
            memmem(line.at, (size_t)(line.end - line.at), "deviation", 9) != NULL)
            return nt_line_fail(&r->line, err, "a matrix of deviations holds no latencies");
    }
    if (!r->more || !nt_line_begins(&r->line, "hosts:"))
        return nt_line_fail(&r->line, err, "expected \"hosts:\" and the names after it");
    return 0;
}

static int read_labels(struct reading *r, struct nt_err *err)
{
    r->label = calloc(r->hosts, sizeof *r->label);
    if (r->label == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < r->hosts; k++) {
        struct nt_word word;
        next_row(r);
        if (!r->more || !nt_line_next_word(&r->line, &word))
            return nt_line_fail(&r->line, err, "%zu of %zu hosts are named", k, r->hosts);
        r->label[k] = strndup(word.at, word.bytes < 256 ? word.bytes : 256);
        if (r->label[k] == NULL)
            return nt_err_memory(err);
    }
    struct nt_names names = {0};
    int rc = import_names_unique(r->label, r->hosts, &r->line, &names, err);
    r->series->host_name = calloc(r->hosts, sizeof *r->series->host_name);
    if (rc == 0 && r->series->host_name == NULL)
        rc = nt_err_memory(err);
    for (; rc == 0 && r->series->hosts < r->hosts; r->series->hosts++) {
        char *copy = strdup(names.name[r->series->hosts]);
        if (copy == NULL)
            rc = nt_err_memory(err);
        else
            r->series->host_name[r->series->hosts] = copy;
        if (rc != 0)
            break;
    }
    nt_names_fini(&names);
    next_row(r);
    return rc;
}

static int read_row(struct reading *r, size_t row, struct nt_matrix *m, struct nt_err *err)
{
    struct nt_word word;
    if (!r->more)
        return nt_line_fail(&r->line, err, "the matrix ends after %zu of %zu rows", row, r->hosts);
    for (size_t k = 0; k < r->hosts; k++) {
        double seconds;
        if (nt_line_take_value(&r->line, "a time in seconds", &seconds, err) != 0)
            return -1;
        if (k != row)
            nt_matrix_set(m, row, k, (float)(seconds * 1e6));
    }
    if (nt_line_next_word(&r->line, &word))
        return nt_line_fail(&r->line, err, "more than %zu figures in a row", r->hosts);
    next_row(r);
    return 0;
}

static int grow_series(struct reading *r, struct nt_err *err)
{
    struct nt_matrix_series *s = r->series;
    if (s->matrices < r->capacity)
        return 0;
    size_t capacity = r->capacity == 0 ? 16 : 2 * r->capacity;
    double *sizes = realloc(s->message_bytes, capacity * sizeof *sizes);
    if (sizes != NULL)
        s->message_bytes = sizes;
    struct nt_matrix **matrix = realloc(s->matrix, capacity * sizeof *matrix);
    if (matrix != NULL)
        s->matrix = matrix;
    if (sizes == NULL || matrix == NULL)
        return nt_err_memory(err);
    r->capacity = capacity;
    return 0;
}

static int read_block(struct reading *r, struct nt_err *err)
{
    struct nt_matrix_series *s = r->series;
    struct nt_matrix *m;
    uint64_t length;
    if (take_words(&r->line, "Message length") != 0)
        return nt_line_fail(&r->line, err, "expected \"Message length N\"");
    if (nt_line_take_whole(&r->line, "a message length", UINT64_C(1) << 53, &length, err) != 0)
        return -1;
    if (s->matrices > 0 && (double)length <= s->message_bytes[s->matrices - 1])
        return nt_line_fail(&r->line, err, "message length %llu does not grow",
                            (unsigned long long)length);
    if (s->matrices == MATRICES_MAX)
        return nt_line_fail(&r->line, err, "more than %d matrices", (int)MATRICES_MAX);
    if ((size_t)(r->text.end - r->text.at) / 2 / r->hosts < r->hosts)
        return nt_line_fail(&r->line, err, "the text ends before this matrix does");
    if (grow_series(r, err) != 0 || nt_matrix_create(r->hosts, NT_MATRIX_LATENCY_US, &m, err) != 0)
        return -1;
    s->message_bytes[s->matrices] = (double)length;
    s->matrix[s->matrices++] = m;
    next_row(r);
    for (size_t row = 0; row < r->hosts; row++)
        if (read_row(r, row, m, err) != 0)
            return -1;
    return 0;
}

static int read_all(struct reading *r, struct nt_err *err)
{
    if (read_head(r, err) != 0 || read_labels(r, err) != 0)
        return -1;
    if (!r->more)
        return nt_line_fail(&r->line, err, "expected \"Message length N\" and a matrix");
    while (r->more)
        if (read_block(r, err) != 0)
            return -1;
    return 0;
}

int nt_import_parus(const char *file, const char *text, size_t bytes, struct nt_matrix_series **out,
                    struct nt_err *err)
{
    struct reading r = {0};
    if (nt_text_begin(&r.text, file, text, bytes, err) != 0)
        return -1;
    r.series = calloc(1, sizeof *r.series);
    int rc = r.series == NULL ? nt_err_memory(err) : read_all(&r, err);
    for (size_t k = 0; r.label != NULL && k < r.hosts; k++)
        free(r.label[k]);
    free(r.label);
    if (rc == 0)
        *out = r.series;
    else
        nt_matrix_series_destroy(r.series);
    return rc;
}

void nt_matrix_series_destroy(struct nt_matrix_series *series)
{
    if (series == NULL)
        return;
    for (size_t k = 0; series->host_name != NULL && k < series->hosts; k++)
        free(series->host_name[k]);
    for (size_t k = 0; k < series->matrices; k++)
        nt_matrix_destroy(series->matrix[k]);
    free(series->host_name);
    free(series->message_bytes);
    free(series->matrix);
    free(series);
}
