/* SPDX-License-Identifier: Apache-2.0 */
/* What benchmarks of one pair of hosts print, a block a pair, and tables of all pairs of one
 * machine. Each program is a few rows of the table below: words of its lines, and the places of its
 * figures, as they are in the sources of the versions named there.
 *
 * Latencies are one way. Half of a round trip is what osu_latency, PingPong, ib_send_lat,
 * ib_write_lat, qperf, NetPIPE and c2clat print; an RDMA read or an atomic operation of perftest or
 * qperf takes a whole round trip, and half of it is taken. Bandwidths are one direction's: half of
 * what osu_bibw, perftest -b and qperf's bi_bw print, which send both ways and add. Intel's
 * PingPong and Sendrecv and NetPIPE print a size and its time, and the size is divided by the time:
 * their own rates are of 2^20 bytes or of both ways, by version and test. */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "lines.h"
#include "memory.h"
#include "names.h"
#include "number.h"

enum how {
    FIGURE,   /* the value */
    RATE,     /* the size divided by the time, which is printed */
    MATRIX,   /* columns are numbers, each line is a number and a figure a column */
    BACKWARD, /* the same, from the column to the row */
    PASS,     /* not a value of a pair, or not of one direction */
};

/* In words, * is any bytes of a word, and $ the end of the line. */
struct form {
    const char *tool;
    const char *title;   /* start of an earlier line; NULL: any, "": there is none */
    const char *columns; /* start of the line above the values; NULL: the title */
    const char *row;     /* start of a line of values; NULL: a number */
    enum nt_matrix_kind kind;
    enum how how;
    unsigned size, figure; /* positions of words in a line; size 0: there is none */
    double unit;           /* unit of the value, in us or MB/s */
    bool worded;           /* the units are the words after size and value */
    const char *vertex;    /* name of the numbered objects of a MATRIX */
};

#define AT(s, f, u) .size = (s), .figure = (f), .unit = (u)
#define US .kind = NT_MATRIX_LATENCY_US
#define MBPS .kind = NT_MATRIX_BANDWIDTH_MBPS
#define MEBI (1048576.0 / 1e6)
#define IMB "Intel MPI Benchmarks"
#define P2P "p2pBandwidthLatencyTest"

