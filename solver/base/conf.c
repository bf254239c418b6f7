/* SPDX-License-Identifier: Apache-2.0 */
#include "conf.h"

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
        .archive = {.limit_bytes = 1073741824, .mode = 0600},
        .run_dir = "/run/nettopo",
        .relay_user = "nettopo",
        .probe_user = "nettopo-probe",
        .tls = "^shm,self",
        .log = {.agent = NT_LOG_INFO, .ucx = NT_UCX_LOG_WARN},
    };
    memcpy(conf->prolog, DEFAULT_PROLOG, sizeof DEFAULT_PROLOG);
    memcpy(conf->probe, DEFAULT_PROBE, sizeof DEFAULT_PROBE);
}

/* One "key = value" without surrounding spaces. value is terminated. */
struct entry {
    char key[KEY_BYTES];
    char value[NT_CONF_PATH_BYTES];
    size_t bytes;
};

/* A key and the function that reads its value. set returns NULL, or a description of the expected
 * value. */
struct key {
    const char *name;
    const char *(*set)(const struct key *key, const struct entry *entry, struct nt_conf *conf);
    size_t field;         /* offset in struct nt_conf; not used by a set for one key only */
    uint64_t least, most; /* limits of a number */
    const char *expected; /* NULL: set returns it */
};

static void *field_of(const struct key *key, struct nt_conf *conf)
{
    return (unsigned char *)conf + key->field;
}

static const char *set_flag(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    bool yes = strcmp(e->value, "yes") == 0;
    if (!yes && strcmp(e->value, "no") != 0)
        return "yes or no";
    *(bool *)field_of(key, conf) = yes;
    return NULL;
}

/* Sets a number of seconds or a share. */
static const char *set_decimal(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    uint64_t thousandths;
    if (nt_decimal_thousandths(e->value, e->bytes, key->most, &thousandths) != 0 ||
        thousandths < key->least)
        return key->expected;
    *(double *)field_of(key, conf) = (double)thousandths / 1e3;
    return NULL;
}

static const char *set_long(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    uint64_t value;
    if (nt_decimal_whole(e->value, e->bytes, key->most, &value) != 0 || value < key->least)
        return key->expected;
    *(uint64_t *)field_of(key, conf) = value;
    return NULL;
}

static const char *set_whole(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    uint64_t value;
    if (nt_decimal_whole(e->value, e->bytes, key->most, &value) != 0 || value < key->least)
        return key->expected;
    *(uint32_t *)field_of(key, conf) = (uint32_t)value;
    return NULL;
}

static const char *set_block_hosts(const struct key *key, const struct entry *e,
                                   struct nt_conf *conf)
{
    const char *expected = set_whole(key, e, conf);
    return expected == NULL && conf->block_hosts == 1 ? key->expected : expected;
}

/* Sets a path: absolute and without "..", because root opens it. */
static const char *set_path(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    bool steps_up = strstr(e->value, "/../") != NULL ||
                    (e->bytes >= 3 && strcmp(e->value + e->bytes - 3, "/..") == 0);
    if (e->bytes < 2 || e->value[0] != '/' || e->value[e->bytes - 1] == '/' || steps_up)
        return "an absolute path without \"..\" or a slash at its end";
    memcpy(field_of(key, conf), e->value, e->bytes + 1);
    return NULL;
}

static const char *set_path_or_none(const struct key *key, const struct entry *e,
                                    struct nt_conf *conf)
{
    if (e->bytes > 0)
        return set_path(key, e, conf);
    *(char *)field_of(key, conf) = '\0';
    return NULL;
}

static const char *set_word(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    for (size_t k = 0; k < e->bytes; k++)
        if (e->value[k] <= ' ' || e->value[k] > '~')
            return "one word of printable characters, or nothing";
    memcpy(field_of(key, conf), e->value, e->bytes + 1);
    return NULL;
}

static const char *set_level_max(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    return nt_level_parse(e->value, &conf->level_max) == 0 ? NULL : key->expected;
}

static const char *set_ports(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    const char *dash = strchr(e->value, '-');
    uint64_t first, last;
    if (dash == NULL || nt_decimal_whole(e->value, (size_t)(dash - e->value), 65535, &first) != 0 ||
        nt_decimal_whole(dash + 1, strlen(dash + 1), 65535, &last) != 0 || first < 1 ||
        last < first)
        return key->expected;
    conf->port_first = (uint16_t)first;
    conf->port_last = (uint16_t)last;
    return NULL;
}

