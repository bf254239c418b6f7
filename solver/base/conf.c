/* SPDX-License-Identifier: Apache-2.0 */
#include "conf.h"

#include <stdio.h>
#include <string.h>

#include "decimal.h"

enum { KEY_BYTES = 32, SHOWN_BYTES = 60 };

static const char DEFAULT_PROLOG[] = NT_AGENTDIR "/nettopo-prolog";
static const char DEFAULT_PROBE[] = NT_AGENTDIR "/nettopo-probe";
_Static_assert(sizeof DEFAULT_PROLOG <= NT_CONF_PATH_BYTES, "LIBEXECDIR is too long");
_Static_assert(sizeof DEFAULT_PROBE <= NT_CONF_PATH_BYTES, "LIBEXECDIR is too long");

void nt_conf_default(struct nt_conf *conf)
{
    *conf = (struct nt_conf){
        .enabled = true,
        .level = NT_LEVEL_STANDARD,
        .level_max = NT_LEVEL_FULL,
        .budget_default_s = 5,
        .budget_max_s = 7,
        .port_first = 24500,
        .port_last = 24627,
        .reserved_ports = true,
        .shared_hosts = NT_SHARED_LATENCY,
        .max_load = 1,
        .inline_limit_bytes = 32768,
        .publish_limit_bytes = 4194304,
        .run_dir_limit_bytes = 67108864,
        .archive_limit_bytes = 1073741824,
        .archive_mode = 0600,
        .run_dir = "/run/nettopo",
        .relay_user = "nettopo",
        .tls = "^shm,self",
        .debug = NT_LOG_INFO,
        .ucx_log = NT_UCX_LOG_WARN,
    };
    memcpy(conf->prolog, DEFAULT_PROLOG, sizeof DEFAULT_PROLOG);
    memcpy(conf->probe, DEFAULT_PROBE, sizeof DEFAULT_PROBE);
}

/* One "key = value", trimmed; value is terminated for the setters. */
struct entry {
    char key[KEY_BYTES];
    char value[NT_CONF_PATH_BYTES];
    size_t bytes;
};

/* A setter returns NULL, or what it expected. */
typedef const char *(*setter)(const struct entry *entry, struct nt_conf *conf);

static const char *read_bool(const struct entry *e, bool *value)
{
    bool yes = strcmp(e->value, "yes") == 0;
    if (!yes && strcmp(e->value, "no") != 0)
        return "yes or no";
    *value = yes;
    return NULL;
}

static const char *set_enabled(const struct entry *e, struct nt_conf *conf)
{
    return read_bool(e, &conf->enabled);
}

static const char *set_default(const struct entry *e, struct nt_conf *conf)
{
    return read_bool(e, &conf->default_on);
}

static const char *set_level(const struct entry *e, struct nt_conf *conf)
{
    conf->level_auto = strcmp(e->value, "auto") == 0;
    conf->level = NT_LEVEL_STANDARD;
    return conf->level_auto || nt_level_parse(e->value, &conf->level) == 0
               ? NULL
               : "quick, standard, full or auto";
}

static const char *set_level_max(const struct entry *e, struct nt_conf *conf)
{
    return nt_level_parse(e->value, &conf->level_max) == 0 ? NULL : "quick, standard or full";
}

static const char *read_seconds(const struct entry *e, double *seconds)
{
    uint64_t ms;
    if (nt_decimal_thousandths(e->value, e->bytes, 3600000, &ms) != 0 || ms < 100)
        return "seconds from 0.1 to 3600";
    *seconds = (double)ms / 1e3;
    return NULL;
}

static const char *set_budget_default(const struct entry *e, struct nt_conf *conf)
{
    return read_seconds(e, &conf->budget_default_s);
}

static const char *set_budget_max(const struct entry *e, struct nt_conf *conf)
{
    return read_seconds(e, &conf->budget_max_s);
}

static const char *set_ports(const struct entry *e, struct nt_conf *conf)
{
    static const char expected[] = "FIRST-LAST between 1 and 65535";
    const char *dash = strchr(e->value, '-');
    uint64_t first, last;
    if (dash == NULL || nt_decimal_whole(e->value, (size_t)(dash - e->value), 65535, &first) != 0 ||
        nt_decimal_whole(dash + 1, strlen(dash + 1), 65535, &last) != 0 || first < 1 ||
        last < first)
        return expected;
    conf->port_first = (uint16_t)first;
    conf->port_last = (uint16_t)last;
    return NULL;
}

