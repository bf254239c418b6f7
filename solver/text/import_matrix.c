/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv_dialect.h"
#include "lines.h"
#include "map.h"
#include "memory.h"
#include "names.h"

/* ---- tables --------------------------------------------------------------------------------- */

struct labels {
    struct nt_names distinct;
    uint32_t *which;        /* by label: its name in distinct */
    uint32_t *times, *next; /* by distinct name: occurrences, and the next number */
};

/* Labels that occur once stay; those that occur more often (processes of one host) get "-0",
 * "-1", ... in order. Each becomes a host name or an error; line is for the message. w: working
 * memory, zeroed. */
static int name_each(const char *const *label, size_t labels, const struct nt_text_line *line,
                     struct labels *w, struct nt_names *names, struct nt_err *err)
{
    for (size_t k = 0; k < labels; k++) {
        if (nt_names_add_copy(&w->distinct, label[k], strlen(label[k]), &w->which[k], err) < 0)
            return -1;
        w->times[w->which[k]]++;
    }
    for (size_t k = 0; k < labels; k++) {
        char name[320];
        uint32_t index, which = w->which[k];
        int used = w->times[which] == 1
                       ? snprintf(name, sizeof name, "%.300s", label[k])
                       : snprintf(name, sizeof name, "%.300s-%u", label[k], w->next[which]++);
        struct nt_err why = {0};
        if (used < 0 || nt_host_name_check(name, &why) != 0)
            return nt_line_fail(line, err, "%s", why.text);
        int rc = nt_names_add_copy(names, name, strlen(name), &index, err);
        if (rc != 0)
            return rc < 0 ? rc : nt_line_fail(line, err, "host %s is named twice", name);
    }
    return 0;
}

static int name_hosts(const char *const *label, size_t labels, const struct nt_text_line *line,
                      struct nt_names *names, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct labels w = {.times = nt_arena_array(&memory, labels, sizeof *w.times),
                       .which = nt_arena_array(&memory, labels, sizeof *w.which),
                       .next = nt_arena_array(&memory, labels, sizeof *w.next)};
    int rc = nt_arena_check(&memory, err);
    if (rc == 0)
        rc = name_each(label, labels, line, &w, names, err);
    nt_names_fini(&w.distinct);
    return rc;
}

/* Creates a table with a host per label and without measurements. */
static int label_table(const char *const *label, size_t labels, const struct nt_text_line *line,
                       enum nt_matrix_kind kind, struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_names names = {0};
    int rc = name_hosts(label, labels, line, &names, err);
    if (rc == 0)
        rc = nt_named_matrix_create(&names, kind, out, err);
    nt_names_fini(&names);
    return rc;
}

/* Returns whether the rest of the text is too short for a table: n*n values take at least two bytes
 * each. */
static bool ends_before_table(const struct nt_text *text, size_t hosts)
{
    return (size_t)(text->end - text->at) / 2 / hosts < hosts;
}

/* ---- mpiGraph ------------------------------------------------------------------------------- */

/* The output of mpiGraph: "Send" and "Recv", then a label HOST:RANK a column; rows of a label,
 * "to" or "from", and a figure a column. Everything is separated by tabs. */

/* mpiGraph's megabyte (2^20 bytes) in MB (10^6 bytes). */
static const double MEBI = 1048576.0 / 1e6;

struct mpigraph {
    struct nt_text text;
    struct nt_arena memory;
    size_t hosts, room;
    const char **label; /* hosts of the first table's columns */
    struct nt_named_matrix *sent, *received;
    double message_bytes; /* NaN: not stated so far */
};

/* Reads "HOST:RANK"; RANK is the column. */
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

static int read_columns(struct mpigraph *r, struct nt_text_line line, struct nt_err *err)
{
    struct nt_word host;
    for (struct nt_text_line rest = line; nt_line_next_word(&rest, &host); rest = line) {
        if (r->hosts == NT_HOSTS_MAX)
            return nt_line_fail(&line, err, "more than %d hosts", (int)NT_HOSTS_MAX);
        if (take_label(&line, r->hosts, &host, err) != 0)
            return -1;
        r->label = nt_arena_grow(&r->memory, r->label, &r->room, r->hosts + 1, sizeof *r->label);
        const char *label = nt_arena_text(&r->memory, host.at, host.bytes);
        if (nt_arena_check(&r->memory, err) != 0)
            return -1;
        r->label[r->hosts++] = label;
    }
    return r->hosts == 0 ? nt_line_fail(&line, err, "expected hosts") : 0;
}

static int read_mpigraph_row(struct mpigraph *r, size_t row, bool received, struct nt_matrix *m,
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
        return nt_line_fail(&line, err, "more than %zu values in a row", r->hosts);
    return 0;
}

/* Reads a table. line: its header. A second table must have the same hosts. */
static int read_table(struct mpigraph *r, struct nt_text_line line, bool received,
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
    if (ends_before_table(&r->text, r->hosts))
        return nt_line_fail(&line, err, "%zu hosts, but the text ends before their table does",
                            r->hosts);
    if (label_table(r->label, r->hosts, &line, NT_MATRIX_BANDWIDTH_MBPS, m, err) != 0)
        return -1;
    for (size_t row = 0; row < r->hosts; row++)
        if (read_mpigraph_row(r, row, received, (*m)->matrix, err) != 0)
            return -1;
    return 0;
}

static int read_mpigraph(struct mpigraph *r, struct nt_err *err)
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
                            "expected a table of mpiGraph (a line \"Send\" or \"Recv\" with "
                            "labels like n1:0)");
    return 0;
}

int nt_import_mpigraph(const char *file, const char *text, size_t bytes,
                       struct nt_named_matrix **out, struct nt_err *err)
{
    struct mpigraph r = {.message_bytes = NAN};
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_mpigraph(&r, err);
    nt_arena_fini(&r.memory);
    struct nt_named_matrix *kept = r.received != NULL ? r.received : r.sent;
    if (kept != r.sent)
        nt_named_matrix_destroy(r.sent);
    if (rc != 0) {
        nt_named_matrix_destroy(kept);
        return -1;
    }
    kept->message_bytes = r.message_bytes;
    kept->contended = true; /* each process sends to the n-th next one, all at the same time */
    *out = kept;
    return 0;
}

bool nt_import_is_matrix(const char *text, size_t bytes)
{
    struct nt_word rest = {text, bytes};
    struct nt_csv_dialect d = nt_csv_dialect_find(text, bytes);
    /* words with spaces between them are more likely a sentence than hosts */
    bool words = d.form == NT_CSV_MATRIX && d.separator == ' ';
    return nt_import_benchmark_line(text, nt_word_cut(&rest, '\n').bytes) ||
           (d.form != NT_CSV_UNKNOWN && !words);
}