static const char *set_shared_hosts(const struct key *key, const struct entry *e,
                                    struct nt_conf *conf)
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
    return key->expected;
}

/* Sets a file mode: access for the owner, optional reading for others, never writing. */
static const char *set_archive_mode(const struct key *key, const struct entry *e,
                                    struct nt_conf *conf)
{
    if (e->bytes != 4 || strspn(e->value, "046") != 4 || e->value[0] != '0' || e->value[1] == '0' ||
        e->value[2] == '6' || e->value[3] == '6' || e->value[3] > e->value[2])
        return key->expected;
    conf->archive.mode = 0;
    for (size_t k = 1; k < 4; k++)
        conf->archive.mode = conf->archive.mode * 8 + (uint32_t)(e->value[k] - '0');
    return NULL;
}

static const char *set_user(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    if (e->bytes == 0 || e->bytes >= NT_CONF_USER_BYTES)
        return key->expected;
    for (size_t k = 0; k < e->bytes; k++)
        if (e->value[k] <= ' ' || e->value[k] > '~' || e->value[k] == ':')
            return "a user name";
    memcpy(field_of(key, conf), e->value, e->bytes + 1);
    return NULL;
}

static const char *set_interface(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    enum { NAME_MAX = 15 };
    if (e->bytes > NAME_MAX || strpbrk(e->value, "/ ") != NULL)
        return key->expected;
    memcpy(conf->interface, e->value, e->bytes + 1);
    return NULL;
}

static const char *set_level(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    conf->level_auto = strcmp(e->value, "auto") == 0;
    conf->level = NT_LEVEL_STANDARD;
    return conf->level_auto || nt_level_parse(e->value, &conf->level) == 0 ? NULL : key->expected;
}

