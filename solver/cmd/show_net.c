/* SPDX-License-Identifier: Apache-2.0 */
#include "show_net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "hostlist.h"
#include "stats.h"
#include "switch_support.h"
#include "terminal.h"

enum { SCREEN_ROWS = 40, FOLD_LEAST = 2, DEPTH_MAX = 256 };

/* Hosts on one line differ by no more than this from their median. */
static const double alike = 0.1;

/* Where the figures of a row stand. */
enum { LATENCY, UP, DOWN, SURE };

struct net {
    const struct nt_map *map;
    const struct nt_model *model;
    const struct nt_terminal *terminal;
    struct nt_text_table rows;
    bool fold;
    int places; /* decimals of a latency */
    struct nt_arena memory;
    struct nt_graph graph;
    double *support;       /* of each switch */
    uint32_t *up;          /* the link by which a vertex was reached first */
    bool *reached, *drawn; /* vertices, links */
    uint32_t *child;       /* vertices: the children on the way down, a list below the other */
    size_t children;       /* used of them */
    uint32_t *queue;       /* vertices; of hosts that share a line */
    double *value;         /* links or hosts */
    const char **name;     /* hosts */
};

/* ---- figures ----------------------------------------------------------------------------------
 */

static void put_latency(const struct net *n, char *cell, double value, double se)
{
    if (isnan(value))
        return;
    const char *sign = n->terminal->unicode ? "±" : "+-";
    if (isnan(se))
        snprintf(cell, NT_ROW_CELL_BYTES, "%.*f", n->places, value);
    else
        snprintf(cell, NT_ROW_CELL_BYTES, "%.*f %s%.*f", n->places, value, sign, n->places, se);
}

static void put_bandwidth(const struct net *n, char *cell, double value, const struct nt_link *l)
{
    if (isnan(value))
        return;
    const char *sign = l->effective ? "~" : !l->at_least ? "" : n->terminal->unicode ? "≥" : ">=";
    snprintf(cell, NT_ROW_CELL_BYTES, "%s%.*f", sign, value < 100 ? 1 : 0, value);
}

/* Never more than it is: 0.899 is not nine in ten. */
static void put_sure(struct nt_row *row, double sure)
{
    if (sure < NT_SUPPORT_SHOWN)
        snprintf(row->cell[SURE], sizeof row->cell[SURE], "%.0f %%", floor(100 * sure));
}

static void note_row(struct nt_row *row, const char *text)
{
    size_t used = strlen(row->note);
    snprintf(row->note + used, sizeof row->note - used, "%s%s", used > 0 ? ", " : "", text);
}

/* The figures of a link; below is its lower end. */
static void put_figures(const struct net *n, struct nt_row *row, const struct nt_link *l,
                        uint32_t below)
{
    bool turned = l->b == below;
    put_latency(n, row->cell[LATENCY], l->latency_us, l->latency_se_us);
    put_bandwidth(n, row->cell[UP], turned ? l->bandwidth_back_MBps : l->bandwidth_MBps, l);
    put_bandwidth(n, row->cell[DOWN], turned ? l->bandwidth_MBps : l->bandwidth_back_MBps, l);
    if (l->suspect || (below < n->model->hosts && n->model->host_suspect[below])) {
        note_row(row, "SUSPECT");
        row->style = NT_STYLE_BAD;
    }
    put_sure(row, l->probability);
    if (l->simplex)
        note_row(row, "one direction");
}

/* ---- hosts of a switch ------------------------------------------------------------------------
 */

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, nt_compare_doubles);
    return n == 0 ? (double)NAN : values[n / 2];
}

static bool near_to(double value, double middle)
{
    return isnan(value) ? isnan(middle) : fabs(value - middle) <= alike * middle;
}

/* What the hosts of one switch have in common. */
struct usual {
    double latency, out, back;
};

static double out_of(const struct nt_link *l, uint32_t below)
{
    return l->a == below ? l->bandwidth_MBps : l->bandwidth_back_MBps;
}

static double back_to(const struct nt_link *l, uint32_t below)
{
    return l->a == below ? l->bandwidth_back_MBps : l->bandwidth_MBps;
}

