/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults_text.h"
#include "graph.h"
#include "hostlist.h"
#include "layout.h"
#include "number.h"
#include "rooted_tree.h"
#include "stats.h"
#include "switch_support.h"

enum { PITCH = NT_PICTURE_PITCH, LONE = NT_PICTURE_LONE, GAP = NT_PICTURE_GAP, MARGIN = 24 };
enum { SIGN = NT_PICTURE_SIGN, NAME = NT_PICTURE_NAME, SMALL = NT_PICTURE_SMALL };
enum { VALUES_BYTES = 160, UPLINK_BYTES = 2 * VALUES_BYTES };

/* The canvas. */
struct svg {
    const struct nt_picture *picture;
    const struct nt_map *map;
    const struct nt_model *model;
    struct nt_look look;
    struct nt_strbuf body; /* the drawing */
    double width, height;  /* size of the drawing */
    bool tree, short_ends; /* it is a tree; it has links with two short ends */
};

static const char STYLE[] =
    "<style>\n"
    "svg{" NT_PICTURE_LIGHT "}\n"
    "@media (prefers-color-scheme:dark){svg{" NT_PICTURE_DARK "}}\n"
    ".ground{fill:var(--bg)}\n"
    "text{fill:var(--fg);font:15px system-ui,\"DejaVu Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    ".small{fill:var(--dim);font-size:13px}\n"
    ".head{font-size:17px;font-weight:600}\n"
    ".halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}\n"
    ".link{fill:none;stroke:var(--link)}.way{fill:var(--host)}\n"
    ".host .mark{fill:var(--host)}.switch .mark{fill:var(--switch)}\n"
    ".mark{stroke:var(--bg)}\n"
    ".missing .mark{fill:var(--bg);stroke:var(--dim);stroke-dasharray:2 2}\n"
    ".strong .link{stroke:var(--strong);stroke-dasharray:7 3}.strong .way{fill:var(--strong)}\n"
    ".strong .name,.said{fill:var(--strong);font-weight:600}\n"
    ".host.strong .mark,.own .mark{fill:var(--strong)}\n"
    "</style>\n";

/* Returns the maximum width of a text: the widest digit of common fonts. */
static double text_width(size_t characters, double size)
{
    return 0.64 * size * (double)characters;
}

/* Formats the values of a link, "0.498 us · 12000 MB/s"; "" if nothing was measured. */
static void write_values(const struct nt_link *l, char text[VALUES_BYTES])
{
    char us[NT_VALUE_BYTES], MBps[NT_VALUE_BYTES];
    nt_latency_text(l->latency_us, us);
    nt_rate_text(l, NT_WAY_NARROWER, true, MBps);
    bool timed = us[0] != '\0', rated = MBps[0] != '\0';
    snprintf(text, VALUES_BYTES, "%s%s%s%s%s", us, timed ? " us" : "",
             timed && rated ? " \xc2\xb7 " : "", MBps, rated ? " MB/s" : "");
}

static void put_escaped(struct nt_strbuf *d, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("<>&\"", *text) != NULL)
            nt_strbuf_print(d, "&#%d;", *text);
        else
            nt_strbuf_put(d, text, 1);
}

static void put_text(struct svg *svg, double x, double y, const char *style, bool to_the_left,
                     const char *text)
{
    nt_strbuf_print(&svg->body, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\"%s>", x, y, style,
                    to_the_left ? " text-anchor=\"end\"" : "");
    put_escaped(&svg->body, text);
    nt_strbuf_puts(&svg->body, "</text>");
}

static void put_host_sign(struct svg *svg, double x, double y)
{
    nt_strbuf_print(&svg->body, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>", x, y,
                    (int)SIGN);
}

static void put_opacity(struct svg *svg, double probability)
{
    if (nt_picture_opacity(probability) < 1)
        nt_strbuf_print(&svg->body, " opacity=\"%.2f\"", nt_picture_opacity(probability));
}

static void put_link_style(struct svg *svg, size_t link)
{
    nt_strbuf_print(&svg->body, " stroke-width=\"%.1f\"", nt_look_thickness(&svg->look, link));
    put_opacity(svg, svg->model->link[link].probability);
}

/* Draws an arrow in the middle of a link that was measured from a to b only. */
static void put_way(struct svg *svg, const struct nt_link *l, const double a[2], const double b[2])
{
    if (!l->simplex)
        return;
    nt_strbuf_print(&svg->body,
                    "<path class=\"way\" d=\"M -7 -8 L 9 0 L -7 8 Z\" "
                    "transform=\"translate(%.1f %.1f) rotate(%.0f)\"",
                    (a[0] + b[0]) / 2, (a[1] + b[1]) / 2,
                    atan2(b[1] - a[1], b[0] - a[0]) * 180 / M_PI);
    put_opacity(svg, l->probability);
    nt_strbuf_puts(&svg->body, "/>");
}

