/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fleet.h"
#include "graph.h"
#include "html.h"
#include "json_write.h"
#include "map_json.h"
#include "memory.h"
#include "number.h"
#include "show_net.h"
#include "strbuf.h"
#include "terminal.h"
#include "utc.h"

/* ---- the page with its history ---- */

struct page {
    const struct nt_fleet_changes *changes;
    struct nt_history history;
    struct nt_arena memory; /* arrays of the history */
};

static void set_day(char day[16], int64_t time_s)
{
    char text[NT_UTC_BYTES];
    nt_utc_format_day(time_s, text);
    memcpy(day, text, strlen("2026-01-01") + 1);
}

static int add_change(struct page *p, const struct nt_fleet_change *c, uint32_t series,
                      struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &p->changes->fleet;
    struct nt_event *e = &p->history.event[p->history.events++];
    struct nt_strbuf d = {0};
    char name[NT_PART_BYTES], now[NT_NUMBER_BYTES], before[NT_NUMBER_BYTES];
    *e = (struct nt_event){.kind = c->worse ? NT_EVENT_WORSE : NT_EVENT_BETTER,
                           .at = {NT_NO_VERTEX, NT_NO_VERTEX},
                           .series = series,
                           .was = NT_NO_VERTEX,
                           .added_us = c->worse ? nt_fleet_change_added_us(p->changes, c) : 0};
    set_day(e->day, c->since_s);
    if (c->part != NT_CHANGE_CLASS) {
        uint32_t v = c->part < fleet->hosts.count ? fleet->at[c->part] : c->part;
        e->at[0] = v;
        e->at[1] = fleet->above[v] != NT_NO_VERTEX ? fleet->above[v] : v;
    }
    nt_fleet_part_name(p->changes, c, name);
    nt_number_plain(c->to, 4, now);
    nt_number_plain(c->from, 4, before);
    nt_strbuf_print(&d, "%s: %s %s, %s instead of %s %s, in %u job%s of %u users", name,
                    nt_fleet_kind_name(c->kind), c->worse ? "worse" : "better", now, before,
                    nt_fleet_kind_unit(c->kind), c->jobs, c->jobs == 1 ? "" : "s", c->users);
    return nt_strbuf_finish(&d, &e->text, NULL, err);
}

static int add_move(struct page *p, const struct nt_cluster_move *m, struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &p->changes->fleet;
    struct nt_event *e = &p->history.event[p->history.events++];
    struct nt_strbuf d = {0};
    uint32_t host = fleet->at[m->host];
    *e = (struct nt_event){.kind = NT_EVENT_MOVED, .at = {host, host}, .was = NT_NO_VERTEX};
    set_day(e->day, m->time_s);
    nt_strbuf_print(&d, "%s moved", fleet->hosts.name[m->host]);
    if (m->beside_before < fleet->hosts.count) {
        e->was = fleet->above[fleet->at[m->beside_before]];
        nt_strbuf_print(&d, ", away from %s", fleet->hosts.name[m->beside_before]);
        memcpy(p->history.seen[host], p->history.first, sizeof p->history.first);
    }
    if (m->beside < fleet->hosts.count)
        nt_strbuf_print(&d, ", to %s", fleet->hosts.name[m->beside]);
    return nt_strbuf_finish(&d, &e->text, NULL, err);
}

static int compare_events(const void *x, const void *y)
{
    const struct nt_event *p = x, *q = y;
    int days = strcmp(p->day, q->day);
    return days != 0 ? days : strcmp(p->text, q->text);
}

/* Returns the index of the first change of the same part and value. */
static uint32_t series_of(const struct nt_fleet_changes *changes, size_t at)
{
    const struct nt_fleet_change *c = changes->change;
    uint32_t k = 0;
    while (c[k].part != c[at].part || c[k].tier != c[at].tier || c[k].kind != c[at].kind)
        k++;
    return k;
}

