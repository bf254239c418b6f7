/* SPDX-License-Identifier: Apache-2.0 */
#include "comparison_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "faults_text.h"
#include "graph.h"
#include "json_write.h"
#include "memory.h"
#include "names.h"
#include "number.h"
#include "rooted_tree.h"
#include "strbuf.h"
#include "sweep.h"

enum { NAMES_SHOWN = 6 };

bool nt_comparison_report_differs(const struct nt_reference_match *a)
{
    return a->comparison->differences > 0 || a->unknown > 0 || a->missing > 0 || a->findings > 0 ||
           a->parts > 1;
}

static const char *kind_name(enum nt_difference_kind kind)
{
    static const char *const names[] = {[NT_DIFFERENCE_HOST_MOVED] = "host-moved",
                                        [NT_DIFFERENCE_HOST_MISSING] = "host-missing",
                                        [NT_DIFFERENCE_SWITCH_MISSING] = "switch-missing",
                                        [NT_DIFFERENCE_LINK_MISSING] = "link-missing",
                                        [NT_DIFFERENCE_LINK_SLOW] = "link-slow",
                                        [NT_DIFFERENCE_LINK_FAST] = "link-fast",
                                        [NT_DIFFERENCE_LINK_NARROW] = "link-narrow",
                                        [NT_DIFFERENCE_LINK_WIDE] = "link-wide"};
    return names[kind];
}

/* Hosts that are marked, the first few by name. */
static void put_hosts(struct nt_strbuf *d, const struct nt_reference_match *a,
                      const struct nt_model *m, const bool *marked)
{
    size_t n = 0, shown = 0;
    for (size_t h = 0; h < m->hosts; h++) {
        n += marked[h];
        if (!marked[h] || shown >= NAMES_SHOWN)
            continue;
        nt_strbuf_print(d, "%s%s", shown == 0 ? "" : " ", a->host_name[h]);
        shown++;
    }
    if (n > shown)
        nt_strbuf_print(d, " and %zu more", n - shown);
}

/* The hosts on the smaller side of a link; false: it has no sides, as it is on a cycle. */
static bool put_side(struct nt_strbuf *d, const struct nt_reference_match *a,
                     const struct nt_model *m, uint32_t link, uint32_t without)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *side = nt_arena_array(&memory, m->hosts, sizeof *side);
    if (side == NULL || !nt_compare_side(m, link, side))
        return false;
    if (without < m->hosts)
        side[without] = false;
    put_hosts(d, a, m, side);
    return true;
}

struct words {
    char *what, *expected, *found;
    const char *kind;
    double confidence;
};

static void words_fini(struct words *w)
{
    free(w->what);
    free(w->expected);
    free(w->found);
}

static void put_figure(struct nt_strbuf *d, double value, const char *unit)
{
    char number[NT_NUMBER_BYTES];
    nt_number_plain(value, NT_FIGURE_DIGITS, number);
    nt_strbuf_print(d, "%s %s", number, unit);
}

/* The hosts that share a switch with the host, or are linked with it. */
static bool mark_beside(const struct nt_model *m, uint32_t host, bool *marked)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *at = nt_arena_array(&memory, m->hosts + m->switches, sizeof *at), any = false;
    if (at == NULL)
        return false;
    at[host] = true;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if ((l->a == host && l->b >= m->hosts) || (l->b == host && l->a >= m->hosts))
            at[l->a == host ? l->b : l->a] = true;
    }
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->b < m->hosts && l->b != host && at[l->a])
            any = marked[l->b] = true;
        if (l->a < m->hosts && l->a != host && at[l->b])
            any = marked[l->a] = true;
    }
    return any;
}

/* The hosts beside it before and now, if they differ; else, for a whole leaf that moved, the side
 * of the link that distinguishes the networks. */
