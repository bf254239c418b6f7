/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <stddef.h>
#include <string.h>

#include "decimal.h"
#include "map.h"
#include "matrix.h"

enum { INLINE_LIMIT_MAX = 122880 };

struct line {
    const char *word, *value;
    size_t word_bytes, value_bytes;
};

/* Reads the next line; false at the end of the text, or if the last line is incomplete. */
static bool next_line(const char **at, size_t *left, struct line *line)
{
    const char *end = memchr(*at, '\n', *left);
    if (end == NULL)
        return false;
    size_t bytes = (size_t)(end - *at);
    const char *space = memchr(*at, ' ', bytes);
    line->word = *at;
    line->word_bytes = space == NULL ? bytes : (size_t)(space - *at);
    line->value = space == NULL ? end : space + 1;
    line->value_bytes = (size_t)(end - line->value);
    *at = end + 1;
    *left -= bytes + 1;
    return true;
}

static bool is_word(const struct line *line, const char *word)
{
    return line->word_bytes == strlen(word) && memcmp(line->word, word, line->word_bytes) == 0;
}

static int line_error(struct nt_err *err, const struct line *line, const char *expected)
{
    return nt_err_set(err, NT_ERR_INPUT, "start: %.*s: expected %s, found \"%.*s\"",
                      (int)(line->word_bytes < 32 ? line->word_bytes : 32), line->word, expected,
                      (int)(line->value_bytes < 64 ? line->value_bytes : 64), line->value);
}

/* ---- the words whose value goes to one field ---- */
enum form { WHOLE32, WHOLE64, TEXT, FLAG }; /* FLAG: a bool, set by the only valid value */

/* Size limit of each text. */
enum { TEXT_BYTES = 256 };

#define IN(field) offsetof(struct nt_start, field)
static const struct word {
    const char *word;
    enum form form;
    size_t at;
    uint64_t max;      /* maximum, for WHOLE32 and WHOLE64 */
    const char *value; /* the only value, for FLAG */
} words[] = {
    {"rank", WHOLE32, IN(rank), NT_HOSTS_MAX - 1, NULL},
    {"deadline_us", WHOLE64, IN(deadline_us), UINT64_C(1) << 53,
     NULL}, /* the limit is exact as a double */
    {"job", WHOLE64, IN(job.job_id), UINT64_MAX, NULL},
    {"restart", WHOLE32, IN(job.restart), UINT32_MAX, NULL},
    {"inline_limit", WHOLE32, IN(job.inline_limit_bytes), INLINE_LIMIT_MAX, NULL},
    {"tasks", WHOLE32, IN(job.tasks), NT_START_TASKS_MAX, NULL},
    {"task_cpus", WHOLE32, IN(job.task_cpus), NT_START_TASKS_MAX, NULL},
    {"limit", WHOLE32, IN(job.limit_s), UINT32_MAX, NULL},
    {"cpus", TEXT, IN(job.cpus), 0, NULL},
    {"prior", TEXT, IN(job.prior), 0, NULL},
    {"cluster", TEXT, IN(job.cluster), 0, NULL},
    {"warning", TEXT, IN(job.warning), 0, NULL},
    {"archive", FLAG, IN(job.archive), 0, "yes"},
    {"use", FLAG, IN(job.use_unknown), 0, "unknown"},
    {"level", FLAG, IN(job.option.level_auto), 0, "auto"},
};

static int read_whole(const struct line *line, uint64_t max, uint64_t *out, struct nt_err *err)
{
    return nt_decimal_whole(line->value, line->value_bytes, max, out) == 0
               ? 0
               : line_error(err, line, "a whole number in range");
}

static int read_text(const struct line *line, char *out, size_t room, struct nt_err *err)
{
    if (line->value_bytes >= room || memchr(line->value, '\0', line->value_bytes) != NULL)
        return line_error(err, line, "a shorter text");
    memcpy(out, line->value, line->value_bytes);
    out[line->value_bytes] = '\0';
    return 0;
}

static int read_word(struct nt_start *s, const struct word *w, const struct line *line,
                     struct nt_err *err)
{
    unsigned char *field = (unsigned char *)s + w->at;
    char text[TEXT_BYTES];
    uint64_t number = 0;
    switch (w->form) {
    case WHOLE32:
    case WHOLE64:
        if (read_whole(line, w->max, &number, err) != 0)
            return -1;
        if (w->form == WHOLE64)
            memcpy(field, &number, sizeof number);
        else
            memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
        return 0;
    case TEXT:
        if (read_text(line, text, sizeof text, err) != 0)
            return -1;
        const char *kept = nt_arena_text(&s->memory, text, line->value_bytes);
        memcpy(field, &kept, sizeof kept);
        return nt_arena_check(&s->memory, err);
    case FLAG:
        if (line->value_bytes != strlen(w->value) ||
            memcmp(line->value, w->value, line->value_bytes) != 0)
            return line_error(err, line, w->value);
        *(bool *)field = true;
    }
    return 0;
}

