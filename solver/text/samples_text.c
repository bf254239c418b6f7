/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of samples. A table contains the words of each line, for reading and writing. The
 * builder of samples.c checks every value. One space separates words, and a text may be the rest of
 * a line with its spaces, so the words of lines.h are not used. */
#include "samples.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "import.h"
#include "lines.h"
#include "number.h"
#include "prior.h"
#include "strbuf.h"

enum { WORDS_MAX = 10, NAME_BYTES = 64 };

/* Number of words in the line before these; WORDS_MAX: all. */
enum { PRTT_HOLD = 8, KERNEL_HOSTS = 7 };

/* Limits for readers. In a round a host is in a few measurements, and a pair is measured again some
 * dozens of times: both limits are at least ten times what sweeps need. There are few different
 * reasons, and equal consecutive ones are stored once. */
enum { A_HOST_AND_ROUND = 16, ROUNDS_A_HOST = 64, ROUNDS_ANYWAY = 8192, TEXTS = 1 << 18 };

struct nt_samples_reader {
    struct nt_lines lines;
    unsigned seen;   /* one bit per word of the header that was read */
    size_t in_round; /* number of measurements in the current round */
    char text[NT_SAMPLES_LINE_MAX + 1];
    struct nt_samples *samples;
};

/* ---- the table ------------------------------------------------------------------------------- */

/* The words of any line; the entry of the line in the table defines which it has. */
struct words {
    struct nt_sample x;                         /* a measurement */
    uint32_t host, n;                           /* n: a number for the host, or a single number */
    uint32_t list[NT_SAMPLES_PARTICIPANTS_MAX]; /* indices of hosts or clusters */
    double number, us[NT_BELIEF_LEVELS_MAX];
    int32_t day;
    const char *text;
    unsigned word; /* value of an enum */
    size_t read;   /* number of words that were read */
    char name[NAME_BYTES];
};

enum type {
    U32,
    U64,
    NUMBER,
    NAME,
    WORD,  /* the index of a name */
    TEXT,  /* the rest of the line */
    OWNED, /* the rest of the line, owned by the samples */
    DAY,
};

enum many { ONE, CLUSTERS, LEVELS, CROWD };

struct word {
    const char *what; /* for errors */
    enum type type;
    size_t at; /* offset in struct words or, if in_samples, in struct nt_samples */
    bool in_samples;
    bool optional; /* optional at the end of a line: in older samples, or without a value */
    enum many many;
    size_t bytes;            /* size of a NAME with its terminator */
    const char *const *word; /* the words of a WORD */
    size_t words;
    double least;      /* of seconds, up to 1e9, */
    const char *bound; /* the bound for errors */
};

#define W(member) .at = offsetof(struct words, member)
#define S(member) .at = offsetof(struct nt_samples, member), .in_samples = true
#define HOST                                                                                       \
    {                                                                                              \
        "the number of a host", U32, W(host)                                                       \
    }
#define PAIR                                                                                       \
    {"the number of a host", U32, W(x.a)},                                                         \
    {                                                                                              \
        "the number of a host", U32, W(x.b)                                                        \
    }
#define BYTES                                                                                      \
    {                                                                                              \
        "bytes", NUMBER, W(x.bytes)                                                                \
    }
#define COUNT                                                                                      \
    {                                                                                              \
        "a count", U32, W(x.count)                                                                 \
    }

struct entry {
    const char *key;
    int (*add)(struct nt_samples_reader *r, const struct words *w, struct nt_err *err);
    struct word word[WORDS_MAX]; /* terminated by an entry without what */
};

static int add_host(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_add_host(r->samples, w->text, err);
}

static int add_missing(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_set_missing(r->samples, w->host, w->text, err);
}

static int add_slots(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_set_slots(r->samples, w->host, w->n, err);
}

static int add_traffic(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_add_traffic(r->samples, w->host, w->n, w->number, err);
}

static int add_model(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    uint32_t index;
    size_t before = r->samples->models;
    if (nt_samples_add_model(r->samples, w->text, &index, err) != 0)
        return -1;
    if (index < before)
        return nt_err_set(err, NT_ERR_INPUT, "expected each model once, found %u again", index);
    return 0;
}

static int add_inside(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_set_model(r->samples, w->host, w->n, err);
}

static int add_cores(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_set_cores(r->samples, w->host, (enum nt_between)w->word, w->number, err);
}