/* clang-format off */
static const struct form forms[] = {
    /* osu-micro-benchmarks 5.9 and 7.1 to 7.5; one-sided tests wait for both ways */
    {"OSU", "# OSU MPI_*", .how = PASS},
    {"OSU", "# OSU MPI* Latency Test", US, AT(1, 2, 1)},
    {"OSU", "# OSU MPI* Multi Latency Test", US, AT(1, 2, 1)},
    {"OSU", "# OSU MPI* Multi-threaded Latency Test", US, AT(1, 2, 1)},
    {"OSU", "# OSU MPI* Multi-process Latency Test", US, AT(1, 2, 1)},
    {"OSU", "# OSU MPI* Bandwidth Test", MBPS, AT(1, 2, 1)},
    {"OSU", "# OSU MPI* Bi-Directional Bandwidth Test", MBPS, AT(1, 2, 0.5)},
    {"OSU", "# OSU MPI* Multiple Bandwidth / Message Rate Test", MBPS, AT(1, 2, 1)},
    /* 2021.11 */
    {IMB, "# Benchmarking PingPong", "#bytes #repetitions t[usec]", US, AT(1, 3, 1)},
    {IMB, "# Benchmarking PingPong", "#bytes #repetitions t[usec]", MBPS, .how = RATE, AT(1, 3, 1)},
    {IMB, "# Benchmarking Sendrecv", "#bytes #repetitions t_min[usec] t_max[usec]", MBPS, .how = RATE, AT(1, 4, 1)},
    /* 4.5-0.17 and -0.20: the typical time, the average rate; its MB and MiB are 2^20 bytes */
    {"perftest", "RDMA_Read Latency", "#bytes #iterations t_min[usec]", US, AT(1, 5, 0.5)},
    {"perftest", "Atomic * Latency", "#bytes #iterations t_min[usec]", US, AT(1, 5, 0.5)},
    {"perftest", NULL, "#bytes #iterations t_min[usec]", US, AT(1, 5, 1)},
    {"perftest", "RDMA_Read Latency", "#bytes #iterations t_avg[usec]", US, AT(1, 3, 0.5)},
    {"perftest", "Atomic * Latency", "#bytes #iterations t_avg[usec]", US, AT(1, 3, 0.5)},
    {"perftest", NULL, "#bytes #iterations t_avg[usec]", US, AT(1, 3, 1)},
    {"perftest", "* Bidirectional", "#bytes #iterations BW peak[M*B/sec]", MBPS, AT(1, 4, MEBI / 2)},
    {"perftest", "* Bidirectional", "#bytes #iterations BW peak[Gb/sec]", MBPS, AT(1, 4, 62.5)},
    {"perftest", NULL, "#bytes #iterations BW peak[M*B/sec]", MBPS, AT(1, 4, MEBI)},
    {"perftest", NULL, "#bytes #iterations BW peak[Gb/sec]", MBPS, AT(1, 4, 125)},
    /* 2.10.0 and 2.19.6: busbw, out of place, of two ranks */
    {"nccl-tests", NULL, "# size count type redop root *time algbw busbw", MBPS, AT(1, 8, 1e3)},
    {"nccl-tests", NULL, "# size count type redop *time algbw busbw", MBPS, AT(1, 7, 1e3)},
    {"nccl-tests", NULL, "# size count type root *time algbw busbw", MBPS, AT(1, 7, 1e3)},
    {"nccl-tests", NULL, "# size count type *time algbw busbw", MBPS, AT(1, 6, 1e3)},
    /* 3.12; JSON, hence not by lines: see read_iperf */
    {"iperf3 --json", "", "{ \"start\"", .how = PASS},
    /* 3.7.2, and 5 without colours: "1 bytes 9 times --> 0.79 Mbps in 9.69 usec" */
    {"NetPIPE", "Now starting the main loop", US, AT(1, 9, 1), .worded = true},
    {"NetPIPE", "Now starting the main loop", MBPS, .how = RATE, AT(1, 9, 1), .worded = true},
    {"NetPIPE", "Clock accuracy ~", US, AT(1, 9, 1), .worded = true},
    {"NetPIPE", "Clock accuracy ~", MBPS, .how = RATE, AT(1, 9, 1), .worded = true},
    /* 0.4.11: "latency = 9.13 us"; recv_bw comes after send_bw */
    {"qperf", "*_rdma_read_lat: $", .row = "latency =", US, AT(0, 3, 0.5), .worded = true},
    {"qperf", "*_lat: $", .row = "latency =", US, AT(0, 3, 1), .worded = true},
    {"qperf", "*_bi_bw: $", .row = "*bw =", MBPS, AT(0, 3, 0.5), .worded = true},
    {"qperf", "*_bw: $", .row = "*bw =", MBPS, AT(0, 3, 1), .worded = true},
    /* cuda-samples 12.8 */
    {P2P, "Unidirectional P2P=Enabled Bandwidth (P2P Reads)", "D\\D", MBPS, .how = BACKWARD, .unit = 1e3, .vertex = "gpu"},
    {P2P, "Unidirectional P2P=Enabled", "D\\D", MBPS, .how = MATRIX, .unit = 1e3, .vertex = "gpu"},
    {P2P, "P2P=Enabled Latency", "GPU", US, .how = MATRIX, .unit = 1, .vertex = "gpu"},
    {P2P, "P2P=Enabled Latency", "CPU", .how = PASS},
    /* of March 2023 */
    {"c2clat", "", "CPU", US, .how = MATRIX, .unit = 1e-3, .vertex = "cpu"},
};
/* clang-format on */

/* All titles of these programs, including ignored tests: a title ends the previous block. */
static const char *const titles[] = {
    "# OSU",          "# Benchmarking", "Now starting the main loop",
    "Clock accuracy", "P2P=*",          "Unidirectional P2P=*",
    "Bidirectional",  "*_lat: $",       "*_bw: $"};

static const struct {
    const char *name;
    double factor; /* to bytes, us or MB/s */
} units[] = {{"bytes", 1},        {"B", 1},          {"KB", 1e3},         {"MB", 1e6},
             {"GB", 1e9},         {"ns", 1e-3},      {"us", 1},           {"ms", 1e3},
             {"sec", 1e6},        {"nsecs", 1e-3},   {"usec", 1},         {"usecs", 1},
             {"msecs", 1e3},      {"secs", 1e6},     {"bytes/sec", 1e-6}, {"KB/sec", 1e-3},
             {"MB/sec", 1},       {"GB/sec", 1e3},   {"TB/sec", 1e6},     {"bits/sec", 1.25e-7},
             {"Kb/sec", 1.25e-4}, {"Mb/sec", 0.125}, {"Gb/sec", 125},     {"Tb/sec", 1.25e5}};