static const char *set_reserved_ports(const struct entry *e, struct nt_conf *conf)
{
    return read_bool(e, &conf->reserved_ports);
}

static const char *set_shared_hosts(const struct entry *e, struct nt_conf *conf)
{
    static const struct {
        const char *name;
        enum nt_shared_policy policy;
    } table[] = {{"latency", NT_SHARED_LATENCY}, {"full", NT_SHARED_FULL}, {"off", NT_SHARED_OFF}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(e->value, table[k].name) == 0) {
            conf->shared_hosts = table[k].policy;
            return NULL;
        }
    return "latency, full or off";
}

static const char *set_max_load(const struct entry *e, struct nt_conf *conf)
{
    uint64_t share;
    if (nt_decimal_thousandths(e->value, e->bytes, 1000, &share) != 0 || share == 0)
        return "a share above 0, at most 1";
    conf->max_load = (double)share / 1e3;
    return NULL;
}

static const char *set_inline_limit(const struct entry *e, struct nt_conf *conf)
{
    uint64_t bytes;
    if (nt_decimal_whole(e->value, e->bytes, 122880, &bytes) != 0)
        return "bytes from 0 to 122880";
    conf->inline_limit_bytes = (uint32_t)bytes;
    return NULL;
}

static const char *set_publish_limit(const struct entry *e, struct nt_conf *conf)
{
    uint64_t bytes;
    if (nt_decimal_whole(e->value, e->bytes, 1073741824, &bytes) != 0 || bytes < 65536)
        return "bytes from 65536 to 1073741824";
    conf->publish_limit_bytes = (uint32_t)bytes;
    return NULL;
}

static const char *set_run_dir_limit(const struct entry *e, struct nt_conf *conf)
{
    uint64_t bytes;
    if (nt_decimal_whole(e->value, e->bytes, 1099511627776, &bytes) != 0 || bytes < 65536)
        return "bytes from 65536 to 1099511627776";
    conf->run_dir_limit_bytes = bytes;
    return NULL;
}

static const char *set_block_hosts(const struct entry *e, struct nt_conf *conf)
{
    uint64_t hosts;
    if (nt_decimal_whole(e->value, e->bytes, 65536, &hosts) != 0 || hosts == 1)
        return "0, or hosts from 2 to 65536";
    conf->block_hosts = (uint32_t)hosts;
    return NULL;
}

/* Absolute and without "..", because root opens it. */
static const char *read_path(const struct entry *e, char path[NT_CONF_PATH_BYTES])
{
    bool steps_up = strstr(e->value, "/../") != NULL ||
                    (e->bytes >= 3 && strcmp(e->value + e->bytes - 3, "/..") == 0);
    if (e->bytes < 2 || e->value[0] != '/' || e->value[e->bytes - 1] == '/' || steps_up)
        return "an absolute path without \"..\" or a slash at its end";
    memcpy(path, e->value, e->bytes + 1);
    return NULL;
}

static const char *set_run_dir(const struct entry *e, struct nt_conf *conf)
{
    return read_path(e, conf->run_dir);
}

static const char *set_prolog(const struct entry *e, struct nt_conf *conf)
{
    return read_path(e, conf->prolog);
}

static const char *set_probe(const struct entry *e, struct nt_conf *conf)
{
    return read_path(e, conf->probe);
}

static const char *read_path_or_none(const struct entry *e, char path[NT_CONF_PATH_BYTES])
{
    if (e->bytes > 0)
        return read_path(e, path);
    path[0] = '\0';
    return NULL;
}

static const char *set_archive(const struct entry *e, struct nt_conf *conf)
{
    return read_path_or_none(e, conf->archive);
}

static const char *set_archive_limit(const struct entry *e, struct nt_conf *conf)
{
    uint64_t bytes;
    if (nt_decimal_whole(e->value, e->bytes, 1099511627776, &bytes) != 0 || bytes < 65536)
        return "bytes from 65536 to 1099511627776";
    conf->archive_limit_bytes = bytes;
    return NULL;
}

/* For the owner, and what others may read; never what they may write. */
static const char *set_archive_mode(const struct entry *e, struct nt_conf *conf)
{
    static const char expected[] = "0400, 0440, 0444, 0600, 0640 or 0644";
    if (e->bytes != 4 || strspn(e->value, "046") != 4 || e->value[0] != '0' || e->value[1] == '0' ||
        e->value[2] == '6' || e->value[3] == '6' || e->value[3] > e->value[2])
        return expected;
    conf->archive_mode = 0;
    for (size_t k = 1; k < 4; k++)
        conf->archive_mode = conf->archive_mode * 8 + (uint32_t)(e->value[k] - '0');
    return NULL;
}

