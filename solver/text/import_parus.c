/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "map.h"
#include "memory.h"
#include "names.h"

enum { MATRICES_MAX = 65536 };
static const double SECONDS_MAX = 1e30; /* as nt_line_take_value */

/* State of reading: first the names of the processes, then matrix after matrix. */
struct parus {
    struct nt_arena memory; /* of the arrays */
    size_t processes;
    const char **label;    /* by process: name of its host */
    uint32_t *host;        /* by process: index of its host */
    size_t hosts;          /* number of different names */
    double *sum;           /* hosts * hosts sums of the current matrix */
    uint32_t *times;       /* hosts * hosts numbers of values in a sum */
    struct nt_names names; /* names of the hosts, until the table takes them over */
    struct nt_named_matrix *table;
};

/* ---- processes to hosts ---- */

/* Groups processes by host: processes of one host have the same name. If all ran on one host, each
 * counts as a host: NAME-0, NAME-1, ... */
static int group_processes(struct parus *p, const struct nt_text_line *line, struct nt_err *err)
{
    bool alone = p->processes > 1;
    for (size_t k = 1; k < p->processes; k++)
        alone = alone && strcmp(p->label[k], p->label[0]) == 0;
    p->host = nt_arena_array(&p->memory, p->processes, sizeof *p->host);
    if (nt_arena_check(&p->memory, err) != 0)
        return -1;
    for (size_t k = 0; k < p->processes; k++) {
        char name[320];
        struct nt_err why = {0};
        int used = alone ? snprintf(name, sizeof name, "%.300s-%zu", p->label[k], k)
                         : snprintf(name, sizeof name, "%.300s", p->label[k]);
        if (used < 0 || nt_host_name_check(name, &why) != 0)
            return nt_line_fail(line, err, "%s", why.text);
        if (nt_names_add_copy(&p->names, name, strlen(name), &p->host[k], err) < 0)
            return -1;
    }
    p->hosts = p->names.count;
    p->sum = nt_arena_array(&p->memory, p->hosts * p->hosts, sizeof *p->sum);
    p->times = nt_arena_array(&p->memory, p->hosts * p->hosts, sizeof *p->times);
    if (nt_arena_check(&p->memory, err) != 0)
        return -1;
    return nt_named_matrix_create(&p->names, NT_MATRIX_LATENCY_US, &p->table, err);
}

static void add_time(struct parus *p, size_t from, size_t to, double seconds)
{
    size_t k = p->host[from] * p->hosts + p->host[to];
    if (p->host[from] == p->host[to])
        return;
    p->sum[k] += seconds * 1e6;
    p->times[k]++;
}

/* Sets the value of two hosts to the mean over their processes (Bannikov and Salnikov 2013, formula
 * 3). */
static void end_matrix(struct parus *p, struct nt_matrix *m)
{
    for (size_t k = 0; k < p->hosts * p->hosts; k++) {
        if (p->times[k] > 0)
            m->at[k] = (float)(p->sum[k] / p->times[k]);
        p->sum[k] = 0;
        p->times[k] = 0;
    }
}

/* Adds the matrix of the next message size, which must be larger. */
static struct nt_matrix *add_matrix(struct parus *p, double message_bytes, struct nt_err *err)
{
    struct nt_named_matrix *t = p->table;
    if (isnan(t->message_bytes)) {
        t->message_bytes = message_bytes;
        return t->matrix;
    }
    struct nt_matrix **larger = realloc(t->larger, (t->larger_sizes + 1) * sizeof *larger);
    if (larger != NULL)
        t->larger = larger;
    double *bytes = realloc(t->larger_bytes, (t->larger_sizes + 1) * sizeof *bytes);
    if (bytes != NULL)
        t->larger_bytes = bytes;
    if (larger == NULL || bytes == NULL) {
        nt_err_memory(err);
        return NULL;
    }
    bytes[t->larger_sizes] = message_bytes;
    if (nt_matrix_create(p->hosts, NT_MATRIX_LATENCY_US, &larger[t->larger_sizes], err) != 0)
        return NULL;
    return larger[t->larger_sizes++];
}

static double last_length(const struct nt_named_matrix *t)
{
    return t->larger_sizes > 0 ? t->larger_bytes[t->larger_sizes - 1] : t->message_bytes;
}