static int make_history(struct page *p, struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &p->changes->fleet;
    const struct nt_model *m = fleet->map->model;
    size_t vertices = m->hosts + m->switches, events = p->changes->count + fleet->cluster->moves;
    struct nt_history *h = &p->history;
    h->seen = nt_arena_array(&p->memory, vertices + 1, sizeof *h->seen);
    h->event = nt_arena_array(&p->memory, events + 1, sizeof *h->event);
    if (nt_arena_check(&p->memory, err) != 0)
        return -1;
    set_day(h->first, fleet->sums.first_s);
    set_day(h->last, fleet->sums.last_s);
    for (size_t v = 0; v < vertices; v++)
        if (fleet->part[v].jobs > 0)
            set_day(h->seen[v], fleet->part[v].first_s);
    for (size_t k = 0; k < p->changes->count; k++)
        if (add_change(p, &p->changes->change[k], series_of(p->changes, k), err) != 0)
            return -1;
    for (size_t k = 0; k < fleet->cluster->moves; k++)
        if (add_move(p, &fleet->cluster->move[k], err) != 0)
            return -1;
    qsort(h->event, h->events, sizeof *h->event, compare_events);
    return 0;
}

static int make_page(const struct nt_fleet_changes *changes, char **text, size_t *bytes,
                     struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &changes->fleet;
    struct page p = {.changes = changes};
    if (fleet->map == NULL)
        return nt_err_set(err, NT_ERR_NO, "no map: %s", fleet->why.text);
    int rc = make_history(&p, err);
    if (rc == 0) {
        const char *cluster = fleet->sums.cluster[0] != '\0' ? fleet->sums.cluster : "cluster";
        const struct nt_picture picture = {
            .map = fleet->map, .title = {cluster, NULL}, .summary = "", .history = &p.history};
        rc = nt_html_write(&picture, text, bytes, err);
    }
    for (size_t k = 0; k < p.history.events; k++)
        free(p.history.event[k].text);
    nt_arena_fini(&p.memory);
    return rc;
}

struct arguments {
    const char *store, *format, *days, *output;
    int64_t days_s;
    bool all, plain, json;
};

static const struct nt_flag flags[] = {
    NT_FLAG_STORE,
    {"format", 'f', "text|json|html", NT_AT(format), 1,
     "Output format (default text): json, a nettopo-map/1 with the field fleet; html, a page that "
     "loads nothing, with the changes and a slider for the day"},
    {"json", 0, NULL, NT_AT(json), 1, "Same as --format json"},
    NT_FLAG_DAYS,
    {"all", 'a', NULL, NT_AT(all), 1, "Print every host on its own line"},
    {"plain", 0, NULL, NT_AT(plain), 1, "Print ASCII without colours"},
    NT_FLAG_OUTPUT,
    {0}};

static const struct nt_command_help help = {
    "nettopo fleet show [OPTION...]",
    "Print the map of the whole cluster from the jobs in the store, with the confidence and age of "
    "each part, and the hosts that moved.\n",
    flags, "nettopo fleet show --store fleet.db"};

/* ---- text ---- */

static void put_count(struct nt_strbuf *d, uint64_t n, const char *what, const char *after)
{
    nt_strbuf_print(d, "%llu %s%s%s", (unsigned long long)n, what, n == 1 ? "" : "s", after);
}

static void put_sums(struct nt_strbuf *d, const struct nt_store_sums *s)
{
    char first[NT_UTC_BYTES], last[NT_UTC_BYTES];
    nt_utc_format_day(s->first_s, first);
    nt_utc_format_day(s->last_s, last);
    nt_strbuf_puts(d, "cluster ");
    nt_strbuf_put_line(d, s->cluster[0] != '\0' ? s->cluster : "(unnamed)");
    nt_strbuf_puts(d, ": ");
    put_count(d, s->jobs, "job", " of ");
    put_count(d, s->users, "user", "");
    if (s->jobs > 0)
        nt_strbuf_print(d, ", %s to %s", first, last);
    nt_strbuf_puts(d, ", ");
    put_count(d, s->hosts, "host", ", ");
    put_count(d, s->findings, "finding", " in these jobs\n");
}