enum { PAIRS_MAX = 1 << 23 }; /* 200 MB */

struct pair {
    uint32_t a, b;
    double largest, value; /* message size of the block, NaN: none; value */
};

struct benchmark {
    struct nt_text text;
    enum nt_matrix_kind kind;
    struct nt_names names;
    uint32_t a, b;              /* hosts of the next blocks */
    bool hosts_known;           /* a and b are known */
    unsigned ranks;             /* ranks of nccl-tests so far */
    struct nt_text_line title;  /* last title; empty: none yet */
    const struct form *form;    /* form of the block; NULL: none, or an ignored one */
    struct nt_text_line opened; /* first line of the block */
    uint32_t *column;           /* MATRIX: its hosts */
    size_t columns, columns_room;
    bool any;                    /* the block contains a value */
    double size, value, largest; /* of the value that counts; largest message in the block */
    double common_size;          /* latency: message size of all blocks; NaN: none yet */
    bool recognised;             /* a line of one of the programs was found */
    struct nt_arena memory;      /* of pairs and columns */
    struct pair *pair;
    size_t pairs, room;
};

/* ---- words ---------------------------------------------------------------------------------- */

static bool begins_with(struct nt_text_line line, const char *words)
{
    return nt_line_take_words(&line, words);
}

static bool is_number(struct nt_word word)
{
    char copy[64] = "";
    double value;
    if (word.bytes == 0 || word.bytes >= sizeof copy || *word.at < '0' || *word.at > '9')
        return false;
    memcpy(copy, word.at, word.bytes);
    return nt_number_read(copy, copy + word.bytes, &value) == copy + word.bytes;
}

/* Returns the length of a launcher's label at the start of the word: "3: " of srun -l,
 * "[1,3]<stdout>:" of mpirun --tag-output, "[3] " of Hydra's -prepend-rank. */
static size_t label_bytes(struct nt_word word)
{
    const char *colon = memchr(word.at, ':', word.bytes);
    struct nt_word label = {word.at, colon == NULL ? 0 : (size_t)(colon - word.at)};
    if (colon == NULL) /* the brackets have a number */
        return nt_word_fits(word, (struct nt_word){"[*]", 3}) &&
                       is_number((struct nt_word){word.at + 1, word.bytes - 2})
                   ? word.bytes
                   : 0;
    bool rank = label.bytes + 1 == word.bytes && is_number(label);
    return rank || nt_word_fits(label, (struct nt_word){"[*>", 3}) ? label.bytes + 1 : 0;
}

