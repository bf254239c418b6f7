/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "map.h"
#include "matrix.h"

enum { INLINE_LIMIT = 32768, INLINE_LIMIT_MAX = 122880 };

static const uint64_t DEADLINE_MAX_US = UINT64_C(1) << 53; /* a double holds it */

struct line {
    const char *word, *value;
    size_t word_bytes, value_bytes;
};

/* Cuts the next line off; false at the end of the text or when the last line is cut off. */
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

static int read_whole_number(const struct line *line, uint64_t max, uint64_t *out,
                             struct nt_err *err)
{
    if (nt_decimal_whole(line->value, line->value_bytes, max, out) != 0)
        return line_error(err, line, "a whole number in range");
    return 0;
}

static int read_number32(const struct line *line, uint32_t max, uint32_t *out, struct nt_err *err)
{
    uint64_t v = 0;
    if (read_whole_number(line, max, &v, err) != 0)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

static int read_value(const struct line *line, char *out, size_t out_bytes, struct nt_err *err)
{
    if (line->value_bytes >= out_bytes || memchr(line->value, '\0', line->value_bytes) != NULL)
        return line_error(err, line, "a shorter text");
    memcpy(out, line->value, line->value_bytes);
    out[line->value_bytes] = '\0';
    return 0;
}

static int read_option(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    char text[NT_OPTION_TEXT_BYTES];
    if (read_value(line, text, sizeof text, err) != 0)
        return -1;
    bool level_auto = s->option.level_auto; /* a line of its own */
    if (nt_option_parse(text, &s->option, err) != 0)
        return nt_err_prefix(err, "start");
    s->option.level_auto = level_auto;
    return 0;
}

static int read_policy(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    char text[16];
    if (read_value(line, text, sizeof text, err) != 0)
        return -1;
    if (strcmp(text, "full") != 0 && strcmp(text, "latency") != 0)
        return line_error(err, line, "full or latency");
    s->latency_only = text[0] == 'l';
    return 0;
}

static int read_flag(const struct line *line, const char *word, bool *flag, struct nt_err *err)
{
    if (line->value_bytes != strlen(word) || memcmp(line->value, word, strlen(word)) != 0)
        return line_error(err, line, word);
    *flag = true;
    return 0;
}

static int read_max_load(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    uint64_t share;
    if (nt_decimal_thousandths(line->value, line->value_bytes, 1000, &share) != 0 || share == 0)
        return line_error(err, line, "a share above 0, at most 1");
    s->max_load = (double)share * 1e-3;
    return 0;
}

static int read_log(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    char text[16];
    if (read_value(line, text, sizeof text, err) != 0)
        return -1;
    return nt_log_level_parse(text, &s->log) == 0 ? 0
                                                  : line_error(err, line, "error, info or debug");
}

static int read_cluster(struct nt_start *s, const struct line *line, struct nt_err *err)
{
    return read_value(line, s->cluster, sizeof s->cluster, err);
}

static int read_host(struct nt_start *s, size_t *hosts, const struct line *line, struct nt_err *err)
{
    char text[256];
    if (*hosts >= s->size)
        return line_error(err, line, "no more hosts than size says");
    if (read_value(line, text, sizeof text, err) != 0 || nt_host_name_check(text, err) != 0)
        return nt_err_prefix(err, "start");
    if (s->host == NULL)
        s->host = calloc(s->size, sizeof *s->host);
    char *copy = s->host == NULL ? NULL : strdup(text);
    if (copy == NULL)
        return nt_err_memory(err);
    s->host[(*hosts)++] = copy;
    return 0;
}

static int read_line(struct nt_start *s, size_t *hosts, const struct line *line, struct nt_err *err)
{
    if (is_word(line, "host"))
        return read_host(s, hosts, line, err);
    if (is_word(line, "rank"))
        return read_number32(line, NT_HOSTS_MAX - 1, &s->rank, err);
    if (is_word(line, "size"))
        return *hosts > 0 ? line_error(err, line, "size before the first host")
                          : read_number32(line, NT_HOSTS_MAX, &s->size, err);
    if (is_word(line, "deadline_us"))
        return read_whole_number(line, DEADLINE_MAX_US, &s->deadline_us, err);
    if (is_word(line, "job"))
        return read_whole_number(line, UINT64_MAX, &s->job_id, err);
    if (is_word(line, "restart"))
        return read_number32(line, UINT32_MAX, &s->restart, err);
    if (is_word(line, "inline_limit"))
        return read_number32(line, INLINE_LIMIT_MAX, &s->inline_limit_bytes, err);
    if (is_word(line, "tasks"))
        return read_number32(line, NT_START_TASKS_MAX, &s->tasks, err);
    if (is_word(line, "task_cpus"))
        return read_number32(line, NT_START_TASKS_MAX, &s->task_cpus, err);
    if (is_word(line, "cpus"))
        return read_value(line, s->cpus, sizeof s->cpus, err);
    if (is_word(line, "prior"))
        return read_value(line, s->prior, sizeof s->prior, err);
    if (is_word(line, "cluster"))
        return read_cluster(s, line, err);
    if (is_word(line, "warning"))
        return read_value(line, s->warning, sizeof s->warning, err);
    if (is_word(line, "policy"))
        return read_policy(s, line, err);
    if (is_word(line, "max_load"))
        return read_max_load(s, line, err);
    if (is_word(line, "archive"))
        return read_flag(line, "yes", &s->archive, err);
    if (is_word(line, "use"))
        return read_flag(line, "unknown", &s->use_unknown, err);
    if (is_word(line, "level"))
        return read_flag(line, "auto", &s->option.level_auto, err);
    if (is_word(line, "limit"))
        return read_number32(line, UINT32_MAX, &s->limit_s, err);
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
    struct nt_start s = {.inline_limit_bytes = INLINE_LIMIT, .max_load = 1, .log = NT_LOG_INFO};
    struct line line;
    size_t hosts = 0;
    bool ended = false;
    int rc = nt_option_parse(NULL, &s.option, err);
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
    *out = s;
    return 0;
}

void nt_start_fini(struct nt_start *start)
{
    for (size_t i = 0; start->host != NULL && i < start->size; i++)
        free(start->host[i]);
    free(start->host);
    *start = (struct nt_start){0};
}