static void put_shape(struct nt_strbuf *d, const struct nt_model *m)
{
    put_count(d, m->switches, m->switches == 1 ? "switch" : "switche", ": ");
    nt_strbuf_puts(d, nt_family_name(m->family));
    if (m->switches > 0)
        nt_strbuf_print(d, ", %u tier%s", m->tiers, m->tiers == 1 ? "" : "s");
    if (isfinite(m->confidence))
        nt_strbuf_print(d, ", confidence %.3g", m->confidence);
    nt_strbuf_puts(d, "\n");
}

/* Prints the part with the lowest support and the oldest one. */
static void put_age(struct nt_strbuf *d, const struct nt_fleet_cluster *fleet)
{
    const struct nt_model *m = fleet->cluster->model;
    size_t unsure = 0, old = 0, unknown = 0, contradicted = 0, alone = 0;
    for (size_t h = 0; h < m->hosts; h++) {
        const struct nt_cluster_part *p = &fleet->part[h];
        contradicted += p->contradicted;
        unknown += p->jobs == 0 && !p->contradicted;
        alone += p->jobs > 0 && !p->confirmed;
        unsure += p->jobs > 0 && p->support < 0.9;
        old += p->jobs > 0 && p->last_s < fleet->sums.last_s - (int64_t)30 * NT_DAY_S;
    }
    put_count(d, m->hosts - unknown - contradicted, "host", " placed, ");
    nt_strbuf_print(d, "%zu of them under 90 %%, %zu not seen for 30 days, %zu never measured\n",
                    unsure, old, unknown);
    if (alone > 0)
        put_count(d, alone, "host", " placed by jobs of one user alone: not in prior and sync\n");
    if (contradicted > 0)
        put_count(d, contradicted, "host",
                  " undetermined: latencies contradict every place in the tree\n");
}

static int put_text(const struct nt_fleet_changes *changes, const struct arguments *a,
                    struct nt_strbuf *d, struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &changes->fleet;
    struct nt_terminal terminal;
    nt_terminal_look(&terminal);
    if (a->plain)
        terminal.colour = terminal.unicode = false;
    put_sums(d, &fleet->sums);
    if (fleet->map == NULL) /* show() states why */
        return 0;
    put_shape(d, fleet->map->model);
    put_age(d, fleet);
    for (size_t k = 0; k < fleet->cluster->moves; k++)
        nt_fleet_cluster_put_move(d, fleet, &fleet->cluster->move[k]);
    for (size_t k = 0; k < changes->count; k++)
        if (changes->change[k].current && changes->change[k].worse)
            nt_fleet_change_put(d, changes, &changes->change[k]);
    nt_strbuf_puts(d, "\n");
    return nt_show_net(fleet->map, a->all, &terminal, d, err);
}

/* ---- JSON ---- */

static void put_part(struct nt_json_writer *w, const char *name, const struct nt_cluster_part *p)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "name", name);
    nt_json_put_number(w, "support", p->support);
    nt_fleet_put_json_time(w, "first", p->first_s);
    nt_fleet_put_json_time(w, "last", p->last_s);
    nt_json_put_whole(w, "jobs", p->jobs);
    nt_json_put_whole(w, "users", p->users);
    nt_json_put_flag(w, "confirmed", p->confirmed);
    if (p->contradicted)
        nt_json_put_flag(w, "undetermined", true);
    nt_json_end(w, '}');
}

