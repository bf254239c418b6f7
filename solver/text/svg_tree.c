/* SPDX-License-Identifier: Apache-2.0 */
#include "svg_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"
#include "rooted_tree.h"
#include "svg.h"

enum { PITCH = 20, LONE = 36, GAP = 10, COLUMN = 180, ALIKE_LEAST = 3, LABEL_BYTES = 300 };

/* A line of the picture: a host, hosts that are alike, or a switch without hosts; of an open switch
 * what hangs on it is from y0 to y1. */
struct row {
    double y, y0, y1;
};

struct tree {
    struct nt_svg *svg;
    struct nt_rooted_tree *rooted;
    struct row *row;      /* of each vertex; hosts that are alike have that of the first */
    uint32_t *rank;       /* columns from the hosts */
    uint32_t *alike;      /* of a switch: how many of its hosts share a line, 0: each has its own */
    uint32_t *stands_for; /* of a host: the first of those that share its line */
    uint32_t *last;       /* of a first one: the last of them */
    double names, rates;  /* where names and figures of hosts begin */
    double y;
};

static uint32_t children_of(const struct tree *t, uint32_t v, const uint32_t **child)
{
    *child = t->rooted->child + t->rooted->first[v];
    return t->rooted->first[v + 1] - t->rooted->first[v];
}

static bool is_plain(const struct tree *t, uint32_t host)
{
    return !t->svg->vertex_bad[host] && !t->svg->link_bad[t->rooted->up[host] / 2];
}

/* Columns: a switch is left of all that hangs on it, hosts are at the right. */
static void rank_vertices(struct tree *t)
{
    const struct nt_model *m = t->svg->model;
    for (size_t k = t->rooted->reached; k-- > 0;) { /* children before parents */
        uint32_t v = t->rooted->order[k], up = t->rooted->parent[v];
        if (v >= m->hosts && t->rank[v] < m->tier[v - m->hosts])
            t->rank[v] = m->tier[v - m->hosts];
        if (up != NT_NO_VERTEX && t->rank[up] < t->rank[v] + 1)
            t->rank[up] = t->rank[v] + 1;
    }
}

static void group_hosts(struct tree *t)
{
    const struct nt_model *m = t->svg->model;
    for (uint32_t v = (uint32_t)m->hosts; m->hosts > NT_SVG_HOSTS && v < t->rooted->vertices; v++) {
        const uint32_t *child;
        uint32_t n = children_of(t, v, &child), plain = 0, first = NT_NO_VERTEX;
        for (uint32_t k = 0; k < n && child[k] < m->hosts; k++)
            plain += is_plain(t, child[k]);
        for (uint32_t k = 0; plain >= ALIKE_LEAST && k < n && child[k] < m->hosts; k++) {
            if (!is_plain(t, child[k]))
                continue;
            first = first == NT_NO_VERTEX ? child[k] : first;
            t->stands_for[child[k]] = first;
            t->last[first] = child[k];
        }
        t->alike[v] = first == NT_NO_VERTEX ? 0 : plain;
    }
}

/* Room above and below the only lines of a switch, for the words at its link. */
static double padding_of(const struct tree *t, uint32_t v)
{
    const uint32_t *child;
    uint32_t n = children_of(t, v, &child), lines = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (child[k] >= t->svg->model->hosts)
            return 0;
        lines += t->stands_for[child[k]] == child[k];
    }
    return fmax(0, (LONE - (double)lines * PITCH) / 2);
}

static void enter_vertex(struct tree *t, uint32_t v)
{
    const uint32_t *child;
    bool end = children_of(t, v, &child) == 0;
    if (!end) {
        t->y += GAP + padding_of(t, v);
    } else if (v >= t->svg->model->hosts || t->stands_for[v] == v) {
        double height = v >= t->svg->model->hosts ? LONE : PITCH;
        t->row[v].y = t->row[v].y0 = t->row[v].y1 = t->y + height / 2;
        t->y += height;
    } else {
        t->row[v] = t->row[t->stands_for[v]];
    }
}

static void leave_vertex(struct tree *t, uint32_t v)
{
    const uint32_t *child;
    uint32_t n = children_of(t, v, &child);
    if (n == 0)
        return;
    t->y += padding_of(t, v);
    t->row[v].y0 = INFINITY;
    for (uint32_t k = 0; k < n; k++) {
        t->row[v].y0 = fmin(t->row[v].y0, t->row[child[k]].y);
        t->row[v].y1 = fmax(t->row[v].y1, t->row[child[k]].y);
    }
    t->row[v].y = (t->row[v].y0 + t->row[v].y1) / 2;
}

