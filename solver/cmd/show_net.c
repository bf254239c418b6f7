/* SPDX-License-Identifier: Apache-2.0 */
#include "show_net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "hostlist.h"
#include "picture.h"
#include "stats.h"
#include "switch_support.h"
#include "terminal.h"

/* Rows of the drawing on a screen of 60 lines; the rest is for the head, the summary of tiers and
 * the foot. */
enum { SCREEN_ROWS = 40, FOLD_LEAST = 2, DEPTH_MAX = 256 };

/* Largest relative difference from the median of hosts that share a line. */
static const double most_different = 0.1;

/* Columns of values. */
enum { LATENCY, UP, DOWN, SUPPORT };

/* How much of a tree is unfolded. A switch with a finding below it always is. */
struct way {
    uint32_t deep; /* other switches are unfolded down to this level below the top */
    bool together; /* folded switches of one switch share a line */
    bool bare;     /* similar hosts are counted in the line of their switch */
};

struct net {
    const struct nt_map *map;
    const struct nt_model *model;
    const struct nt_terminal *terminal;
    struct nt_text_table rows;
    bool fold;
    struct way way;
    struct nt_arena memory;
    struct nt_graph graph;
    double *support;       /* by switch */
    uint32_t *up;          /* by vertex: the link by which it was reached first */
    bool *reached, *drawn; /* by vertex; by link */
    uint32_t *order;       /* vertices reached, breadth first, tree by tree */
    uint32_t *top;         /* tops of the trees; number of trees */
    size_t ordered, tops;
    uint32_t *depth, *below; /* by vertex: levels below the top; number of hosts below */
    bool *noted;             /* by vertex: has a finding, at the link above or below it */
    uint32_t *child;         /* stack of lists of children on the path downwards */
    size_t children;         /* entries in use */
    uint32_t *queue;         /* vertices; hosts that share a line */
    double *value;           /* links or hosts */
    const char **name;       /* hosts */
};

/* ---- figures ---- */

static void put_latency(const struct net *n, char *cell, double value, double se)
{
    char us[NT_VALUE_BYTES], error[NT_VALUE_BYTES];
    nt_latency_text(value, us);
    nt_error_text(se, error);
    if (us[0] != '\0' && error[0] != '\0')
        snprintf(cell, NT_ROW_CELL_BYTES, "%.12s %s%.12s", us, n->terminal->unicode ? "±" : "+-",
                 error);
    else
        snprintf(cell, NT_ROW_CELL_BYTES, "%.24s", us);
}

static void put_rate(const struct net *n, char *cell, const struct nt_link *l, bool back)
{
    char text[NT_VALUE_BYTES];
    nt_rate_text(l, back ? NT_WAY_BACK : NT_WAY_FORTH, n->terminal->unicode, text);
    snprintf(cell, NT_ROW_CELL_BYTES, "%.24s", text);
}

static void put_support(struct nt_row *row, double support)
{
    if (support < NT_SUPPORT_SHOWN)
        snprintf(row->cell[SUPPORT], sizeof row->cell[SUPPORT], "%u %%", nt_percent(support));
}

static void note_row(struct nt_row *row, const char *text)
{
    size_t used = strlen(row->note);
    snprintf(row->note + used, sizeof row->note - used, "%s%s", used > 0 ? ", " : "", text);
}

/* Sets the values of a link; below is its lower end. */
static void put_figures(const struct net *n, struct nt_row *row, const struct nt_link *l,
                        uint32_t below)
{
    bool turned = l->b == below;
    put_latency(n, row->cell[LATENCY], l->latency_us, l->latency_se_us);
    put_rate(n, row->cell[UP], l, turned);
    put_rate(n, row->cell[DOWN], l, !turned);
    if (l->suspect || (below < n->model->hosts && n->model->host_suspect[below])) {
        note_row(row, "SUSPECT");
        row->style = NT_STYLE_BAD;
    }
    put_support(row, l->probability);
    if (l->simplex)
        note_row(row, "one direction");
}

/* ---- hosts of a switch ---- */

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, nt_compare_doubles);
    return n == 0 ? (double)NAN : values[n / 2];
}