static void put_moved(const struct nt_reference_match *a, const struct nt_difference *x,
                      struct nt_strbuf part[3])
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *model[] = {a->reference, a->found};
    const int64_t link[] = {x->expected, x->found};
    bool *beside[2], *side = nt_arena_array(&memory, a->found->hosts, sizeof *side);
    for (int s = 0; s < 2; s++)
        beside[s] = nt_arena_array(&memory, model[s]->hosts, sizeof *beside[s]);
    if (memory.failed != 0)
        return;
    bool any[2];
    for (int s = 0; s < 2; s++)
        any[s] = mark_beside(model[s], x->host, beside[s]);
    bool told = memcmp(beside[0], beside[1], a->found->hosts) != 0;
    for (int s = 0; s < 2; s++) {
        struct nt_strbuf *d = &part[s + 1];
        if (told) {
            nt_strbuf_puts(d, any[s] ? "with " : "alone on its switch");
            put_hosts(d, a, model[s], beside[s]);
            continue;
        }
        bool on =
            link[s] >= 0 && nt_compare_side(model[s], (uint32_t)link[s], side) && side[x->host];
        nt_strbuf_puts(d, link[s] < 0 ? "other neighbours" : on ? "with " : "apart from ");
        if (link[s] >= 0)
            put_side(d, a, model[s], (uint32_t)link[s], x->host);
    }
}

/* A vertex of a network with cycles: a switch is described by its hosts, or by the hosts of its
 * neighbours. */
static void put_vertex(struct nt_strbuf *d, const struct nt_reference_match *a,
                       const struct nt_model *m, uint32_t v)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *near = nt_arena_array(&memory, m->hosts + m->switches, sizeof *near);
    bool *hosts = nt_arena_array(&memory, m->hosts, sizeof *hosts), own = false;
    if (v < m->hosts)
        nt_strbuf_puts(d, a->host_name[v]);
    if (v < m->hosts || memory.failed != 0)
        return;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t other = l->a == v ? l->b : l->a;
        if (l->a != v && l->b != v)
            continue;
        near[other] = true;
        own = own || other < m->hosts;
    }
    for (size_t k = 0; k < m->links && !own; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a < m->hosts && near[l->b])
            hosts[l->a] = true;
        if (l->b < m->hosts && near[l->a])
            hosts[l->b] = true;
    }
    const bool *shown = own ? near : hosts;
    size_t k = 0;
    while (k < m->hosts && !shown[k])
        k++;
    if (k == m->hosts) {
        nt_strbuf_puts(d, "switch that joins switches without hosts");
        return;
    }
    nt_strbuf_puts(d, own ? "switch over " : "switch that joins those of ");
    put_hosts(d, a, m, shown);
}

static void put_ends(struct nt_strbuf *d, const struct nt_reference_match *a,
                     const struct nt_model *m, size_t link)
{
    nt_strbuf_puts(d, "link from ");
    put_vertex(d, a, m, m->link[link].a);
    nt_strbuf_puts(d, " to ");
    put_vertex(d, a, m, m->link[link].b);
}

/* Describes a link by the hosts attached to it. */
static void put_link(struct nt_strbuf *d, const struct nt_reference_match *a, uint32_t link)
{
    const struct nt_model *m = a->found;
    const struct nt_link *l = &m->link[link];
    if (l->a < m->hosts && l->b < m->hosts) {
        nt_strbuf_print(d, "%s - %s", a->host_name[l->a], a->host_name[l->b]);
    } else if (l->a < m->hosts || l->b < m->hosts) {
        nt_strbuf_print(d, "link of %s", a->host_name[l->a < m->hosts ? l->a : l->b]);
    } else {
        size_t before = d->used;
        nt_strbuf_puts(d, "uplink of ");
        if (!put_side(d, a, m, link, UINT32_MAX)) {
            d->used = before;
            put_ends(d, a, m, link);
        }
    }
}

static void put_there(struct nt_strbuf part[3], bool expected)
{
    nt_strbuf_puts(&part[1], expected ? "there" : "none");
    nt_strbuf_puts(&part[2], expected ? "none" : "there");
}

