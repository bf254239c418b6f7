/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "decimal.h"

enum { TEXT_MAX = 1 << 20, INFINITE_S = 65534 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The value of key in a line, without blanks around it; Slurm ignores case. */
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

/* 0 and values that mean "infinite" leave *seconds as it is. */
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

static void read_line(struct nt_slurm_conf *conf, const char *line, size_t bytes)
{
    size_t n;
    read_seconds(line, bytes, "MessageTimeout", &conf->message_timeout_s);
    read_seconds(line, bytes, "BatchStartTimeout", &conf->batch_start_timeout_s);
    read_seconds(line, bytes, "PrologEpilogTimeout", &conf->prolog_timeout_s);
    read_seconds(line, bytes, "PrologTimeout", &conf->prolog_timeout_s);
    const char *flags = find_value(line, bytes, "PrologFlags", &n);
    if (flags != NULL)
        conf->serial = has_flag(flags, n, "Serial");
}

void nt_slurm_conf_parse(struct nt_slurm_conf *conf, const char *text, size_t bytes)
{
    *conf = (struct nt_slurm_conf){.message_timeout_s = 10, .batch_start_timeout_s = 10};
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t line = end != NULL ? (size_t)(end - text) - at : bytes - at;
        const char *comment = memchr(text + at, '#', line);
        read_line(conf, text + at, comment != NULL ? (size_t)(comment - text) - at : line);
        at += line + 1;
    }
}

void nt_slurm_conf_read(struct nt_slurm_conf *conf)
{
    const char *path = getenv("SLURM_CONF");
    char *text = malloc(TEXT_MAX);
    size_t bytes = 0;
    int fd = open(path != NULL ? path : "/etc/slurm/slurm.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && text != NULL && bytes < TEXT_MAX) {
        ssize_t n = read(fd, text + bytes, TEXT_MAX - bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        bytes += (size_t)n;
    }
    nt_slurm_conf_parse(conf, text, bytes);
    if (fd >= 0)
        close(fd);
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