static void put_title(struct svg *svg, uint32_t v)
{
    const struct nt_model *m = svg->model;
    nt_strbuf_print(&svg->body, "<title>%s %s", v < m->hosts ? "host" : "switch",
                    nt_map_vertex_name(svg->map, v));
    if (v < m->hosts && m->missing[v])
        nt_strbuf_puts(&svg->body, ", did not answer");
    if (v >= m->hosts && svg->look.support[v - m->hosts] < NT_SUPPORT_SHOWN)
        nt_strbuf_print(&svg->body, ", support %u %%", nt_percent(svg->look.support[v - m->hosts]));
    nt_strbuf_puts(&svg->body, "</title>");
}

static const char *class_of(const struct svg *svg, uint32_t v)
{
    const struct nt_model *m = svg->model;
    bool bad = svg->look.vertex_bad[v];
    if (v >= m->hosts)
        return bad ? "switch strong own" : "switch";
    return bad ? "host strong" : m->missing[v] ? "host missing" : "host";
}

static void begin_vertex(struct svg *svg, uint32_t v, bool strong)
{
    size_t hosts = svg->model->hosts;
    nt_strbuf_print(&svg->body, "<g class=\"%s%s\"", class_of(svg, v), strong ? " strong" : "");
    if (v >= hosts)
        put_opacity(svg, svg->look.support[v - hosts]);
    nt_strbuf_puts(&svg->body, ">");
    put_title(svg, v);
}

/* ---- a tree: rows and columns ---------------------------------------------------------------*/

enum { COLUMN_LEAST = 180, SIMILAR_LEAST = 3, LABEL_BYTES = 300, NAMES_MAX = 36 };

/* A line of the picture: a host, a group of similar hosts, or a switch without hosts. The parts
 * below an open switch are between y0 and y1. */
struct row {
    double y, y0, y1;
};

struct tree {
    struct svg *svg;
    struct nt_rooted_tree *rooted;
    struct row *row;    /* by vertex; similar hosts have the row of the first */
    uint32_t *rank;     /* by vertex: number of columns from the hosts */
    uint32_t *similar;  /* by switch: number of its hosts that share a line; 0: each has its own */
    uint32_t *shown_by; /* by host: the first host of those that share its line */
    const char **label; /* by first host: the folded names of the line; NULL: its own name */
    double *value;      /* scratch, two per vertex */
    double column;      /* pixels between switches and their children */
    struct nt_arena *memory;
    double names, counts;    /* start of names and numbers of hosts */
    double latencies, rates; /* end of the values */
    double y;
};

static uint32_t children_of(const struct tree *t, uint32_t v, const uint32_t **child)
{
    *child = t->rooted->child + t->rooted->first[v];
    return t->rooted->first[v + 1] - t->rooted->first[v];
}

static bool is_plain(const struct tree *t, uint32_t host)
{
    return !t->svg->look.vertex_bad[host] && !t->svg->look.link_bad[t->rooted->up[host] / 2];
}

static const char *label_of(const struct tree *t, uint32_t host)
{
    return t->label[host] != NULL ? t->label[host] : nt_map_vertex_name(t->svg->map, host);
}

/* Assigns columns: a switch is to the left of all its children, hosts are at the right. */
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

/* Returns the names of the hosts that share a line, cut to NAMES_MAX characters. */
static const char *fold_names(struct tree *t, const uint32_t *child, uint32_t n, uint32_t first)
{
    struct nt_strbuf folded = {0};
    const char **name = nt_arena_array(t->memory, n, sizeof *name);
    uint32_t count = 0;
    if (name == NULL)
        return NULL;
    for (uint32_t k = 0; k < n && child[k] < t->svg->model->hosts; k++)
        if (t->shown_by[child[k]] == first)
            name[count++] = nt_map_vertex_name(t->svg->map, child[k]);
    nt_hostlist_format(&folded, name, count);
    if (folded.used > NAMES_MAX) {
        folded.used = NAMES_MAX - 2;
        nt_strbuf_puts(&folded, "..");
    }
    const char *label = folded.failed ? NULL : nt_arena_text(t->memory, folded.text, folded.used);
    free(folded.text);
    return label;
}

static void group_hosts(struct tree *t)
{
    const struct nt_model *m = t->svg->model;
    for (uint32_t v = (uint32_t)m->hosts; m->hosts > NT_SVG_HOSTS && v < t->rooted->vertices; v++) {
        const uint32_t *child;
        uint32_t n = children_of(t, v, &child), plain = 0, first = NT_NO_VERTEX;
        for (uint32_t k = 0; k < n && child[k] < m->hosts; k++)
            plain += is_plain(t, child[k]);
        for (uint32_t k = 0; plain >= SIMILAR_LEAST && k < n && child[k] < m->hosts; k++) {
            if (!is_plain(t, child[k]))
                continue;
            first = first == NT_NO_VERTEX ? child[k] : first;
            t->shown_by[child[k]] = first;
        }
        t->similar[v] = first == NT_NO_VERTEX ? 0 : plain;
        if (first != NT_NO_VERTEX)
            t->label[first] = fold_names(t, child, n, first);
    }
}