static void put_missing(const struct nt_reference_match *a, const struct nt_difference *x,
                        struct nt_strbuf part[3])
{
    bool expected = x->expected >= 0 || x->expected_switch != UINT32_MAX;
    const struct nt_model *m = expected ? a->reference : a->found;
    int64_t link = expected ? x->expected : x->found;
    uint32_t v = expected ? x->expected_switch : x->found_switch;
    if (link < 0 && v == UINT32_MAX) {
        nt_strbuf_puts(&part[0], "switches");
        nt_strbuf_print(&part[1], "%zu", a->reference->switches);
        nt_strbuf_print(&part[2], "%zu", a->found->switches);
        return;
    }
    if (link < 0) {
        put_vertex(&part[0], a, m, v);
    } else if (x->kind == NT_DIFFERENCE_LINK_MISSING) {
        put_ends(&part[0], a, m, (size_t)link);
    } else {
        nt_strbuf_puts(&part[0], "switch over ");
        put_side(&part[0], a, m, (uint32_t)link, UINT32_MAX);
    }
    put_there(part, expected);
}

static void put_words(const struct nt_reference_match *a, const struct nt_difference *x,
                      struct nt_strbuf part[3])
{
    bool of_time = x->kind == NT_DIFFERENCE_LINK_SLOW || x->kind == NT_DIFFERENCE_LINK_FAST;
    switch (x->kind) {
    case NT_DIFFERENCE_HOST_MISSING:
        nt_strbuf_puts(&part[0], a->host_name[x->host]);
        nt_strbuf_puts(&part[1], "present");
        nt_strbuf_puts(&part[2], "no answer");
        return;
    case NT_DIFFERENCE_HOST_MOVED:
        nt_strbuf_puts(&part[0], a->host_name[x->host]);
        put_moved(a, x, part);
        return;
    case NT_DIFFERENCE_SWITCH_MISSING:
    case NT_DIFFERENCE_LINK_MISSING:
        put_missing(a, x, part);
        return;
    case NT_DIFFERENCE_LINK_SLOW:
    case NT_DIFFERENCE_LINK_FAST:
    case NT_DIFFERENCE_LINK_NARROW:
    case NT_DIFFERENCE_LINK_WIDE:
        put_link(&part[0], a, (uint32_t)x->found);
        if (x->back)
            nt_strbuf_puts(&part[0], ", back");
        put_figure(&part[1], x->was, of_time ? "us" : "MB/s");
        put_figure(&part[2], x->is, of_time ? "us" : "MB/s");
        return;
    }
}

/* Describes a finding of the map for which the reference has no value. */
static void put_finding_words(const struct nt_reference_match *a, const struct nt_fault *f,
                              struct nt_strbuf part[3])
{
    static const char *const ways[NT_FAULT_WAYS] = {
        [NT_FAULT_BOTH] = "", [NT_FAULT_UP] = ", up", [NT_FAULT_DOWN] = ", down"};
    const char *end[2] = {nt_map_vertex_name(a->map, f->part.a),
                          nt_map_vertex_name(a->map, f->part.b)};
    if (f->part.a == f->part.b)
        nt_strbuf_print(&part[0], "host %s", end[0]);
    else if (f->part.kind == NT_FAULT_PATH_SHARED)
        nt_strbuf_print(&part[0], "links of %s and %s", end[0], end[1]);
    else
        nt_strbuf_print(&part[0], "link %s - %s", end[0], end[1]);
    nt_strbuf_print(&part[0], "%s%s%s", ways[f->way], f->rail[0] != '\0' ? " on rail " : "",
                    f->rail);
    put_figure(&part[1], f->expected, nt_fault_unit(f));
    put_figure(&part[2], f->found, nt_fault_unit(f));
}