static struct usual find_usual(struct net *n, const uint32_t *hosts, size_t count)
{
    double into[3];
    for (size_t f = 0; f < 3; f++) {
        size_t known = 0;
        for (size_t k = 0; k < count; k++) {
            const struct nt_link *l = &n->model->link[n->up[hosts[k]]];
            double value = f == 0   ? l->latency_us
                           : f == 1 ? out_of(l, hosts[k])
                                    : back_to(l, hosts[k]);
            if (!isnan(value))
                n->value[known++] = value;
        }
        into[f] = median_of(n->value, known);
    }
    return (struct usual){into[0], into[1], into[2]};
}

static bool is_usual(const struct net *n, uint32_t host, const struct usual *usual)
{
    const struct nt_link *l = &n->model->link[n->up[host]];
    return !l->suspect && !n->model->host_suspect[host] && !l->simplex && !l->effective &&
           l->probability >= NT_SUPPORT_USED && near_to(l->latency_us, usual->latency) &&
           near_to(out_of(l, host), usual->out) && near_to(back_to(l, host), usual->back);
}

/* The usual hosts on one line: names folded, medians, and how many. */
static void add_folded(struct net *n, const char *art, const uint32_t *hosts, size_t count,
                       const struct usual *usual)
{
    struct nt_strbuf label = {0};
    double low = INFINITY, high = 0, sure = 1;
    bool at_least = true;
    for (size_t k = 0; k < count; k++) {
        const struct nt_link *l = &n->model->link[n->up[hosts[k]]];
        n->name[k] = nt_map_vertex_name(n->map, hosts[k]);
        low = fmin(low, l->latency_us);
        high = fmax(high, l->latency_us);
        sure = fmin(sure, l->probability);
        at_least &= l->at_least;
    }
    nt_hostlist_format(&label, n->name, count);
    n->rows.failed |= label.failed;
    struct nt_row *row =
        nt_text_table_add(&n->rows, NT_STYLE_PLAIN, art, label.failed ? "" : label.text);
    free(label.text);
    struct nt_link typical = {.at_least = at_least};
    put_latency(n, row->cell[LATENCY], usual->latency, NAN);
    put_bandwidth(n, row->cell[UP], usual->out, &typical);
    put_bandwidth(n, row->cell[DOWN], usual->back, &typical);
    put_sure(row, sure);
    snprintf(row->note, sizeof row->note, "%zu hosts", count);
    if (isfinite(low))
        snprintf(row->besides, sizeof row->besides, ", %.*f to %.*f us", n->places, low, n->places,
                 high);
}

static void add_host(struct net *n, const char *art, uint32_t host)
{
    struct nt_row *row =
        nt_text_table_add(&n->rows, NT_STYLE_PLAIN, art, nt_map_vertex_name(n->map, host));
    put_figures(n, row, &n->model->link[n->up[host]], host);
}

/* ---- the tree ---------------------------------------------------------------------------------
 */

/* The drawn lines to the left of a row. */
struct branch {
    char prefix[DEPTH_MAX * 4];
    size_t depth;
};

static const char *const twigs[2][4] = {{"|- ", "`- ", "|  ", "   "}, {"├─ ", "└─ ", "│  ", "   "}};

static const char *branch_art(const struct net *n, const struct branch *b, bool last, char *text,
                              size_t bytes)
{
    snprintf(text, bytes, "%s%s", b->prefix, twigs[n->terminal->unicode][last ? 1 : 0]);
    return text;
}

/* The children of a vertex that were reached through it: hosts first, both in natural order. */
static size_t list_children(struct net *n, uint32_t v, uint32_t *child, size_t *hosts)
{
    size_t count = 0;
    for (uint32_t k = n->graph.start[v]; k < n->graph.start[v + 1]; k++) {
        uint32_t w = n->graph.to[k];
        if (n->up[w] == n->graph.link[k] && n->up[v] != n->graph.link[k])
            child[count++] = w;
    }
    for (size_t k = 1; k < count; k++) /* links come sorted: nearly no work */
        for (size_t j = k; j > 0 && child[j - 1] > child[j]; j--) {
            uint32_t swapped = child[j];
            child[j] = child[j - 1];
            child[j - 1] = swapped;
        }
    *hosts = 0;
    while (*hosts < count && child[*hosts] < n->model->hosts)
        (*hosts)++;
    return count;
}

