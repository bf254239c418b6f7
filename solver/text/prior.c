/* SPDX-License-Identifier: Apache-2.0 */
#include "prior.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "number.h"
#include "strbuf.h"

enum { NAME_MAX_BYTES = 255, DIGITS = 7, PRIOR_LINE_MAX = 2048 };

static const double US_MAX = 1e9;

/* ---- days ---- */

/* Returns the days of a civil date since 1970-01-01: eras of 400 years, years from March on. */
static int32_t day_of(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year, m = month > 2 ? month - 3 : month + 9;
    int era = y / 400, of_era = y - era * 400, of_year = (153 * m + 2) / 5 + day - 1;
    return (int32_t)(era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468);
}

static int take_digits(const char *text, size_t n)
{
    int value = 0;
    for (size_t k = 0; k < n; k++) {
        if (text[k] < '0' || text[k] > '9')
            return -1;
        value = 10 * value + text[k] - '0';
    }
    return value;
}

int nt_prior_day(const char *text, size_t bytes, int32_t *day)
{
    if (bytes < 10 || text[4] != '-' || text[7] != '-')
        return -1;
    int year = take_digits(text, 4), month = take_digits(text + 5, 2);
    int of_month = take_digits(text + 8, 2);
    if (year < 1970 || month < 1 || month > 12 || of_month < 1 || of_month > 31)
        return -1;
    *day = day_of(year, month, of_month);
    return 0;
}

void nt_prior_day_write(int32_t day, char text[16])
{
    int32_t z = day + 719468, era = z / 146097, of_era = z - era * 146097;
    int32_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int32_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
    int month = (int)(m < 10 ? m + 3 : m - 9);
    int year = (int)(y + era * 400) + (month <= 2);
    snprintf(text, 16, "%04u-%02u-%02u", (unsigned)year % 10000, (unsigned)month % 100,
             (unsigned)(of_year - (153 * m + 2) / 5 + 1) % 100);
}

/* ---- life ---- */

void nt_prior_destroy(struct nt_prior *p)
{
    if (p == NULL)
        return;
    free(p->cluster);
    nt_names_fini(&p->switch_name);
    nt_names_fini(&p->host_name);
    free(p->of_switch);
    free(p->of_host);
    free(p->loggp);
    free(p);
}

static int create(struct nt_prior **out, struct nt_err *err)
{
    struct nt_prior *p = calloc(1, sizeof *p);
    if (p == NULL || (p->cluster = strdup("")) == NULL) {
        free(p);
        return nt_err_memory(err);
    }
    *out = p;
    return 0;
}

static int check_part(const struct nt_prior *p, bool is_host, const struct nt_prior_part *part,
                      struct nt_err *err)
{
    if (!(part->support >= 0 && part->support <= 1))
        return nt_err_set(err, NT_ERR_INPUT, "support %g: expected 0 to 1", (double)part->support);
    if (!is_host && !(part->us > 0 && (double)part->us < US_MAX))
        return nt_err_set(err, NT_ERR_INPUT, "latency %g us: expected more than 0, below %g",
                          (double)part->us, US_MAX);
    if (part->up >= p->switch_name.count && (is_host || part->up != NT_PRIOR_TOP))
        return nt_err_set(err, NT_ERR_INPUT, "expected a switch that was named before");
    size_t depth = 0;
    for (uint32_t s = part->up; s != NT_PRIOR_TOP; s = p->of_switch[s].up)
        if (++depth > NT_PRIOR_DEPTH_MAX)
            return nt_err_set(err, NT_ERR_INPUT, "expected at most %d switches above each other",
                              (int)NT_PRIOR_DEPTH_MAX);
    return 0;
}

int nt_prior_add(struct nt_prior *p, bool is_host, const char *name, size_t bytes,
                 const struct nt_prior_part *part, struct nt_err *err)
{
    struct nt_names *names = is_host ? &p->host_name : &p->switch_name;
    struct nt_prior_part **parts = is_host ? &p->of_host : &p->of_switch;
    size_t *room = is_host ? &p->hosts_room : &p->switches_room;
    char copy[NAME_MAX_BYTES + 2];
    uint32_t index;
    snprintf(copy, sizeof copy, "%.*s", (int)(bytes < sizeof copy ? bytes : sizeof copy), name);
    if (nt_host_name_check(copy, err) != 0 || check_part(p, is_host, part, err) != 0)
        return -1;
    if (names->count >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d %s", (int)NT_HOSTS_MAX,
                          is_host ? "hosts" : "switches");
    if (names->count == *room) {
        size_t more = *room > 0 ? 2 * *room : 64;
        void *grown = realloc(*parts, more * sizeof **parts);
        if (grown == NULL)
            return nt_err_memory(err);
        *parts = grown;
        *room = more;
    }
    int rc = nt_names_add_copy(names, copy, strlen(copy), &index, err);
    if (rc > 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s %s: expected each once",
                          is_host ? "host" : "switch", copy);
    if (rc == 0)
        (*parts)[index] = *part;
    return rc;
}