static const char *set_fleet_store(const struct entry *e, struct nt_conf *conf)
{
    return read_path_or_none(e, conf->fleet_store);
}

static const char *set_munge_socket(const struct entry *e, struct nt_conf *conf)
{
    return read_path_or_none(e, conf->munge_socket);
}

static const char *set_prior(const struct entry *e, struct nt_conf *conf)
{
    if (e->bytes == 0) {
        conf->prior[0] = '\0';
        return NULL;
    }
    return read_path(e, conf->prior);
}

static const char *set_relay_user(const struct entry *e, struct nt_conf *conf)
{
    if (e->bytes == 0 || e->bytes >= sizeof conf->relay_user)
        return "a user name of 1 to 31 characters";
    for (size_t k = 0; k < e->bytes; k++)
        if (e->value[k] <= ' ' || e->value[k] > '~' || e->value[k] == ':')
            return "a user name";
    memcpy(conf->relay_user, e->value, e->bytes);
    conf->relay_user[e->bytes] = '\0';
    return NULL;
}

static const char *read_word(const struct entry *e, char word[NT_CONF_WORD_BYTES])
{
    for (size_t k = 0; k < e->bytes; k++)
        if (e->value[k] <= ' ' || e->value[k] > '~')
            return "one word of printable characters, or nothing";
    memcpy(word, e->value, e->bytes + 1);
    return NULL;
}

static const char *set_net_devices(const struct entry *e, struct nt_conf *conf)
{
    return read_word(e, conf->net_devices);
}

static const char *set_tls(const struct entry *e, struct nt_conf *conf)
{
    return read_word(e, conf->tls);
}

static const char *set_users(const struct entry *e, struct nt_conf *conf)
{
    return read_word(e, conf->users);
}

bool nt_conf_admits(const struct nt_conf *conf, const char *user)
{
    size_t bytes = user != NULL ? strlen(user) : 0;
    for (const char *at = conf->users; bytes > 0 && *at != '\0';) {
        size_t n = strcspn(at, ",");
        if (n == bytes && memcmp(at, user, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return conf->users[0] == '\0';
}

static const char *set_debug(const struct entry *e, struct nt_conf *conf)
{
    return nt_log_level_parse(e->value, &conf->debug) == 0 ? NULL : "error, info or debug";
}

static const char *set_log_format(const struct entry *e, struct nt_conf *conf)
{
    conf->log_json = strcmp(e->value, "json") == 0;
    return conf->log_json || strcmp(e->value, "text") == 0 ? NULL : "text or json";
}

static const char *const ucx_log_names[] = {"fatal", "error", "warn", "diag", "info", "debug"};

const char *nt_ucx_log_name(enum nt_ucx_log level)
{
    return ucx_log_names[level];
}

static const char *set_ucx_log(const struct entry *e, struct nt_conf *conf)
{
    for (size_t k = 0; k < sizeof ucx_log_names / sizeof *ucx_log_names; k++)
        if (strcmp(e->value, ucx_log_names[k]) == 0) {
            conf->ucx_log = (enum nt_ucx_log)k;
            return NULL;
        }
    return "fatal, error, warn, diag, info or debug";
}

enum { BUDGET_DEFAULT = 4, BUDGET_MAX = 5 };

static const struct {
    const char *name;
    setter set;
} keys[] = {
    {"enabled", set_enabled},
    {"default", set_default},
    {"level", set_level},
    {"level_max", set_level_max},
    [BUDGET_DEFAULT] = {"budget_default", set_budget_default},
    [BUDGET_MAX] = {"budget_max", set_budget_max},
    {"ports", set_ports},
    {"reserved_ports", set_reserved_ports},
    {"shared_hosts", set_shared_hosts},
    {"max_load", set_max_load},
    {"inline_limit", set_inline_limit},
    {"publish_limit", set_publish_limit},
    {"run_dir_limit", set_run_dir_limit},
    {"block_hosts", set_block_hosts},
    {"run_dir", set_run_dir},
    {"archive", set_archive},
    {"archive_limit", set_archive_limit},
    {"archive_mode", set_archive_mode},
    {"fleet_store", set_fleet_store},
    {"prolog", set_prolog},
    {"probe", set_probe},
    {"relay_user", set_relay_user},
    {"munge_socket", set_munge_socket},
    {"prior", set_prior},
    {"net_devices", set_net_devices},
    {"tls", set_tls},
    {"users", set_users},
    {"debug", set_debug},
    {"log_format", set_log_format},
    {"ucx_log", set_ucx_log},
};
enum { KEYS = sizeof keys / sizeof *keys };

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **at, size_t *bytes)
{
    while (*bytes > 0 && is_space(**at)) {
        (*at)++;
        (*bytes)--;
    }
    while (*bytes > 0 && is_space((*at)[*bytes - 1]))
        (*bytes)--;
}

/* A '#' at the start or after a space begins a comment; elsewhere it is part of the value. */
static size_t without_comment(const char *line, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        if (line[k] == '#' && (k == 0 || is_space(line[k - 1])))
            return k;
    return bytes;
}

struct place {
    const char *file;
    size_t line;
};

static int split_entry(struct place place, const char *line, size_t bytes, struct entry *entry,
                       struct nt_err *err)
{
    const char *equals = memchr(line, '=', bytes);
    if (equals == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected key = value, found \"%.*s\"",
                          place.file, place.line, (int)(bytes < SHOWN_BYTES ? bytes : SHOWN_BYTES),
                          line);
    const char *key = line, *value = equals + 1;
    size_t key_bytes = (size_t)(equals - line), value_bytes = bytes - key_bytes - 1;
    trim(&key, &key_bytes);
    trim(&value, &value_bytes);
    for (size_t k = 0; k < value_bytes; k++)
        if ((unsigned char)value[k] < 0x20 || value[k] == 0x7f)
            return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: a control character", place.file,
                              place.line);
    if (key_bytes >= sizeof entry->key)
        key_bytes = sizeof entry->key - 1; /* longer than any key: reported as unknown */
    if (value_bytes >= sizeof entry->value)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: a value of %zu characters, at most %zu",
                          place.file, place.line, value_bytes, sizeof entry->value - 1);
    memcpy(entry->key, key, key_bytes);
    entry->key[key_bytes] = '\0';
    memcpy(entry->value, value, value_bytes);
    entry->value[value_bytes] = '\0';
    entry->bytes = value_bytes;
    return 0;
}

