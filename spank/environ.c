/* SPDX-License-Identifier: Apache-2.0 */
#include "environ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_line.h"

enum { FINDINGS_MAX = 4096 }; /* ucx_probe/coordinator_output.c writes no more */
enum { REASON_MAX = NT_ERR_TEXT_BYTES - 1, PATH_ROOM = 320 };

enum kind {
    STATUS,
    REASON,
    JSON,
    ORDER,
    GAIN,
    FINDINGS,
    DEVICES,
    FILE_NAME,
    APPLY_FILE,
    APPLY_VALUE
};

struct rule {
    const char *name;
    enum kind kind;
    const char *word; /* the only valid value */
};

static const struct rule rules[] = {
    {"NETTOPO_STATUS", STATUS, NULL},
    {"NETTOPO_REASON", REASON, NULL},
    {"NETTOPO_MAP", FILE_NAME, "map.json"},
    {"NETTOPO_JSON", JSON, NULL},
    {"NETTOPO_NODE_ORDER", ORDER, NULL},
    {"NETTOPO_SPARES", ORDER, NULL},
    {"NETTOPO_HOSTFILE", FILE_NAME, "hostfile"},
    {"NETTOPO_RANKFILE", FILE_NAME, "rankfile"},
    {"NETTOPO_RANK_ORDER", FILE_NAME, "rankorder"},
    {"NETTOPO_GAIN", GAIN, NULL},
    {"NETTOPO_FINDINGS", FINDINGS, NULL},
    {"NETTOPO_NET_DEVICES", DEVICES, NULL},
    {"NETTOPO_LOG", FILE_NAME, NT_LOG_FILE},
    {"SLURM_HOSTFILE", APPLY_FILE, "hostfile"},
    {"SLURM_DISTRIBUTION", APPLY_VALUE, "arbitrary"},
};
enum { RULES = sizeof rules / sizeof *rules };
_Static_assert((int)RULES <= (int)NT_ENVIRON_VARS_MAX, "room for every variable");

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_list(const char *value, const char *also)
{
    for (; *value != '\0'; value++)
        if (!is_letter_or_digit(*value) && !is_one_of(*value, also))
            return false;
    return true;
}

/* "link-narrow n5 s3 4.7/11.7 MB/s 0.99", separated by ';'; empty without findings. */
static bool is_finding_list(const char *value)
{
    for (; *value != '\0'; value++)
        if (!is_letter_or_digit(*value) && !is_one_of(*value, "._-+ /;%"))
            return false;
    return true;
}

static bool is_number(const char *value)
{
    size_t digits = 0;
    for (const char *c = value; *c != '\0'; c++) {
        if (*c >= '0' && *c <= '9')
            digits++;
        else if (!is_one_of(*c, ".e+-"))
            return false;
    }
    return digits > 0 && strlen(value) < 32;
}

static bool value_is_valid(const struct rule *rule, const char *value, size_t bytes)
{
    switch (rule->kind) {
    case STATUS:
        return strcmp(value, "ok") == 0 || strcmp(value, "partial") == 0 ||
               strcmp(value, "failed") == 0;
    case REASON:
        return bytes > 0 && bytes <= REASON_MAX;
    case JSON:
        return bytes > 1 && value[0] == '{' && value[bytes - 1] == '}';
    case ORDER:
        return bytes > 0 && is_list(value, "._-,");
    case DEVICES:
        return bytes > 0 && is_list(value, "._-,:");
    case GAIN:
        return is_number(value);
    case FINDINGS:
        return bytes <= FINDINGS_MAX && is_finding_list(value);
    case FILE_NAME:
    case APPLY_FILE:
    case APPLY_VALUE:
        return strcmp(value, rule->word) == 0;
    }
    return false;
}

/* ---- filling ---- */

struct reader {
    const struct nt_environ_options *options;
    struct nt_environ *environ;
    size_t used, room; /* in environ->memory */
    bool seen[RULES];
};

/* environ->memory has room for all values and paths. */
static const char *store_value(struct reader *f, const char *value, size_t bytes)
{
    char *to = f->environ->memory + f->used;
    memcpy(to, value, bytes);
    to[bytes] = '\0';
    f->used += bytes + 1;
    return to;
}