static bool near_to(double value, double middle)
{
    return isnan(value) ? isnan(middle) : fabs(value - middle) <= most_different * middle;
}

/* The median values of the hosts of a switch. */
struct medians {
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

static struct medians find_medians(struct net *n, const uint32_t *hosts, size_t count)
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
    return (struct medians){into[0], into[1], into[2]};
}

static bool is_typical(const struct net *n, uint32_t host, const struct medians *median)
{
    const struct nt_link *l = &n->model->link[n->up[host]];
    return !l->suspect && !n->model->host_suspect[host] && !l->simplex && !l->effective &&
           l->probability >= NT_SUPPORT_USED && near_to(l->latency_us, median->latency) &&
           near_to(out_of(l, host), median->out) && near_to(back_to(l, host), median->back);
}

/* Draws vertices on one line: the medians of their links, and the range of latencies. */
static struct nt_row *add_folded(struct net *n, const char *art, const char *label,
                                 const uint32_t *vertex, size_t count)
{
    struct medians median = find_medians(n, vertex, count);
    struct nt_link typical = {.bandwidth_MBps = median.out, .bandwidth_back_MBps = median.back};
    struct nt_row *row = nt_text_table_add(&n->rows, NT_STYLE_PLAIN, art, label);
    char from[NT_VALUE_BYTES], to[NT_VALUE_BYTES];
    double low = INFINITY, high = 0, support = 1;
    typical.forth_at_least = typical.back_at_least = true;
    for (size_t k = 0; k < count; k++) {
        const struct nt_link *l = &n->model->link[n->up[vertex[k]]];
        bool turned = l->b == vertex[k];
        low = fmin(low, l->latency_us);
        high = fmax(high, l->latency_us);
        support = fmin(support, l->probability);
        typical.forth_at_least &= l->at_least || (turned ? l->back_at_least : l->forth_at_least);
        typical.back_at_least &= l->at_least || (turned ? l->forth_at_least : l->back_at_least);
    }
    put_latency(n, row->cell[LATENCY], median.latency, NAN);
    put_rate(n, row->cell[UP], &typical, false);
    put_rate(n, row->cell[DOWN], &typical, true);
    row->minor = true;
    put_support(row, support);
    nt_latency_text(low, from);
    nt_latency_text(high, to);
    if (isfinite(low) && strcmp(from, to) != 0)
        snprintf(row->detail, sizeof row->detail, "%.24s to %.24s us", from, to);
    return row;
}

/* Draws the hosts of a switch with typical values on one line, with their names folded. */
static void add_folded_hosts(struct net *n, const char *art, const uint32_t *host, size_t count)
{
    struct nt_strbuf label = {0};
    for (size_t k = 0; k < count; k++)
        n->name[k] = nt_map_vertex_name(n->map, host[k]);
    nt_hostlist_format(&label, n->name, count);
    n->rows.failed |= label.failed;
    struct nt_row *row = add_folded(n, art, label.failed ? "" : label.text, host, count);
    free(label.text);
    snprintf(row->note, sizeof row->note, "%zu hosts", count);
}

/* Adds the note "64 hosts each" to a row of switches. */
static void note_hosts_below(const struct net *n, struct nt_row *row, const uint32_t *sw,
                             size_t count)
{
    uint32_t low = UINT32_MAX, high = 0;
    char range[32] = "", text[NT_ROW_NOTE_BYTES];
    for (size_t k = 0; k < count; k++) {
        low = n->below[sw[k]] < low ? n->below[sw[k]] : low;
        high = n->below[sw[k]] > high ? n->below[sw[k]] : high;
    }
    if (low < high)
        snprintf(range, sizeof range, "%u to ", low);
    snprintf(text, sizeof text, "%s%u host%s%s", range, high, high == 1 ? "" : "s",
             count > 1 ? " each" : "");
    note_row(row, text);
}

static void add_switches(struct net *n, const char *art, const uint32_t *sw, size_t count)
{
    char label[48];
    snprintf(label, sizeof label, "%zu switches", count);
    note_hosts_below(n, add_folded(n, art, label, sw, count), sw, count);
}

