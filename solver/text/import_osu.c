/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of the OSU Micro-Benchmarks, one block a pair:
 *     # hosts n1 n2
 *     # OSU MPI Latency Test v5.6.2
 *     # Size          Latency (us)
 *     0                       1.21
 * The benchmarks do not print where they ran, so the line with the hosts is the user's. Lines that
 * are no comment and begin with no digit are a launcher's and are passed over. */
#include "import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import_table.h"

struct pair {
    uint32_t a, b;
    double largest, value; /* message of the block; figure */
};

struct reading {
    struct nt_text text;
    enum nt_matrix_kind kind;
    struct nt_names names;
    bool hosts_known; /* for the block to come */
    bool in_block;    /* of our kind */
    bool skip_block;  /* of the other kind */
    uint32_t a, b;
    bool any;                    /* a figure came in this block */
    double size, value, largest; /* of the figure that counts; of any message in the block */
    struct nt_text_line opened;  /* the line that opened this block */
    double common_size;          /* latency: of all blocks; NaN: none yet */
    struct pair *pair;
    size_t pairs, capacity;
};

static const struct {
    const char *name;
    enum nt_matrix_kind kind;
} tests[] = {
    {"Latency", NT_MATRIX_LATENCY_US},
    {"Multi Latency", NT_MATRIX_LATENCY_US},
    {"Multi-threaded Latency", NT_MATRIX_LATENCY_US},
    {"Bandwidth", NT_MATRIX_BANDWIDTH_MBPS},
    {"Multiple Bandwidth / Message Rate", NT_MATRIX_BANDWIDTH_MBPS},
};

static int take_host(struct reading *r, struct nt_text_line *line, uint32_t *host,
                     struct nt_err *err)
{
    struct nt_word word;
    char name[256];
    struct nt_err why = {0};
    if (!nt_line_next_word(line, &word) || word.bytes >= sizeof name)
        return nt_line_fail(line, err, "expected \"# hosts NAME NAME\"");
    memcpy(name, word.at, word.bytes);
    name[word.bytes] = '\0';
    if (nt_host_name_check(name, &why) != 0)
        return nt_line_fail(line, err, "%s", why.text);
    if (nt_names_add_copy(&r->names, name, word.bytes, host, err) < 0)
        return -1;
    if (r->names.count > NT_IMPORT_PAIR_HOSTS_MAX)
        return nt_line_fail(line, err, "more than %d hosts", (int)NT_IMPORT_PAIR_HOSTS_MAX);
    return 0;
}

static int close_block(struct reading *r, struct nt_err *err)
{
    if (!r->in_block) {
        r->skip_block = false;
        return 0;
    }
    if (!r->any)
        return nt_line_fail(&r->opened, err, "no figures follow this test");
    if (r->kind == NT_MATRIX_LATENCY_US) {
        if (!isnan(r->common_size) && r->size != r->common_size)
            return nt_line_fail(&r->opened, err,
                                "the smallest message here has %g bytes, in blocks before %g",
                                r->size, r->common_size);
        r->common_size = r->size;
    }
    if (r->pairs == r->capacity) {
        size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
        struct pair *more = realloc(r->pair, capacity * sizeof *more);
        if (more == NULL)
            return nt_err_memory(err);
        r->pair = more;
        r->capacity = capacity;
    }
    r->pair[r->pairs++] = (struct pair){r->a, r->b, r->largest, r->value};
    r->in_block = r->any = false;
    return 0;
}

static int open_pair(struct reading *r, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_word word;
    if (close_block(r, err) != 0 || take_host(r, line, &r->a, err) != 0 ||
        take_host(r, line, &r->b, err) != 0)
        return -1;
    if (r->a == r->b || nt_line_next_word(line, &word))
        return nt_line_fail(line, err, "expected two different hosts");
    r->hosts_known = true;
    return 0;
}

