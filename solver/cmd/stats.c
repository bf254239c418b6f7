/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decimal.h"
#include "files.h"
#include "json_write.h"
#include "log_record.h"
#include "memory.h"
#include "names.h"
#include "strbuf.h"
#include "utc.h"
#include "verbs.h"

enum { FILES_MAX = 64 };

struct arguments {
    const char *since, *until, *top, *file[FILES_MAX + 1];
    bool json;
};

static const struct nt_flag flags[] = {
    {"since", 0, "TIME", NT_AT(since), 1,
     "Count jobs from TIME on: 2026-01-31, 2026-01-31T18:00Z (UTC), or an age: 7d, 12h"},
    {"until", 0, "TIME", NT_AT(until), 1, "Count jobs before TIME"},
    {"top", 0, "N", NT_AT(top), 1, "Print up to N reasons and hosts (default 10, with --json all)"},
    {"json", 0, NULL, NT_AT(json), 1, "Print JSON"},
    NT_OPERANDS(file, FILES_MAX)};

static const struct nt_command_help help = {
    "nettopo stats [OPTION...] [FILE...]",
    "Count the jobs in logs of the agent: ok, partial and failed jobs, the reasons, and the hosts "
    "that were missing or in findings most often. FILE is a log of syslog or the journal, from one "
    "host or collected from all, or - for standard input (the default). Other lines are skipped. "
    "In "
    "reasons, # replaces numbers.\n",
    flags, "journalctl -t nettopo | nettopo stats --since 7d"};

enum { LINE_MAX_BYTES = 1 << 20, NAMES_MAX = 1 << 17, TOP_DEFAULT = 10 };

/* Counts per name. */
struct tally {
    struct nt_names names;
    struct nt_arena memory; /* memory of count */
    uint64_t *count;
    size_t room;
};

struct stats {
    int64_t since_s, until_s;
    uint64_t jobs[NT_STATUS_FAILED + 1];
    uint64_t lines, records; /* lines read; records of jobs, of any time */
    uint64_t long_lines;     /* skipped */
    int64_t first_s, last_s;
    struct tally reasons, missing, suspect;
    char line[LINE_MAX_BYTES]; /* an incomplete line */
    size_t used;
    size_t last;   /* in an object of several lines: start of the last line */
    bool object;   /* line contains the start of an object */
    size_t indent; /* indentation of its first line */
    bool too_long; /* the line is too long and skipped */
};

/* ---- counting ---- */

/* Counts a name; ignores new names beyond the limit. */
static int tally_add(struct tally *t, const char *name, size_t bytes, struct nt_err *err)
{
    uint32_t index = nt_names_find(&t->names, name, bytes);
    if (index == NT_NAMES_NONE) {
        if (t->names.count == NAMES_MAX)
            return 0;
        if (nt_names_add_copy(&t->names, name, bytes, &index, err) < 0)
            return -1;
        t->count = nt_arena_grow(&t->memory, t->count, &t->room, t->names.count, sizeof *t->count);
        if (nt_arena_check(&t->memory, err) != 0)
            return -1;
        t->count[index] = 0;
    }
    t->count[index]++;
    return 0;
}

static void tally_fini(struct tally *t)
{
    nt_names_fini(&t->names);
    nt_arena_fini(&t->memory);
}

/* Counts a reason. Reasons that differ only in numbers are one: each number becomes '#'. */
static int add_reason(struct tally *t, const char *reason, struct nt_err *err)
{
    char text[NT_LOG_REASON_BYTES];
    size_t n = 0;
    for (const char *c = reason; *c != '\0'; c++) {
        bool digit = *c >= '0' && *c <= '9';
        if (!digit || n == 0 || text[n - 1] != '#')
            text[n++] = *c;
        if (digit)
            text[n - 1] = '#';
    }
    return n == 0 ? 0 : tally_add(t, text, n, err);
}

/* Counts names separated by commas; "+12" is not a name. */
static int add_hosts(struct tally *t, const char *list, struct nt_err *err)
{
    int rc = 0;
    while (rc == 0 && *list != '\0') {
        size_t n = strcspn(list, ",");
        if (n > 0 && list[0] != '+')
            rc = tally_add(t, list, n, err);
        list += list[n] == ',' ? n + 1 : n;
    }
    return rc;
}

static int count_job(struct stats *s, const struct nt_log_record *r, struct nt_err *err)
{
    s->records++;
    if (r->time_s < s->since_s || r->time_s >= s->until_s)
        return 0;
    bool first = s->jobs[0] + s->jobs[1] + s->jobs[2] == 0;
    s->first_s = first || r->time_s < s->first_s ? r->time_s : s->first_s;
    s->last_s = first || r->time_s > s->last_s ? r->time_s : s->last_s;
    s->jobs[r->status]++;
    if (add_reason(&s->reasons, r->reason, err) != 0 ||
        add_hosts(&s->missing, r->missing, err) != 0 ||
        add_hosts(&s->suspect, r->suspect, err) != 0)
        return -1;
    return 0;
}