static void add_host(struct net *n, const char *art, uint32_t host)
{
    struct nt_row *row =
        nt_text_table_add(&n->rows, NT_STYLE_PLAIN, art, nt_map_vertex_name(n->map, host));
    put_figures(n, row, &n->model->link[n->up[host]], host);
}

/* ---- the tree ---- */

/* The lines to the left of a row. */
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

/* Lists the children that were reached through a vertex: hosts first, both in natural order. */
static size_t list_children(struct net *n, uint32_t v, uint32_t *child, size_t *hosts)
{
    size_t count = 0;
    for (uint32_t k = n->graph.start[v]; k < n->graph.start[v + 1]; k++) {
        uint32_t w = n->graph.to[k];
        if (n->up[w] == n->graph.link[k] && n->up[v] != n->graph.link[k])
            child[count++] = w;
    }
    for (size_t k = 1; k < count; k++) /* links are sorted, so this is fast */
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
    struct medians median = find_medians(n, host, count);
    size_t same = 0;
    for (size_t k = 0; k < count; k++)
        if (n->fold && is_typical(n, host[k], &median))
            n->queue[same++] = host[k];
    bool fold = same >= FOLD_LEAST, listed = fold && !n->way.bare;
    size_t left = (fold ? count - same : count) + (listed ? 1 : 0);
    if (listed)
        add_folded_hosts(n, branch_art(n, b, --left == 0 && !more, text, sizeof text), n->queue,
                         same);
    for (size_t k = 0; k < count; k++)
        if (!fold || !is_typical(n, host[k], &median))
            add_host(n, branch_art(n, b, --left == 0 && !more, text, sizeof text), host[k]);
}

static struct nt_row *draw_switch(struct net *n, uint32_t v, const char *own_art)
{
    uint32_t s = v - (uint32_t)n->model->hosts;
    char ratio[NT_VALUE_BYTES], text[NT_ROW_NOTE_BYTES];
    struct nt_row *row =
        nt_text_table_add(&n->rows, NT_STYLE_SWITCH, own_art, nt_map_vertex_name(n->map, v));
    if (n->up[v] != NT_NO_LINK)
        put_figures(n, row, &n->model->link[n->up[v]], v);
    put_support(row, n->support[s]);
    nt_ratio_text(n->model->oversubscription[s], ratio);
    if (ratio[0] != '\0') {
        snprintf(text, sizeof text, "%s oversubscribed", ratio);
        note_row(row, text);
    }
    return row;
}

static bool is_open(const struct net *n, uint32_t v)
{
    return n->noted[v] || n->depth[v] <= n->way.deep;
}

static void draw_below(struct net *n, uint32_t v, struct branch *b);

static void draw_child(struct net *n, uint32_t v, bool last, struct branch *b)
{
    char text[sizeof b->prefix + 16];
    struct nt_row *row = draw_switch(n, v, branch_art(n, b, last, text, sizeof text));
    if (!is_open(n, v) || n->way.bare)
        note_hosts_below(n, row, &v, 1);
    if (!is_open(n, v))
        return;
    size_t used = strlen(b->prefix);
    strncat(b->prefix, twigs[n->terminal->unicode][last ? 3 : 2], sizeof b->prefix - used - 1);
    b->depth++;
    draw_below(n, v, b);
    b->depth--;
    b->prefix[used] = '\0';
}

static void draw_below(struct net *n, uint32_t v, struct branch *b)
{
    char text[sizeof b->prefix + 16];
    size_t hosts, folded = 0;
    if (b->depth >= DEPTH_MAX)
        return; /* stop in a chain of this length */
    uint32_t *child = n->child + n->children;
    size_t count = list_children(n, v, child, &hosts);
    bool together = n->way.together || n->depth[v] > n->way.deep;
    n->children += count;
    if (hosts > 0)
        draw_hosts(n, b, child, hosts, count > hosts);
    for (size_t k = hosts; k < count; k++)
        folded += !is_open(n, child[k]);
    together = together && folded >= FOLD_LEAST;
    size_t left = count - hosts - (together ? folded - 1 : 0);
    for (size_t k = hosts; k < count; k++)
        if (!together || is_open(n, child[k]))
            draw_child(n, child[k], --left == 0, b);
    folded = 0;
    for (size_t k = hosts; together && k < count; k++)
        if (!is_open(n, child[k]))
            n->queue[folded++] = child[k];
    if (together)
        add_switches(n, branch_art(n, b, true, text, sizeof text), n->queue, folded);
    n->children -= count;
}