/* ---- reading ---- */

struct reader {
    struct nt_prior *prior;
    size_t lines;
    bool ended;
};

static int read_figure(const struct nt_word *w, const char *what, float *value, struct nt_err *err)
{
    double number;
    const char *end = nt_number_read(w->at, w->at + w->bytes, &number);
    if (end != w->at + w->bytes || !(number >= 0 && number < US_MAX))
        return nt_err_set(err, NT_ERR_INPUT, "%s \"%.*s\": expected a number from 0 to %g", what,
                          (int)(w->bytes < 40 ? w->bytes : 40), w->at, US_MAX);
    *value = (float)number;
    return 0;
}

/* Reads "switch NAME UP US SUPPORT DAY" or "host NAME SWITCH SUPPORT DAY". */
static int read_part(struct reader *r, const struct nt_word *w, size_t n, struct nt_err *err)
{
    bool is_host = nt_word_is(w[0], "host");
    struct nt_prior_part part = {.up = NT_PRIOR_TOP};
    size_t figures = is_host ? 3 : 4;
    if (n != figures + 2)
        return nt_err_set(err, NT_ERR_INPUT, "expected %s",
                          is_host ? "host NAME SWITCH SUPPORT DAY"
                                  : "switch NAME UP US SUPPORT DAY");
    if (is_host || !nt_word_is(w[2], "-")) {
        part.up = nt_names_find(&r->prior->switch_name, w[2].at, w[2].bytes);
        if (part.up == NT_NAMES_NONE)
            return nt_err_set(err, NT_ERR_INPUT, "switch %.*s: expected one that was named before",
                              (int)(w[2].bytes < 40 ? w[2].bytes : 40), w[2].at);
    }
    if ((!is_host && read_figure(&w[3], "latency", &part.us, err) != 0) ||
        read_figure(&w[figures], "support", &part.support, err) != 0)
        return -1;
    if (w[figures + 1].bytes != 10 || nt_prior_day(w[figures + 1].at, 10, &part.day) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "day \"%.*s\": expected YYYY-MM-DD",
                          (int)(w[figures + 1].bytes < 40 ? w[figures + 1].bytes : 40),
                          w[figures + 1].at);
    return nt_prior_add(r->prior, is_host, w[1].at, w[1].bytes, &part, err);
}

static int read_cluster(struct reader *r, const struct nt_word *w, struct nt_err *err)
{
    char *copy = strndup(w->at, w->bytes < NAME_MAX_BYTES ? w->bytes : NAME_MAX_BYTES);
    if (copy == NULL)
        return nt_err_memory(err);
    free(r->prior->cluster);
    r->prior->cluster = copy;
    if (nt_host_name_check(copy, err) != 0)
        return nt_err_prefix(err, "cluster");
    return 0;
}

static const char LOGGP[] = "#loggp ";

static int read_loggp(struct reader *r, struct nt_text_line *line, struct nt_err *err)
{
    struct nt_loggp g;
    line->at += strlen(LOGGP);
    if (nt_loggp_take(line, &g, err) != 0)
        return -1;
    if (g.seen[0] == '\0' || isnan(g.support))
        return nt_err_set(err, NT_ERR_INPUT, "LogGP: expected a support and a day");
    return nt_loggps_add(&r->prior->loggp, &r->prior->loggps, &g, err);
}

static int take_line(void *to, struct nt_text_line *line, struct nt_err *err)
{
    struct reader *r = to;
    struct nt_word w[8];
    size_t n = 0;
    if (r->lines > 0 && !r->ended && nt_line_begins(line, LOGGP))
        return read_loggp(r, line, err);
    while (n < sizeof w / sizeof *w && nt_line_next_word(line, &w[n]))
        n++;
    if (r->lines++ == 0)
        return n == 1 && nt_word_is(w[0], "nettopo-prior/1")
                   ? 0
                   : nt_err_set(err, NT_ERR_INPUT, "expected nettopo-prior/1");
    if (n == 0)
        return 0;
    if (r->ended)
        return nt_err_set(err, NT_ERR_INPUT, "expected nothing after end");
    if (nt_word_is(w[0], "host") || nt_word_is(w[0], "switch"))
        return read_part(r, w, n, err);
    if (n == 2 && nt_word_is(w[0], "cluster"))
        return read_cluster(r, &w[1], err);
    if (nt_word_is(w[0], "generator"))
        return 0;
    r->ended = n == 1 && nt_word_is(w[0], "end");
    return r->ended ? 0
                    : nt_err_set(err, NT_ERR_INPUT,
                                 "\"%.*s\": expected generator, cluster, switch, host or end",
                                 (int)(w[0].bytes < 40 ? w[0].bytes : 40), w[0].at);
}

