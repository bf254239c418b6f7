/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <slurm/slurm_version.h>

#include "decimal.h"

enum { TEXT_MAX = 1 << 20, INFINITE_S = 65534 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the value of key in a line, without spaces around it; Slurm ignores the case of keys. */
static const char *find_value(const char *line, size_t bytes, const char *key, size_t *value_bytes)
{
    size_t at = 0, n = strlen(key);
    while (at < bytes && is_blank(line[at]))
        at++;
    if (bytes - at < n || strncasecmp(line + at, key, n) != 0)
        return NULL;
    at += n;
    while (at < bytes && is_blank(line[at]))
        at++;
    if (at == bytes || line[at] != '=')
        return NULL;
    at++;
    while (at < bytes && is_blank(line[at]))
        at++;
    *value_bytes = 0;
    while (at + *value_bytes < bytes && !is_blank(line[at + *value_bytes]))
        ++*value_bytes;
    return line + at;
}

/* Reads a number of seconds. 0 and values that mean "infinite" leave *seconds unchanged. */
static void read_seconds(const char *line, size_t bytes, const char *key, unsigned *seconds)
{
    uint64_t value;
    size_t n;
    const char *text = find_value(line, bytes, key, &n);
    if (text != NULL && nt_decimal_whole(text, n, INFINITE_S - 1, &value) == 0 && value > 0)
        *seconds = (unsigned)value;
}

static bool has_flag(const char *list, size_t bytes, const char *flag)
{
    size_t n = strlen(flag);
    for (size_t at = 0; at < bytes;) {
        const char *comma = memchr(list + at, ',', bytes - at);
        size_t word = comma != NULL ? (size_t)(comma - list) - at : bytes - at;
        if (word == n && strncasecmp(list + at, flag, n) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

/* Returns whether the list contains Alloc or a flag that implies it. */
static bool starts_with_job(const char *list, size_t bytes)
{
    static const char *const flags[] = {
        "Alloc",
        "Contain",
        "ForceRequeueOnFail",
        "NoHold",
        "RunInJob",
        "X11",
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
        "DeferBatch",
#endif
    };
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (has_flag(list, bytes, flags[k]))
            return true;
    return false;
}

static void read_line(struct nt_slurm_conf *conf, const char *line, size_t bytes)
{
    size_t n;
    read_seconds(line, bytes, "MessageTimeout", &conf->message_timeout_s);
    read_seconds(line, bytes, "BatchStartTimeout", &conf->batch_start_timeout_s);
    read_seconds(line, bytes, "PrologEpilogTimeout", &conf->prolog_timeout_s);
    read_seconds(line, bytes, "PrologTimeout", &conf->prolog_timeout_s);
    const char *flags = find_value(line, bytes, "PrologFlags", &n);
    if (flags != NULL) {
        conf->serial = has_flag(flags, n, "Serial");
        conf->defer_batch = has_flag(flags, n, "DeferBatch");
        conf->alloc = starts_with_job(flags, n);
    }
}

/* Returns the line at *at without its comment, and moves *at to the next line. */
static const char *next_line(const char *text, size_t bytes, size_t *at, size_t *line_bytes)
{
    const char *line = text + *at, *end = memchr(line, '\n', bytes - *at);
    size_t whole = end != NULL ? (size_t)(end - line) : bytes - *at;
    const char *comment = memchr(line, '#', whole);
    *line_bytes = comment != NULL ? (size_t)(comment - line) : whole;
    *at += whole + 1;
    return line;
}

static bool is_include(const char *line, size_t bytes)
{
    static const char word[] = "include";
    return bytes >= sizeof word && strncasecmp(line, word, sizeof word - 1) == 0 &&
           is_blank(line[sizeof word - 1]);
}

void nt_slurm_conf_parse(struct nt_slurm_conf *conf, const char *text, size_t bytes)
{
    size_t n, at = 0;
    *conf = (struct nt_slurm_conf){.message_timeout_s = 10, .batch_start_timeout_s = 10};
    conf->alloc = bytes == 0;
    while (at < bytes) {
        const char *line = next_line(text, bytes, &at, &n);
        conf->alloc |= is_include(line, n);
        read_line(conf, line, n);
    }
}

bool nt_slurm_conf_value(const char *text, size_t bytes, const char *key, char *value, size_t room)
{
    bool found = false;
    size_t n, value_bytes, at = 0;
    while (at < bytes) {
        const char *line = next_line(text, bytes, &at, &n);
        const char *is = find_value(line, n, key, &value_bytes);
        if (is == NULL)
            continue;
        value_bytes = value_bytes < room ? value_bytes : room - 1;
        memcpy(value, is, value_bytes);
        value[value_bytes] = '\0';
        found = true;
    }
    return found;
}

char *nt_slurm_conf_load(const char *path, size_t *bytes)
{
    char *text = malloc(TEXT_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *bytes = 0;
    while (fd >= 0 && text != NULL && *bytes < TEXT_MAX) {
        ssize_t n = read(fd, text + *bytes, TEXT_MAX - *bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        *bytes += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    if (fd < 0) {
        free(text);
        return NULL;
    }
    return text;
}

void nt_slurm_conf_read(struct nt_slurm_conf *conf)
{
    const char *path = getenv("SLURM_CONF");
    size_t bytes;
    char *text = nt_slurm_conf_load(path != NULL ? path : "/etc/slurm/slurm.conf", &bytes);
    nt_slurm_conf_parse(conf, text, text != NULL ? bytes : 0);
    free(text);
}

double nt_slurm_conf_budget_s(const struct nt_slurm_conf *conf, const char **why)
{
    const unsigned message = conf->message_timeout_s;
    const struct {
        const char *name;
        double budget_s;
    } bounds[] = {
        {"MessageTimeout", message - 3.0},
        {"BatchStartTimeout", conf->batch_start_timeout_s + (message < 10 ? message : 10) - 3.0},
        {"PrologTimeout or PrologEpilogTimeout",
         conf->prolog_timeout_s > 0 ? conf->prolog_timeout_s - 2.0 : INFINITE_S},
    };
    double least = INFINITE_S;
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
        if (bounds[k].budget_s < least) {
            least = bounds[k].budget_s;
            *why = bounds[k].name;
        }
    return least < 1 ? 1 : least;
}