/* Searches breadth first, so that a vertex is drawn below the shortest way to the top. */
static void reach_vertices(struct net *n, uint32_t top)
{
    size_t head = n->ordered;
    n->reached[top] = true;
    n->depth[top] = 1;
    n->order[n->ordered++] = top;
    n->top[n->tops++] = top;
    for (; head < n->ordered; head++) {
        uint32_t v = n->order[head];
        for (uint32_t k = n->graph.start[v]; k < n->graph.start[v + 1]; k++) {
            uint32_t w = n->graph.to[k];
            if (n->reached[w] || v < n->model->hosts) /* do not continue through a host */
                continue;
            n->reached[w] = true;
            n->depth[w] = n->depth[v] + 1;
            n->up[w] = n->graph.link[k];
            n->drawn[n->graph.link[k]] = true;
            n->order[n->ordered++] = w;
        }
    }
}

/* Returns the first of the highest switches that have not been drawn. */
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

/* Computes the trees, the vertices with findings, and the hosts below each switch. */
static void reach_trees(struct net *n)
{
    const struct nt_map *map = n->map;
    for (uint32_t top = next_top(n); top != NT_NO_LINK; top = next_top(n))
        reach_vertices(n, top);
    for (size_t k = 0; k < map->faults; k++)
        n->noted[map->fault[k].part.a] = n->noted[map->fault[k].part.b] = true;
    for (size_t k = n->ordered; k-- > 0;) {
        uint32_t v = n->order[k];
        bool host = v < n->model->hosts;
        n->below[v] += host;
        if (n->up[v] == NT_NO_LINK)
            continue;
        const struct nt_link *l = &n->model->link[n->up[v]];
        uint32_t parent = nt_link_other_end(l, v);
        n->noted[v] = n->noted[v] || l->suspect || (host && n->model->host_suspect[v]);
        n->noted[parent] = n->noted[parent] || n->noted[v];
        n->below[parent] += n->below[v];
    }
}

static void draw_trees(struct net *n)
{
    for (size_t k = 0; k < n->tops; k++) {
        struct branch b = {.depth = 0};
        struct nt_row *row = draw_switch(n, n->top[k], "");
        if (n->way.bare)
            note_hosts_below(n, row, &n->top[k], 1);
        draw_below(n, n->top[k], &b);
    }
}

static void add_blank(struct net *n)
{
    nt_text_table_add(&n->rows, NT_STYLE_PLAIN, "", "");
}

/* Draws a line for the switches of each tier and one for the hosts, where not all of them are
 * drawn. */
static void draw_tiers(struct net *n)
{
    const struct nt_model *m = n->model;
    for (uint32_t tier = m->tiers + 1; tier-- > 0;) {
        size_t count = 0, tops = 0;
        char label[48];
        for (size_t k = 0; k < n->ordered; k++) {
            uint32_t v = n->order[k];
            if (nt_model_tier(m, v) != tier)
                continue;
            tops += n->up[v] == NT_NO_LINK;
            if (n->up[v] != NT_NO_LINK)
                n->queue[count++] = v;
        }
        size_t all = count + tops;
        snprintf(label, sizeof label, "%s%u: %zu %s%s", tier > 0 ? "tier " : "", tier, all,
                 tier > 0 ? "switch" : "host",
                 all == 1   ? ""
                 : tier > 0 ? "es"
                            : "s");
        if (count > 0) {
            struct nt_row *row = add_folded(n, "", tier > 0 ? label : label + 3, n->queue, count);
            row->minor = tier > 0;
            if (tier > 0) {
                note_hosts_below(n, row, n->queue, count);
            } else {
                memcpy(row->note, row->detail, sizeof row->note);
                row->detail[0] = '\0';
            }
        }
    }
    add_blank(n);
}

static void draw_link(struct net *n, const struct nt_link *l, uint32_t below)
{
    char label[600];
    snprintf(label, sizeof label, "%s %s %s", nt_map_vertex_name(n->map, below),
             n->terminal->unicode ? "─" : "-",
             nt_map_vertex_name(n->map, nt_link_other_end(l, below)));
    put_figures(n, nt_text_table_add(&n->rows, NT_STYLE_PLAIN, "", label), l, below);
}

