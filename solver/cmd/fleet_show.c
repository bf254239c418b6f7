/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fleet_changes.h"
#include "fleet_page.h"
#include "json_write.h"
#include "map_json.h"
#include "show_net.h"
#include "strbuf.h"
#include "terminal.h"
#include "utc.h"

static const char help[] =
    "usage: nettopo fleet show [OPTION...]\n"
    "\n"
    "The map of the whole cluster from the jobs in the store, with how sure and how old each part\n"
    "is, and the hosts that moved. json is a nettopo-map/1 with a field \"fleet\"; html a page "
    "that\n"
    "loads nothing, with the changes and a day to choose.\n"
    "\n"
    "  --store FILE       default: fleet_store of nettopo.conf\n"
    "  -f, --format F     text (default), json or html\n"
    "  --days SPAN        readings of so long before the last job; default 90d\n"
    "  -a, --all          every host on its own line\n"
    "  -p, --plain        ASCII and no colours, whatever the terminal can\n"
    "  -o, --output FILE  written whole or not at all; default -\n"
    "\n"
    "Example: nettopo fleet show --store fleet.db\n";

struct arguments {
    const char *store, *format, *output;
    int64_t days_s;
    bool all, plain;
};

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
    put_count(d, s->findings, "finding", "\n");
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

/* The least sure, and what nobody has seen for longest. */
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
    if (fleet->map == NULL) {
        nt_strbuf_print(d, "no map: %s\n", fleet->why.text);
        return 0;
    }
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

static void put_json_moves(struct nt_json_writer *w, const struct nt_fleet_cluster *fleet)
{
    nt_json_begin(w, "moves", '[', true);
    for (size_t k = 0; k < fleet->cluster->moves; k++)
        nt_fleet_cluster_put_json_move(w, fleet, &fleet->cluster->move[k]);
    nt_json_end(w, ']');
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
    put_json_moves(w, fleet);
    nt_json_end(w, '}');
}

/* The map's text with one field more before its last brace. */
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

static int show_page(const struct arguments *a, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (nt_fleet_page_write(a->store, a->days_s, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_file_write(a->output, text, bytes, err);
    free(text);
    return rc;
}

static int show(const struct arguments *a, struct nt_err *err)
{
    struct nt_fleet_changes changes;
    struct nt_strbuf d = {0};
    char *text;
    size_t bytes;
    if (nt_fleet_changes_load(a->store, a->days_s, true, &changes, err) != 0)
        return -1;
    int rc = nt_fleet_changes_mark(&changes, err);
    if (rc == 0)
        rc = strcmp(a->format, "json") == 0 ? put_json(&changes.fleet, &d, err)
                                            : put_text(&changes, a, &d, err);
    nt_fleet_changes_fini(&changes);
    if (rc != 0) {
        free(d.text);
        return -1;
    }
    if (nt_strbuf_finish(&d, &text, &bytes, err) != 0)
        return -1;
    rc = nt_file_write(a->output, text, bytes, err);
    free(text);
    return rc;
}

static int show_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.format = "text", .output = "-"};
    const char *days = "90d";
    const struct nt_flag flags[] = {
        {"store", 0, &a.store, NULL},   {"format", 'f', &a.format, NULL},
        {"days", 0, &days, NULL},       {"all", 'a', NULL, &a.all},
        {"plain", 'p', NULL, &a.plain}, {"output", 'o', &a.output, NULL}};
    if (nt_command_line_options(argc, argv, flags, 6, NULL, 0, err) != 0 ||
        nt_fleet_span("days", days, &a.days_s, err) != 0)
        return -1;
    if (strcmp(a.format, "html") == 0)
        return show_page(&a, err);
    if (strcmp(a.format, "text") != 0 && strcmp(a.format, "json") != 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format: expected text, json or html, found \"%.32s\"", a.format);
    return show(&a, err);
}

const struct nt_verb nt_fleet_show = {"show", "what is known of the cluster", help, show_run};