static void pass_label(struct nt_text_line *line)
{
    for (struct nt_text_line rest = *line;; rest = *line) {
        struct nt_word word;
        size_t bytes = nt_line_next_word(&rest, &word) ? label_bytes(word) : 0;
        if (bytes == 0)
            break;
        line->at = word.at + bytes;
    }
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
        line->at++;
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static int add_host(struct benchmark *r, struct nt_text_line *line, struct nt_word word,
                    uint32_t *host, struct nt_err *err)
{
    char name[256];
    struct nt_err why = {0};
    if (word.bytes == 0 || word.bytes >= sizeof name)
        return nt_line_fail_word(line, "\"# hosts NAME NAME\"", word, err);
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

static int keep_pair(struct benchmark *r, const struct nt_text_line *line, struct pair pair,
                     struct nt_err *err)
{
    if (r->kind == NT_MATRIX_BANDWIDTH_MBPS && !(pair.value > 0))
        return nt_line_fail(line, err, "expected a bandwidth over 0 MB/s, found %g", pair.value);
    if (r->pairs == PAIRS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: more than %d values of pairs", r->text.file,
                          r->text.line, (int)PAIRS_MAX);
    r->pair = nt_arena_grow(&r->memory, r->pair, &r->room, r->pairs + 1, sizeof *r->pair);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    r->pair[r->pairs++] = pair;
    return 0;
}

static int close_block(struct benchmark *r, struct nt_err *err)
{
    const struct form *form = r->form;
    r->form = NULL;
    if (form == NULL)
        return 0;
    if (!r->any)
        return nt_line_fail(&r->opened, err, "expected values after this test, found none");
    r->any = false;
    if (form->vertex != NULL)
        return 0;
    if (r->kind == NT_MATRIX_LATENCY_US) {
        if (!isnan(r->common_size) && r->size != r->common_size)
            return nt_line_fail(&r->opened, err,
                                "the smallest message here has %g bytes, in earlier blocks %g",
                                r->size, r->common_size);
        r->common_size = r->size;
    }
    return keep_pair(r, &r->opened, (struct pair){r->a, r->b, r->largest, r->value}, err);
}

/* Reads the words after "# hosts". */
static int take_hosts(struct benchmark *r, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_word word;
    uint32_t *const host[] = {&r->a, &r->b};
    if (close_block(r, err) != 0)
        return -1;
    for (int k = 0; k < 2; k++) {
        nt_line_next_word(line, &word);
        if (add_host(r, line, word, host[k], err) != 0)
            return -1;
    }
    if (r->a == r->b || nt_line_next_word(line, &word))
        return nt_line_fail(line, err, "expected two different hosts");
    r->hosts_known = true;
    r->ranks = 0;
    return 0;
}

/* Reads the words after "# Rank" of nccl-tests: "0 Group 0 Pid 7 on n1 device 0". */
static int take_rank(struct benchmark *r, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_word word;
    if (close_block(r, err) != 0)
        return -1;
    while (nt_line_next_word(line, &word) && !nt_word_is(word, "on"))
        ;
    nt_line_next_word(line, &word);
    if (r->ranks < 2 && add_host(r, line, word, r->ranks == 0 ? &r->a : &r->b, err) != 0)
        return -1;
    r->ranks++;
    r->hosts_known = r->ranks == 2 && r->a != r->b;
    return 0;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Reads the columns of a MATRIX, which are host numbers. If a word is not a number, columns stays
 * 0. */
static int take_columns(struct benchmark *r, const struct form *form, struct nt_text_line line,
                        struct nt_err *err)
{
    struct nt_word word;
    r->columns = 0;
    for (struct nt_text_line all = line; nt_line_next_word(&all, &word);)
        if (!is_number(word))
            return 0;
    while (nt_line_next_word(&line, &word)) {
        char name[80];
        int bytes = snprintf(name, sizeof name, "%s%.*s", form->vertex, (int)word.bytes, word.at);
        r->column = nt_arena_grow(&r->memory, r->column, &r->columns_room, r->columns + 1,
                                  sizeof *r->column);
        if (nt_arena_check(&r->memory, err) != 0 ||
            add_host(r, &line, (struct nt_word){name, (size_t)bytes}, &r->column[r->columns],
                     err) != 0)
            return -1;
        r->columns++;
    }
    return 0;
}

static bool has_title(const struct benchmark *r, const struct form *form)
{
    if (form->title == NULL)
        return true;
    return form->title[0] == '\0' ? r->title.at == r->title.end
                                  : begins_with(r->title, form->title);
}

/* Opens a block: the line is a title, or the columns after one. */
static int open_block(struct benchmark *r, struct nt_text_line line, bool is_title,
                      struct nt_err *err)
{
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        const struct form *form = &forms[k];
        struct nt_text_line rest = line;
        if (is_title != (form->columns == NULL) || !has_title(r, form) ||
            (!is_title && !nt_line_take_words(&rest, form->columns)))
            continue;
        r->recognised = true;
        if (close_block(r, err) != 0)
            return -1;
        if (form->how == PASS)
            return 0;
        if (form->kind != r->kind)
            continue;
        if (form->vertex != NULL && take_columns(r, form, rest, err) != 0)
            return -1;
        if (form->vertex != NULL && r->columns < 2)
            return 0;
        if (form->vertex == NULL && r->ranks > 0 && !r->hosts_known)
            return nt_line_fail(&line, err, "expected two ranks on two hosts, found %u on %s",
                                r->ranks, r->a == r->b ? "one" : "more");
        if (form->vertex == NULL && !r->hosts_known)
            return nt_line_fail(&line, err,
                                "expected a line \"# hosts NAME NAME\" before this test");
        r->form = form;
        r->opened = line;
        return 0;
    }
    return 0;
}

/* Converts a value by the unit in the next word of the line. */
static int take_unit(const struct form *form, struct nt_text_line *line, double *value,
                     struct nt_err *err)
{
    struct nt_word word;
    if (!form->worded)
        return 0;
    nt_line_next_word(line, &word);
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (nt_word_is(word, units[k].name)) {
            *value *= units[k].factor;
            return 0;
        }
    return nt_line_fail_word(line, "a unit", word, err);
}

static void count_figure(struct benchmark *r, double size, double value)
{
    bool latency = r->kind == NT_MATRIX_LATENCY_US;
    bool better = r->form->size == 0 || (latency ? size < r->size : value > r->value);
    if (!r->any || better) {
        r->size = size;
        r->value = value;
    }
    r->largest = r->form->size == 0 ? NAN : r->any ? fmax(r->largest, size) : size;
    r->any = true;
}

static int read_figure(struct benchmark *r, struct nt_text_line line, struct nt_err *err)
{
    const struct form *form = r->form;
    double size = 0, value;
    for (unsigned k = 1; k < form->figure; k++) {
        struct nt_word word;
        if (k == form->size && (nt_line_take_value(&line, "a size", &size, err) != 0 ||
                                take_unit(form, &line, &size, err) != 0))
            return -1;
        if (k == form->size)
            k += form->worded;
        else
            nt_line_next_word(&line, &word);
    }
    if (nt_line_take_value(&line, "a number", &value, err) != 0 ||
        take_unit(form, &line, &value, err) != 0)
        return -1;
    if (form->how == FIGURE)
        count_figure(r, size, value * form->unit);
    else if (size > 0 && value > 0)
        count_figure(r, size, size / value);
    return 0;
}

/* Reads the number of a row, then its values. */
static int read_row(struct benchmark *r, struct nt_text_line line, struct nt_err *err)
{
    char name[80];
    struct nt_word word;
    double value;
    nt_line_next_word(&line, &word);
    int bytes =
        snprintf(name, sizeof name, "%s%.*s", r->form->vertex, nt_line_shown(word.bytes), word.at);
    uint32_t host = nt_names_find(&r->names, name, (size_t)bytes);
    if (host == NT_NAMES_NONE)
        return nt_line_fail_word(&line, "a number of the first row", word, err);
    for (size_t k = 0; k < r->columns; k++) {
        if (nt_line_take_value(&line, "a number", &value, err) != 0)
            return -1;
        bool back = r->form->how == BACKWARD;
        struct pair pair = {back ? r->column[k] : host, back ? host : r->column[k], NAN,
                            value * r->form->unit};
        if (host != r->column[k] && keep_pair(r, &line, pair, err) != 0)
            return -1;
    }
    r->any = true;
    return 0;
}

/* ---- iperf3 --------------------------------------------------------------------------------- */

enum { STREAMS_MAX = 128 }; /* maximum of iperf3 */

struct iperf {
    struct {
        char local[256], remote[256];
    } stream[STREAMS_MAX];
    size_t streams;
    uint32_t reverse;    /* the other end sends */
    double received_bps; /* NaN: none */
};

static const struct nt_json_field stream_fields[] = {
    {"local_host", NT_JSON_TEXT, .must = true, .bytes = 256},
    {"remote_host", NT_JSON_TEXT, .must = true, .bytes = 256, .place.at = 256},
    {.name = NULL}};
static const struct nt_json_field test_fields[] = {
    {"reverse", NT_JSON_WHOLE32, .place.at = offsetof(struct iperf, reverse)}, {.name = NULL}};
static const struct nt_json_field start_fields[] = {
    {"connected", NT_JSON_LIST, .must = true, .fields = stream_fields, .within = true,
     .place.at = offsetof(struct iperf, stream), .bytes = 512, .items_max = STREAMS_MAX,
     .count_at = offsetof(struct iperf, streams), .count_bytes = sizeof(size_t)},
    {"test_start", NT_JSON_OBJECT, .must = true, .fields = test_fields},
    {.name = NULL}};
static const struct nt_json_field sum_fields[] = {
    {"bits_per_second", NT_JSON_NUMBER, .place.at = offsetof(struct iperf, received_bps)},
    {.name = NULL}};
static const struct nt_json_field end_fields[] = {
    {"sum_received", NT_JSON_OBJECT, .fields = sum_fields}, {.name = NULL}};
static const struct nt_json_field iperf_fields[] = {
    {"start", NT_JSON_OBJECT, .must = true, .fields = start_fields},
    {"end", NT_JSON_OBJECT, .must = true, .fields = end_fields},
    {.name = NULL}};

/* Returns the end of the object that starts at at. */
static const char *object_end(const char *at, const char *end)
{
    size_t depth = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (*at == '\\' && quoted && at + 1 < end)
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '{' || *at == '['))
            depth++;
        else if (!quoted && (*at == '}' || *at == ']') && --depth == 0)
            return at + 1;
    }
    return end;
}