/* Draws no tree, but a line for each link with a finding. */
static void draw_findings(struct net *n)
{
    for (uint32_t v = 0; v < n->model->hosts + n->model->switches; v++)
        if (n->up[v] != NT_NO_LINK && (n->model->link[n->up[v]].suspect ||
                                       (v < n->model->hosts && n->model->host_suspect[v])))
            draw_link(n, &n->model->link[n->up[v]], v);
}

/* Returns the number of lines of the table, some of whose notes may have lines of their own. */
static size_t count_lines(const struct net *n)
{
    struct nt_strbuf d = {0};
    size_t lines = 0;
    nt_text_table_put(&n->rows, n->terminal, &d);
    for (size_t k = 0; k < d.used; k++)
        lines += d.text[k] == '\n';
    free(d.text);
    return lines;
}

/* Unfolds as much of the trees as fits on a screen that shows every finding. The last way needs a
 * line per finding and tier. */
static void draw_foldable(struct net *n, const char *const titles[NT_ROW_CELLS])
{
    enum { APART, TOGETHER, BARE, FINDINGS, WAYS };
    uint32_t deepest = 1;
    for (size_t k = 0; k < n->ordered; k++)
        deepest = n->depth[n->order[k]] > deepest ? n->depth[n->order[k]] : deepest;
    for (int way = APART; way < WAYS; way++)
        for (uint32_t deep = way < BARE ? deepest : 1; deep > 0; deep--) {
            nt_text_table_fini(&n->rows);
            nt_text_table_add_head(&n->rows, "", titles);
            n->way = (struct way){deep, way >= TOGETHER, way == BARE};
            if (deep < deepest)
                draw_tiers(n);
            if (way == FINDINGS)
                draw_findings(n);
            else
                draw_trees(n);
            if (!n->fold || count_lines(n) <= SCREEN_ROWS)
                return;
        }
}

/* ---- links that no tree holds ---- */

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
        draw_link(n, &m->link[k], m->link[k].a);
        shown++;
    }
    if (left > shown) {
        char label[96];
        snprintf(label, sizeof label, "%zu%s links of similar latency (--all lists them)",
                 left - shown, shown > 0 ? " other" : "");
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

/* ---- all together ---- */

static int net_init(struct net *n, struct nt_err *err)
{
    const struct nt_model *m = n->model;
    size_t vertices = m->hosts + m->switches;
    n->up = nt_arena_array(&n->memory, vertices, sizeof *n->up);
    n->reached = nt_arena_array(&n->memory, vertices, sizeof *n->reached);
    n->drawn = nt_arena_array(&n->memory, m->links, sizeof *n->drawn);
    n->child = nt_arena_array(&n->memory, vertices, sizeof *n->child);
    n->order = nt_arena_array(&n->memory, vertices, sizeof *n->order);
    n->top = nt_arena_array(&n->memory, m->switches, sizeof *n->top);
    n->depth = nt_arena_array(&n->memory, vertices, sizeof *n->depth);
    n->below = nt_arena_array(&n->memory, vertices, sizeof *n->below);
    n->noted = nt_arena_array(&n->memory, vertices, sizeof *n->noted);
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

int nt_show_net(const struct nt_map *map, bool all, const struct nt_terminal *terminal,
                struct nt_strbuf *buf, struct nt_err *err)
{
    struct net n = {.map = map, .model = map->model, .terminal = terminal};
    static const char *const titles[NT_ROW_CELLS] = {"latency us", "MB/s up", "down", "support"};
    n.fold = !all && map->model->hosts + map->model->switches > SCREEN_ROWS;
    int rc = net_init(&n, err);
    if (rc == 0) {
        reach_trees(&n);
        draw_foldable(&n, titles);
        draw_other_links(&n);
        draw_missing(&n);
        nt_text_table_put(&n.rows, terminal, buf);
    }
    nt_text_table_fini(&n.rows);
    free(n.support);
    nt_arena_fini(&n.memory);
    return rc;
}