/* Depth first, without recursion: a chain of switches may be long. */
static int lay_rows(struct tree *t, struct nt_err *err)
{
    const struct nt_rooted_tree *r = t->rooted;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *next = nt_arena_array(&memory, r->vertices, sizeof *next);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    enter_vertex(t, r->top);
    for (uint32_t v = r->top; v != NT_NO_VERTEX;) {
        const uint32_t *child;
        if (next[v] < children_of(t, v, &child)) {
            v = child[next[v]++];
            enter_vertex(t, v);
        } else {
            leave_vertex(t, v);
            v = r->parent[v];
        }
    }
    return 0;
}

static double column_of(const struct tree *t, uint32_t v)
{
    return NT_SVG_MARGIN + COLUMN * (double)(t->rank[t->rooted->top] - t->rank[v]);
}

/* A name that is cut to the room is whole in the title. */
static void cut_name(const char *name, double room, char text[LABEL_BYTES])
{
    size_t bytes = strlen(name), fits = (size_t)fmax(3, room / nt_svg_text_width(1, 13));
    if (bytes <= fits)
        snprintf(text, LABEL_BYTES, "%s", name);
    else
        snprintf(text, LABEL_BYTES, "%.*s..", (int)fits - 2, name);
}

static void put_switch(struct tree *t, uint32_t v, const struct nt_link *up)
{
    struct nt_svg *svg = t->svg;
    const struct row *row = &t->row[v];
    double x = column_of(t, v);
    char name[LABEL_BYTES], figures[NT_SVG_FIGURES_BYTES], all[NT_SVG_FIGURES_BYTES + 32];
    double ratio = svg->model->oversubscription[v - svg->model->hosts];
    nt_strbuf_print(&svg->body,
                    "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
                    "rx=\"3\"/>",
                    x - NT_SVG_SIGN, row->y0 - NT_SVG_SIGN - 2, 2 * NT_SVG_SIGN,
                    row->y1 - row->y0 + 2 * NT_SVG_SIGN + 4);
    const char *whole = nt_map_vertex_name(svg->map, v);
    if (up == NULL) {
        nt_svg_put_text(svg, x - NT_SVG_SIGN, row->y0 - NT_SVG_SIGN - 8, "name", false, whole);
        return;
    }
    double half = nt_svg_thickness(svg, up) / 2;
    cut_name(whole, COLUMN - 4 * NT_SVG_SIGN, name);
    nt_svg_put_text(svg, x - NT_SVG_SIGN - 4, row->y - half - 5, "name", true, name);
    nt_svg_figures(up->latency_us, nt_svg_rate(up), figures);
    if (ratio > 1.1)
        snprintf(all, sizeof all, "%.2g:1%s%s", ratio, *figures != '\0' ? " \xc2\xb7 " : "",
                 figures);
    else
        snprintf(all, sizeof all, "%s", figures);
    if (*all != '\0')
        nt_svg_put_text(svg, x - NT_SVG_SIGN - 4, row->y + half + 13, "small", true, all);
}

/* Of hosts that share a line: how many, and from which to which. */
static void put_hosts(struct tree *t, uint32_t host, uint32_t count, const struct nt_link *up)
{
    struct nt_svg *svg = t->svg;
    const char *name = nt_map_vertex_name(svg->map, host);
    double x = column_of(t, host), y = t->row[host].y;
    char figures[NT_SVG_FIGURES_BYTES], label[LABEL_BYTES];
    for (int k = count > 1 ? 2 : 0; k >= 0; k--)
        nt_strbuf_print(&svg->body, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>",
                        x + 4 * k, y, (int)NT_SVG_SIGN);
    if (count > 1) {
        snprintf(label, sizeof label, "%u hosts", count);
        nt_svg_put_text(svg, t->names, y + 4.5, "name", false, label);
        snprintf(label, sizeof label, "%.120s to %.120s", name,
                 nt_map_vertex_name(svg->map, t->last[host]));
        nt_svg_put_text(svg, t->rates, y + 4.5, "small", false, label);
        return;
    }
    nt_svg_put_text(svg, t->names, y + 4.5, "name", false, name);
    nt_svg_figures(up->latency_us, nt_svg_rate(up), figures);
    if (*figures != '\0')
        nt_svg_put_text(svg, t->rates, y + 4.5, "small", false, figures);
}

