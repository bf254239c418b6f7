/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <stdio.h>
#include <string.h>

#include "decimal.h"

enum {
    BUDGET_MIN_MS = 100,
    BUDGET_MAX_MS = 3600000,
    SPARE_MAX = 65535,
    DIMENSION_MAX = 1 << 20,
    STENCIL_TASKS_MAX = 1 << 24,
    SHOWN_BYTES = 60, /* maximum characters of the user's text in a message */
};

static const char DEFAULT_PATTERN[] = "neighbour", MEGATRON[] = "megatron:";

struct span {
    const char *at;
    size_t bytes;
};

static bool span_is(struct span s, const char *word)
{
    return s.bytes == strlen(word) && memcmp(s.at, word, s.bytes) == 0;
}

static bool span_starts(struct span s, const char *prefix)
{
    return s.bytes >= strlen(prefix) && memcmp(s.at, prefix, strlen(prefix)) == 0;
}

static struct span span_after(struct span s, const char *prefix)
{
    size_t skip = strlen(prefix);
    return (struct span){s.at + skip, s.bytes - skip};
}

/* Returns the length for "%.*s". */
static int shown_bytes(struct span s)
{
    return s.bytes < SHOWN_BYTES ? (int)s.bytes : SHOWN_BYTES;
}

/* Removes the text before the first separator from the front of *rest and returns it. */
static struct span span_next(struct span *rest, char separator)
{
    const char *end = memchr(rest->at, separator, rest->bytes);
    size_t bytes = end != NULL ? (size_t)(end - rest->at) : rest->bytes;
    struct span first = {rest->at, bytes};
    size_t skip = end != NULL ? bytes + 1 : bytes;
    rest->at += skip;
    rest->bytes -= skip;
    return first;
}

static bool has_control(struct span s)
{
    for (size_t k = 0; k < s.bytes; k++) {
        unsigned char c = (unsigned char)s.at[k];
        if (c < 0x20 || c == 0x7f)
            return true;
    }
    return false;
}

static const char *const level_names[] = {
    [NT_LEVEL_QUICK] = "quick",
    [NT_LEVEL_STANDARD] = "standard",
    [NT_LEVEL_FULL] = "full",
};

const char *nt_level_name(enum nt_level level)
{
    return level >= NT_LEVEL_QUICK && level <= NT_LEVEL_FULL ? level_names[level] : NULL;
}

static int span_level(struct span s, enum nt_level *level)
{
    for (int k = NT_LEVEL_QUICK; k <= NT_LEVEL_FULL; k++)
        if (span_is(s, level_names[k])) {
            *level = (enum nt_level)k;
            return 0;
        }
    return -1;
}

int nt_level_parse(const char *name, enum nt_level *level)
{
    return span_level((struct span){name, strlen(name)}, level);
}

static const char *const sweep_names[] = {
    [NT_SWEEP_AUTO] = "auto",
    [NT_SWEEP_ALL] = "all",
    [NT_SWEEP_ADAPTIVE] = "adaptive",
    [NT_SWEEP_SEQUENTIAL] = "sequential",
};

static int span_sweep(struct span s, enum nt_sweep_mode *mode)
{
    for (int k = NT_SWEEP_AUTO; k <= NT_SWEEP_SEQUENTIAL; k++)
        if (span_is(s, sweep_names[k])) {
            *mode = (enum nt_sweep_mode)k;
            return 0;
        }
    return -1;
}

int nt_sweep_mode_parse(const char *name, enum nt_sweep_mode *mode)
{
    return span_sweep((struct span){name, strlen(name)}, mode);
}

static int check_stencil(struct span dims, struct span whole, struct nt_err *err)
{
    struct span shape = span_next(&dims, ':');
    bool extra = shape.at + shape.bytes != dims.at || dims.bytes != 0;
    if (extra && !span_is(dims, "periodic"))
        return nt_err_set(err, NT_ERR_USAGE,
                          "pattern \"%.*s\": expected nothing but \":periodic\" after the shape",
                          shown_bytes(whole), whole.at);
    uint64_t tasks = 1;
    int count = 0;
    bool more = true;
    while (more) {
        uint64_t size;
        const char *before = shape.at;
        struct span one = span_next(&shape, 'x');
        more = before + one.bytes != shape.at;
        if (++count > 3 || nt_decimal_whole(one.at, one.bytes, DIMENSION_MAX, &size) != 0 ||
            size == 0 || tasks * size > STENCIL_TASKS_MAX)
            break;
        tasks *= size;
        if (!more && count >= 2)
            return 0;
    }
    return nt_err_set(err, NT_ERR_USAGE,
                      "pattern \"%.*s\": expected stencil:AxB or stencil:AxBxC, at most %d tasks",
                      shown_bytes(whole), whole.at, (int)STENCIL_TASKS_MAX);
}