/* Reads a name, which is a whole line: cut at a space, different names could become equal. */
static int take_label(struct parus *p, size_t process, struct nt_text_line *line,
                      struct nt_err *err)
{
    struct nt_word word, more;
    struct nt_text_line whole = *line;
    nt_line_next_word(line, &word);
    if (nt_line_next_word(line, &more))
        return nt_line_fail(&whole, err,
                            "expected a host's name, found \"%.*s\": processes of one host have "
                            "its name in common, without spaces",
                            nt_line_shown((size_t)(whole.end - word.at)), word.at);
    p->label[process] = nt_arena_text(&p->memory, word.at, word.bytes < 256 ? word.bytes : 256);
    return nt_arena_check(&p->memory, err);
}

/* Reads a file of names, one per line. */
static int take_names(struct parus *p, struct nt_text *names, struct nt_err *err)
{
    struct nt_text_line line;
    size_t k = 0;
    for (; nt_text_next_line(names, &line); k++) {
        if (k == p->processes)
            return nt_line_fail(&line, err, "more than %zu names, one per process", k);
        if (take_label(p, k, &line, err) != 0)
            return -1;
    }
    if (k < p->processes)
        return nt_line_fail(&line, err, "%zu of %zu processes are named", k, p->processes);
    return group_processes(p, &line, err);
}

/* ---- the text ---- */

/* "processors N", parameters on one line each, "hosts:" or not, N names, then blocks "Message
 * length L" with N rows of N times in seconds. */
struct lines {
    struct nt_text text;
    struct nt_text_line line; /* read, not yet used */
    bool more;                /* line contains one */
};

static void next_row(struct lines *r)
{
    r->more = nt_text_next_line(&r->text, &r->line);
}

static bool is_block(const struct lines *r)
{
    struct nt_text_line line = r->line;
    return r->more && nt_line_take_words(&line, "Message length");
}

static bool is_parameter(struct nt_text_line line)
{
    static const char *const words[] = {"test type",
                                        "data type",
                                        "begin message length",
                                        "end message length",
                                        "step length",
                                        "noise message length",
                                        "number of noise messages",
                                        "number of noise processes",
                                        "number of repeates"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        struct nt_text_line rest = line;
        if (nt_line_take_words(&rest, words[k]))
            return true;
    }
    return false;
}

static bool too_short(const struct lines *r, size_t processes)
{
    return (size_t)(r->text.end - r->text.at) / 2 / processes < processes;
}

/* Reads the header. Only checks that the values are no deviations, which are not latencies. */
static int read_head(struct parus *p, struct lines *r, struct nt_err *err)
{
    uint64_t processes;
    next_row(r);
    if (!r->more || !nt_line_take_word(&r->line, "processors"))
        return nt_line_fail(&r->line, err, "expected \"processors N\"");
    if (nt_line_take_whole(&r->line, "a number of processors", NT_HOSTS_MAX, &processes, err) != 0)
        return -1;
    p->processes = (size_t)processes;
    if (p->processes == 0 || too_short(r, p->processes))
        return nt_line_fail(&r->line, err,
                            "%zu processors, but the text ends before a matrix of them could",
                            p->processes);
    for (next_row(r); r->more && is_parameter(r->line); next_row(r)) {
        struct nt_text_line line = r->line;
        if (nt_line_take_words(&line, "data type") &&
            memmem(line.at, (size_t)(line.end - line.at), "deviation", 9) != NULL)
            return nt_line_fail(&r->line, err, "a matrix of deviations contains no latencies");
    }
    if (r->more && nt_line_begins(&r->line, "hosts:"))
        next_row(r);
    p->label = nt_arena_array(&p->memory, p->processes, sizeof *p->label);
    return nt_arena_check(&p->memory, err);
}

/* Reads the names. names, if not NULL, is for a text without names. */
static int read_labels(struct parus *p, struct lines *r, struct nt_text *names, struct nt_err *err)
{
    if (is_block(r) && names != NULL)
        return take_names(p, names, err);
    if (is_block(r))
        return nt_line_fail(
            &r->line, err,
            "expected the names of %zu processes before this line, one per line, found none",
            p->processes);
    for (size_t k = 0; k < p->processes; k++, next_row(r)) {
        if (!r->more || is_block(r))
            return nt_line_fail(&r->line, err, "%zu of %zu processes are named", k, p->processes);
        if (take_label(p, k, &r->line, err) != 0)
            return -1;
    }
    return group_processes(p, &r->line, err);
}