/* seen[k]: the line that set key k, 0 for none */
static int apply(struct place place, const struct entry *entry, size_t seen[KEYS],
                 struct nt_conf *conf, struct nt_err *err)
{
    size_t k = 0;
    while (k < KEYS && strcmp(keys[k].name, entry->key) != 0)
        k++;
    if (k == KEYS)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: unknown key \"%s\"", place.file, place.line,
                          entry->key);
    if (seen[k] != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s was set on line %zu already", place.file,
                          place.line, keys[k].name, seen[k]);
    const char *expected = keys[k].set(entry, conf);
    if (expected != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s: expected %s, found \"%.*s\"", place.file,
                          place.line, keys[k].name, expected, SHOWN_BYTES, entry->value);
    seen[k] = place.line;
    return 0;
}

/* When only the maximum is set, below the default, the default follows it. */
static int fit_budgets(const char *file, const size_t seen[KEYS], struct nt_conf *conf,
                       struct nt_err *err)
{
    if (conf->budget_default_s <= conf->budget_max_s)
        return 0;
    if (seen[BUDGET_DEFAULT] != 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: budget_default %g is over budget_max %g",
                          file, seen[BUDGET_DEFAULT], conf->budget_default_s, conf->budget_max_s);
    conf->budget_default_s = conf->budget_max_s;
    return 0;
}

int nt_conf_parse(const char *file, const char *text, size_t bytes, struct nt_conf *conf,
                  struct nt_err *err)
{
    struct nt_conf parsed = *conf;
    size_t seen[KEYS] = {0};
    struct place place = {file, 0};
    int rc = 0;
    if (bytes > NT_CONF_TEXT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%s: over %d bytes", file, NT_CONF_TEXT_MAX);
    for (size_t at = 0; at < bytes;) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', bytes - at);
        size_t line_bytes = end != NULL ? (size_t)(end - line) : bytes - at;
        at += line_bytes + 1;
        place.line++;
        line_bytes = without_comment(line, line_bytes);
        trim(&line, &line_bytes);
        if (line_bytes == 0)
            continue;
        struct entry entry;
        /* the first error is told */
        if (split_entry(place, line, line_bytes, &entry, rc == 0 ? err : NULL) != 0 ||
            apply(place, &entry, seen, &parsed, rc == 0 ? err : NULL) != 0)
            rc = -1;
    }
    if (rc != 0 || fit_budgets(file, seen, &parsed, err) != 0) {
        conf->default_on = parsed.default_on;
        return -1;
    }
    *conf = parsed;
    return 0;
}