static bool list_admits(const char *list, const char *name)
{
    size_t bytes = name != NULL ? strlen(name) : 0;
    for (const char *at = list; bytes > 0 && *at != '\0';) {
        size_t n = strcspn(at, ",");
        if (n == bytes && memcmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return list[0] == '\0';
}

const char *nt_conf_refusal(const struct nt_conf *conf, const char *user, const char *partition)
{
    if (!list_admits(conf->admitted.users, user))
        return "disabled for this user (users in nettopo.conf)";
    if (!list_admits(conf->admitted.partitions, partition))
        return "disabled for this partition (partitions in nettopo.conf)";
    return NULL;
}

static const char *set_debug(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    return nt_log_level_parse(e->value, &conf->log.agent) == 0 ? NULL : key->expected;
}

static const char *set_log_format(const struct key *key, const struct entry *e,
                                  struct nt_conf *conf)
{
    conf->log.json = strcmp(e->value, "json") == 0;
    return conf->log.json || strcmp(e->value, "text") == 0 ? NULL : key->expected;
}

static const char *const ucx_log_names[] = {"fatal", "error", "warn", "diag", "info", "debug"};

const char *nt_ucx_log_name(enum nt_ucx_log level)
{
    return ucx_log_names[level];
}

static const char *set_ucx_log(const struct key *key, const struct entry *e, struct nt_conf *conf)
{
    for (size_t k = 0; k < sizeof ucx_log_names / sizeof *ucx_log_names; k++)
        if (strcmp(e->value, ucx_log_names[k]) == 0) {
            conf->log.ucx = (enum nt_ucx_log)k;
            return NULL;
        }
    return key->expected;
}

enum { BUDGET_DEFAULT = 4, BUDGET_MAX = 5 };

#define IN(field) offsetof(struct nt_conf, field)
#define SECONDS 100, 3600000, "seconds from 0.1 to 3600"
#define USER "a user name of 1 to 31 characters"
#define LARGE 65536, 1099511627776, "bytes from 65536 to 1099511627776"
static const struct key keys[] = {
    {"enabled", set_flag, .field = IN(enabled)},
    {"default", set_flag, .field = IN(default_on)},
    {"level", set_level, .expected = "quick, standard, full or auto"},
    {"level_max", set_level_max, .expected = "quick, standard or full"},
    [BUDGET_DEFAULT] = {"budget_default", set_decimal, IN(budget_default_s), SECONDS},
    [BUDGET_MAX] = {"budget_max", set_decimal, IN(budget_max_s), SECONDS},
    {"ports", set_ports, .expected = "FIRST-LAST between 1 and 65535"},
    {"reserved_ports", set_flag, .field = IN(reserved_ports)},
    {"interface", set_interface, .expected = "the name of a network device, up to 15 characters"},
    {"shared_hosts", set_shared_hosts, .expected = "latency, full or off"},
    {"max_load", set_decimal, IN(max_load), 1, 1000, "a share above 0, at most 1"},
    {"inline_limit", set_whole, IN(inline_limit_bytes), 0, 122880, "bytes from 0 to 122880"},
    {"publish_limit", set_whole, IN(publish_limit_bytes), 65536, 1073741824,
     "bytes from 65536 to 1073741824"},
    {"run_dir_limit", set_long, IN(run_dir_limit_bytes), LARGE},
    {"block_hosts", set_block_hosts, IN(block_hosts), 0, 65536, "0, or hosts from 2 to 65536"},
    {"run_dir", set_path, .field = IN(run_dir)},
    {"archive", set_path_or_none, .field = IN(archive.dir)},
    {"archive_limit", set_long, IN(archive.limit_bytes), LARGE},
    {"archive_mode", set_archive_mode, .expected = "0400, 0440, 0444, 0600, 0640 or 0644"},
    {"fleet_store", set_path_or_none, .field = IN(fleet_store)},
    {"prolog", set_path, .field = IN(prolog)},
    {"probe", set_path, .field = IN(probe)},
    {"relay_user", set_user, .field = IN(relay_user), .expected = USER},
    {"probe_user", set_user, .field = IN(probe_user), .expected = USER},
    {"munge_socket", set_path_or_none, .field = IN(munge_socket)},
    {"prior", set_path_or_none, .field = IN(prior)},
    {"net_devices", set_word, .field = IN(net_devices)},
    {"tls", set_word, .field = IN(tls)},
    {"users", set_word, .field = IN(admitted.users)},
    {"partitions", set_word, .field = IN(admitted.partitions)},
    {"debug", set_debug, .expected = "error, info or debug"},
    {"log_format", set_log_format, .expected = "text or json"},
    {"ucx_log", set_ucx_log, .expected = "fatal, error, warn, diag, info or debug"},
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

/* Returns the length of a line without its comment: '#' starts a comment at the start of the line
 * or after a space. */
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
            return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: the value contains a control character",
                              place.file, place.line);
    if (key_bytes >= sizeof entry->key)
        key_bytes = sizeof entry->key - 1; /* longer than any key, so it is reported as unknown */
    if (value_bytes >= sizeof entry->value)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:%zu: the value has %zu characters, the limit is %zu", place.file,
                          place.line, value_bytes, sizeof entry->value - 1);
    memcpy(entry->key, key, key_bytes);
    entry->key[key_bytes] = '\0';
    memcpy(entry->value, value, value_bytes);
    entry->value[value_bytes] = '\0';
    entry->bytes = value_bytes;
    return 0;
}

/* Sets a key. seen[k]: number of the line that set key k, 0: none. */
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
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s is already set on line %zu", place.file,
                          place.line, keys[k].name, seen[k]);
    const char *expected = keys[k].set(&keys[k], entry, conf);
    if (expected != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: %s: expected %s, found \"%.*s\"", place.file,
                          place.line, keys[k].name, expected, SHOWN_BYTES, entry->value);
    seen[k] = place.line;
    return 0;
}

/* If only the maximum is set and is below the default, the default becomes the maximum. */
static int fit_budgets(const char *file, const size_t seen[KEYS], struct nt_conf *conf,
                       struct nt_err *err)
{
    if (conf->budget_default_s <= conf->budget_max_s)
        return 0;
    if (seen[BUDGET_DEFAULT] != 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s:%zu: budget_default (%g s) is above budget_max (%g s)", file,
                          seen[BUDGET_DEFAULT], conf->budget_default_s, conf->budget_max_s);
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
        return nt_err_set(err, NT_ERR_INPUT, "%s: the file is larger than %d bytes", file,
                          NT_CONF_TEXT_MAX);
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
        /* only the first error is reported */
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