static int add_transport(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_add_transport(r->samples, w->text, w->n, err);
}

static int add_prior(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_begin_belief(r->samples, w->n, err);
}

static int add_believed(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_believe(r->samples, w->host, w->list, err);
}

static int add_taken(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_take_belief(r->samples, w->us, w->number, w->day, err);
}

static int add_loggp(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    struct nt_text_line line = {.at = w->text, .end = w->text + strlen(w->text)};
    struct nt_loggp g;
    if (nt_loggp_take(&line, &g, err) != 0)
        return -1;
    return nt_samples_add_loggp(r->samples, &g, err);
}

static int add_phase(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    if (nt_samples_begin_phase(r->samples, w->text, err) != 0)
        return -1;
    return w->read > 1 ? nt_samples_date_phase(r->samples, w->number, err) : 0;
}

static int add_phase_end(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_end_phase(r->samples, w->number, err);
}

static int add_round(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    size_t most = ROUNDS_A_HOST * r->samples->hosts + ROUNDS_ANYWAY;
    (void)w;
    if (r->samples->rounds >= most)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %zu rounds of %zu hosts", most,
                          r->samples->hosts);
    r->in_round = 0;
    return nt_samples_begin_round(r->samples, err);
}

static int bound_round(struct nt_samples_reader *r, struct nt_err *err)
{
    size_t most = A_HOST_AND_ROUND * r->samples->hosts;
    if (r->in_round++ >= most)
        return nt_err_set(err, NT_ERR_INPUT,
                          "expected at most %zu measurements of %zu hosts in one round", most,
                          r->samples->hosts);
    if (r->samples->texts >= TEXTS)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d reasons", (int)TEXTS);
    return 0;
}

static int add_sample(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return bound_round(r, err) != 0 ? -1 : nt_samples_add(r->samples, w->x, w->text, err);
}

static int add_flow(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    struct words flow = *w;
    flow.x.value_us = w->number * 1e6;
    return add_sample(r, &flow, err);
}

static int add_kernel(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    if (w->read <= KERNEL_HOSTS)
        return add_sample(r, w, err);
    return bound_round(r, err) != 0
               ? -1
               : nt_samples_add_kernel(r->samples, w->x, w->text, w->list, err);
}

static int add_warning(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    return nt_samples_warn(r->samples, err, "%s", w->text);
}

static int add_end(struct nt_samples_reader *r, const struct words *w, struct nt_err *err)
{
    (void)err;
    nt_samples_finish(r->samples, (enum nt_status)w->word, w->number);
    return 0;
}

/* Indices of the entries. Samples are in the order of their kinds. */
enum key {
    GENERATOR,
    JOB,
    CLUSTER,
    LEVEL,
    CREATED,
    BUDGET,
    PATTERN,
    SPARE, /* each once */
    KINDS,
    RESENT = KINDS + NT_SAMPLE_RESENT,
    HOST_LINE,
    MISSING,
    ROOM,
    TRAFFIC,
    MODEL,
    INSIDE,
    CORES,
    TRANSPORT,
    PRIOR,
    BELIEVED,
    TAKEN,
    LOGGP,
    PHASE,
    ROUND,
    PHASE_END,
    WARNING,
    END
};