/* Returns whether iperf3's output starts here. */
static bool begins_iperf(const char *at, const char *end)
{
    if (at == end || *at++ != '{')
        return false;
    while (at < end && strchr(" \t\r\n", *at) != NULL)
        at++;
    return end - at >= 7 && memcmp(at, "\"start\"", 7) == 0;
}

static int parse_iperf(const struct nt_text_line *line, const char *end, struct iperf *out,
                       struct nt_err *err)
{
    struct nt_findings findings = {0};
    struct json_object *root = NULL;
    int rc = nt_json_parse("iperf3's", line->at, (size_t)(end - line->at), &root, err);
    struct nt_json_reader json = {
        .findings = &findings, .err = err, .base = {out}, .at = {.from = root, .row = out}};
    if (rc == 0)
        nt_json_read(&json, iperf_fields, NULL, 0);
    if (rc == 0 && json.no_memory)
        rc = -1;
    else if (rc == 0 && findings.count > 0)
        rc = nt_line_fail(line, err, "iperf3's %s", findings.line[0]);
    else if (rc != 0)
        nt_err_prefix(err, "%s:%zu", line->file, line->number);
    nt_findings_fini(&findings);
    nt_json_free(root);
    return rc;
}

/* The addresses name the hosts, unless the user did. */
static int read_iperf(struct benchmark *r, struct nt_text_line line, struct nt_err *err)
{
    const char *end = object_end(line.at, r->text.end);
    if (end < line.end && strspn(end, " \t\r") < (size_t)(line.end - end))
        return nt_line_fail(&line, err, "expected the end of the line behind iperf3's object");
    while (r->text.at < end)
        r->text.line += *r->text.at++ == '\n';
    r->recognised = true;
    if (close_block(r, err) != 0)
        return -1;
    if (r->kind != NT_MATRIX_BANDWIDTH_MBPS)
        return 0;
    NT_SCOPED struct nt_arena memory = {0}; /* 64 KiB per test, not kept for the whole text */
    struct iperf *found = nt_arena_array(&memory, 1, sizeof *found);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    found->received_bps = NAN;
    if (parse_iperf(&line, end, found, err) != 0)
        return -1;
    if (isnan(found->received_bps) || found->streams == 0)
        return nt_line_fail(&line, err,
                            "expected a test of iperf3 that has ended, with its "
                            "end.sum_received.bits_per_second");
    const char *name[] = {found->stream[0].local, found->stream[0].remote};
    uint32_t host[] = {r->a, r->b};
    for (int k = 0; k < 2 && !r->hosts_known; k++)
        if (add_host(r, &line, (struct nt_word){name[k], strlen(name[k])}, &host[k], err) != 0)
            return -1;
    unsigned from = found->reverse != 0;
    if (host[0] == host[1])
        return nt_line_fail(&line, err, "expected two different hosts");
    return keep_pair(
        r, &line, (struct pair){host[from], host[!from], NAN, found->received_bps * 1.25e-7}, err);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool is_known_title(struct nt_text_line line)
{
    for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
        if (begins_with(line, titles[k]))
            return true;
    return false;
}

/* Returns whether the line is a title; those of perftest end with this word. */
static bool is_title(struct nt_text_line line)
{
    struct nt_text_line all = line;
    struct nt_word word, last = {NULL, 0};
    for (unsigned k = 0; k < 8 && nt_line_next_word(&all, &word); k++)
        last = word;
    return is_known_title(line) ||
           (*line.at != '#' && all.at == all.end && nt_word_is(last, "Test"));
}

static int read_line(struct benchmark *r, struct nt_text_line line, struct nt_err *err)
{
    struct nt_word first;
    struct nt_text_line rest = line;
    if (nt_line_take_words(&rest, "# hosts"))
        return take_hosts(r, &rest, err);
    if (nt_line_take_words(&rest, "# Rank"))
        return take_rank(r, &rest, err);
    if (begins_with(line, "# nThread"))
        r->ranks = 0;
    if (nt_line_take_words(&rest, "# #processes =") && !nt_line_take_words(&rest, "2"))
        r->title = line; /* not a known title: values of more than one pair */
    if (is_title(line)) {
        r->title = line;
        return close_block(r, err) != 0 ? -1 : open_block(r, line, true, err);
    }
    const struct form *was = r->form;
    if (open_block(r, line, false, err) != 0)
        return -1;
    if (r->form == NULL || r->form != was || r->opened.at == line.at)
        return 0;
    nt_line_next_word(&rest, &first);
    if (r->form->row != NULL ? !begins_with(line, r->form->row) : !is_number(first))
        return 0;
    return r->form->vertex != NULL ? read_row(r, line, err) : read_figure(r, line, err);
}

/* Rejects a text without a line of one of the programs. */
static int refuse_text(const struct nt_text_line *first, struct nt_err *err)
{
    char tools[200] = "";
    size_t used = 0;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (used < sizeof tools && (k == 0 || strcmp(forms[k].tool, forms[k - 1].tool) != 0))
            used += (size_t)snprintf(tools + used, sizeof tools - used, "%s%s", k > 0 ? ", " : "",
                                     forms[k].tool);
    size_t bytes = (size_t)(first->end - first->at);
    return nt_line_fail(first, err,
                        "expected a matrix CSV, or the output of mpiGraph, PARUS, %s; "
                        "found \"%.*s\"",
                        tools, nt_line_shown(bytes), first->at);
}

static int read_benchmark(struct benchmark *r, struct nt_err *err)
{
    struct nt_text_line line, first = {0};
    while (nt_text_next_line(&r->text, &line)) {
        if (first.at == NULL)
            first = line;
        pass_label(&line);
        int rc = begins_iperf(line.at, r->text.end) ? read_iperf(r, line, err)
                 : line.at < line.end               ? read_line(r, line, err)
                                                    : 0;
        if (rc != 0)
            return -1;
    }
    if (close_block(r, err) != 0)
        return -1;
    if (r->pairs > 0)
        return 0;
    const char *kind = r->kind == NT_MATRIX_LATENCY_US ? "latency" : "bandwidth";
    size_t bytes = (size_t)(r->title.end - r->title.at);
    if (first.at != NULL && !r->recognised && bytes == 0)
        return refuse_text(&first, err);
    return bytes == 0
               ? nt_line_fail(&line, err, "expected a test of %s, found none", kind)
               : nt_line_fail(
                     &r->title, err,
                     "expected a test of %s of one pair, found none; the last test is \"%.*s\"",
                     kind, nt_line_shown(bytes), r->title.at);
}

bool nt_import_benchmark_line(const char *text, size_t bytes)
{
    struct nt_text_line line = {.at = text, .end = text + bytes}, rest;
    pass_label(&line);
    if (begins_with(line, "# hosts * *") || is_known_title(line))
        return true;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        struct nt_word word;
        rest = line;
        if (forms[k].columns != NULL && nt_line_take_words(&rest, forms[k].columns) &&
            (forms[k].vertex == NULL || (nt_line_next_word(&rest, &word) && is_number(word))))
            return true;
    }
    return begins_iperf(line.at, line.end);
}