static int read_row(struct parus *p, struct lines *r, size_t row, struct nt_err *err)
{
    struct nt_word word;
    if (!r->more)
        return nt_line_fail(&r->line, err, "the matrix ends after %zu of %zu rows", row,
                            p->processes);
    for (size_t k = 0; k < p->processes; k++) {
        double seconds;
        if (nt_line_take_value(&r->line, "a time in seconds", &seconds, err) != 0)
            return -1;
        add_time(p, row, k, seconds);
    }
    if (nt_line_next_word(&r->line, &word))
        return nt_line_fail(&r->line, err, "more than %zu values in a row", p->processes);
    next_row(r);
    return 0;
}

static int read_block(struct parus *p, struct lines *r, struct nt_err *err)
{
    struct nt_named_matrix *t = p->table;
    uint64_t length;
    if (!nt_line_take_words(&r->line, "Message length"))
        return nt_line_fail(&r->line, err, "expected \"Message length N\"");
    if (nt_line_take_whole(&r->line, "a message length", UINT64_C(1) << 53, &length, err) != 0)
        return -1;
    if (!isnan(t->message_bytes) && (double)length <= last_length(t))
        return nt_line_fail(&r->line, err, "message length %llu is not larger than the one before",
                            (unsigned long long)length);
    if (t->larger_sizes + 1 == MATRICES_MAX)
        return nt_line_fail(&r->line, err, "more than %d matrices", (int)MATRICES_MAX);
    if (too_short(r, p->processes))
        return nt_line_fail(&r->line, err, "the text ends before this matrix does");
    struct nt_matrix *m = add_matrix(p, (double)length, err);
    if (m == NULL)
        return -1;
    next_row(r);
    for (size_t row = 0; row < p->processes; row++)
        if (read_row(p, r, row, err) != 0)
            return -1;
    end_matrix(p, m);
    return 0;
}

static int read_text(struct parus *p, struct lines *r, struct nt_text *names, struct nt_err *err)
{
    if (read_head(p, r, err) != 0 || read_labels(p, r, names, err) != 0)
        return -1;
    if (!r->more)
        return nt_line_fail(&r->line, err, "expected \"Message length N\" and a matrix");
    while (r->more)
        if (read_block(p, r, err) != 0)
            return -1;
    return 0;
}

/* ---- NetCDF ---- */

/* The classic format (Unidata, "The NetCDF Classic Format Specification"): numbers are big-endian;
 * counts come before what they count, and what is counted takes bytes of the file, so that nothing
 * is reserved for a count alone. Read by ourselves: libnetcdf 4.9.0 reserves what a file of 1 kB
 * announces, over a gigabyte. */
enum { CDF_DIMENSION = 10, CDF_VARIABLE = 11, CDF_ATTRIBUTE = 12, CDF_INT = 4, CDF_DOUBLE = 6 };
enum { CDF_DIMENSIONS_MAX = 64, CDF_RANK = 3, CDF_STREAMING = -1, CDF_DEVIATION = 3 };

struct cdf {
    const char *file;
    const unsigned char *at;
    size_t bytes, used;
    bool wide, broken; /* wide: offsets have 64 bits. broken: the file is incomplete or invalid */
    uint64_t records;
    uint32_t dimensions,
        dimension[CDF_DIMENSIONS_MAX]; /* lengths of dimensions; 0: the number of records */
};

struct cdf_variable {
    struct nt_word name;
    uint32_t type, rank, dimension[CDF_RANK];
    uint64_t begin;
};

/* The parts of network_test2's header that are used. */
struct cdf_head {
    int32_t type, first, step; /* of the data; message lengths */
    struct cdf_variable data;  /* rank 0: there is none */
    unsigned growing;          /* number of variables with records */
};

static uint64_t big_endian(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t k = 0; k < bytes; k++)
        value = value << 8 | at[k];
    return value;
}

static const unsigned char *take_bytes(struct cdf *c, uint64_t bytes)
{
    const unsigned char *at = c->at + c->used;
    c->broken = c->broken || bytes > c->bytes - c->used;
    c->used += c->broken ? 0 : (size_t)bytes;
    return c->broken ? NULL : at;
}