static void draw_hosts(struct net *n, const struct branch *b, const uint32_t *host, size_t count,
                       bool more)
{
    char text[sizeof b->prefix + 16];
    struct usual usual = find_usual(n, host, count);
    size_t same = 0;
    for (size_t k = 0; k < count; k++)
        if (n->fold && is_usual(n, host[k], &usual))
            n->queue[same++] = host[k];
    bool fold = same >= FOLD_LEAST;
    size_t left = fold ? count - same + 1 : count;
    if (fold)
        add_folded(n, branch_art(n, b, --left == 0 && !more, text, sizeof text), n->queue, same,
                   &usual);
    for (size_t k = 0; k < count; k++)
        if (!fold || !is_usual(n, host[k], &usual))
            add_host(n, branch_art(n, b, --left == 0 && !more, text, sizeof text), host[k]);
}

static void draw_switch(struct net *n, uint32_t v, const char *own_art)
{
    uint32_t s = v - (uint32_t)n->model->hosts;
    struct nt_row *row =
        nt_text_table_add(&n->rows, NT_STYLE_SWITCH, own_art, nt_map_vertex_name(n->map, v));
    if (n->up[v] != NT_NO_LINK)
        put_figures(n, row, &n->model->link[n->up[v]], v);
    put_sure(row, n->support[s]);
    if (n->model->oversubscription[s] > 1 + alike) {
        char text[48];
        snprintf(text, sizeof text, "%.3g:1 oversubscribed", n->model->oversubscription[s]);
        note_row(row, text);
    }
}

static void draw_below(struct net *n, uint32_t v, struct branch *b)
{
    char text[sizeof b->prefix + 16];
    size_t hosts;
    if (b->depth >= DEPTH_MAX)
        return; /* a chain this long has shown its shape */
    uint32_t *child = n->child + n->children;
    size_t count = list_children(n, v, child, &hosts);
    n->children += count;
    if (hosts > 0)
        draw_hosts(n, b, child, hosts, count > hosts);
    for (size_t k = hosts; k < count; k++) {
        bool last = k + 1 == count;
        draw_switch(n, child[k], branch_art(n, b, last, text, sizeof text));
        size_t used = strlen(b->prefix);
        strncat(b->prefix, twigs[n->terminal->unicode][last ? 3 : 2], sizeof b->prefix - used - 1);
        b->depth++;
        draw_below(n, child[k], b);
        b->depth--;
        b->prefix[used] = '\0';
    }
    n->children -= count;
}

/* Breadth first, so that a vertex hangs from the nearest way to the top. */
static void reach_vertices(struct net *n, uint32_t top)
{
    size_t tail = 0;
    n->reached[top] = true;
    n->queue[tail++] = top;
    for (size_t head = 0; head < tail; head++) {
        uint32_t v = n->queue[head];
        for (uint32_t k = n->graph.start[v]; k < n->graph.start[v + 1]; k++) {
            uint32_t w = n->graph.to[k];
            if (n->reached[w] || v < n->model->hosts) /* a host passes nothing on */
                continue;
            n->reached[w] = true;
            n->up[w] = n->graph.link[k];
            n->drawn[n->graph.link[k]] = true;
            n->queue[tail++] = w;
        }
    }
}

/* The switch not yet drawn that stands highest; the first of them. */
static uint32_t next_top(const struct net *n)
{
    const struct nt_model *m = n->model;
    uint32_t best = NT_NO_LINK;
    for (uint32_t k = 0; k < m->switches; k++) {
        if (n->reached[m->hosts + k])
            continue;
        if (best == NT_NO_LINK || m->tier[k] > m->tier[best])
            best = k;
    }
    return best == NT_NO_LINK ? NT_NO_LINK : best + (uint32_t)m->hosts;
}

static void draw_trees(struct net *n)
{
    for (uint32_t top = next_top(n); top != NT_NO_LINK; top = next_top(n)) {
        struct branch b = {.depth = 0};
        reach_vertices(n, top);
        draw_switch(n, top, "");
        draw_below(n, top, &b);
    }
}