/* Difference k of the comparison; numbers after these are findings of the map. */
static int put_difference(const struct nt_reference_match *a, size_t k, struct words *w,
                          struct nt_err *err)
{
    const struct nt_comparison *c = a->comparison;
    struct nt_strbuf part[3] = {{0}, {0}, {0}};
    char **to[3] = {&w->what, &w->expected, &w->found};
    int rc = 0;
    *w = (struct words){NULL, NULL, NULL, NULL, 0};
    if (k < c->differences) {
        w->kind = kind_name(c->difference[k].kind);
        w->confidence = c->difference[k].confidence;
        put_words(a, &c->difference[k], part);
    } else {
        const struct nt_fault *f = a->finding[k - c->differences];
        w->kind = nt_fault_kind_names[f->part.kind];
        w->confidence = f->confidence;
        put_finding_words(a, f, part);
    }
    for (int i = 0; i < 3; i++)
        if (nt_strbuf_finish(&part[i], to[i], NULL, err) != 0)
            rc = -1;
    if (rc != 0)
        words_fini(w);
    return rc;
}

static void put_json(struct nt_json_writer *w, const struct words *words)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "kind", words->kind);
    nt_json_put_text(w, "what", words->what);
    nt_json_put_text(w, "expected", words->expected);
    nt_json_put_text(w, "found", words->found);
    nt_json_put_figure(w, "confidence", words->confidence, 4);
    nt_json_end(w, '}');
}

int nt_comparison_report_json(const struct nt_reference_match *a, char **text, size_t *bytes,
                              struct nt_err *err)
{
    const struct nt_comparison *c = a->comparison;
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_figure(&w, "similarity_percent", c->similarity_percent, 6);
    nt_json_put_figure(&w, "common_percent", c->common_percent, 6);
    nt_json_put_figure(&w, "figures_percent", c->figures_percent, 6);
    nt_json_put_whole(&w, "hosts", a->found->hosts);
    nt_json_begin(&w, "differences", '[', true);
    for (size_t k = 0; k < c->differences + a->findings; k++) {
        struct words words;
        if (put_difference(a, k, &words, err) != 0) {
            free(w.buf.text);
            return -1;
        }
        put_json(&w, &words);
        words_fini(&words);
    }
    if (a->parts > 1) {
        char parts[32];
        snprintf(parts, sizeof parts, "%zu", a->parts);
        put_json(&w, &(struct words){(char *)"parts without a link between them", parts,
                                     (char *)"1", "switch-missing", 1});
    }
    for (size_t k = 0; k < a->missing; k++)
        put_json(&w, &(struct words){(char *)a->missing_name[k], (char *)"present",
                                     (char *)"no answer", "host-missing", 1});
    for (size_t k = 0; k < a->unknown; k++)
        put_json(&w, &(struct words){(char *)a->unknown_name[k], (char *)"in the reference",
                                     (char *)"only in the map", "host-missing", 1});
    nt_json_end(&w, ']');
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}

static void put_sentence(struct nt_strbuf *to, const struct words *w)
{
    nt_strbuf_print(to, "%s: expected %s, found %s (%.2g)", w->what, w->expected, w->found,
                    w->confidence);
}

/* Difference k of the comparison: "n5: expected with n6 n7, found with n1 n2 (0.97)". */
static int put_difference_sentence(const struct nt_reference_match *a, size_t k,
                                   struct nt_strbuf *to, struct nt_err *err)
{
    struct words w;
    if (put_difference(a, k, &w, err) != 0)
        return -1;
    put_sentence(to, &w);
    words_fini(&w);
    return 0;
}

void nt_comparison_report_summary(const struct nt_reference_match *a, char *text, size_t bytes)
{
    const struct nt_comparison *c = a->comparison;
    snprintf(text, bytes,
             "%zu host%s in common; similarity %.1f %%: shape in common %.1f %%, figures in common "
             "%.1f %%",
             a->found->hosts, a->found->hosts == 1 ? "" : "s", c->similarity_percent,
             c->common_percent, c->figures_percent);
}