static void put_vertex(struct tree *t, uint32_t v)
{
    struct nt_svg *svg = t->svg;
    const struct nt_model *m = svg->model;
    uint32_t parent = t->rooted->parent[v];
    const struct nt_link *up = parent == NT_NO_VERTEX ? NULL : &m->link[t->rooted->up[v] / 2];
    if (v < m->hosts && t->stands_for[v] != v)
        return;
    bool bad = up != NULL && svg->link_bad[t->rooted->up[v] / 2];
    nt_strbuf_print(&svg->body, "<g class=\"%s%s\"", nt_svg_class(svg, v),
                    bad && !svg->vertex_bad[v] ? " strong" : "");
    if (v >= m->hosts)
        nt_svg_put_opacity(svg, svg->support[v - m->hosts]);
    nt_strbuf_puts(&svg->body, ">");
    nt_svg_put_title(svg, v);
    if (up != NULL) {
        nt_strbuf_print(&svg->body, "<path class=\"link\" d=\"M %.1f %.1f H %.1f\"",
                        column_of(t, parent) + NT_SVG_SIGN, t->row[v].y,
                        column_of(t, v) - (v < m->hosts ? 0 : NT_SVG_SIGN));
        nt_svg_put_link_style(svg, up);
        nt_strbuf_puts(&svg->body, "/>");
    }
    if (v >= m->hosts)
        put_switch(t, v, up);
    else
        put_hosts(t, v, is_plain(t, v) && t->alike[parent] > 0 ? t->alike[parent] : 1, up);
    nt_strbuf_puts(&svg->body, "</g>\n");
}

/* Hosts on no link. */
static void put_loose(struct tree *t)
{
    const struct nt_model *m = t->svg->model;
    for (uint32_t h = 0; h < m->hosts; h++) {
        if (!m->missing[h])
            continue;
        t->row[h].y = t->y + PITCH / 2.0;
        t->y += PITCH;
        nt_strbuf_print(&t->svg->body, "<g class=\"%s\">", nt_svg_class(t->svg, h));
        nt_svg_put_title(t->svg, h);
        nt_strbuf_print(&t->svg->body, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>",
                        column_of(t, h), t->row[h].y, (int)NT_SVG_SIGN);
        nt_svg_put_text(t->svg, t->names, t->row[h].y + 4.5, "name", false,
                        nt_map_vertex_name(t->svg->map, h));
        nt_svg_put_text(t->svg, t->rates, t->row[h].y + 4.5, "small", false, "did not answer");
        nt_strbuf_puts(&t->svg->body, "</g>\n");
    }
}

static int draw_rows(struct tree *t, struct nt_err *err)
{
    const struct nt_model *m = t->svg->model;
    size_t longest = 8;
    t->y = 14;
    rank_vertices(t);
    group_hosts(t);
    if (lay_rows(t, err) != 0)
        return -1;
    for (uint32_t h = 0; h < m->hosts; h++) {
        size_t bytes = strlen(nt_map_vertex_name(t->svg->map, h));
        longest = bytes > longest ? bytes : longest;
    }
    t->names = NT_SVG_MARGIN + COLUMN * (double)t->rank[t->rooted->top] + 20;
    t->rates = t->names + nt_svg_text_width(longest, 13) + 14;
    for (size_t k = 0; k < t->rooted->reached; k++)
        put_vertex(t, t->rooted->order[k]);
    t->y += GAP;
    put_loose(t);
    t->svg->width = t->rates + nt_svg_text_width(24, 11) + NT_SVG_MARGIN;
    t->svg->height = t->y + GAP;
    return 0;
}

int nt_svg_draw_tree(struct nt_svg *svg, bool *drawn, struct nt_err *err)
{
    const struct nt_model *m = svg->model;
    size_t vertices = m->hosts + m->switches, missing = 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct tree t = {.svg = svg};
    if (nt_rooted_tree_create(m, &t.rooted, err) != 0)
        return -1;
    t.row = nt_arena_array(&memory, vertices, sizeof *t.row);
    t.rank = nt_arena_array(&memory, vertices, sizeof *t.rank);
    t.alike = nt_arena_array(&memory, vertices, sizeof *t.alike);
    t.stands_for = nt_arena_array(&memory, vertices, sizeof *t.stands_for);
    t.last = nt_arena_array(&memory, vertices, sizeof *t.last);
    int rc = nt_arena_check(&memory, err);
    for (size_t h = 0; rc == 0 && h < m->hosts; h++) {
        missing += m->missing[h];
        t.stands_for[h] = (uint32_t)h;
    }
    *drawn = m->switches > 0 && t.rooted->tree && t.rooted->reached + missing == vertices;
    if (rc == 0 && *drawn)
        rc = draw_rows(&t, err);
    nt_rooted_tree_destroy(t.rooted);
    return rc;
}