/* clang-format off */
static const struct entry entries[] = {
    [GENERATOR] = {"generator", NULL, {{"a text", OWNED, S(job.generator)}}},
    [JOB] = {"job", NULL, {{"a job id", U64, S(job.id)},
        {"a restart count", U32, S(job.restart), .optional = true}}},
    [CLUSTER] = {"cluster", NULL, {{"a text", OWNED, S(job.cluster)}}},
    [LEVEL] = {"level", NULL, {{"a text", OWNED, S(job.level)}}},
    [CREATED] = {"created", NULL, {{"a text", OWNED, S(job.created)}}},
    [BUDGET] = {"budget", NULL, {{"seconds", NUMBER, S(job.budget_s), .least = DBL_TRUE_MIN,
        .bound = "seconds over 0 and up to 1e9"}}},
    [PATTERN] = {"pattern", NULL, {{"a text", OWNED, S(job.pattern)}}},
    [SPARE] = {"spare", NULL, {{"hosts", U32, S(job.spare)},
        {"nothing", TEXT, W(text), .optional = true}}},
    [KINDS + NT_SAMPLE_LATENCY] = {"latency", add_sample, {PAIR, BYTES, COUNT,
        {"the low latency in us", NUMBER, W(x.value_us)},
        {"its standard error in us", NUMBER, W(x.latency.se_us)},
        {"the median in us", NUMBER, W(x.latency.median_us)}}},
    [KINDS + NT_SAMPLE_BANDWIDTH] = {"bandwidth", add_flow, {PAIR, BYTES,
        {"seconds", NUMBER, W(number)}}},
    [KINDS + NT_SAMPLE_PRTT] = {"prtt", add_sample, {PAIR, BYTES, COUNT,
        {"the delay in us", NUMBER, W(x.prtt.delay_us)},
        {"the round trip in us", NUMBER, W(x.value_us)},
        {"the standard error in us", NUMBER, W(x.prtt.se_us), .optional = true},
        {"how long the asking end held still in us", NUMBER, W(x.prtt.hold_us)},
        {"the name of a network device", TEXT, W(text), .optional = true}}},
    [KINDS + NT_SAMPLE_KERNEL] = {"kernel", add_kernel, {
        {"the name of a kernel", NAME, W(text), .bytes = NT_WORKLOAD_NAME_BYTES}, BYTES, COUNT,
        {"the median in us", NUMBER, W(x.value_us)},
        {"the low end in us", NUMBER, W(x.kernel.low_us)},
        {"the high end in us", NUMBER, W(x.kernel.high_us)},
        {"how many hosts", U32, W(x.a), .optional = true},
        {"a number of messages", U32, W(x.b), .optional = true},
        {"the number of a host", U32, W(list), .many = CROWD}}},
    [KINDS + NT_SAMPLE_FAILED] = {"failed", add_sample, {PAIR, {"a reason", TEXT, W(text)}}},
    [RESENT] = {"resent", add_sample, {PAIR, {"a number of segments", U32, W(x.segments)},
        {"how many were sent again", U32, W(x.count)}}},
    [HOST_LINE] = {"host", add_host, {{"a host name", TEXT, W(text)}}},
    [MISSING] = {"missing", add_missing, {HOST, {"a reason", TEXT, W(text)}}},
    [ROOM] = {"room", add_slots, {HOST, {"a number of tasks", U32, W(n)}}},
    [TRAFFIC] = {"traffic", add_traffic, {{"a rank", U32, W(host)}, {"a rank", U32, W(n)},
        {"bytes", NUMBER, W(number)}}},
    [MODEL] = {"model", add_model, {{"a model of hosts", TEXT, W(text)}}},
    [INSIDE] = {"inside", add_inside, {HOST, {"the number of a model", U32, W(n)}}},
    [CORES] = {"cores", add_cores, {HOST,
        {"core, cache, numa, package or machine", WORD, W(word), .word = nt_between_names,
         .words = NT_BETWEEN_END},
        {"the latency in us", NUMBER, W(number)}}},
    [TRANSPORT] = {"transport", add_transport, {{"a number of hosts", U32, W(n)},
        {"transports", TEXT, W(text)}}},
    [PRIOR] = {"prior", add_prior, {{"a number of levels", U32, W(n)}}},
    [BELIEVED] = {"believed", add_believed, {HOST,
        {"the number of a cluster", U32, W(list), .many = CLUSTERS}}},
    [TAKEN] = {"taken", add_taken, {{"a day, YYYY-MM-DD", DAY, W(day)},
        {"a support", NUMBER, W(number)},
        {"the latency of a level in us", NUMBER, W(us), .many = LEVELS}}},
    [LOGGP] = {"loggp", add_loggp, {{"LogGP of earlier jobs", TEXT, W(text)}}},
    [PHASE] = {"phase", add_phase, {
        {"the name of a phase", NAME, W(text), .bytes = sizeof((struct nt_phase *)NULL)->name},
        {"seconds", NUMBER, W(number), .optional = true}}},
    [ROUND] = {"round", add_round, {{.what = NULL}}},
    [PHASE_END] = {"phase-end", add_phase_end, {{"seconds", NUMBER, W(number)}}},
    [WARNING] = {"warning", add_warning, {{"a text", TEXT, W(text)}}},
    [END] = {"end", add_end, {
        {"ok, partial or failed", WORD, W(word), .word = nt_status_names,
         .words = NT_STATUS_FAILED + 1},
        {"seconds", NUMBER, W(number), .bound = "seconds from 0 to 1e9"}}},
};
/* clang-format on */