int nt_comparison_report_text(const struct nt_reference_match *a, char **text, size_t *bytes,
                              struct nt_err *err)
{
    const struct nt_comparison *c = a->comparison;
    struct nt_strbuf d = {0};
    int rc = 0;
    char summary[160];
    nt_comparison_report_summary(a, summary, sizeof summary);
    nt_strbuf_print(&d, "%s\n", summary);
    if (a->parts > 1)
        nt_strbuf_print(&d, "%-15s parts without a link between them: expected %zu, found 1 (1)\n",
                        "switch-missing", a->parts);
    for (size_t k = 0; k < a->missing; k++)
        nt_strbuf_print(&d, "%-15s %s: no answer\n", "host-missing", a->missing_name[k]);
    for (size_t k = 0; k < a->unknown; k++)
        nt_strbuf_print(&d, "%-15s %s: not in the reference\n", "host-missing", a->unknown_name[k]);
    for (size_t k = 0; k < c->differences + a->findings && rc == 0; k++) {
        struct words w;
        if ((rc = put_difference(a, k, &w, err)) != 0)
            break;
        nt_strbuf_print(&d, "%-15s ", w.kind);
        put_sentence(&d, &w);
        nt_strbuf_puts(&d, "\n");
        words_fini(&w);
    }
    if (!nt_comparison_report_differs(a))
        nt_strbuf_puts(&d, "no differences\n");
    char *made;
    if (nt_strbuf_finish(&d, &made, bytes, rc == 0 ? err : NULL) != 0)
        return -1;
    if (rc == 0)
        *text = made;
    else
        free(made);
    return rc;
}

static const double WELL = 0.1; /* off the ideal by less: no deviation */

static double deviation(double laid, double ideal)
{
    return laid > ideal ? laid / ideal - 1 : ideal / laid - 1;
}

/* By the share of the largest deviation: red if it is slower than the ideal, blue if it is faster;
 * grey is as it should be. */
static void colour_of(double laid, double ideal, double most, char text[8])
{
    double off = deviation(laid, ideal);
    unsigned pale = (unsigned)(220 * (1 - fmin(most > 0 ? off / most : 1, 1)));
    if (!(off > WELL))
        snprintf(text, 8, "#808080");
    else if (laid > ideal)
        snprintf(text, 8, "#ff%02x%02x", pale & 0xff, pale & 0xff);
    else
        snprintf(text, 8, "#%02x%02xff", pale & 0xff, pale & 0xff);
}

static const double LONG_BYTES = 1048576, SHORT_BYTES = NT_PING_BYTES;

/* Expected values of a network as in the reference: times of its pairs, distributed over its links
 * in the same way, are the ideal that a link can reach. If they are unknown, the ideal is
 * unchanged. own: working memory, one element per link. */
static int expect_healthy(const struct nt_reference_match *a, double message_bytes, double *ideal,
                          double *healthy_us, double *own, struct nt_err *err)
{
    struct nt_reference_match healthy = *a;
    healthy.found = a->reference;
    if (nt_reference_match_redistribute(&healthy, message_bytes, healthy_us, own, NULL, err) != 0)
        return -1;
    for (size_t k = 0; k < a->whole->model->links; k++)
        ideal[k] = isfinite(healthy_us[k]) ? healthy_us[k] : ideal[k];
    return 0;
}

int nt_comparison_report_dot(const struct nt_reference_match *a, double message_bytes, char **text,
                             size_t *bytes, struct nt_err *err)
{
    size_t links = a->whole->model->links;
    NT_SCOPED struct nt_arena memory = {0};
    char(*colour)[8] = nt_arena_array(&memory, links, sizeof *colour);
    const char **each = nt_arena_array(&memory, links, sizeof *each);
    double *number[5], most = 0;
    for (size_t k = 0; k < 5; k++)
        number[k] = nt_arena_array(&memory, links + 1, sizeof(double));
    double *laid = number[0], *ideal = number[1], *least_off = number[2];
    if (!(message_bytes > 0))
        message_bytes = nt_reference_match_has_rates(a) ? LONG_BYTES : SHORT_BYTES;
    if (nt_arena_check(&memory, err) != 0 ||
        nt_reference_match_redistribute(a, message_bytes, laid, ideal, least_off, err) != 0 ||
        expect_healthy(a, message_bytes, ideal, number[3], number[4], err) != 0)
        return -1;
    for (size_t k = 0; k < links; k++) {
        if (least_off[k] <= 1 + WELL && isfinite(laid[k]))
            laid[k] = ideal[k];
        if (isfinite(laid[k]) && isfinite(ideal[k]))
            most = fmax(most, deviation(laid[k], ideal[k]));
    }
    for (size_t k = 0; k < links; k++) {
        each[k] = colour[k];
        if (isfinite(laid[k]) && isfinite(ideal[k]))
            colour_of(laid[k], ideal[k], most, colour[k]);
    }
    return nt_export_dot(a->whole, each, text, bytes, err);
}

