/* SPDX-License-Identifier: Apache-2.0 */
/* Every figure is checked by the builder of samples.c, this file only splits words and checks their
 * order. One blank is between words, and a text may be the rest of a line with its blanks, hence
 * words of its own. */
#include "samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "lines.h"
#include "number.h"
#include "prior.h"

enum { HEAD_KEYS = 8 };

/* What a record may cost whoever reads it. In a round a host is part of a few measurements, and a
 * pair is measured again some dozens of times: both bounds are ten times what sweeps take, or more.
 * Reasons are few, and equal ones in a row are kept once. */
enum { A_HOST_AND_ROUND = 16, ROUNDS_A_HOST = 64, ROUNDS_ANYWAY = 8192, TEXTS = 1 << 18 };

struct nt_samples_reader {
    struct nt_lines lines;
    unsigned seen;   /* a bit for each word of the head that came */
    size_t in_round; /* measurements of the round at hand */
    char text[NT_SAMPLES_LINE_MAX + 1];
    struct nt_samples *samples;
};

/* ---- words ----------------------------------------------------------------------------------- */

static size_t word_bytes(const struct nt_text_line *w)
{
    return strcspn(w->at, " ");
}

static int word_error(const char *what, const struct nt_text_line *w, struct nt_err *err)
{
    return nt_line_fail_word(w, what, (struct nt_word){w->at, word_bytes(w)}, err);
}

/* Goes behind the word that ends at end: one blank, or the end of the line. */
static bool next_word(struct nt_text_line *w, const char *end)
{
    if (end != w->end && *end != ' ')
        return false;
    w->at = end == w->end ? end : end + 1;
    return true;
}

static int take_number(struct nt_text_line *w, const char *what, double *value, struct nt_err *err)
{
    double read;
    const char *behind = nt_number_read(w->at, w->end, &read);
    struct nt_text_line was = *w;
    if (behind == NULL || !next_word(w, behind))
        return word_error(what, &was, err);
    *value = read;
    return 0;
}

static int take_whole(struct nt_text_line *w, const char *what, uint64_t most, uint64_t *value,
                      struct nt_err *err)
{
    struct nt_text_line was = *w;
    size_t digits = strspn(w->at, "0123456789"); /* the line is terminated */
    uint64_t read;
    if (nt_decimal_whole(w->at, digits, most, &read) != 0 || !next_word(w, w->at + digits))
        return word_error(what, &was, err);
    *value = read;
    return 0;
}

static int take_u32(struct nt_text_line *w, const char *what, uint32_t *value, struct nt_err *err)
{
    uint64_t read;
    if (take_whole(w, what, UINT32_MAX, &read, err) != 0)
        return -1;
    *value = (uint32_t)read;
    return 0;
}

/* The next word, shorter than capacity and terminated. */
static int take_name(struct nt_text_line *w, const char *what, char *name, size_t capacity,
                     struct nt_err *err)
{
    size_t bytes = word_bytes(w);
    if (bytes == 0 || bytes >= capacity)
        return word_error(what, w, err);
    memcpy(name, w->at, bytes);
    name[bytes] = '\0';
    next_word(w, w->at + bytes);
    return 0;
}

static int take_end(struct nt_text_line *w, struct nt_err *err)
{
    return w->at == w->end ? 0 : word_error("the end of the line", w, err);
}

/* All that is left, at least a byte; NULL with an error. The line is terminated. */
static const char *take_text(struct nt_text_line *w, const char *what, struct nt_err *err)
{
    const char *text = w->at;
    if (w->at == w->end) {
        word_error(what, w, err);
        return NULL;
    }
    w->at = w->end;
    return text;
}

/* ---- lines of the head ----------------------------------------------------------------------- */

static int read_word(struct nt_text_line *w, char **word, struct nt_err *err)
{
    const char *text = take_text(w, "a text", err);
    if (text == NULL)
        return -1;
    return nt_samples_set_word(word, text, err);
}

static int read_generator(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    return read_word(w, &r->samples->generator, err);
}

static int read_cluster(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    return read_word(w, &r->samples->cluster, err);
}

static int read_level(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    return read_word(w, &r->samples->level, err);
}

static int read_created(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    return read_word(w, &r->samples->created, err);
}

static int read_pattern(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    return read_word(w, &r->samples->pattern, err);
}

static int read_spare(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    return take_u32(w, "hosts", &r->samples->spare, err);
}

static int read_job(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint64_t job;
    uint32_t restart = 0;
    if (take_whole(w, "a job id", UINT64_MAX, &job, err) != 0)
        return -1;
    if (w->at != w->end && take_u32(w, "a restart count", &restart, err) != 0)
        return -1;
    r->samples->job_id = job;
    r->samples->restart = restart;
    return take_end(w, err);
}

