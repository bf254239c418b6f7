/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_page.h"

#include <stdlib.h>
#include <string.h>

#include "fleet_changes.h"
#include "graph.h"
#include "html.h"
#include "memory.h"
#include "number.h"
#include "strbuf.h"
#include "utc.h"

struct page {
    struct nt_fleet_changes changes;
    struct nt_history history;
    struct nt_arena memory; /* of the history's arrays */
    uint32_t *above;        /* by vertex of the map */
};

static void set_day(char day[16], int64_t time_s)
{
    char text[NT_UTC_BYTES];
    nt_utc_format_day(time_s, text);
    memcpy(day, text, strlen("2026-01-01") + 1);
}

static void find_above(const struct nt_model *m, uint32_t *above)
{
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        above[v] = NT_NO_VERTEX;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        bool up = nt_model_tier(m, a) < nt_model_tier(m, b);
        above[up ? a : b] = up ? b : a;
    }
}

static int take_text(struct nt_event *e, struct nt_strbuf *d, struct nt_err *err)
{
    size_t bytes;
    return nt_strbuf_finish(d, &e->text, &bytes, err);
}

static int add_change(struct page *p, const struct nt_fleet_change *c, uint32_t series,
                      struct nt_err *err)
{
    struct nt_event *e = &p->history.event[p->history.events++];
    struct nt_strbuf d = {0};
    char name[NT_PART_BYTES], now[NT_NUMBER_BYTES], before[NT_NUMBER_BYTES];
    *e = (struct nt_event){.kind = c->worse ? NT_EVENT_WORSE : NT_EVENT_BETTER,
                           .at = {NT_NO_VERTEX, NT_NO_VERTEX},
                           .series = series,
                           .was = NT_NO_VERTEX};
    set_day(e->day, c->since_s);
    if (c->part != NT_CHANGE_CLASS) {
        uint32_t v =
            c->part < p->changes.fleet.hosts.count ? p->changes.fleet.at[c->part] : c->part;
        e->at[0] = v;
        e->at[1] = p->above[v] != NT_NO_VERTEX ? p->above[v] : v;
    }
    nt_fleet_part_name(&p->changes, c, name);
    nt_number_plain(c->to, 4, now);
    nt_number_plain(c->from, 4, before);
    nt_strbuf_print(&d, "%s: %s %s, %s instead of %s %s, in %u job%s of %u users", name,
                    nt_fleet_kind_name(c->kind), c->worse ? "worse" : "better", now, before,
                    nt_fleet_kind_unit(c->kind), c->jobs, c->jobs == 1 ? "" : "s", c->users);
    return take_text(e, &d, err);
}

static int add_move(struct page *p, const struct nt_cluster_move *m, struct nt_err *err)
{
    const struct nt_fleet_cluster *fleet = &p->changes.fleet;
    struct nt_event *e = &p->history.event[p->history.events++];
    struct nt_strbuf d = {0};
    uint32_t host = fleet->at[m->host];
    *e = (struct nt_event){.kind = NT_EVENT_MOVED, .at = {host, host}, .was = NT_NO_VERTEX};
    set_day(e->day, m->time_s);
    nt_strbuf_print(&d, "%s moved", fleet->hosts.name[m->host]);
    if (m->beside_before < fleet->hosts.count) {
        e->was = p->above[fleet->at[m->beside_before]];
        nt_strbuf_print(&d, ", away from %s", fleet->hosts.name[m->beside_before]);
        memcpy(p->history.seen[host], p->history.first, sizeof p->history.first);
    }
    if (m->beside < fleet->hosts.count)
        nt_strbuf_print(&d, ", to %s", fleet->hosts.name[m->beside]);
    return take_text(e, &d, err);
}

static int compare_events(const void *x, const void *y)
{
    const struct nt_event *p = x, *q = y;
    int days = strcmp(p->day, q->day);
    return days != 0 ? days : strcmp(p->text, q->text);
}

/* The first change of the same part and figure. */
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
    const struct nt_fleet_cluster *fleet = &p->changes.fleet;
    const struct nt_model *m = fleet->map->model;
    size_t vertices = m->hosts + m->switches, events = p->changes.count + fleet->cluster->moves;
    struct nt_history *h = &p->history;
    p->above = nt_arena_array(&p->memory, vertices + 1, sizeof *p->above);
    h->seen = nt_arena_array(&p->memory, vertices + 1, sizeof *h->seen);
    h->event = nt_arena_array(&p->memory, events + 1, sizeof *h->event);
    if (nt_arena_check(&p->memory, err) != 0)
        return -1;
    find_above(m, p->above);
    set_day(h->first, fleet->sums.first_s);
    set_day(h->last, fleet->sums.last_s);
    for (size_t v = 0; v < vertices; v++)
        if (fleet->part[v].jobs > 0)
            set_day(h->seen[v], fleet->part[v].first_s);
    for (size_t k = 0; k < p->changes.count; k++)
        if (add_change(p, &p->changes.change[k], series_of(&p->changes, k), err) != 0)
            return -1;
    for (size_t k = 0; k < fleet->cluster->moves; k++)
        if (add_move(p, &fleet->cluster->move[k], err) != 0)
            return -1;
    qsort(h->event, h->events, sizeof *h->event, compare_events);
    return 0;
}

int nt_fleet_page_write(const char *store, int64_t days_s, char **text, size_t *bytes,
                        struct nt_err *err)
{
    struct page p = {0};
    if (nt_fleet_changes_load(store, days_s, true, &p.changes, err) != 0)
        return -1;
    const struct nt_fleet_cluster *fleet = &p.changes.fleet;
    int rc = fleet->map != NULL ? 0 : nt_err_set(err, NT_ERR_NO, "no map: %s", fleet->why.text);
    if (rc == 0)
        rc = make_history(&p, err);
    if (rc == 0) {
        const char *cluster = fleet->sums.cluster[0] != '\0' ? fleet->sums.cluster : "cluster";
        const struct nt_picture picture = {
            .map = fleet->map, .title = {cluster, NULL}, .summary = "", .history = &p.history};
        rc = nt_html_write(&picture, text, bytes, err);
    }
    for (size_t k = 0; k < p.history.events; k++)
        free(p.history.event[k].text);
    nt_arena_fini(&p.memory);
    nt_fleet_changes_fini(&p.changes);
    return rc;
}