/* Reads a group such as "tp=8"; false if it is invalid or was given before. */
static bool read_group(struct span item, struct nt_megatron *m)
{
    static const char *const names[] = {"tp=", "pp=", "dp=", "ep="};
    uint32_t *const at[] = {&m->tp, &m->pp, &m->dp, &m->ep};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        uint64_t size;
        if (!span_starts(item, names[k]))
            continue;
        struct span value = span_after(item, names[k]);
        if (*at[k] != 0 || nt_decimal_whole(value.at, value.bytes, DIMENSION_MAX, &size) != 0 ||
            size == 0)
            return false;
        *at[k] = (uint32_t)size;
        return true;
    }
    return false;
}

static bool read_megatron(struct span rest, struct nt_megatron *m)
{
    bool more = true;
    *m = (struct nt_megatron){0, 0, 0, 0};
    while (more) {
        const char *before = rest.at;
        struct span item = span_next(&rest, ',');
        more = before + item.bytes != rest.at;
        if (!read_group(item, m))
            return false;
    }
    m->ep = m->ep == 0 ? 1 : m->ep;
    return m->tp > 0 && m->pp > 0 && m->dp > 0 && m->dp % m->ep == 0 &&
           (uint64_t)m->tp * m->pp <= STENCIL_TASKS_MAX &&
           (uint64_t)m->tp * m->pp * m->dp <= STENCIL_TASKS_MAX;
}

int nt_pattern_megatron(const char *pattern, struct nt_megatron *sizes)
{
    struct span p = {pattern, strlen(pattern)};
    struct nt_megatron m;
    if (!span_starts(p, MEGATRON) || !read_megatron(span_after(p, MEGATRON), &m))
        return -1;
    *sizes = m;
    return 0;
}

static int check_megatron(struct span p, struct nt_err *err)
{
    struct nt_megatron m;
    if (read_megatron(span_after(p, MEGATRON), &m))
        return 0;
    return nt_err_set(
        err, NT_ERR_USAGE,
        "pattern \"%.*s\": expected megatron:tp=T,pp=P,dp=D[,ep=E], at most %d tasks, "
        "E a divisor of D",
        shown_bytes(p), p.at, (int)STENCIL_TASKS_MAX);
}

static int check_pattern(struct span p, struct nt_err *err)
{
    static const char *const plain[] = {"neighbour", "ring",           "alltoall",      "tree",
                                        "allreduce", "allreduce:ring", "allreduce:tree"};
    if (p.bytes >= NT_PATTERN_TEXT_BYTES)
        return nt_err_set(err, NT_ERR_USAGE, "pattern of %zu characters: expected at most %d",
                          p.bytes, NT_PATTERN_TEXT_BYTES - 1);
    if (span_starts(p, MEGATRON))
        return check_megatron(p, err);
    if (has_control(p) || memchr(p.at, ',', p.bytes) != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "pattern \"%.*s\" contains a comma or a control character",
                          shown_bytes(p), p.at);
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (span_is(p, plain[k]))
            return 0;
    if (span_starts(p, "stencil:"))
        return check_stencil(span_after(p, "stencil:"), p, err);
    if (span_starts(p, "halo:"))
        return check_stencil(span_after(p, "halo:"), p, err);
    if (span_starts(p, "matrix:") && p.bytes > strlen("matrix:"))
        return 0;
    return nt_err_set(err, NT_ERR_USAGE,
                      "pattern \"%.*s\": expected neighbour, ring, alltoall, tree, "
                      "allreduce, stencil:AxB[xC][:periodic], halo:AxB[xC], "
                      "megatron:tp=T,pp=P,dp=D[,ep=E] or matrix:PATH",
                      shown_bytes(p), p.at);
}

int nt_pattern_check(const char *pattern, struct nt_err *err)
{
    return check_pattern((struct span){pattern, strlen(pattern)}, err);
}

const char *nt_pattern_matrix(const char *pattern)
{
    static const char word[] = "matrix:";
    return strncmp(pattern, word, sizeof word - 1) == 0 ? pattern + sizeof word - 1 : NULL;
}