/* ---- links that no tree holds -----------------------------------------------------------------
 */

static void draw_link(struct net *n, const struct nt_link *l)
{
    char label[600];
    snprintf(label, sizeof label, "%s %s %s", nt_map_vertex_name(n->map, l->a),
             n->terminal->unicode ? "─" : "-", nt_map_vertex_name(n->map, l->b));
    put_figures(n, nt_text_table_add(&n->rows, NT_STYLE_PLAIN, "", label), l, l->a);
}

static void draw_other_links(struct net *n)
{
    const struct nt_model *m = n->model;
    size_t left = 0, known = 0, shown = 0;
    for (size_t k = 0; k < m->links; k++) {
        left += !n->drawn[k];
        if (!n->drawn[k] && !isnan(m->link[k].latency_us))
            n->value[known++] = m->link[k].latency_us;
    }
    bool fold = n->fold && left > SCREEN_ROWS / 2;
    double middle = median_of(n->value, known);
    for (size_t k = 0; k < m->links; k++) {
        if (n->drawn[k] || (fold && !m->link[k].suspect && near_to(m->link[k].latency_us, middle)))
            continue;
        draw_link(n, &m->link[k]);
        shown++;
    }
    if (left > shown) {
        char label[96];
        snprintf(label, sizeof label, "%zu%s links, all alike (--all lists them)", left - shown,
                 shown > 0 ? " other" : "");
        struct nt_row *row = nt_text_table_add(&n->rows, NT_STYLE_PLAIN, "", label);
        put_latency(n, row->cell[LATENCY], middle, NAN);
    }
}

static void draw_missing(struct net *n)
{
    for (uint32_t k = 0; k < n->model->hosts; k++)
        if (n->model->missing[k])
            note_row(nt_text_table_add(&n->rows, NT_STYLE_BAD, "", nt_map_vertex_name(n->map, k)),
                     "MISSING");
}

/* ---- all together -----------------------------------------------------------------------------
 */

static int net_init(struct net *n, struct nt_err *err)
{
    const struct nt_model *m = n->model;
    size_t vertices = m->hosts + m->switches;
    n->up = nt_arena_array(&n->memory, vertices, sizeof *n->up);
    n->reached = nt_arena_array(&n->memory, vertices, sizeof *n->reached);
    n->drawn = nt_arena_array(&n->memory, m->links, sizeof *n->drawn);
    n->child = nt_arena_array(&n->memory, vertices, sizeof *n->child);
    n->queue = nt_arena_array(&n->memory, vertices, sizeof *n->queue);
    n->value = nt_arena_array(&n->memory, m->links + m->hosts, sizeof *n->value);
    n->name = nt_arena_array(&n->memory, m->hosts, sizeof *n->name);
    if (nt_graph_init(&n->graph, m, &n->memory, err) != 0 ||
        nt_support_create(m, &n->support, err) != 0)
        return -1;
    for (size_t v = 0; v < vertices; v++)
        n->up[v] = NT_NO_LINK;
    return 0;
}

static int latency_decimals(const struct nt_model *m)
{
    double most = 0;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].latency_us > most)
            most = m->link[k].latency_us;
    return most >= 100 ? 1 : most >= 10 ? 2 : 3;
}

int nt_show_net(const struct nt_map *map, bool all, const struct nt_terminal *terminal,
                struct nt_strbuf *buf, struct nt_err *err)
{
    struct net n = {.map = map,
                    .model = map->model,
                    .terminal = terminal,
                    .places = latency_decimals(map->model)};
    static const char *const titles[NT_ROW_CELLS] = {"latency us", "MB/s up", "down", "sure"};
    n.fold = !all && map->model->hosts + map->model->switches > SCREEN_ROWS;
    nt_text_table_add_head(&n.rows, "", titles);
    int rc = net_init(&n, err);
    if (rc == 0) {
        draw_trees(&n);
        draw_other_links(&n);
        draw_missing(&n);
        nt_text_table_put(&n.rows, terminal, buf);
    }
    nt_text_table_fini(&n.rows);
    free(n.support);
    nt_arena_fini(&n.memory);
    return rc;
}