int nt_prior_parse(const char *file, const char *text, size_t bytes, struct nt_prior **out,
                   struct nt_err *err)
{
    struct reader r = {0};
    struct nt_lines lines;
    if (bytes > NT_PRIOR_BYTES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%.200s: %zu bytes, expected at most %d", file, bytes,
                          (int)NT_PRIOR_BYTES_MAX);
    if (create(&r.prior, err) != 0)
        return -1;
    nt_lines_init(&lines, file, PRIOR_LINE_MAX);
    int rc = nt_lines_feed(&lines, text, bytes, take_line, &r, err);
    if (rc == 0)
        rc = nt_lines_finish(&lines, take_line, &r, err);
    if (rc == 0 && !r.ended)
        rc = nt_err_set(err, NT_ERR_INPUT,
                        "%.200s: expected \"end\" as the last line, found the end of the file",
                        file);
    nt_lines_fini(&lines);
    if (rc != 0) {
        nt_prior_destroy(r.prior);
        return -1;
    }
    *out = r.prior;
    return 0;
}

/* ---- writing ---- */

static void put_figure(struct nt_strbuf *d, float value)
{
    char text[NT_NUMBER_BYTES];
    nt_number_plain((double)value, DIGITS, text);
    nt_strbuf_print(d, " %s", text);
}

static void put_part(struct nt_strbuf *d, const struct nt_prior *p, bool is_host, size_t k)
{
    const struct nt_prior_part *part = is_host ? &p->of_host[k] : &p->of_switch[k];
    char day[16];
    nt_prior_day_write(part->day, day);
    nt_strbuf_print(d, "%s %s %s", is_host ? "host" : "switch",
                    is_host ? p->host_name.name[k] : p->switch_name.name[k],
                    part->up == NT_PRIOR_TOP ? "-" : p->switch_name.name[part->up]);
    if (!is_host)
        put_figure(d, part->us);
    put_figure(d, part->support);
    nt_strbuf_print(d, " %s\n", day);
}

int nt_prior_write(const struct nt_prior *p, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    nt_strbuf_puts(&d, "nettopo-prior/1\ngenerator nettopo " NT_VERSION "\n");
    if (p->cluster[0] != '\0')
        nt_strbuf_print(&d, "cluster %s\n", p->cluster);
    for (size_t k = 0; k < p->switch_name.count; k++)
        put_part(&d, p, false, k);
    for (size_t k = 0; k < p->host_name.count; k++)
        put_part(&d, p, true, k);
    for (size_t k = 0; k < p->loggps; k++) {
        nt_strbuf_puts(&d, "#loggp");
        nt_loggp_put(&d, &p->loggp[k]);
        nt_strbuf_puts(&d, "\n");
    }
    nt_strbuf_puts(&d, "end\n");
    return nt_strbuf_finish(&d, text, bytes, err);
}

/* ---- LogGP ---- */

static const double LOGGP_MAX = 1e12;

/* The values of a line, in order. */
static const size_t loggp_figures[] = {
    offsetof(struct nt_loggp, min_bytes),     offsetof(struct nt_loggp, max_bytes),
    offsetof(struct nt_loggp, L_us),          offsetof(struct nt_loggp, o_send_us),
    offsetof(struct nt_loggp, o_recv_us),     offsetof(struct nt_loggp, g_us),
    offsetof(struct nt_loggp, G_us_per_byte), offsetof(struct nt_loggp, gap_us_per_byte),
    offsetof(struct nt_loggp, support)};

/* Returns whether a text is visible ASCII without '#', which starts a comment, and with single
 * spaces if blanks are allowed. */
static bool is_plain(const char *text, bool blanks)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c == ' ' ? !blanks || c == text || c[-1] == ' ' || c[1] == '\0'
                      : *c < '!' || *c > '~' || *c == '#')
            return false;
    return true;
}