int nt_option_resolve_path(struct nt_option *option, const char *dir, struct nt_err *err)
{
    char whole[NT_PATTERN_TEXT_BYTES];
    const char *path = nt_pattern_matrix(option->pattern);
    if (path == NULL || path[0] == '/')
        return 0;
    struct span d = {dir, strlen(dir)};
    if (dir[0] != '/' || has_control(d) || memchr(d.at, ',', d.bytes) != NULL)
        return nt_err_set(err, NT_ERR_USAGE,
                          "pattern \"%.60s\": the current directory \"%.*s\" contains a comma or a "
                          "control character. Use an absolute path.",
                          option->pattern, shown_bytes(d), d.at);
    int used = snprintf(whole, sizeof whole, "matrix:%s%s%s", dir,
                        dir[d.bytes - 1] == '/' ? "" : "/", path);
    if (used < 0 || (size_t)used >= sizeof whole)
        return nt_err_set(err, NT_ERR_USAGE,
                          "pattern \"%.60s\": the absolute path is longer than %d bytes",
                          option->pattern, NT_PATTERN_TEXT_BYTES - 8);
    memcpy(option->pattern, whole, (size_t)used + 1);
    return 0;
}

/* Items given so far, because repeated and contradicting items are errors. */
struct seen {
    bool level;
    unsigned values; /* one bit per entry of values[] */
};

static int given_twice(const char *what, struct span item, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_USAGE, "item \"%.*s\": %s is given twice", shown_bytes(item),
                      item.at, what);
}

static int parse_budget(struct span item, struct nt_option *option, struct nt_err *err)
{
    struct span value = span_after(item, "budget=");
    uint64_t ms;
    if (nt_decimal_thousandths(value.at, value.bytes, BUDGET_MAX_MS, &ms) != 0 ||
        ms < BUDGET_MIN_MS)
        return nt_err_set(err, NT_ERR_USAGE,
                          "item \"%.*s\": expected seconds from %g to %g, such as 2.5",
                          shown_bytes(item), item.at, BUDGET_MIN_MS / 1e3, BUDGET_MAX_MS / 1e3);
    option->budget_s = (double)ms / 1e3;
    return 0;
}

static int parse_pattern(struct span item, struct nt_option *option, struct nt_err *err)
{
    struct span value = span_after(item, "pattern=");
    if (check_pattern(value, err) != 0)
        return -1;
    memcpy(option->pattern, value.at, value.bytes);
    option->pattern[value.bytes] = '\0';
    return 0;
}

static int parse_sweep(struct span item, struct nt_option *option, struct nt_err *err)
{
    if (span_sweep(span_after(item, "sweep="), &option->sweep) == 0)
        return 0;
    return nt_err_set(err, NT_ERR_USAGE,
                      "item \"%.*s\": expected auto, all, adaptive or sequential",
                      shown_bytes(item), item.at);
}

static int parse_spare(struct span item, struct nt_option *option, struct nt_err *err)
{
    struct span value = span_after(item, "spare=");
    uint64_t spare;
    if (nt_decimal_whole(value.at, value.bytes, SPARE_MAX, &spare) != 0 || spare == 0)
        return nt_err_set(err, NT_ERR_USAGE, "item \"%.*s\": expected hosts from 1 to %d",
                          shown_bytes(item), item.at, (int)SPARE_MAX);
    option->spare = (uint32_t)spare;
    return 0;
}

static const struct {
    const char *begin, *what;
    int (*parse)(struct span item, struct nt_option *option, struct nt_err *err);
} values[] = {{"budget=", "the budget", parse_budget},
              {"pattern=", "the pattern", parse_pattern},
              {"sweep=", "the sweep", parse_sweep},
              {"spare=", "spare", parse_spare}};

static int parse_item(struct span item, struct seen *seen, struct nt_option *option,
                      struct nt_err *err)
{
    enum nt_level level;
    if (item.bytes == 0)
        return nt_err_set(err, NT_ERR_USAGE, "empty item: expected ITEM[,ITEM...]");
    if (span_level(item, &level) == 0) {
        if (seen->level && level != option->level)
            return given_twice("the level", item, err);
        seen->level = option->level_named = true;
        option->level = level;
        return 0;
    }
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        if (!span_starts(item, values[k].begin))
            continue;
        if (seen->values & 1u << k)
            return given_twice(values[k].what, item, err);
        seen->values |= 1u << k;
        return values[k].parse(item, option, err);
    }
    if (span_is(item, "apply"))
        option->apply = true;
    else if (span_is(item, "off"))
        option->off = true;
    else if (span_is(item, "debug"))
        option->debug = true;
    else
        return nt_err_set(err, NT_ERR_USAGE,
                          "unknown item \"%.*s\": expected quick, standard, full, budget=SECONDS, "
                          "pattern=P, spare=K, sweep=KIND, apply, debug or off",
                          shown_bytes(item), item.at);
    return 0;
}