/* ---- remarks for pictures ---- */

/* One of the two networks as it was given; a match has it reduced to the hosts in common. */
struct network {
    const struct nt_map *map;
    const struct nt_model *reduced;
    struct nt_names names;        /* hosts, then switches */
    struct nt_rooted_tree *whole; /* of the map's model */
    uint32_t *count;              /* scratch, a number a vertex */
    bool *side;                   /* scratch, a flag a host of reduced */
};

static int network_init(struct network *n, const struct nt_map *map, const struct nt_model *reduced,
                        struct nt_err *err)
{
    size_t vertices = map->model->hosts + map->model->switches;
    uint32_t index;
    int rc = 0;
    n->map = map;
    n->reduced = reduced;
    for (size_t h = 0; h < map->model->hosts && rc >= 0; h++)
        rc = nt_names_add(&n->names, map->host_name[h], &index, err);
    if (rc < 0)
        return -1;
    n->count = calloc(vertices + 1, sizeof *n->count);
    n->side = calloc(reduced->hosts + 1, sizeof *n->side);
    if (n->count == NULL || n->side == NULL)
        return nt_err_memory(err);
    return nt_rooted_tree_create(map->model, &n->whole, err);
}

static void network_fini(struct network *n)
{
    nt_names_fini(&n->names);
    nt_rooted_tree_destroy(n->whole);
    free(n->count);
    free(n->side);
}

static uint32_t find_host(const struct network *n, const char *name)
{
    uint32_t index = nt_names_find(&n->names, name, strlen(name));
    return index == NT_NAMES_NONE ? NT_NO_VERTEX : index;
}

/* The lowest vertex above all hosts with this flag; NT_NO_VERTEX: the root, or none. */
static uint32_t lowest_above(struct network *n, const struct nt_reference_match *match, bool flag)
{
    const struct nt_rooted_tree *t = n->whole;
    uint32_t all = 0, lowest = NT_NO_VERTEX;
    memset(n->count, 0, t->vertices * sizeof *n->count);
    for (size_t h = 0; h < n->reduced->hosts; h++) {
        uint32_t v = find_host(n, match->host_name[h]);
        if (n->side[h] != flag || v == NT_NO_VERTEX)
            continue;
        n->count[v] = 1;
        all++;
    }
    for (size_t k = t->reached; k-- > 0;) { /* children before parents */
        uint32_t v = t->order[k];
        if (lowest == NT_NO_VERTEX && n->count[v] == all && all > 0)
            lowest = v;
        if (t->parent[v] != NT_NO_VERTEX)
            n->count[t->parent[v]] += n->count[v];
    }
    return lowest == t->root ? NT_NO_VERTEX : lowest;
}

/* Where a link of the reduced network is in the whole one. */
static void place_link(struct network *n, const struct nt_reference_match *match, int64_t link,
                       uint32_t at[2])
{
    if (link < 0)
        return;
    const struct nt_link *l = &n->reduced->link[link];
    if (l->a < n->reduced->hosts && l->b < n->reduced->hosts) {
        at[0] = find_host(n, match->host_name[l->a]);
        at[1] = find_host(n, match->host_name[l->b]);
        return;
    }
    if (!n->whole->tree || !nt_compare_side(n->reduced, (uint32_t)link, n->side))
        return;
    uint32_t v = lowest_above(n, match, true);
    v = v == NT_NO_VERTEX ? lowest_above(n, match, false) : v;
    if (v == NT_NO_VERTEX)
        return;
    at[0] = v;
    at[1] = n->whole->parent[v];
}