static int check_loggp(const struct nt_loggp *g, struct nt_err *err)
{
    if (g->class_name[0] == '\0' || !is_plain(g->class_name, true) || !is_plain(g->rail, false) ||
        strcmp(g->rail, "-") == 0)
        return nt_err_set(err, NT_ERR_INPUT, "LogGP: expected a device of one word, and a class");
    if (!(g->max_bytes >= g->min_bytes) || !(g->G_us_per_byte > 0) || g->support > 1)
        return nt_err_set(err, NT_ERR_INPUT,
                          "LogGP: expected sizes that rise, a G over 0, a support up to 1");
    return 0;
}

int nt_loggps_add(struct nt_loggp **loggp, size_t *loggps, const struct nt_loggp *g,
                  struct nt_err *err)
{
    if (check_loggp(g, err) != 0)
        return -1;
    if (*loggps >= NT_LOGGPS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "LogGP: expected at most %d", (int)NT_LOGGPS_MAX);
    struct nt_loggp *grown = realloc(*loggp, (*loggps + 1) * sizeof *grown);
    if (grown == NULL)
        return nt_err_memory(err);
    *loggp = grown;
    grown[(*loggps)++] = *g;
    return 0;
}

void nt_loggp_put(struct nt_strbuf *d, const struct nt_loggp *g)
{
    nt_strbuf_print(d, " %s", g->rail[0] != '\0' ? g->rail : "-");
    for (size_t k = 0; k < sizeof loggp_figures / sizeof *loggp_figures; k++) {
        const double *value = (const void *)((const char *)g + loggp_figures[k]);
        char text[NT_NUMBER_BYTES] = "-";
        if (!isnan(*value))
            nt_number_plain(*value, DIGITS, text);
        nt_strbuf_print(d, " %s", text);
    }
    nt_strbuf_print(d, " %s %s", g->seen[0] != '\0' ? g->seen : "-", g->class_name);
}

/* Appends a word after a space. */
static bool append_word(char *to, size_t room, struct nt_word w)
{
    size_t used = strlen(to), blank = used > 0;
    if (used + blank + w.bytes >= room)
        return false;
    to[used] = ' ';
    memcpy(to + used + blank, w.at, w.bytes);
    to[used + blank + w.bytes] = '\0';
    return true;
}

/* Reads a value; "-": not known. */
static bool take_loggp_figure(struct nt_text_line *line, double *value)
{
    struct nt_word w;
    *value = NAN;
    if (!nt_line_next_word(line, &w))
        return false;
    return nt_word_is(w, "-") || (nt_number_read(w.at, w.at + w.bytes, value) == w.at + w.bytes &&
                                  *value >= 0 && *value <= LOGGP_MAX);
}

int nt_loggp_take(struct nt_text_line *line, struct nt_loggp *out, struct nt_err *err)
{
    struct nt_loggp g = {.L_se_us = NAN, .o_se_us = NAN, .g_se_us = NAN};
    struct nt_word w;
    int32_t day;
    g.G_se_us_per_byte = g.r2 = g.check_percent = NAN;
    bool good = nt_line_next_word(line, &w);
    if (good && !nt_word_is(w, "-"))
        good = append_word(g.rail, sizeof g.rail, w);
    for (size_t k = 0; good && k < sizeof loggp_figures / sizeof *loggp_figures; k++)
        good = take_loggp_figure(line, (void *)((char *)&g + loggp_figures[k]));
    good = good && nt_line_next_word(line, &w);
    if (good && !nt_word_is(w, "-"))
        good = w.bytes == 10 && nt_prior_day(w.at, 10, &day) == 0 &&
               append_word(g.seen, sizeof g.seen, w);
    while (good && nt_line_next_word(line, &w))
        good = append_word(g.class_name, sizeof g.class_name, w);
    if (!good)
        return nt_err_set(err, NT_ERR_INPUT,
                          "LogGP: expected RAIL MIN MAX L O_SEND O_RECV g G GAP SUPPORT DAY CLASS");
    *out = g;
    return check_loggp(out, err);
}

int nt_prior_create(const char *cluster, struct nt_prior **out, struct nt_err *err)
{
    struct nt_prior *p = NULL;
    if (create(&p, err) != 0)
        return -1;
    if (nt_host_name_check(cluster, NULL) == 0) {
        char *copy = strdup(cluster);
        if (copy == NULL) {
            nt_prior_destroy(p);
            return nt_err_memory(err);
        }
        free(p->cluster);
        p->cluster = copy;
    }
    *out = p;
    return 0;
}