/* Returns whether the next item is a size of megatron, which also follow commas. */
static bool is_group(struct span rest)
{
    return span_starts(rest, "tp=") || span_starts(rest, "pp=") || span_starts(rest, "dp=") ||
           span_starts(rest, "ep=");
}

static struct span next_item(struct span *rest)
{
    struct span item = span_next(rest, ',');
    while (span_starts(item, "pattern=megatron:") && is_group(*rest)) {
        struct span group = span_next(rest, ',');
        item.bytes = (size_t)(group.at + group.bytes - item.at);
    }
    return item;
}

int nt_option_parse(const char *text, struct nt_option *option, struct nt_err *err)
{
    struct nt_option parsed = {.level = NT_LEVEL_STANDARD};
    memcpy(parsed.pattern, DEFAULT_PATTERN, sizeof DEFAULT_PATTERN);
    struct span rest = {text, text != NULL ? strlen(text) : 0};
    if (rest.bytes >= NT_OPTION_TEXT_BYTES)
        return nt_err_set(err, NT_ERR_USAGE, "option of %zu characters: expected at most %d",
                          rest.bytes, NT_OPTION_TEXT_BYTES - 1);
    if (rest.bytes > 0) {
        if (has_control(rest))
            return nt_err_set(err, NT_ERR_USAGE, "\"%.*s\" contains a control character",
                              shown_bytes(rest), rest.at);
        struct seen seen = {0};
        size_t items = 0;
        bool more = true;
        while (more) {
            const char *before = rest.at;
            struct span item = next_item(&rest);
            more = before + item.bytes != rest.at; /* a comma followed */
            if (parse_item(item, &seen, &parsed, err) != 0)
                return -1;
            items++;
        }
        if (parsed.off && items > 1)
            return nt_err_set(err, NT_ERR_USAGE,
                              "item \"off\" cannot be combined with other items");
    }
    *option = parsed;
    return 0;
}

/* Formats a budget such as "2.5"; empty for the default. */
static int format_budget(double budget_s, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (budget_s == 0)
        return 0;
    if (!(budget_s >= BUDGET_MIN_MS / 1e3 && budget_s <= BUDGET_MAX_MS / 1e3))
        return -1;
    unsigned ms = (unsigned)(budget_s * 1e3 + 0.5);
    snprintf(text, text_bytes, ",budget=%u.%03u", ms / 1000, ms % 1000);
    return 0;
}

int nt_option_format(const struct nt_option *option, char *text, size_t text_bytes,
                     struct nt_err *err)
{
    const char *level = nt_level_name(option->level);
    char budget[32], spare[32] = "", whole[NT_OPTION_TEXT_BYTES];
    if (level == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "unknown level %d", (int)option->level);
    if (format_budget(option->budget_s, budget, sizeof budget) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "budget of %g seconds", option->budget_s);
    if (nt_pattern_check(option->pattern, err) != 0)
        return -1;
    bool plain = strcmp(option->pattern, DEFAULT_PATTERN) == 0;
    if (option->sweep < NT_SWEEP_AUTO || option->sweep > NT_SWEEP_SEQUENTIAL)
        return nt_err_set(err, NT_ERR_USAGE, "unknown sweep %d", (int)option->sweep);
    bool automatic = option->sweep == NT_SWEEP_AUTO;
    if (option->spare > 0)
        snprintf(spare, sizeof spare, ",spare=%u", option->spare);
    int used = snprintf(whole, sizeof whole, "%s%s%s%s%s%s%s%s%s", option->level_named ? level : "",
                        budget, plain ? "" : ",pattern=", plain ? "" : option->pattern,
                        automatic ? "" : ",sweep=", automatic ? "" : sweep_names[option->sweep],
                        spare, option->apply ? ",apply" : "", option->debug ? ",debug" : "");
    if (option->off)
        used = snprintf(whole, sizeof whole, "off");
    if (used < 0 || (size_t)used >= sizeof whole || (size_t)used >= text_bytes)
        return nt_err_set(err, NT_ERR_USAGE, "option of %d characters does not fit", used);
    size_t comma = whole[0] == ','; /* there is no level */
    memcpy(text, whole + comma, (size_t)used + 1 - comma);
    return 0;
}