static uint64_t take_number(struct cdf *c, size_t bytes)
{
    const unsigned char *at = take_bytes(c, bytes);
    return at == NULL ? 0 : big_endian(at, bytes);
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

static struct nt_word take_name(struct cdf *c)
{
    uint64_t bytes = take_number(c, 4);
    const unsigned char *at = take_bytes(c, padded(bytes));
    return (struct nt_word){(const char *)at, at == NULL ? 0 : (size_t)bytes};
}

/* Reads the number of items of a kind; without items the tag is zero too. */
static uint64_t take_count(struct cdf *c, uint32_t tag)
{
    uint64_t is = take_number(c, 4), count = take_number(c, 4);
    c->broken = c->broken || (is != tag && (is != 0 || count != 0));
    return c->broken ? 0 : count;
}

static void pass_attributes(struct cdf *c)
{
    static const uint64_t width[] = {0, 1, 1, 2, 4, 4, 8};
    for (uint64_t n = take_count(c, CDF_ATTRIBUTE); n > 0 && !c->broken; n--) {
        take_name(c);
        uint64_t type = take_number(c, 4), count = take_number(c, 4);
        c->broken = c->broken || type == 0 || type > CDF_DOUBLE;
        if (!c->broken)
            take_bytes(c, padded(count * width[type]));
    }
}

static struct cdf_variable take_variable(struct cdf *c)
{
    struct cdf_variable v = {.name = take_name(c)};
    v.rank = (uint32_t)take_number(c, 4);
    for (uint32_t k = 0; k < v.rank && !c->broken; k++) {
        uint64_t dimension = take_number(c, 4);
        c->broken = c->broken || dimension >= c->dimensions;
        if (k < CDF_RANK)
            v.dimension[k] = (uint32_t)dimension;
    }
    pass_attributes(c);
    v.type = (uint32_t)take_number(c, 4);
    take_number(c, 4); /* bytes of a record, which follow from the dimensions */
    v.begin = take_number(c, c->wide ? 8 : 4);
    return v;
}

/* Returns a single integer; 0 if the file ends before it. */
static int32_t whole_number(struct cdf *c, const struct cdf_variable *v)
{
    c->broken = c->broken || v->type != CDF_INT || v->rank != 0 || v->begin > c->bytes ||
                c->bytes - v->begin < 4;
    return c->broken ? 0 : (int32_t)big_endian(c->at + v->begin, 4);
}

static void take_head(struct cdf *c, struct cdf_head *h)
{
    c->records = take_number(c, 4);
    c->dimensions = (uint32_t)take_count(c, CDF_DIMENSION);
    c->broken = c->broken || c->dimensions > CDF_DIMENSIONS_MAX;
    for (uint32_t k = 0; k < c->dimensions && !c->broken; k++) {
        take_name(c);
        c->dimension[k] = (uint32_t)take_number(c, 4);
    }
    pass_attributes(c);
    for (uint64_t n = take_count(c, CDF_VARIABLE); n > 0 && !c->broken; n--) {
        struct cdf_variable v = take_variable(c);
        if (c->broken)
            return;
        h->growing += v.rank > 0 && c->dimension[v.dimension[0]] == 0;
        if (v.rank == CDF_RANK && h->data.rank == 0)
            h->data = v;
        else if (nt_word_is(v.name, "data_type"))
            h->type = whole_number(c, &v);
        else if (nt_word_is(v.name, "begin_mes_length"))
            h->first = whole_number(c, &v);
        else if (nt_word_is(v.name, "step_length"))
            h->step = whole_number(c, &v);
    }
}

static int refuse(const struct cdf *c, const char *expected, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "%s: expected %s", c->file, expected);
}