/* Keeps the better value of a repeated pair, because the worse one was disturbed. */
static void keep_better(struct nt_matrix *m, const struct pair *p)
{
    float was = nt_matrix_get(m, p->a, p->b), now = (float)p->value;
    if (isnan(was) || (m->kind == NT_MATRIX_LATENCY_US ? now < was : now > was))
        nt_matrix_set(m, p->a, p->b, now);
}

int nt_import_benchmark(const char *file, const char *text, size_t bytes, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err)
{
    struct benchmark r = {.kind = kind, .common_size = NAN};
    struct nt_named_matrix *m = NULL;
    int rc = nt_text_begin(&r.text, file, text, bytes, err);
    if (rc == 0)
        rc = read_benchmark(&r, err);
    if (rc == 0)
        rc = nt_named_matrix_create(&r.names, kind, &m, err);
    for (size_t k = 0; rc == 0 && k < r.pairs; k++) {
        keep_better(m->matrix, &r.pair[k]);
        if (kind == NT_MATRIX_BANDWIDTH_MBPS) /* fmax and fmin ignore NaN */
            m->message_bytes = fmin(m->message_bytes, r.pair[k].largest);
    }
    if (rc == 0)
        *out = m;
    nt_names_fini(&r.names);
    nt_arena_fini(&r.memory);
    return rc;
}