/* ---- the others ---- */
static int read_size(struct nt_start *s, size_t hosts, const struct line *line, struct nt_err *err)
{
    uint64_t size;
    if (hosts > 0)
        return line_error(err, line, "size before the first host");
    if (read_whole(line, NT_HOSTS_MAX, &size, err) != 0)
        return -1;
    s->size = (uint32_t)size;
    return 0;
}

static int read_option(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    char text[NT_OPTION_TEXT_BYTES];
    struct nt_option *option = &s->job.option;
    if (read_text(line, text, sizeof text, err) != 0)
        return -1;
    bool level_auto = option->level_auto; /* kept, because another line sets it */
    if (nt_option_parse(text, option, err) != 0)
        return nt_err_prefix(err, "start");
    option->level_auto = level_auto;
    return 0;
}

static int read_policy(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    char text[16];
    if (read_text(line, text, sizeof text, err) != 0)
        return -1;
    if (strcmp(text, "full") != 0 && strcmp(text, "latency") != 0)
        return line_error(err, line, "full or latency");
    s->job.latency_only = text[0] == 'l';
    return 0;
}

static int read_max_load(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    uint64_t share;
    if (nt_decimal_thousandths(line->value, line->value_bytes, 1000, &share) != 0 || share == 0)
        return line_error(err, line, "a share above 0, at most 1");
    s->job.max_load = (double)share * 1e-3;
    return 0;
}

static int read_log(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    char text[16];
    if (read_text(line, text, sizeof text, err) != 0)
        return -1;
    return nt_log_level_parse(text, &s->job.log) == 0
               ? 0
               : line_error(err, line, "error, info or debug");
}

static int read_host(struct nt_start *s, size_t *hosts, const struct line *line, struct nt_err *err)
{
    char text[TEXT_BYTES];
    if (*hosts >= s->size)
        return line_error(err, line, "no more hosts than size says");
    if (read_text(line, text, sizeof text, err) != 0 || nt_host_name_check(text, err) != 0)
        return nt_err_prefix(err, "start");
    if (s->host == NULL)
        s->host = nt_arena_array(&s->memory, s->size, sizeof *s->host);
    const char *name = nt_arena_text(&s->memory, text, line->value_bytes);
    if (s->host != NULL)
        s->host[(*hosts)++] = name;
    return nt_arena_check(&s->memory, err);
}

static int read_line(struct nt_start *s, size_t *hosts, const struct line *line, struct nt_err *err)
{
    if (is_word(line, "host"))
        return read_host(s, hosts, line, err);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (is_word(line, words[k].word))
            return read_word(s, &words[k], line, err);
    if (is_word(line, "size"))
        return read_size(s, *hosts, line, err);
    if (is_word(line, "policy"))
        return read_policy(s, line, err);
    if (is_word(line, "max_load"))
        return read_max_load(s, line, err);
    if (is_word(line, "log"))
        return read_log(s, line, err);
    if (is_word(line, "option"))
        return read_option(s, line, err);
    return line_error(err, line, "a word of the start text");
}

static int check_start(const struct nt_start *s, size_t hosts, struct nt_err *err)
{
    if (s->size == 0 || hosts != s->size)
        return nt_err_set(err, NT_ERR_INPUT, "start: expected %u hosts, found %zu", s->size, hosts);
    if (s->rank >= s->size)
        return nt_err_set(err, NT_ERR_INPUT, "start: rank %u of %u", s->rank, s->size);
    if (s->deadline_us == 0)
        return nt_err_set(err, NT_ERR_INPUT, "start: expected a deadline_us above 0");
    return 0;
}

int nt_start_parse(const char *text, size_t bytes, struct nt_start *out, struct nt_err *err)
{
    struct nt_start s = {
        .job = {.inline_limit_bytes = NT_INLINE_LIMIT_BYTES, .max_load = 1, .log = NT_LOG_INFO}};
    struct line line;
    size_t hosts = 0;
    bool ended = false;
    int rc = nt_option_parse(NULL, &s.job.option, err);
    while (rc == 0 && !ended && next_line(&text, &bytes, &line)) {
        if (is_word(&line, "end"))
            ended = true;
        else
            rc = read_line(&s, &hosts, &line, err);
    }
    if (rc == 0 && !ended)
        rc = nt_err_set(err, NT_ERR_INPUT, "start: the text is cut off: expected \"end\"");
    if (rc == 0)
        rc = check_start(&s, hosts, err);
    if (rc != 0) {
        nt_start_fini(&s);
        return -1;
    }
    s.job.host_names = s.host;
    *out = s;
    return 0;
}

void nt_start_fini(struct nt_start *start)
{
    nt_arena_fini(&start->memory);
    *start = (struct nt_start){0};
}