static int read_budget(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_text_line was = *w;
    double seconds;
    if (take_number(w, "seconds", &seconds, err) != 0)
        return -1;
    if (!(seconds > 0 && seconds <= 1e9))
        return word_error("seconds over 0 and up to 1e9", &was, err);
    r->samples->budget_s = seconds;
    return take_end(w, err);
}

static int read_host(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const char *name = take_text(w, "a host name", err);
    if (name == NULL)
        return -1;
    return nt_samples_add_host(r->samples, name, err);
}

static int read_missing(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint32_t host;
    if (take_u32(w, "the number of a host", &host, err) != 0)
        return -1;
    const char *reason = take_text(w, "a reason", err);
    if (reason == NULL)
        return -1;
    return nt_samples_set_missing(r->samples, host, reason, err);
}

static int read_slots(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint32_t host, tasks;
    if (take_u32(w, "the number of a host", &host, err) != 0 ||
        take_u32(w, "a number of tasks", &tasks, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_set_slots(r->samples, host, tasks, err);
}

static int read_traffic(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint32_t a, b;
    double bytes;
    if (take_u32(w, "a rank", &a, err) != 0 || take_u32(w, "a rank", &b, err) != 0 ||
        take_number(w, "bytes", &bytes, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_add_traffic(r->samples, a, b, bytes, err);
}

static int read_model(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const char *text = take_text(w, "a model of hosts", err);
    uint32_t index;
    size_t before = r->samples->models;
    if (text == NULL || nt_samples_add_model(r->samples, text, &index, err) != 0)
        return -1;
    if (index < before)
        return nt_err_set(err, NT_ERR_INPUT, "expected each model once, found %u again", index);
    return 0;
}

static int read_inside(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint32_t host, model;
    if (take_u32(w, "the number of a host", &host, err) != 0 ||
        take_u32(w, "the number of a model", &model, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_set_model(r->samples, host, model, err);
}

static int read_prior(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint32_t levels;
    if (take_u32(w, "a number of levels", &levels, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_begin_belief(r->samples, levels, err);
}

static int read_believed(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const struct nt_belief *b = r->samples->belief;
    uint32_t host, cluster[NT_BELIEF_LEVELS_MAX];
    if (take_u32(w, "the number of a host", &host, err) != 0)
        return -1;
    for (size_t l = 0; b != NULL && l + 1 < b->levels; l++)
        if (take_u32(w, "the number of a cluster", &cluster[l], err) != 0)
            return -1;
    if (take_end(w, err) != 0)
        return -1;
    return nt_samples_believe(r->samples, host, cluster, err);
}

static int read_taken(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const struct nt_belief *b = r->samples->belief;
    const char *what = "a day, YYYY-MM-DD";
    double support, us[NT_BELIEF_LEVELS_MAX] = {0};
    char text[sizeof "YYYY-MM-DD"];
    int32_t day;
    struct nt_text_line was = *w;
    if (take_name(w, what, text, sizeof text, err) != 0)
        return -1;
    if (nt_prior_day(text, strlen(text), &day) != 0)
        return word_error(what, &was, err);
    if (take_number(w, "a support", &support, err) != 0)
        return -1;
    for (size_t l = 0; b != NULL && l < b->levels; l++)
        if (take_number(w, "the latency of a level in us", &us[l], err) != 0)
            return -1;
    if (take_end(w, err) != 0)
        return -1;
    return nt_samples_take_belief(r->samples, us, support, day, err);
}

static int read_cores(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const char *what = "core, cache, numa, package or machine";
    char name[16];
    uint32_t host;
    double us;
    if (take_u32(w, "the number of a host", &host, err) != 0)
        return -1;
    struct nt_text_line was = *w;
    if (take_name(w, what, name, sizeof name, err) != 0)
        return -1;
    enum nt_between between = nt_between_parse(name);
    if (between == NT_BETWEEN_END)
        return word_error(what, &was, err);
    if (take_number(w, "the latency in us", &us, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_set_cores(r->samples, host, between, us, err);
}

static int read_transport(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    uint32_t hosts;
    if (take_u32(w, "a number of hosts", &hosts, err) != 0)
        return -1;
    const char *used = take_text(w, "transports", err);
    return used == NULL ? -1 : nt_samples_add_transport(r->samples, used, hosts, err);
}

/* ---- lines of the sweep ---------------------------------------------------------------------- */

static int read_phase(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    char name[sizeof r->samples->phase->name];
    double begin_s;
    if (take_name(w, "the name of a phase", name, sizeof name, err) != 0 ||
        nt_samples_begin_phase(r->samples, name, err) != 0)
        return -1;
    if (w->at == w->end) /* older records */
        return 0;
    if (take_number(w, "seconds", &begin_s, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_date_phase(r->samples, begin_s, err);
}

static int read_round(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    size_t most = ROUNDS_A_HOST * r->samples->hosts + ROUNDS_ANYWAY;
    if (take_end(w, err) != 0)
        return -1;
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

static int add_sample(struct nt_samples_reader *r, struct nt_sample x, const char *text,
                      struct nt_err *err)
{
    return bound_round(r, err) != 0 ? -1 : nt_samples_add(r->samples, x, text, err);
}

static int read_phase_end(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    double seconds;
    if (take_number(w, "seconds", &seconds, err) != 0 || take_end(w, err) != 0)
        return -1;
    return nt_samples_end_phase(r->samples, seconds, err);
}

static int take_pair(struct nt_text_line *w, struct nt_sample *x, struct nt_err *err)
{
    if (take_u32(w, "the number of a host", &x->a, err) != 0)
        return -1;
    return take_u32(w, "the number of a host", &x->b, err);
}

static int read_latency(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_sample x = {.kind = NT_SAMPLE_LATENCY};
    if (take_pair(w, &x, err) != 0 || take_number(w, "bytes", &x.bytes, err) != 0 ||
        take_u32(w, "a count", &x.count, err) != 0 ||
        take_number(w, "the low latency in us", &x.value_us, err) != 0 ||
        take_number(w, "its standard error in us", &x.latency.se_us, err) != 0 ||
        take_number(w, "the median in us", &x.latency.median_us, err) != 0 || take_end(w, err) != 0)
        return -1;
    return add_sample(r, x, NULL, err);
}

static int read_bandwidth(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_sample x = {.kind = NT_SAMPLE_BANDWIDTH};
    double seconds;
    if (take_pair(w, &x, err) != 0 || take_number(w, "bytes", &x.bytes, err) != 0 ||
        take_number(w, "seconds", &seconds, err) != 0 || take_end(w, err) != 0)
        return -1;
    x.value_us = seconds * 1e6;
    return add_sample(r, x, NULL, err);
}

/* What older records lack. */
static int take_prtt_extras(struct nt_text_line *w, struct nt_sample *x, const char **rail,
                            struct nt_err *err)
{
    *rail = NULL;
    if (w->at == w->end)
        return 0;
    if (take_number(w, "the standard error in us", &x->prtt.se_us, err) != 0 ||
        take_number(w, "how long the asking end held still in us", &x->prtt.hold_us, err) != 0)
        return -1;
    if (w->at == w->end)
        return 0;
    *rail = take_text(w, "the name of a network device", err);
    return *rail == NULL ? -1 : 0;
}

static int read_prtt(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_sample x = {.kind = NT_SAMPLE_PRTT};
    const char *rail;
    if (take_pair(w, &x, err) != 0 || take_number(w, "bytes", &x.bytes, err) != 0 ||
        take_u32(w, "a count", &x.count, err) != 0 ||
        take_number(w, "the delay in us", &x.prtt.delay_us, err) != 0 ||
        take_number(w, "the round trip in us", &x.value_us, err) != 0 ||
        take_prtt_extras(w, &x, &rail, err) != 0)
        return -1;
    return add_sample(r, x, rail, err);
}

/* Older records lack who took part. */
static int read_crowd(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_sample *x,
                      const char *name, struct nt_err *err)
{
    uint32_t host[NT_SAMPLES_CROWD_MAX];
    if (take_u32(w, "a number of messages", &x->b, err) != 0)
        return -1;
    for (uint32_t k = 0; k < x->a && k < NT_SAMPLES_CROWD_MAX; k++)
        if (take_u32(w, "the number of a host", &host[k], err) != 0)
            return -1;
    return take_end(w, err) != 0 || bound_round(r, err) != 0
               ? -1
               : nt_samples_add_kernel(r->samples, *x, name, host, err);
}

static int read_kernel(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_sample x = {.kind = NT_SAMPLE_KERNEL};
    char name[64];
    if (take_name(w, "the name of a kernel", name, sizeof name, err) != 0 ||
        take_number(w, "bytes", &x.bytes, err) != 0 || take_u32(w, "a count", &x.count, err) != 0 ||
        take_number(w, "the median in us", &x.value_us, err) != 0 ||
        take_number(w, "the low end in us", &x.kernel.low_us, err) != 0 ||
        take_number(w, "the high end in us", &x.kernel.high_us, err) != 0)
        return -1;
    if (w->at != w->end && take_u32(w, "how many hosts", &x.a, err) != 0)
        return -1;
    if (w->at == w->end)
        return add_sample(r, x, name, err);
    return read_crowd(r, w, &x, name, err);
}

static int read_failed(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_sample x = {.kind = NT_SAMPLE_FAILED};
    if (take_pair(w, &x, err) != 0)
        return -1;
    const char *reason = take_text(w, "a reason", err);
    if (reason == NULL)
        return -1;
    return add_sample(r, x, reason, err);
}

static int read_resent(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    struct nt_sample x = {.kind = NT_SAMPLE_RESENT};
    if (take_pair(w, &x, err) != 0 || take_u32(w, "a number of segments", &x.segments, err) != 0 ||
        take_u32(w, "how many were sent again", &x.count, err) != 0 || take_end(w, err) != 0)
        return -1;
    return add_sample(r, x, NULL, err);
}

static int read_warning(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const char *text = take_text(w, "a text", err);
    if (text == NULL)
        return -1;
    return nt_samples_warn(r->samples, err, "%s", text);
}

static int read_end(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err)
{
    const char *what = "ok, partial or failed";
    char name[16];
    struct nt_text_line was = *w;
    enum nt_status status = NT_STATUS_OK;
    if (take_name(w, what, name, sizeof name, err) != 0)
        return -1;
    while (status <= NT_STATUS_FAILED && strcmp(nt_status_name(status), name) != 0)
        status++;
    if (status > NT_STATUS_FAILED)
        return word_error(what, &was, err);
    was = *w;
    double seconds;
    if (take_number(w, "seconds", &seconds, err) != 0 || take_end(w, err) != 0)
        return -1;
    if (!(seconds >= 0 && seconds <= 1e9))
        return word_error("seconds from 0 to 1e9", &was, err);
    nt_samples_finish(r->samples, status, seconds);
    return 0;
}

/* ---- the table of lines ---------------------------------------------------------------------- */

static const struct {
    const char *key;
    int (*read)(struct nt_samples_reader *r, struct nt_text_line *w, struct nt_err *err);
} lines[] = {
    /* the first HEAD_KEYS may come once */
    {"generator", read_generator}, {"job", read_job},
    {"cluster", read_cluster},     {"level", read_level},
    {"created", read_created},     {"budget", read_budget},
    {"pattern", read_pattern},     {"spare", read_spare},
    {"host", read_host},           {"missing", read_missing},
    {"room", read_slots},          {"traffic", read_traffic},
    {"model", read_model},         {"inside", read_inside},
    {"cores", read_cores},         {"transport", read_transport},
    {"phase", read_phase},         {"round", read_round},
    {"latency", read_latency},     {"bandwidth", read_bandwidth},
    {"prtt", read_prtt},           {"kernel", read_kernel},
    {"failed", read_failed},       {"resent", read_resent},
    {"prior", read_prior},         {"taken", read_taken},

    {"believed", read_believed},   {"phase-end", read_phase_end},
    {"warning", read_warning},     {"end", read_end},
};

static int read_known(struct nt_samples_reader *r, size_t key, struct nt_text_line *w,
                      struct nt_err *err)
{
    if (r->samples->ended)
        return nt_err_set(err, NT_ERR_INPUT, "expected nothing after \"end\", found \"%s\"",
                          lines[key].key);
    if (key < HEAD_KEYS) {
        if ((r->seen & 1u << key) != 0)
            return nt_err_set(err, NT_ERR_INPUT, "expected \"%s\" once, found it again",
                              lines[key].key);
        r->seen |= 1u << key;
    }
    return lines[key].read(r, w, err);
}

static int read_line(void *reader, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_samples_reader *r = reader;
    size_t bytes = (size_t)(line->end - line->at);
    struct nt_text_line w = {.at = r->text, .end = r->text + bytes};
    if (bytes > 0)
        memcpy(r->text, line->at, bytes);
    r->text[bytes] = '\0';
    for (const char *c = w.at; c < w.end; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return nt_err_set(err, NT_ERR_INPUT, "expected text, found the control byte 0x%02x",
                              (unsigned)(unsigned char)*c);
    if (bytes > 0 && w.end[-1] == ' ')
        return nt_err_set(err, NT_ERR_INPUT, "expected no blank at the end of the line");
    if (r->lines.number == 1) {
        if (strcmp(w.at, "nettopo-samples/1") == 0)
            return 0;
        return nt_err_set(err, NT_ERR_INPUT, "expected \"nettopo-samples/1\", found \"%.64s\"",
                          w.at);
    }
    size_t key = word_bytes(&w);
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        if (strlen(lines[k].key) != key || memcmp(lines[k].key, w.at, key) != 0)
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
    r->samples->generator[0] = '\0'; /* whoever wrote the text, not we */
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
    r->lines.broken = true; /* one text a reader */
    if (!r->samples->ended) {
        nt_err_set(err, NT_ERR_INPUT,
                   "expected \"end\" as the last line, found the end of the file");
        return nt_err_prefix(err, "%s:%zu", r->lines.file, r->lines.number);
    }
    *out = r->samples;
    r->samples = NULL;
    return 0;
}