static void put_fleet(struct nt_json_writer *w, const struct nt_fleet_cluster *fleet)
{
    const struct nt_store_sums *s = &fleet->sums;
    size_t vertices = fleet->map->model->hosts + fleet->map->model->switches;
    nt_json_begin(w, NULL, '{', true);
    nt_json_put_whole(w, "jobs", s->jobs);
    nt_json_put_whole(w, "users", s->users);
    nt_fleet_put_json_time(w, "first", s->first_s);
    nt_fleet_put_json_time(w, "last", s->last_s);
    nt_json_begin(w, "parts", '[', true);
    for (size_t v = 0; v < vertices; v++)
        put_part(w, nt_map_vertex_name(fleet->map, (uint32_t)v), &fleet->part[v]);
    nt_json_end(w, ']');
    nt_json_begin(w, "moves", '[', true);
    for (size_t k = 0; k < fleet->cluster->moves; k++)
        nt_fleet_cluster_put_json_move(w, fleet, &fleet->cluster->move[k]);
    nt_json_end(w, ']');
    nt_json_end(w, '}');
}

/* Writes the map's text with one more field before its last brace. */
static int put_json(const struct nt_fleet_cluster *fleet, struct nt_strbuf *d, struct nt_err *err)
{
    struct nt_json_writer w = {0};
    char *map, *more = NULL;
    size_t bytes, more_bytes;
    if (fleet->map == NULL)
        return nt_err_set(err, NT_ERR_NO, "no map: %s", fleet->why.text);
    put_fleet(&w, fleet);
    if (nt_strbuf_finish(&w.buf, &more, &more_bytes, err) != 0)
        return -1;
    if (nt_map_write(fleet->map, false, &map, &bytes, err) != 0) {
        free(more);
        return -1;
    }
    while (bytes > 0 && map[bytes - 1] != '}')
        bytes--;
    while (bytes > 1 && (map[bytes - 2] == '\n' || map[bytes - 2] == ' '))
        bytes--;
    while (more_bytes > 0 && more[more_bytes - 1] == '\n')
        more_bytes--;
    nt_strbuf_put(d, map, bytes - 1);
    nt_strbuf_puts(d, ",\n  \"fleet\": ");
    nt_strbuf_put(d, more, more_bytes);
    nt_strbuf_puts(d, "\n}\n");
    free(map);
    free(more);
    return 0;
}

/* ---- the command ---- */

/* Writes text or JSON: changes that are worse now become findings. */
static int make_text(struct nt_fleet_changes *changes, const struct arguments *a, char **text,
                     size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    if (nt_fleet_changes_mark(changes, err) == 0 &&
        (strcmp(a->format, "json") == 0 ? put_json(&changes->fleet, &d, err)
                                        : put_text(changes, a, &d, err)) == 0)
        return nt_strbuf_finish(&d, text, bytes, err);
    free(d.text);
    return -1;
}

static int show(const struct arguments *a, struct nt_err *err)
{
    struct nt_fleet_changes changes;
    char *text;
    size_t bytes;
    if (nt_fleet_changes_load(a->store, a->days_s, true, &changes, err) != 0)
        return -1;
    int rc = strcmp(a->format, "html") == 0 ? make_page(&changes, &text, &bytes, err)
                                            : make_text(&changes, a, &text, &bytes, err);
    if (rc == 0)
        rc = nt_file_write_text(a->output, text, bytes, err);
    if (rc == 0 && changes.fleet.map == NULL)
        rc = nt_err_set(err, NT_ERR_NO, "no map: %s", changes.fleet.why.text);
    nt_fleet_changes_fini(&changes);
    return rc;
}

static int show_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.days = "90d", .output = "-"};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("days", a.days, &a.days_s, err) != 0)
        return -1;
    if (a.json && a.format != NULL && strcmp(a.format, "json") != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--json: not with another --format");
    if (a.format == NULL)
        a.format = a.json ? "json" : "text";
    if (strcmp(a.format, "text") != 0 && strcmp(a.format, "json") != 0 &&
        strcmp(a.format, "html") != 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format: expected text, json or html, found \"%.32s\"", a.format);
    return show(&a, err);
}

const struct nt_verb nt_fleet_show = {"show", "print the map of the cluster", &help, show_run};