/* Checks the header. *matrices: number of matrices, all within the file. */
static int check_head(struct cdf *c, const struct cdf_head *h, size_t *processes, size_t *matrices,
                      struct nt_err *err)
{
    const uint32_t *at = h->data.dimension;
    if (c->broken)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: expected NetCDF as network_test2 writes it, found an end or a wrong "
                          "number at byte %zu",
                          c->file, c->used);
    if (h->data.rank == 0 || h->data.type != CDF_DOUBLE)
        return refuse(c, "a variable of three dimensions, matrices of times", err);
    if (h->type == CDF_DEVIATION)
        return refuse(c, "latencies, found deviations", err);
    uint64_t n = c->dimension[at[1]], count = c->dimension[at[0]];
    if (n == 0 || n > NT_HOSTS_MAX || n != c->dimension[at[2]])
        return refuse(c, "matrices that are square, of at most 131072 processes", err);
    if (count == 0 && h->growing != 1)
        return refuse(c, "one variable that grows", err);
    uint64_t room = h->data.begin > c->bytes ? 0 : (c->bytes - h->data.begin) / (n * n * 8);
    if (count == 0)
        count = c->records == (uint32_t)CDF_STREAMING ? room : c->records;
    if (count == 0 || count > room || count > MATRICES_MAX)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: expected 1 to %d matrices of %llu processes, found %llu and bytes "
                          "for %llu",
                          c->file, (int)MATRICES_MAX, (unsigned long long)n,
                          (unsigned long long)count, (unsigned long long)room);
    if (h->first < 0 || h->step < 0 || (h->step == 0 && count > 1))
        return refuse(c, "message lengths that grow", err);
    *processes = (size_t)n;
    *matrices = (size_t)count;
    return 0;
}

/* Reads one matrix at at. */
static int take_matrix(struct parus *p, const struct cdf *c, const unsigned char *at, double bytes,
                       struct nt_err *err)
{
    struct nt_matrix *m = add_matrix(p, bytes, err);
    if (m == NULL)
        return -1;
    for (size_t k = 0; k < p->processes * p->processes; k++) {
        size_t from = k / p->processes, to = k % p->processes;
        uint64_t bits = big_endian(at + 8 * k, 8);
        double seconds;
        memcpy(&seconds, &bits, sizeof seconds);
        if (from != to && !(seconds >= 0 && seconds <= SECONDS_MAX))
            return nt_err_set(err, NT_ERR_INPUT,
                              "%s: expected a time in seconds, found %g: messages of %g bytes from "
                              "process %zu to %zu",
                              c->file, seconds, bytes, from, to);
        if (from != to)
            add_time(p, from, to, seconds);
    }
    end_matrix(p, m);
    return 0;
}

static int read_netcdf(struct parus *p, struct cdf *c, struct nt_text *names, struct nt_err *err)
{
    struct cdf_head h = {0};
    size_t matrices = 0;
    if (c->bytes < 4 || memcmp(c->at, "CDF", 3) != 0 || c->at[3] < 1 || c->at[3] > 2)
        return refuse(c,
                      "NetCDF's classic format, which network_test2 writes, found another: "
                      "nccopy -k 64-bit-offset FILE NEW converts it",
                      err);
    c->wide = c->at[3] == 2;
    c->used = 4;
    take_head(c, &h);
    if (check_head(c, &h, &p->processes, &matrices, err) != 0)
        return -1;
    if (names == NULL)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: expected the names of %zu processes in a file beside it, which "
                          "network_test2 calls PREFIX_hosts.txt",
                          c->file, p->processes);
    p->label = nt_arena_array(&p->memory, p->processes, sizeof *p->label);
    if (nt_arena_check(&p->memory, err) != 0 || take_names(p, names, err) != 0)
        return -1;
    for (size_t k = 0; k < matrices; k++) {
        size_t at = (size_t)h.data.begin + k * p->processes * p->processes * 8;
        if (take_matrix(p, c, c->at + at, (double)h.first + (double)k * h.step, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- both ---- */

bool nt_import_parus_is_netcdf(const char *text, size_t bytes)
{
    return bytes >= 4 && (memcmp(text, "CDF", 3) == 0 || memcmp(text, "\x89HDF", 4) == 0);
}

int nt_import_parus_named(const char *file, const char *text, size_t bytes, struct nt_text *names,
                          struct nt_named_matrix **out, struct nt_err *err)
{
    struct parus p = {0};
    struct lines r = {0};
    struct cdf c = {.file = file, .at = (const unsigned char *)text, .bytes = bytes};
    int rc = -1;
    if (nt_import_parus_is_netcdf(text, bytes))
        rc = read_netcdf(&p, &c, names, err);
    else if (nt_text_begin(&r.text, file, text, bytes, err) == 0)
        rc = read_text(&p, &r, names, err);
    nt_names_fini(&p.names);
    nt_arena_fini(&p.memory);
    if (rc == 0)
        *out = p.table;
    else
        nt_named_matrix_destroy(p.table);
    return rc;
}

int nt_import_parus(const char *file, const char *text, size_t bytes, struct nt_named_matrix **out,
                    struct nt_err *err)
{
    return nt_import_parus_named(file, text, bytes, NULL, out, err);
}