/* Returns the space above and below the only rows of a switch, for the label of its link. */
static double padding_of(const struct tree *t, uint32_t v)
{
    const uint32_t *child;
    uint32_t n = children_of(t, v, &child), lines = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (child[k] >= t->svg->model->hosts)
            return 0;
        lines += t->shown_by[child[k]] == child[k];
    }
    return fmax(0, (LONE - (double)lines * PITCH) / 2);
}

static void enter_vertex(struct tree *t, uint32_t v)
{
    const uint32_t *child;
    bool end = children_of(t, v, &child) == 0;
    if (!end) {
        t->y += GAP + padding_of(t, v);
    } else if (v >= t->svg->model->hosts || t->shown_by[v] == v) {
        double height = v >= t->svg->model->hosts ? LONE : PITCH;
        t->row[v].y = t->row[v].y0 = t->row[v].y1 = t->y + height / 2;
        t->y += height;
    } else {
        t->row[v] = t->row[t->shown_by[v]];
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

/* Places rows depth first, without recursion, because a chain of switches may be long. */
static int lay_rows(struct tree *t, struct nt_err *err)
{
    const struct nt_rooted_tree *r = t->rooted;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *next = nt_arena_array(&memory, r->vertices, sizeof *next);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    enter_vertex(t, r->root);
    for (uint32_t v = r->root; v != NT_NO_VERTEX;) {
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
    return MARGIN + t->column * (double)(t->rank[t->rooted->root] - t->rank[v]);
}

/* Cuts a name to the available width; the title contains the whole name. */
static void cut_name(const char *name, double room, char text[LABEL_BYTES])
{
    size_t bytes = strlen(name), fits = (size_t)fmax(3, room / text_width(1, NAME));
    if (bytes <= fits)
        snprintf(text, LABEL_BYTES, "%s", name);
    else
        snprintf(text, LABEL_BYTES, "%.*s..", (int)fits - 2, name);
}

/* Formats a switch and its uplink, "1.5:1 · 0.25 us · 12500 MB/s". */
static void write_uplink(const struct tree *t, uint32_t v, char text[UPLINK_BYTES])
{
    const struct nt_model *m = t->svg->model;
    char values[VALUES_BYTES], ratio[NT_VALUE_BYTES];
    write_values(&m->link[t->rooted->up[v] / 2], values);
    nt_ratio_text(m->oversubscription[v - m->hosts], ratio);
    snprintf(text, UPLINK_BYTES, "%s%s%s", ratio,
             ratio[0] != '\0' && values[0] != '\0' ? " \xc2\xb7 " : "", values);
}

/* Returns a width with room for the label of each link between switches. */
static double column_width(const struct tree *t)
{
    double most = COLUMN_LEAST;
    char text[UPLINK_BYTES];
    for (size_t k = 1; k < t->rooted->reached; k++) {
        if (t->rooted->order[k] < t->svg->model->hosts)
            continue;
        write_uplink(t, t->rooted->order[k], text);
        most = fmax(most, text_width(strlen(text), SMALL) + 2 * SIGN);
    }
    return most;
}

static void put_switch(struct tree *t, uint32_t v, const struct nt_link *up)
{
    struct svg *svg = t->svg;
    const struct row *row = &t->row[v];
    double x = column_of(t, v);
    char name[LABEL_BYTES], values[UPLINK_BYTES];
    nt_strbuf_print(&svg->body,
                    "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
                    "rx=\"3\"/>",
                    x - SIGN, row->y0 - SIGN - 2, 2 * SIGN, row->y1 - row->y0 + 2 * SIGN + 4);
    const char *whole = nt_map_vertex_name(svg->map, v);
    if (up == NULL) {
        put_text(svg, x - SIGN, row->y0 - SIGN - 8, "name", false, whole);
        return;
    }
    double half = nt_look_thickness(&svg->look, t->rooted->up[v] / 2) / 2;
    cut_name(whole, t->column - 4 * SIGN, name);
    put_text(svg, x - SIGN - 4, row->y - half - 5, "name", true, name);
    write_uplink(t, v, values);
    put_text(svg, x - SIGN - 4, row->y + half + SMALL + 1, "small", true, values);
}

static double median_of(double *value, size_t n)
{
    qsort(value, n, sizeof *value, nt_compare_doubles);
    return n > 0 ? value[n / 2] : (double)NAN;
}

/* Returns the median values of the hosts that share the line of this one. */
static struct nt_link usual_of(struct tree *t, uint32_t host)
{
    const uint32_t *child;
    uint32_t n = children_of(t, t->rooted->parent[host], &child);
    struct nt_link usual = {.at_least = true};
    double *value[2] = {t->value, t->value + n};
    size_t known[2] = {0, 0};
    for (uint32_t k = 0; k < n && child[k] < t->svg->model->hosts; k++) {
        const struct nt_link *l = &t->svg->model->link[t->rooted->up[child[k]] / 2];
        const double both[2] = {l->latency_us, nt_picture_rate(l)};
        for (int v = 0; v < 2 && t->shown_by[child[k]] == host; v++)
            if (isfinite(both[v]))
                value[v][known[v]++] = both[v];
        usual.at_least = usual.at_least && (t->shown_by[child[k]] != host || l->at_least);
    }
    usual.latency_us = median_of(value[0], known[0]);
    usual.bandwidth_MBps = usual.bandwidth_back_MBps = median_of(value[1], known[1]);
    return usual;
}

static void put_value(struct svg *svg, double x, double y, const char *value, const char *unit)
{
    char text[NT_VALUE_BYTES + 8];
    snprintf(text, sizeof text, "%s %s", value, unit);
    if (value[0] != '\0')
        put_text(svg, x, y, "small", true, text);
}

/* Draws a host (up NULL: it has no link), or count hosts that share a line. */
static void put_hosts(struct tree *t, uint32_t host, uint32_t count, const struct nt_link *up)
{
    struct svg *svg = t->svg;
    double x = column_of(t, host), y = t->row[host].y + NAME / 3.0;
    char us[NT_VALUE_BYTES], MBps[NT_VALUE_BYTES], hosts[32];
    struct nt_link usual;
    for (int k = count > 1 ? 2 : 0; k >= 0; k--)
        put_host_sign(svg, x + 4 * k, t->row[host].y);
    put_text(svg, t->names, y, "name", false, label_of(t, host));
    if (up == NULL) {
        put_text(svg, t->counts, y, "small", false, "did not answer");
        return;
    }
    if (count > 1) {
        snprintf(hosts, sizeof hosts, "%u hosts", count);
        put_text(svg, t->counts, y, "small", false, hosts);
        usual = usual_of(t, host);
        up = &usual;
    }
    nt_latency_text(up->latency_us, us);
    nt_rate_text(up, NT_WAY_NARROWER, true, MBps);
    put_value(svg, t->latencies, y, us, "us");
    put_value(svg, t->rates, y, MBps, "MB/s");
}

static void put_row(struct tree *t, uint32_t v)
{
    struct svg *svg = t->svg;
    const struct nt_model *m = svg->model;
    uint32_t parent = t->rooted->parent[v];
    const struct nt_link *up = parent == NT_NO_VERTEX ? NULL : &m->link[t->rooted->up[v] / 2];
    if (v < m->hosts && t->shown_by[v] != v)
        return;
    bool bad = up != NULL && svg->look.link_bad[t->rooted->up[v] / 2];
    begin_vertex(svg, v, bad && !svg->look.vertex_bad[v]);
    if (up != NULL) {
        double end = column_of(t, v) - (v < m->hosts ? 0 : SIGN);
        const double top[2] = {column_of(t, parent) + SIGN, t->row[v].y}, low[2] = {end, top[1]};
        nt_strbuf_print(&svg->body, "<path class=\"link\" d=\"M %.1f %.1f H %.1f\"", top[0], top[1],
                        end);
        put_link_style(svg, t->rooted->up[v] / 2);
        nt_strbuf_puts(&svg->body, "/>");
        put_way(svg, up, up->a == v ? low : top, up->a == v ? top : low);
    }
    if (v >= m->hosts)
        put_switch(t, v, up);
    else
        put_hosts(t, v,
                  up != NULL && is_plain(t, v) && t->similar[parent] > 0 ? t->similar[parent] : 1,
                  up);
    nt_strbuf_puts(&svg->body, "</g>\n");
}

static int draw_rows(struct tree *t, struct nt_err *err)
{
    const struct nt_model *m = t->svg->model;
    size_t longest = 8;
    bool folded = m->hosts > NT_SVG_HOSTS;
    t->y = 14;
    rank_vertices(t);
    group_hosts(t);
    if (lay_rows(t, err) != 0)
        return -1;
    for (uint32_t h = 0; h < m->hosts; h++) {
        size_t bytes = t->shown_by[h] != h ? 0 : strlen(label_of(t, h));
        longest = bytes > longest ? bytes : longest;
    }
    t->column = column_width(t);
    t->names = MARGIN + t->column * (double)t->rank[t->rooted->root] + 20;
    t->counts = t->names + text_width(longest, NAME) + 14;
    t->latencies = t->counts + text_width(folded ? 20 : 10, SMALL);
    t->rates = t->latencies + text_width(13, SMALL);
    for (size_t k = 0; k < t->rooted->reached; k++)
        put_row(t, t->rooted->order[k]);
    t->y += GAP;
    for (uint32_t h = 0; h < m->hosts; h++) {
        if (!m->missing[h])
            continue;
        t->row[h].y = t->y + PITCH / 2.0;
        t->y += PITCH;
        put_row(t, h);
    }
    t->svg->width = t->rates + MARGIN;
    t->svg->height = t->y + GAP;
    return 0;
}

static int draw_tree(struct svg *svg, bool *drawn, struct nt_err *err)
{
    const struct nt_model *m = svg->model;
    size_t vertices = m->hosts + m->switches, missing = 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct tree t = {.svg = svg, .memory = &memory};
    if (nt_rooted_tree_create(m, &t.rooted, err) != 0)
        return -1;
    t.row = nt_arena_array(&memory, vertices, sizeof *t.row);
    t.rank = nt_arena_array(&memory, vertices, sizeof *t.rank);
    t.similar = nt_arena_array(&memory, vertices, sizeof *t.similar);
    t.shown_by = nt_arena_array(&memory, vertices, sizeof *t.shown_by);
    t.label = nt_arena_array(&memory, vertices, sizeof *t.label);
    t.value = nt_arena_array(&memory, 2 * vertices, sizeof *t.value);
    int rc = nt_arena_check(&memory, err);
    for (size_t h = 0; rc == 0 && h < m->hosts; h++) {
        missing += m->missing[h];
        t.shown_by[h] = (uint32_t)h;
    }
    *drawn = m->switches > 0 && t.rooted->tree && t.rooted->reached + missing == vertices;
    if (rc == 0 && *drawn)
        rc = draw_rows(&t, err);
    if (rc == 0)
        rc = nt_arena_check(&memory, err);
    nt_rooted_tree_destroy(t.rooted);
    return rc;
}

/* ---- what is no tree ------------------------------------------------------------------------*/

enum { SIDES = 8, LABELLED_MAX = 300, PLACES = 12, DISTANCES = 4, STEP = 7 };

static const double APART = 46, LEAST_SIZE = 300, MOST_SIZE = 2000, EDGE = 80;

struct box {
    double left, top, right, bottom;
};

struct net {
    struct svg *svg;
    struct nt_graph graph;
    const struct nt_layout *layout;
    double unit;            /* pixels per unit */
    double low[2], high[2]; /* bounds of all positions, horizontal and vertical */
    struct box *label;      /* labels that were placed */
    size_t labels;
};

static double x_of(const struct net *n, uint32_t v)
{
    return EDGE + n->unit * (n->layout->at[2 * (size_t)v] - n->low[0]);
}

static double y_of(const struct net *n, uint32_t v)
{
    return EDGE / 2 + n->unit * (n->layout->at[2 * (size_t)v + 1] - n->low[1]);
}

/* Returns the unit of a grid: with names it has room for a name between two vertices. */
static double unit_of_grid(const struct net *n)
{
    const double apart = 24;
    const struct nt_model *m = n->svg->model;
    size_t longest = 0, vertices = m->hosts + m->switches;
    for (uint32_t v = 0; v < vertices && vertices <= LABELLED_MAX; v++) {
        size_t bytes = strlen(nt_map_vertex_name(n->svg->map, v));
        longest = bytes > longest ? bytes : longest;
    }
    double room = m->switches > 0 ? 2 : 1; /* hosts are between the switches */
    return room * (text_width(longest, NAME) + apart) / n->layout->unit;
}

/* Returns a unit with which links of mean length have room for words at their ends. */
static double unit_of(const struct net *n)
{
    const struct nt_model *m = n->svg->model;
    double sum = 0;
    if (n->layout->unit > 0)
        return unit_of_grid(n);
    for (size_t k = 0; k < m->links; k++) {
        const double *a = n->layout->at + 2 * (size_t)m->link[k].a,
                     *b = n->layout->at + 2 * (size_t)m->link[k].b;
        sum += hypot(a[0] - b[0], a[1] - b[1]);
    }
    double mean = m->links > 0 && sum > 0 ? sum / (double)m->links : 1;
    return fmin(fmax(2 * APART / mean, LEAST_SIZE), MOST_SIZE);
}

/* Returns the side of a vertex, one of eight, that is farthest from its links; prefers right and
 * left. */
static double free_side(const struct net *n, uint32_t v)
{
    double best = 0, most = -1;
    if (n->layout->unit > 0) /* a grid has no line there; hosts are below their switch */
        return v < n->svg->model->hosts ? M_PI / 4 : -3 * M_PI / 4;
    for (int side = 0; side < SIDES; side++) {
        double angle = 2 * M_PI * side / SIDES, least = M_PI;
        for (uint32_t k = n->graph.start[v]; k < n->graph.start[v + 1]; k++) {
            uint32_t w = n->graph.to[k];
            double line = atan2(y_of(n, w) - y_of(n, v), x_of(n, w) - x_of(n, v));
            least = fmin(least, fabs(remainder(line - angle, 2 * M_PI)));
        }
        double worth = fmin(least, 1) + 0.2 * fabs(cos(angle));
        if (worth > most) {
            most = worth;
            best = angle;
        }
    }
    return best;
}

/* Narrows from..to to the part of a line between low and high. p: start; d: length. */
static void clip(double p, double d, double low, double high, double *from, double *to)
{
    if (d == 0) {
        *to = p < low || p > high ? -1 : *to;
        return;
    }
    *from = fmax(*from, fmin((low - p) / d, (high - p) / d));
    *to = fmin(*to, fmax((low - p) / d, (high - p) / d));
}

static bool meets(const struct net *n, const struct box *b, const struct nt_link *l)
{
    const double thick = 3;
    double x = x_of(n, l->a), y = y_of(n, l->a), from = 0, to = 1;
    clip(x, x_of(n, l->b) - x, b->left - thick, b->right + thick, &from, &to);
    clip(y, y_of(n, l->b) - y, b->top - thick, b->bottom + thick, &from, &to);
    return from < to;
}

static bool overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Returns how much a label there would hide. A line weighs less than a symbol or another label. */
static unsigned hidden_by(const struct net *n, const struct box *b, uint32_t v)
{
    const struct nt_model *m = n->svg->model;
    const unsigned worse = 100;
    unsigned hidden = 0;
    for (size_t k = 0; k < m->links && !(n->layout->unit > 0); k++)
        hidden += meets(n, b, &m->link[k]);
    for (size_t k = 0; k < n->labels; k++)
        hidden += overlap(b, &n->label[k]) ? worse : 0;
    for (uint32_t w = 0; w < m->hosts + m->switches; w++) {
        double x = x_of(n, w), y = y_of(n, w), r = SIGN + 1;
        struct box sign = {x - r, y - r, x + r, y + r};
        hidden += w != v && overlap(b, &sign) ? worse : 0;
    }
    return hidden;
}

struct place {
    double x, y;
    const char *anchor;
};

static struct box place_at(const struct net *n, uint32_t v, double side, double more,
                           struct place *p)
{
    const double letter = 0.63 * NAME, ascent = 14, descent = 4;
    double away = SIGN + 5 + more, c = cos(side);
    double wide = letter * (double)strlen(nt_map_vertex_name(n->svg->map, v));
    *p = (struct place){x_of(n, v) + away * c, y_of(n, v) + 5 + (away + 5) * sin(side),
                        c > 0.3    ? "start"
                        : c < -0.3 ? "end"
                                   : "middle"};
    double left = c > 0.3 ? p->x : c < -0.3 ? p->x - wide : p->x - wide / 2;
    return (struct box){left, p->y - ascent, left + wide, p->y + descent};
}

/* Places a label where it hides least. Tries the side away from the links first, then the other
 * sides, then greater distances. */
static void put_label(struct net *n, uint32_t v)
{
    double side = free_side(n, v);
    struct place p, best = {0, 0, "start"};
    unsigned least = UINT32_MAX;
    for (int k = 0; k < PLACES * DISTANCES && least > 0; k++) {
        int turn = (k % PLACES + 1) / 2 * (k % 2 == 0 ? -1 : 1), ring = k / PLACES;
        struct box b = place_at(n, v, side + turn * 2 * M_PI / PLACES, STEP * ring, &p);
        unsigned hidden = hidden_by(n, &b, v);
        if (hidden >= least)
            continue;
        least = hidden;
        best = p;
        n->label[n->labels] = b;
    }
    n->labels++;
    nt_strbuf_print(&n->svg->body,
                    "<text class=\"name halo\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                    best.anchor, best.x, best.y, nt_map_vertex_name(n->svg->map, v));
}

static void put_vertex(struct net *n, uint32_t v, bool labelled)
{
    struct svg *svg = n->svg;
    begin_vertex(svg, v, false);
    if (v >= svg->model->hosts)
        nt_strbuf_print(&svg->body,
                        "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                        "rx=\"3\"/>",
                        x_of(n, v) - SIGN - 1, y_of(n, v) - SIGN - 1, 2 * SIGN + 2, 2 * SIGN + 2);
    else
        put_host_sign(svg, x_of(n, v), y_of(n, v));
    if (labelled || svg->look.vertex_bad[v])
        put_label(n, v);
    nt_strbuf_puts(&svg->body, "</g>\n");
}

/* Draws a link as a straight line. In a grid, a link around an edge or to another plane is drawn by
 * its two short ends; a bad one is an arc from end to end. */
static void put_line(struct net *n, size_t k)
{
    const struct nt_link *l = &n->svg->model->link[k];
    double end[2];
    bool is_short = nt_layout_short_end(n->layout, k, end);
    const double bow = 0.12;
    double x0 = x_of(n, l->a), y0 = y_of(n, l->a), x1 = x_of(n, l->b), y1 = y_of(n, l->b);
    n->svg->short_ends |= is_short;
    nt_strbuf_print(&n->svg->body, "<path class=\"link\" d=\"M %.1f %.1f ", x0, y0);
    if (!is_short)
        nt_strbuf_print(&n->svg->body, "L %.1f %.1f\"", x1, y1);
    else if (n->svg->look.link_bad[k])
        nt_strbuf_print(&n->svg->body, "Q %.1f %.1f %.1f %.1f\"", (x0 + x1) / 2 + bow * (y1 - y0),
                        (y0 + y1) / 2 - bow * (x1 - x0), x1, y1);
    else
        nt_strbuf_print(&n->svg->body, "l %.1f %.1f M %.1f %.1f l %.1f %.1f\"", n->unit * end[0],
                        n->unit * end[1], x1, y1, -n->unit * end[0], -n->unit * end[1]);
}

static void put_link(struct net *n, size_t k)
{
    struct svg *svg = n->svg;
    const struct nt_link *l = &svg->model->link[k];
    char values[VALUES_BYTES];
    write_values(l, values);
    nt_strbuf_print(&svg->body, "<g%s><title>%s %s %s",
                    svg->look.link_bad[k] ? " class=\"strong\"" : "",
                    nt_map_vertex_name(svg->map, l->a), l->simplex ? "to" : "-",
                    nt_map_vertex_name(svg->map, l->b));
    nt_strbuf_print(&svg->body, "%s%s</title>", *values != '\0' ? ": " : "", values);
    put_line(n, k);
    put_link_style(svg, k);
    nt_strbuf_puts(&svg->body, "/>");
    put_way(svg, l, (const double[]){x_of(n, l->a), y_of(n, l->a)},
            (const double[]){x_of(n, l->b), y_of(n, l->b)});
    nt_strbuf_puts(&svg->body, "</g>\n");
}

static int draw_net(struct svg *svg, struct nt_err *err)
{
    const struct nt_model *m = svg->model;
    size_t vertices = m->hosts + m->switches;
    struct nt_layout *layout;
    struct net n = {.svg = svg, .low = {INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY}};
    if (nt_graph_init(&n.graph, m, &svg->look.memory, err) != 0 ||
        nt_layout_create(m, 2, NT_PICTURE_SEED, &layout, err) != 0)
        return -1;
    n.layout = layout;
    svg->look.thin = layout->unit > 0;
    for (size_t k = 0; k < 2 * vertices; k++) {
        n.low[k % 2] = fmin(n.low[k % 2], layout->at[k]);
        n.high[k % 2] = fmax(n.high[k % 2], layout->at[k]);
    }
    n.label = nt_arena_array(&svg->look.memory, vertices, sizeof *n.label);
    if (nt_arena_check(&svg->look.memory, err) != 0) {
        nt_layout_destroy(layout);
        return -1;
    }
    n.unit = unit_of(&n);
    for (size_t k = 0; k < m->links; k++)
        put_link(&n, k);
    for (uint32_t v = 0; v < vertices; v++)
        put_vertex(&n, v, vertices <= LABELLED_MAX || v >= m->hosts);
    svg->width = 2 * EDGE + (vertices > 0 ? n.unit * (n.high[0] - n.low[0]) : 0);
    svg->height = EDGE + (vertices > 0 ? n.unit * (n.high[1] - n.low[1]) : 0);
    nt_layout_destroy(layout);
    return 0;
}

/* ---- head and foot --------------------------------------------------------------------------*/

enum { TOP = 62, LINE = 21, SENTENCES_MAX = 20, LEAST_WIDTH = 640 };

static int put_head(struct svg *svg, struct nt_err *err)
{
    struct nt_strbuf *d = &svg->body, job = {0};
    char *words;
    nt_picture_put_job(&job, svg->map);
    if (nt_strbuf_finish(&job, &words, NULL, err) != 0)
        return -1;
    nt_strbuf_print(d, "<text class=\"head\" x=\"%d\" y=\"30\">", (int)MARGIN);
    nt_picture_put_what(d, svg->model);
    nt_strbuf_print(d, "</text>\n<text class=\"small\" x=\"%d\" y=\"48\">nettopo: ", (int)MARGIN);
    put_escaped(d, words);
    nt_strbuf_print(d, "</text>\n<g transform=\"translate(0 %d)\">\n", (int)TOP);
    free(words);
    return 0;
}

static void put_line_of_text(struct svg *svg, const char *style, double size, const char *text)
{
    svg->height += LINE;
    svg->width = fmax(svg->width, 2 * MARGIN + text_width(strlen(text), size));
    put_text(svg, MARGIN, svg->height, style, false, text);
    nt_strbuf_puts(&svg->body, "\n");
}

static void put_key_line(struct svg *svg, double x, double thick, const char *more,
                         const char *text)
{
    nt_strbuf_print(&svg->body,
                    "<g%s><path class=\"link\" stroke-width=\"%.1f\" d=\"M %.0f %.0f h 26\"/>"
                    "<text class=\"small\" x=\"%.0f\" y=\"%.0f\">%s</text></g>\n",
                    more, thick, x, svg->height - 4, x + 34, svg->height, text);
}

/* Draws the legend: each symbol that occurs in the picture and its meaning. */
static void put_legend(struct svg *svg)
{
    const struct nt_model *m = svg->model;
    bool pale = false, missing = false, bad = false, simplex = false, bound = false;
    struct nt_stroke stroke[NT_STROKES_MAX];
    char words[LABEL_BYTES];
    for (size_t k = 0; k < m->links; k++) {
        pale = pale || m->link[k].probability < NT_SUPPORT_USED;
        bound =
            bound || m->link[k].at_least || m->link[k].forth_at_least || m->link[k].back_at_least;
        bad = bad || svg->look.link_bad[k];
        simplex = simplex || m->link[k].simplex;
    }
    for (size_t v = 0; v < m->hosts + m->switches; v++) {
        missing = missing || (v < m->hosts && m->missing[v]);
        bad = bad || svg->look.vertex_bad[v];
    }
    snprintf(words, sizeof words, "%s%sdot: host \xc2\xb7 line: link%s%s%s%s%s%s",
             m->switches == 0 ? ""
             : svg->tree      ? "bar"
                              : "square",
             m->switches > 0 ? ": switch \xc2\xb7 " : "",
             svg->tree ? ", one-way latency, narrower of both bandwidths" : "",
             bound ? " \xc2\xb7 \xe2\x89\xa5: at least" : "",
             simplex ? " \xc2\xb7 arrow: one direction only" : "",
             svg->short_ends ? " \xc2\xb7 short end: around an edge or to another plane" : "",
             pale ? " \xc2\xb7 pale: support below 90 %" : "",
             missing ? " \xc2\xb7 hollow: did not answer" : "");
    put_line_of_text(svg, "small", SMALL, words);
    svg->height += LINE;
    double x = MARGIN;
    size_t strokes = nt_look_strokes(&svg->look, stroke);
    for (size_t k = 0; k < strokes; k++, x += 210)
        put_key_line(svg, x, stroke[k].px, "", stroke[k].text);
    if (bad)
        put_key_line(svg, x, NT_BAD_PX, " class=\"strong\"",
                     svg->picture->reference != NULL ? "degraded, or not as the reference"
                                                     : "degraded");
}

/* Writes the findings, then the differences, one per line. */
static int put_sentences(struct svg *svg, struct nt_err *err)
{
    size_t all = svg->map->faults + svg->picture->remarks, shown = 0;
    if (svg->picture->summary != NULL && *svg->picture->summary != '\0')
        put_line_of_text(svg, "small", SMALL, svg->picture->summary);
    for (; shown < all && shown < SENTENCES_MAX; shown++) {
        struct nt_strbuf words = {0};
        char *text;
        if (shown < svg->map->faults)
            nt_fault_put_sentence(&words, svg->map, &svg->map->fault[shown]);
        else
            nt_strbuf_puts(&words, svg->picture->remark[shown - svg->map->faults].text);
        if (nt_strbuf_finish(&words, &text, NULL, err) != 0)
            return -1;
        put_line_of_text(svg, "said", NAME, text);
        free(text);
    }
    if (all > shown) {
        char words[64];
        snprintf(words, sizeof words, "and %zu more", all - shown);
        put_line_of_text(svg, "said", NAME, words);
    }
    return 0;
}

/* ---- all together ---------------------------------------------------------------------------*/

static int draw(struct svg *svg, struct nt_err *err)
{
    if (nt_look_init(&svg->look, svg->picture, svg->map, err) != 0 || put_head(svg, err) != 0 ||
        draw_tree(svg, &svg->tree, err) != 0 || (!svg->tree && draw_net(svg, err) != 0))
        return -1;
    nt_strbuf_puts(&svg->body, "</g>\n");
    svg->height += TOP;
    put_legend(svg);
    return put_sentences(svg, err);
}

int nt_svg_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err)
{
    struct svg svg = {.picture = picture, .map = picture->map, .model = picture->map->model};
    struct nt_strbuf d = {0};
    int rc = draw(&svg, err);
    double width = fmax(svg.width, LEAST_WIDTH), height = svg.height + MARGIN;
    nt_strbuf_print(&d,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                    "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n"
                    "<title>A network that nettopo found</title>\n",
                    width, height, width, height);
    nt_strbuf_puts(&d, STYLE);
    nt_strbuf_puts(&d, "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
    if (rc == 0)
        nt_strbuf_put(&d, svg.body.text, svg.body.used);
    nt_strbuf_puts(&d, "</svg>\n");
    d.failed = d.failed || svg.body.failed;
    free(svg.body.text);
    nt_look_fini(&svg.look);
    if (rc == 0)
        return nt_strbuf_finish(&d, text, bytes, err);
    free(d.text);
    return -1;
}
