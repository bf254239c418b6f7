/* SPDX-License-Identifier: Apache-2.0 */
/* The output of mpiGraph: "Send" and "Recv", then a label HOST:RANK a column; rows of a label,
 * "to" or "from", and a figure a column. Everything is separated by tabs. */
#include "import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import_table.h"

/* A megabyte of theirs in megabytes of ours. */
static const double MEBI = 1048576.0 / 1e6;

struct reading {
    struct nt_text text;
    size_t hosts;
    char **label; /* of the first table's columns: HOST */
    struct nt_named_matrix *sent, *received;
    double message_bytes; /* NaN: not stated so far */
};

/* "HOST:RANK", where RANK is the column. */
static int take_label(struct nt_text_line *line, size_t column, struct nt_word *host,
                      struct nt_err *err)
{
    struct nt_word word;
    if (!nt_line_next_word(line, &word))
        return nt_line_fail(line, err, "expected a label like n1:%zu, found nothing", column);
    const char *colon = memrchr(word.at, ':', word.bytes);
    size_t rank = 0, k = colon == NULL ? word.bytes : (size_t)(colon - word.at) + 1;
    bool fine = colon != NULL && colon > word.at && k < word.bytes && word.bytes - k <= 9;
    for (; fine && k < word.bytes; k++) {
        fine = word.at[k] >= '0' && word.at[k] <= '9';
        rank = rank * 10 + (size_t)(word.at[k] - '0');
    }
    if (!fine || rank != column)
        return nt_line_fail(line, err, "expected a label like n1:%zu, found \"%.*s\"", column,
                            nt_line_shown(word.bytes), word.at);
    *host = (struct nt_word){word.at, (size_t)(colon - word.at)};
    return 0;
}

static int read_columns(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    struct nt_word host;
    size_t capacity = 0;
    for (struct nt_text_line rest = line; nt_line_next_word(&rest, &host); rest = line) {
        if (r->hosts == NT_HOSTS_MAX)
            return nt_line_fail(&line, err, "more than %d hosts", (int)NT_HOSTS_MAX);
        if (take_label(&line, r->hosts, &host, err) != 0)
            return -1;
        if (r->hosts == capacity) {
            capacity = capacity == 0 ? 64 : 2 * capacity;
            char **more = realloc(r->label, capacity * sizeof *more);
            if (more == NULL)
                return nt_err_memory(err);
            r->label = more;
        }
        r->label[r->hosts] = strndup(host.at, host.bytes);
        if (r->label[r->hosts++] == NULL)
            return nt_err_memory(err);
    }
    return r->hosts == 0 ? nt_line_fail(&line, err, "expected hosts") : 0;
}

/* The table of r->hosts: n*n figures take at least two bytes each. */
static int create_matrix(struct reading *r, const struct nt_text_line *line,
                         struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_names names = {0};
    if ((size_t)(r->text.end - r->text.at) / 2 / r->hosts < r->hosts)
        return nt_line_fail(line, err, "%zu hosts, but the text ends before their table does",
                            r->hosts);
    int rc = import_names_unique(r->label, r->hosts, line, &names, err);
    if (rc == 0)
        rc = import_table_create(&names, NT_MATRIX_BANDWIDTH_MBPS, out, err);
    nt_names_fini(&names);
    return rc;
}

static int read_row(struct reading *r, size_t row, bool received, struct nt_matrix *m,
                    struct nt_err *err)
{
    struct nt_text_line line;
    struct nt_word word;
    if (!nt_text_next_line(&r->text, &line))
        return nt_line_fail(&line, err, "the table ends after %zu of %zu rows", row, r->hosts);
    if (take_label(&line, row, &word, err) != 0)
        return -1;
    if (!nt_word_is(word, r->label[row]))
        return nt_line_fail(&line, err, "expected the row of %.64s, found \"%.*s\"", r->label[row],
                            nt_line_shown(word.bytes), word.at);
    if (!nt_line_take_word(&line, received ? "from" : "to"))
        return nt_line_fail(&line, err, "expected \"%s\"", received ? "from" : "to");
    for (size_t k = 0; k < r->hosts; k++) {
        double v;
        if (nt_line_take_value(&line, "a bandwidth", &v, err) != 0)
            return -1;
        if (k != row && v > 0)
            nt_matrix_set(m, received ? k : row, received ? row : k, (float)(v * MEBI));
    }
    if (nt_line_next_word(&line, &word))
        return nt_line_fail(&line, err, "more than %zu figures in a row", r->hosts);
    return 0;
}

/* line: the head of a table. A second table must name the same hosts. */
static int read_table(struct reading *r, struct nt_text_line line, bool received,
                      struct nt_err *err)
{
    struct nt_named_matrix **m = received ? &r->received : &r->sent;
    struct nt_word word;
    if (*m != NULL)
        return nt_line_fail(&line, err, "a second table \"%s\"", received ? "Recv" : "Send");
    nt_line_next_word(&line, &word);
    if (r->hosts == 0) {
        if (read_columns(r, line, err) != 0)
            return -1;
    } else {
        struct nt_text_line columns = line;
        size_t n = 0;
        while (nt_line_next_word(&columns, &word))
            n++;
        if (n != r->hosts)
            return nt_line_fail(&line, err, "expected %zu hosts as before, found %zu", r->hosts, n);
    }
    if (create_matrix(r, &line, m, err) != 0)
        return -1;
    for (size_t row = 0; row < r->hosts; row++)
        if (read_row(r, row, received, (*m)->matrix, err) != 0)
            return -1;
    return 0;
}

static int read_all(struct reading *r, struct nt_err *err)
{
    struct nt_text_line line;
    while (nt_text_next_line(&r->text, &line)) {
        struct nt_text_line size = line;
        if (nt_line_take_word(&size, "MsgSize") &&
            nt_line_take_value(&size, "a message size", &r->message_bytes, err) != 0)
            return -1;
        bool received = nt_line_begins(&line, "Recv\t");
        if (received || nt_line_begins(&line, "Send\t")) {
            if (read_table(r, line, received, err) != 0)
                return -1;
        }
    }
    if (r->hosts == 0)
        return nt_line_fail(&line, err,
                            "no table of mpiGraph (a line \"Send\" or \"Recv\" with "
                            "labels like n1:0)");
    return 0;
}

int nt_import_mpigraph(const char *file, const char *text, size_t bytes,
                       struct nt_named_matrix **out, struct nt_err *err)
{
    struct reading r = {.message_bytes = NAN};
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_all(&r, err);
    for (size_t k = 0; k < r.hosts; k++)
        free(r.label[k]);
    free(r.label);
    if (rc != 0 || r.received == NULL) {
        nt_named_matrix_destroy(r.received);
        r.received = r.sent;
    } else {
        nt_named_matrix_destroy(r.sent);
    }
    if (rc == 0) {
        r.received->message_bytes = r.message_bytes;
        *out = r.received;
    } else {
        nt_named_matrix_destroy(r.received);
    }
    return rc;
}