static int take_line(struct stats *s, struct nt_err *err)
{
    struct nt_log_line rest = {.at = s->line, .end = s->line + s->used};
    struct nt_log_record r;
    int rc = 0;
    s->long_lines += s->too_long;
    while (!s->too_long && rc == 0 && nt_log_record_next(&rest, &r))
        rc = count_job(s, &r, err);
    s->used = s->last = 0;
    s->too_long = s->object = false;
    return rc;
}

/* Returns whether a JSON object continues after this line. An object starts with a line that
 * contains only a brace, and ends with a brace at the same indentation. Lines of other programs
 * start there. */
static bool goes_on(struct stats *s)
{
    const char *line = s->line + s->last;
    size_t bytes = s->used - s->last, indent = 0;
    while (indent < bytes && (line[indent] == ' ' || line[indent] == '\t'))
        indent++;
    size_t end = bytes - (bytes > 0 && line[bytes - 1] == '\r');
    bool begins = end == indent + 1 && line[indent] == '{';
    bool ends = indent < end && line[indent] == '}';
    s->lines += bytes > 0;
    if (!s->object) {
        s->indent = indent;
        s->object = begins;
    } else if (indent == 0 || (ends && indent == s->indent)) {
        s->object = false;
    }
    if (!s->object || s->used == sizeof s->line)
        return false;
    s->line[s->used++] = ' ';
    s->last = s->used;
    return true;
}

/* Reads a piece of a log. Skips lines that are too long or contain no record. */
static int feed(void *context, const char *text, size_t bytes, struct nt_err *err)
{
    struct stats *s = context;
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : bytes - at;
        s->too_long |= n > sizeof s->line - s->used;
        if (!s->too_long) {
            memcpy(s->line + s->used, text + at, n);
            s->used += n;
        }
        at += n + 1;
        if (end == NULL)
            break;
        if ((s->too_long || !goes_on(s)) && take_line(s, err) != 0)
            return -1;
    }
    return 0;
}

/* Reads a file; reports lines that are not counted on standard error. */
static int read_file(struct stats *s, const char *path, struct nt_err *err)
{
    uint64_t lines = s->lines, records = s->records, long_lines = s->long_lines;
    if (nt_file_stream(path, feed, s, err) != 0)
        return -1;
    goes_on(s);
    if (take_line(s, err) != 0)
        return -1;
    long_lines = s->long_lines - long_lines;
    if (long_lines > 0)
        fprintf(stderr, "nettopo stats: %s: skipped %" PRIu64 " line%s of more than %d bytes\n",
                nt_file_name(path), long_lines, long_lines == 1 ? "" : "s", (int)LINE_MAX_BYTES);
    if (s->records == records)
        fprintf(stderr,
                "nettopo stats: %s: no job's line in %" PRIu64 " lines: expected job, time and "
                "status, as key=value pairs or JSON\n",
                nt_file_name(path), s->lines - lines);
    return 0;
}

/* ---- output ---- */

struct place {
    const char *name;
    uint64_t count;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return NT_ORDER(y->count, x->count, nt_name_compare(x->name, y->name));
}

static void put_places(struct nt_strbuf *d, const char *title, const struct place *place, size_t n,
                       uint64_t top)
{
    nt_strbuf_print(d, "\n%s\n", title);
    for (size_t k = 0; k < n && k < top; k++) {
        nt_strbuf_print(d, "%8" PRIu64 "  ", place[k].count);
        nt_strbuf_put_line(d, place[k].name);
        nt_strbuf_puts(d, "\n");
    }
    if (n > top)
        nt_strbuf_print(d, "%8s  %zu more\n", "", n - (size_t)top);
}

static void put_json_places(struct nt_json_writer *w, const char *name, const char *item,
                            const struct place *place, size_t n)
{
    nt_json_begin(w, name, '[', true);
    for (size_t k = 0; k < n; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, item, place[k].name);
        nt_json_put_whole(w, "count", place[k].count);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

struct output {
    struct nt_json_writer w; /* for text only its buffer is used */
    bool json;
    uint64_t top;
};

/* Writes counts. name: name of the JSON array; item: name of the key of an entry. */
static int put_tally(struct output *o, const char *title, const char *name, const char *item,
                     const struct tally *t, struct nt_err *err)
{
    size_t n = t->names.count;
    if (n == 0 && !o->json)
        return 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct place *place = nt_arena_array(&memory, n, sizeof *place);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < n; k++)
        place[k] = (struct place){t->names.name[k], t->count[k]};
    qsort(place, n, sizeof *place, compare_places);
    if (o->json)
        put_json_places(&o->w, name, item, place, n < o->top ? n : (size_t)o->top);
    else
        put_places(&o->w.buf, title, place, n, o->top);
    return 0;
}