static void place_host(const struct network *n, const char *name, uint32_t at[2])
{
    at[0] = at[1] = find_host(n, name);
}

static struct nt_remark *add_remark(struct nt_remarks *to, struct nt_strbuf *text,
                                    struct nt_err *err)
{
    struct nt_remark *r = &to->remark[to->count];
    *r = (struct nt_remark){.in_map = {NT_NO_VERTEX, NT_NO_VERTEX},
                            .in_reference = {NT_NO_VERTEX, NT_NO_VERTEX}};
    if (nt_strbuf_finish(text, &r->text, NULL, err) != 0)
        return NULL;
    to->count++;
    return r;
}

static int add_difference(struct nt_remarks *to, const struct nt_reference_match *match, size_t k,
                          struct network n[2], struct nt_err *err)
{
    const struct nt_difference *x = &match->comparison->difference[k];
    struct nt_strbuf text = {0};
    if (put_difference_sentence(match, k, &text, err) != 0) {
        free(text.text);
        return -1;
    }
    struct nt_remark *r = add_remark(to, &text, err);
    if (r == NULL)
        return -1;
    if (x->kind == NT_DIFFERENCE_HOST_MOVED || x->kind == NT_DIFFERENCE_HOST_MISSING) {
        place_host(&n[0], match->host_name[x->host], r->in_map);
        place_host(&n[1], match->host_name[x->host], r->in_reference);
        return 0;
    }
    place_link(&n[0], match, x->found, r->in_map);
    place_link(&n[1], match, x->expected, r->in_reference);
    if (x->kind == NT_DIFFERENCE_SWITCH_MISSING) { /* the switch itself, not its uplink */
        r->in_map[1] = r->in_map[0];
        r->in_reference[1] = r->in_reference[0];
    }
    return 0;
}

static int add_names(struct nt_remarks *to, const char *const *names, size_t count,
                     const char *what, struct network n[2], struct nt_err *err)
{
    for (size_t k = 0; k < count && to->count < NT_REMARKS_MAX; k++) {
        struct nt_strbuf text = {0};
        nt_strbuf_puts(&text, names[k]);
        nt_strbuf_puts(&text, what);
        struct nt_remark *r = add_remark(to, &text, err);
        if (r == NULL)
            return -1;
        place_host(&n[0], names[k], r->in_map);
        place_host(&n[1], names[k], r->in_reference);
    }
    return 0;
}

int nt_remarks_create(const struct nt_reference_match *match, const struct nt_map *map,
                      const struct nt_map *reference, struct nt_remarks *out, struct nt_err *err)
{
    struct network n[2] = {0};
    struct nt_remarks made = {.remark = calloc(NT_REMARKS_MAX, sizeof *made.remark)};
    int rc = made.remark == NULL ? nt_err_memory(err) : 0;
    if (rc == 0)
        rc = network_init(&n[0], map, match->found, err);
    if (rc == 0)
        rc = network_init(&n[1], reference, match->reference, err);
    for (size_t k = 0; rc == 0 && k < match->comparison->differences && made.count < NT_REMARKS_MAX;
         k++)
        rc = add_difference(&made, match, k, n, err);
    if (rc == 0)
        rc = add_names(&made, match->missing_name, match->missing, ": no answer", n, err);
    if (rc == 0)
        rc =
            add_names(&made, match->unknown_name, match->unknown, ": not in the reference", n, err);
    network_fini(&n[0]);
    network_fini(&n[1]);
    if (rc != 0) {
        nt_remarks_fini(&made);
        return -1;
    }
    *out = made;
    return 0;
}

void nt_remarks_fini(struct nt_remarks *remarks)
{
    for (size_t k = 0; k < remarks->count; k++)
        free(remarks->remark[k].text);
    free(remarks->remark);
    *remarks = (struct nt_remarks){0};
}