/* Behind "# OSU MPI": an optional "-CUDA" or the like, the test's name, " Test". */
static int open_test(struct reading *r, struct nt_text_line *line, struct nt_err *err)
{
    const char *at = line->at + strlen("# OSU MPI"), *end = line->end;
    while (at < end && *at != ' ')
        at++;
    at += at < end ? 1 : 0;
    if (close_block(r, err) != 0)
        return -1;
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++) {
        size_t bytes = strlen(tests[k].name);
        if ((size_t)(end - at) < bytes + 5 || memcmp(at, tests[k].name, bytes) != 0 ||
            memcmp(at + bytes, " Test", 5) != 0)
            continue;
        if (!r->hosts_known)
            return nt_line_fail(line, err, "no line \"# hosts NAME NAME\" before this test");
        r->in_block = tests[k].kind == r->kind;
        r->skip_block = !r->in_block;
        r->opened = *line;
        return 0;
    }
    return nt_line_fail(line, err, "expected a test of latency or bandwidth, found \"%.*s\"",
                        nt_line_shown((size_t)(end - at)), at);
}

static int read_comment(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    if (nt_line_begins(&line, "# hosts ") || nt_line_begins(&line, "# hosts\t")) {
        line.at += strlen("# hosts");
        return open_pair(r, &line, err);
    }
    if (nt_line_begins(&line, "# OSU MPI"))
        return open_test(r, &line, err);
    if (nt_line_begins(&line, "# [ pairs: ") && !nt_line_begins(&line, "# [ pairs: 1 ]") &&
        r->in_block)
        return nt_line_fail(&line, err, "a figure of several pairs at once is no pair's figure");
    return 0;
}

static int read_figure(struct reading *r, struct nt_text_line line, struct nt_err *err)
{
    double size, value;
    if (r->skip_block)
        return 0;
    if (!r->in_block)
        return nt_line_fail(&line, err, "figures before a line \"# OSU MPI ... Test\"");
    if (nt_line_take_value(&line, "a size", &size, err) != 0 ||
        nt_line_take_value(&line, "a figure", &value, err) != 0)
        return -1;
    bool better = r->kind == NT_MATRIX_LATENCY_US ? size < r->size : value > r->value;
    if (!r->any || better) {
        r->size = size;
        r->value = value;
    }
    r->largest = r->any ? fmax(r->largest, size) : size;
    r->any = true;
    return 0;
}

static int read_all(struct reading *r, struct nt_err *err)
{
    struct nt_text_line line;
    while (nt_text_next_line(&r->text, &line)) {
        int rc = 0;
        if (*line.at == '#')
            rc = read_comment(r, line, err);
        else if (*line.at >= '0' && *line.at <= '9')
            rc = read_figure(r, line, err);
        if (rc != 0)
            return -1;
    }
    if (close_block(r, err) != 0)
        return -1;
    if (r->pairs == 0)
        return nt_line_fail(&line, err, "no test of %s",
                            r->kind == NT_MATRIX_LATENCY_US ? "latency" : "bandwidth");
    return 0;
}

/* A pair that comes again keeps its better figure: what was worse was disturbed. */
static void keep_better(struct nt_matrix *m, const struct pair *p)
{
    float was = nt_matrix_get(m, p->a, p->b), now = (float)p->value;
    if (isnan(was) || (m->kind == NT_MATRIX_LATENCY_US ? now < was : now > was))
        nt_matrix_set(m, p->a, p->b, now);
}

int nt_import_osu(const char *file, const char *text, size_t bytes, enum nt_matrix_kind kind,
                  struct nt_named_matrix **out, struct nt_err *err)
{
    struct reading r = {
        .text = {.file = file, .at = text, .end = text + bytes}, .kind = kind, .common_size = NAN};
    struct nt_named_matrix *m = NULL;
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_all(&r, err);
    if (rc == 0)
        rc = import_table_create(&r.names, kind, &m, err);
    for (size_t k = 0; rc == 0 && k < r.pairs; k++) {
        keep_better(m->matrix, &r.pair[k]);
        if (kind == NT_MATRIX_BANDWIDTH_MBPS) /* of a NaN: the other */
            m->message_bytes = fmin(m->message_bytes, r.pair[k].largest);
    }
    if (rc == 0)
        *out = m;
    nt_names_fini(&r.names);
    free(r.pair);
    return rc;
}