static void put_head(struct nt_strbuf *d, const struct stats *s, uint64_t all)
{
    char first[NT_UTC_BYTES], last[NT_UTC_BYTES];
    nt_utc_format(s->first_s, first);
    nt_utc_format(s->last_s, last);
    nt_strbuf_print(d, "%" PRIu64 " job%s", all, all == 1 ? "" : "s");
    if (all > 0)
        nt_strbuf_print(d, ", %s to %s", first, last);
    nt_strbuf_puts(d, "\n");
    for (int k = NT_STATUS_OK; k <= NT_STATUS_FAILED && all > 0; k++)
        nt_strbuf_print(d, "%8" PRIu64 "  %-7s  %5.1f %%\n", s->jobs[k],
                        nt_status_name((enum nt_status)k),
                        100.0 * (double)s->jobs[k] / (double)all);
}

static void put_json_head(struct nt_json_writer *w, const struct stats *s, uint64_t all)
{
    char first[NT_UTC_BYTES], last[NT_UTC_BYTES];
    nt_utc_format(s->first_s, first);
    nt_utc_format(s->last_s, last);
    nt_json_put_whole(w, "jobs", all);
    if (all > 0) {
        nt_json_put_text(w, "first", first);
        nt_json_put_text(w, "last", last);
    }
    nt_json_put_whole(w, "lines", s->lines);
    nt_json_begin(w, "statuses", '{', false);
    for (int k = NT_STATUS_OK; k <= NT_STATUS_FAILED; k++)
        nt_json_put_whole(w, nt_status_name((enum nt_status)k), s->jobs[k]);
    nt_json_end(w, '}');
}

static int put_stats(const struct stats *s, struct output *o, struct nt_err *err)
{
    uint64_t all = 0;
    for (int k = NT_STATUS_OK; k <= NT_STATUS_FAILED; k++)
        all += s->jobs[k];
    if (o->json) {
        nt_json_begin(&o->w, NULL, '{', true);
        put_json_head(&o->w, s, all);
    } else {
        put_head(&o->w.buf, s, all);
    }
    int rc = put_tally(o, "reasons", "reasons", "reason", &s->reasons, err);
    if (rc == 0)
        rc = put_tally(o, "hosts missing", "hosts_missing", "host", &s->missing, err);
    if (rc == 0)
        rc = put_tally(o, "hosts in findings", "hosts_in_findings", "host", &s->suspect, err);
    return rc;
}

/* ---- the command line ---- */

/* Reads a time, or an age such as 7d; NULL: *time_s is unchanged. */
static int read_time(const char *text, int64_t *time_s, struct nt_err *err)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    uint64_t number;
    if (text == NULL || nt_log_time_parse(text, strlen(text), time_s))
        return 0;
    size_t n = strlen(text);
    for (size_t k = 0; k < sizeof units / sizeof *units && n > 1; k++)
        if (text[n - 1] == units[k].unit && nt_decimal_whole(text, n - 1, 1000000, &number) == 0) {
            *time_s = (int64_t)time(NULL) - (int64_t)number * units[k].seconds;
            return 0;
        }
    return nt_err_set(err, NT_ERR_USAGE,
                      "\"%.40s\": expected a time such as 2026-01-31 or 2026-01-31T18:00Z, or an "
                      "age such as 7d or 12h",
                      text);
}

static int stats_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {0};
    struct output o = {0};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0)
        return -1;
    o.json = a.json;
    o.top = o.json ? NAMES_MAX : TOP_DEFAULT;
    if (a.top != NULL && nt_decimal_whole(a.top, strlen(a.top), NAMES_MAX, &o.top) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--top %.20s: expected a number up to %d", a.top,
                          (int)NAMES_MAX);
    struct stats *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_memory(err);
    s->until_s = INT64_MAX;
    a.file[0] = a.file[0] != NULL ? a.file[0] : "-";
    int rc = read_time(a.since, &s->since_s, err);
    if (rc == 0)
        rc = read_time(a.until, &s->until_s, err);
    for (size_t k = 0; a.file[k] != NULL && rc == 0; k++)
        rc = read_file(s, a.file[k], err);
    if (rc == 0)
        rc = put_stats(s, &o, err);
    tally_fini(&s->reasons);
    tally_fini(&s->missing);
    tally_fini(&s->suspect);
    free(s);
    if (rc != 0) {
        free(o.w.buf.text);
        return -1;
    }
    return nt_file_write_json("-", &o.w, err);
}

const struct nt_verb nt_verb_stats = {"stats", "summarise the agents' logs", &help, stats_run};