static void add_variable(struct reader *f, const struct rule *rule, const char *value, size_t bytes)
{
    char path[PATH_ROOM];
    bool is_file = rule->kind == FILE_NAME || rule->kind == APPLY_FILE;
    bool apply = rule->kind == APPLY_FILE || rule->kind == APPLY_VALUE;
    if (apply && !f->options->apply)
        return;
    if (is_file) {
        if (f->options->has != NULL && !f->options->has(f->options->context, value))
            return;
        int n = snprintf(path, sizeof path, "%s/%s", f->options->dir, value);
        if (n < 0 || n >= (int)sizeof path)
            return;
        value = path;
        bytes = (size_t)n;
    }
    f->environ->var[f->environ->count++] =
        (struct nt_variable){rule->name, store_value(f, value, bytes)};
}

static int read_line(struct reader *f, size_t number, char *line, size_t bytes, struct nt_err *err)
{
    char *equals = memchr(line, '=', bytes);
    if (equals == NULL || !nt_text_is_clean(line, bytes))
        return nt_err_set(err, NT_ERR_INPUT,
                          "hint.env:%zu: expected NAME=VALUE in printable characters", number);
    *equals = '\0';
    const char *value = equals + 1;
    size_t value_bytes = bytes - (size_t)(value - line), r = 0;
    while (r < RULES && strcmp(rules[r].name, line) != 0)
        r++;
    if (r == RULES)
        return nt_err_set(err, NT_ERR_INPUT, "hint.env:%zu: \"%.40s\" is not a variable of nettopo",
                          number, line);
    if (f->seen[r])
        return nt_err_set(err, NT_ERR_INPUT, "hint.env:%zu: %s is set twice", number,
                          rules[r].name);
    if (value_bytes > NT_ENVIRON_VALUE_MAX || !value_is_valid(&rules[r], value, value_bytes))
        return nt_err_set(err, NT_ERR_INPUT, "hint.env:%zu: invalid value of %s", number,
                          rules[r].name);
    f->seen[r] = true;
    add_variable(f, &rules[r], value, value_bytes);
    return 0;
}

static int read_lines(struct reader *f, char *text, size_t bytes, struct nt_err *err)
{
    size_t number = 0;
    for (size_t at = 0; at < bytes;) {
        char *end = memchr(text + at, '\n', bytes - at);
        if (end == NULL)
            return nt_err_set(err, NT_ERR_INPUT, "hint.env:%zu: expected a newline at the end",
                              number + 1);
        *end = '\0';
        size_t line_bytes = (size_t)(end - (text + at));
        if (memchr(text + at, '\0', line_bytes) != NULL)
            return nt_err_set(err, NT_ERR_INPUT, "hint.env:%zu: contains a NUL byte", number + 1);
        if (read_line(f, ++number, text + at, line_bytes, err) != 0)
            return -1;
        at += line_bytes + 1;
    }
    if (!f->seen[0])
        return nt_err_set(err, NT_ERR_INPUT, "hint.env: %s is missing", rules[0].name);
    return 0;
}

int nt_environ_read(const char *text, size_t bytes, const struct nt_environ_options *options,
                    struct nt_environ *environ, struct nt_err *err)
{
    if (bytes > NT_ENVIRON_TEXT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "hint.env: %zu bytes, expected at most %d", bytes,
                          (int)NT_ENVIRON_TEXT_MAX);
    struct nt_environ made = {0};
    struct reader f = {.options = options, .environ = &made};
    f.room = bytes + 1 + (size_t)RULES * PATH_ROOM;
    char *copy = malloc(bytes + 1);
    made.memory = malloc(f.room);
    if (copy == NULL || made.memory == NULL) {
        nt_err_set(err, NT_ERR_SYSTEM, "hint.env: out of memory");
        goto free_all;
    }
    memcpy(copy, text, bytes);
    if (read_lines(&f, copy, bytes, err) != 0)
        goto free_all;
    free(copy);
    *environ = made;
    return 0;
free_all:
    free(copy);
    nt_environ_fini(&made);
    return -1;
}

void nt_environ_fini(struct nt_environ *environ)
{
    free(environ->memory);
    *environ = (struct nt_environ){0};
}