static void *place_of(const struct word *f, struct nt_samples *s, struct words *w)
{
    return (f->in_samples ? (char *)s : (char *)w) + f->at;
}

/* Returns how often the word occurs. */
static size_t times(const struct word *f, const struct nt_samples *s, const struct words *w)
{
    size_t levels = s->belief == NULL ? 0 : s->belief->levels;
    switch (f->many) {
    case ONE:
        return 1;
    case CLUSTERS:
        return levels > 0 ? levels - 1 : 0;
    case LEVELS:
        return levels;
    case CROWD:
        return w->x.a < NT_SAMPLES_PARTICIPANTS_MAX ? w->x.a : NT_SAMPLES_PARTICIPANTS_MAX;
    }
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static size_t word_bytes(const struct nt_text_line *l)
{
    return strcspn(l->at, " ");
}

static int word_error(const char *what, const struct nt_text_line *l, struct nt_err *err)
{
    return nt_line_fail_word(l, what, (struct nt_word){l->at, word_bytes(l)}, err);
}

/* Moves behind the word that ends at end: one space, or the end of the line. */
static bool next_word(struct nt_text_line *l, const char *end)
{
    if (end != l->end && *end != ' ')
        return false;
    l->at = end == l->end ? end : end + 1;
    return true;
}

static bool take_number(struct nt_text_line *l, double *value)
{
    double read;
    const char *behind = nt_number_read(l->at, l->end, &read);
    if (behind == NULL || !next_word(l, behind))
        return false;
    *value = read;
    return true;
}

static bool take_whole(struct nt_text_line *l, uint64_t most, uint64_t *value)
{
    size_t digits = strspn(l->at, "0123456789"); /* the line is terminated */
    return nt_decimal_whole(l->at, digits, most, value) == 0 && next_word(l, l->at + digits);
}

/* Reads a word that is shorter than bytes or, with names, the index of one. */
static bool take_word(struct nt_text_line *l, const struct word *f, struct words *w)
{
    size_t bytes = word_bytes(l), k = 0;
    if (f->type == DAY) {
        if (bytes != strlen("YYYY-MM-DD") || nt_prior_day(l->at, bytes, &w->day) != 0)
            return false;
    } else if (f->type == WORD) {
        while (k < f->words &&
               (strlen(f->word[k]) != bytes || memcmp(f->word[k], l->at, bytes) != 0))
            k++;
        if (k == f->words)
            return false;
        w->word = (unsigned)k;
    } else {
        if (bytes == 0 || bytes >= f->bytes)
            return false;
        memcpy(w->name, l->at, bytes);
        w->name[bytes] = '\0';
        w->text = w->name;
    }
    return next_word(l, l->at + bytes);
}

/* Reads word number k. Texts stay in the line, which is terminated. */
static bool take(struct nt_text_line *l, const struct word *f, struct nt_samples *s,
                 struct words *w, size_t k)
{
    void *at = place_of(f, s, w);
    uint64_t whole = 0;
    switch (f->type) {
    case U32:
        if (!take_whole(l, UINT32_MAX, &whole))
            return false;
        ((uint32_t *)at)[k] = (uint32_t)whole;
        return true;
    case U64:
        return take_whole(l, UINT64_MAX, at);
    case NUMBER:
        return take_number(l, (double *)at + k);
    case NAME:
    case WORD:
    case DAY:
        return take_word(l, f, w);
    case TEXT:
    case OWNED:
        w->text = l->at;
        l->at = l->end;
        return w->text != l->end;
    }
    return false;
}

static int take_line(struct nt_samples_reader *r, const struct entry *e, struct nt_text_line *l,
                     struct words *w, struct nt_err *err)
{
    for (const struct word *f = e->word; f->what != NULL; f++, w->read++) {
        if (f->optional && l->at == l->end)
            break;
        for (size_t k = 0; k < times(f, r->samples, w); k++) {
            struct nt_text_line was = *l;
            if (!take(l, f, r->samples, w, k))
                return word_error(f->what, &was, err);
            double *number = f->bound == NULL ? NULL : place_of(f, r->samples, w);
            if (number != NULL && !(*number >= f->least && *number <= 1e9))
                return word_error(f->bound, &was, err);
        }
        if (f->type == OWNED && nt_samples_set_word(place_of(f, r->samples, w), w->text, err) != 0)
            return -1;
    }
    return l->at == l->end ? 0 : word_error("the end of the line", l, err);
}

static int read_known(struct nt_samples_reader *r, size_t key, struct nt_text_line *l,
                      struct nt_err *err)
{
    const struct entry *e = &entries[key];
    struct words w = {.x.kind = (enum nt_sample_kind)(key - KINDS)};
    if (r->samples->ended)
        return nt_err_set(err, NT_ERR_INPUT, "expected nothing after \"end\", found \"%s\"",
                          e->key);
    if (key < KINDS) {
        if ((r->seen & 1u << key) != 0)
            return nt_err_set(err, NT_ERR_INPUT, "expected \"%s\" once, found it again", e->key);
        r->seen |= 1u << key;
    }
    if (take_line(r, e, l, &w, err) != 0)
        return -1;
    return e->add == NULL ? 0 : e->add(r, &w, err);
}

/* Rejects a first line of a matrix, before its tabs or CR are rejected. */
static int refuse_matrix(struct nt_samples_reader *r, size_t bytes, struct nt_err *err)
{
    r->text[bytes] = '\n'; /* a whole line, for its last cell */
    bool is_matrix = nt_import_is_matrix(r->text, bytes + 1);
    r->text[bytes] = '\0';
    return !is_matrix ? 0
                      : nt_err_set(err, NT_ERR_INPUT,
                                   "this is a matrix or the output of a benchmark. Pass it to "
                                   "\"nettopo solve\" with --latency or --bandwidth.");
}

static int read_line(void *reader, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_samples_reader *r = reader;
    size_t bytes = (size_t)(line->end - line->at);
    struct nt_text_line w = {.at = r->text, .end = r->text + bytes};
    if (bytes > 0)
        memcpy(r->text, line->at, bytes);
    r->text[bytes] = '\0';
    if (r->lines.number == 1 && refuse_matrix(r, bytes, err) != 0)
        return -1;
    for (const char *c = w.at; c < w.end; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return nt_err_set(err, NT_ERR_INPUT, "expected text, found the control byte 0x%02x",
                              (unsigned)(unsigned char)*c);
    if (bytes > 0 && w.end[-1] == ' ')
        return nt_err_set(err, NT_ERR_INPUT, "expected no space at the end of the line");
    if (r->lines.number == 1) {
        if (strcmp(w.at, "nettopo-samples/1") == 0)
            return 0;
        if (*w.at == '{')
            return nt_err_set(
                err, NT_ERR_INPUT,
                "this is JSON, not a samples file. Print a map with \"nettopo show\".");
        return nt_err_set(err, NT_ERR_INPUT, "expected \"nettopo-samples/1\", found \"%.64s\"",
                          w.at);
    }
    size_t key = word_bytes(&w);
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        if (strlen(entries[k].key) != key || memcmp(entries[k].key, w.at, key) != 0)
            continue;
        next_word(&w, w.at + key);
        return read_known(r, k, &w, err);
    }
    return word_error("a line of samples", &w, err);
}

/* ---- the reader ------------------------------------------------------------------------------ */

int nt_samples_reader_create(const char *file, struct nt_samples_reader **out, struct nt_err *err)
{
    struct nt_samples_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nt_err_memory(err);
    if (nt_samples_create(&r->samples, err) != 0) {
        free(r);
        return -1;
    }
    r->samples->job.generator[0] = '\0'; /* set by the text, not by this program */
    nt_lines_init(&r->lines, file, NT_SAMPLES_LINE_MAX);
    *out = r;
    return 0;
}

void nt_samples_reader_destroy(struct nt_samples_reader *r)
{
    if (r == NULL)
        return;
    nt_samples_destroy(r->samples);
    nt_lines_fini(&r->lines);
    free(r);
}

int nt_samples_reader_feed(struct nt_samples_reader *r, const char *text, size_t bytes,
                           struct nt_err *err)
{
    return nt_lines_feed(&r->lines, text, bytes, read_line, r, err);
}

int nt_samples_reader_finish(struct nt_samples_reader *r, struct nt_samples **out,
                             struct nt_err *err)
{
    if (nt_lines_finish(&r->lines, read_line, r, err) != 0)
        return -1;
    r->lines.broken = true; /* a reader reads one text */
    if (!r->samples->ended) {
        nt_err_set(err, NT_ERR_INPUT,
                   "expected \"end\" as the last line, found the end of the file");
        return nt_err_prefix(err, "%s:%zu", r->lines.file, r->lines.number);
    }
    if (r->samples->belief != NULL && nt_belief_check(r->samples->belief, err) != 0)
        return nt_err_prefix(err, "%s: prior", r->lines.file);
    *out = r->samples;
    r->samples = NULL;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_number(struct nt_strbuf *d, double value)
{
    char text[NT_NUMBER_BYTES];
    nt_number_write(value, text);
    nt_strbuf_puts(d, text);
}

static void put_word(struct nt_strbuf *d, const struct word *f, const void *at, size_t k)
{
    char day[16];
    nt_strbuf_puts(d, " ");
    switch (f->type) {
    case U32:
        nt_strbuf_print(d, "%u", ((const uint32_t *)at)[k]);
        break;
    case U64:
        nt_strbuf_print(d, "%llu", (unsigned long long)*(const uint64_t *)at);
        break;
    case NUMBER:
        put_number(d, ((const double *)at)[k]);
        break;
    case WORD:
        nt_strbuf_puts(d, f->word[*(const unsigned *)at]);
        break;
    case DAY:
        nt_prior_day_write(*(const int32_t *)at, day);
        nt_strbuf_puts(d, day);
        break;
    case NAME:
    case TEXT:
    case OWNED:
        nt_strbuf_put_line(d, *(const char *const *)at);
        break;
    }
}

/* Writes the first w.read words of the line; 0: all required ones. */
static void put_line(struct nt_strbuf *d, const struct nt_samples *s, size_t key, struct words w)
{
    const struct word *f = entries[key].word;
    nt_strbuf_puts(d, entries[key].key);
    for (size_t i = 0; f[i].what != NULL && (w.read > 0 ? i < w.read : !f[i].optional); i++)
        for (size_t k = 0; k < times(&f[i], s, &w); k++)
            put_word(d, &f[i], place_of(&f[i], (struct nt_samples *)s, &w), k);
    nt_strbuf_puts(d, "\n");
}

static void put_text(struct nt_strbuf *d, const struct nt_samples *s, size_t key, const char *text)
{
    if (text[0] != '\0')
        put_line(d, s, key, (struct words){.text = text});
}

static void put_hosts(struct nt_strbuf *d, const struct nt_samples *s)
{
    for (uint32_t k = 0; k < s->hosts; k++)
        put_text(d, s, HOST_LINE, s->host_name[k]);
    for (uint32_t k = 0; k < s->hosts; k++)
        if (s->slots[k] != 1)
            put_line(d, s, ROOM, (struct words){.host = k, .n = s->slots[k]});
    for (size_t k = 0; k < s->traffic.n; k++)
        put_line(d, s, TRAFFIC,
                 (struct words){
                     .host = s->traffic.pair[k][0],
                     .n = s->traffic.pair[k][1],
                     .number = nt_number_round((double)s->traffic.bytes[k], NT_SAMPLES_DIGITS)});
    for (uint32_t k = 0; k < s->hosts; k++)
        if (s->missing[k] != NULL)
            put_line(d, s, MISSING, (struct words){.host = k, .text = s->missing[k]});
    for (size_t k = 0; k < s->models; k++)
        put_text(d, s, MODEL, s->model[k]);
    for (uint32_t k = 0; k < s->hosts; k++) {
        const struct nt_host_hardware *inside = &s->inside[k];
        if (inside->model != NT_SAMPLES_NO_MODEL)
            put_line(d, s, INSIDE, (struct words){.host = k, .n = inside->model});
        for (unsigned b = 0; b < NT_BETWEEN_END; b++)
            if (inside->latency_us[b] > 0)
                put_line(d, s, CORES,
                         (struct words){.host = k,
                                        .word = b,
                                        .number = nt_number_round((double)inside->latency_us[b],
                                                                  NT_SAMPLES_CORE_DIGITS)});
    }
}

static void put_belief(struct nt_strbuf *d, const struct nt_samples *s, const struct nt_belief *b)
{
    struct words taken = {.day = b->oldest_day, .number = b->support};
    put_line(d, s, PRIOR, (struct words){.n = (uint32_t)b->levels});
    for (uint32_t h = 0; b->levels > 1 && h < b->hosts; h++) {
        struct words w = {.host = h};
        if (b->cluster[h] == NT_BELIEF_LOOSE)
            continue;
        for (size_t l = 0; l + 1 < b->levels; l++)
            w.list[l] = b->cluster[l * b->hosts + h];
        put_line(d, s, BELIEVED, w);
    }
    for (size_t l = 0; l < b->levels; l++)
        taken.us[l] = b->us[l];
    if (b->taken)
        put_line(d, s, TAKEN, taken);
}

/* Returns whether the value is set: not "" or 0. */
static bool is_given(const struct word *f, const void *at)
{
    if (f->type == OWNED)
        return (*(char *const *)at)[0] != '\0';
    if (f->type == NUMBER)
        return *(const double *)at > 0;
    return f->type == U64 ? *(const uint64_t *)at > 0 : *(const uint32_t *)at > 0;
}

static void put_head(struct nt_strbuf *d, const struct nt_samples *s)
{
    nt_strbuf_puts(d, "nettopo-samples/1\n");
    for (size_t key = GENERATOR; key <= SPARE; key++) {
        const struct word *f = entries[key].word;
        if (is_given(f, place_of(f, (struct nt_samples *)s, NULL)))
            put_line(d, s, key, (struct words){.read = key == JOB ? WORDS_MAX : 0});
    }
    put_hosts(d, s);
    if (s->belief != NULL)
        put_belief(d, s, s->belief);
    for (size_t k = 0; k < s->loggps; k++) {
        nt_strbuf_puts(d, entries[LOGGP].key);
        nt_loggp_put(d, &s->loggp[k]);
        nt_strbuf_puts(d, "\n");
    }
    for (size_t k = 0; k < s->transports; k++)
        put_line(d, s, TRANSPORT,
                 (struct words){.n = s->transport[k].hosts, .text = s->transport[k].used});
}

static void put_sample(struct nt_strbuf *d, const struct nt_samples *s, const struct nt_sample *x)
{
    struct words w = {.x = *x};
    if (x->kind == NT_SAMPLE_BANDWIDTH)
        w.number = nt_number_round(x->value_us / 1e6, NT_SAMPLES_DIGITS);
    else if (x->kind == NT_SAMPLE_PRTT && x->text > 0)
        w.text = s->text[x->text - 1];
    else if (x->kind == NT_SAMPLE_KERNEL || x->kind == NT_SAMPLE_FAILED)
        w.text = s->text[x->text];
    if (x->kind == NT_SAMPLE_PRTT && (x->text > 0 || x->prtt.se_us != 0 || x->prtt.hold_us != 0))
        w.read = x->text > 0 ? WORDS_MAX : PRTT_HOLD;
    if (x->kind == NT_SAMPLE_KERNEL && (x->a > 0 || x->b > 0))
        w.read = x->b > 0 ? WORDS_MAX : KERNEL_HOSTS;
    if (x->kind == NT_SAMPLE_KERNEL && x->b > 0)
        nt_samples_participants(s, x, w.list);
    put_line(d, s, KINDS + (size_t)x->kind, w);
}

static void put_phases(struct nt_strbuf *d, const struct nt_samples *s)
{
    size_t next = 0; /* samples are in the order of their rounds */
    uint64_t round = 0;
    for (size_t p = 0; p < s->phases; p++) {
        bool dated = !isnan(s->phase_begin_s[p]);
        put_line(d, s, PHASE,
                 (struct words){.text = s->phase[p].name,
                                .number = s->phase_begin_s[p],
                                .read = dated ? WORDS_MAX : 0});
        for (uint64_t r = 0; r < s->phase[p].rounds; r++, round++) {
            put_line(d, s, ROUND, (struct words){0});
            for (; next < s->samples && s->sample[next].round == round; next++)
                put_sample(d, s, &s->sample[next]);
        }
        if (!isnan(s->phase[p].seconds))
            put_line(d, s, PHASE_END, (struct words){.number = s->phase[p].seconds});
    }
}

int nt_samples_write(const struct nt_samples *s, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    put_head(&d, s);
    put_phases(&d, s);
    for (size_t k = 0; k < s->warnings; k++)
        put_text(&d, s, WARNING, s->warning[k]);
    if (s->ended)
        put_line(&d, s, END, (struct words){.word = s->status, .number = s->seconds});
    return nt_strbuf_finish(&d, text, bytes, err);
}
