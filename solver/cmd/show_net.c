/* SPDX-License-Identifier: Apache-2.0 */
#include "show_net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "hostlist_format.h"
#include "stats.h"
#include "switch_support.h"
#include "text_table.h"

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
    struct nt_err *err;
    bool fold;
    int places; /* decimals of a latency */
    struct nt_arena memory;
    struct nt_graph graph;
    double *support;       /* of each switch */
    uint32_t *up;          /* the link by which a vertex was reached first */
    bool *reached, *drawn; /* vertices, links */
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

static struct nt_row *add_row(struct net *n, enum nt_style style, const char *art,
                              const char *label)
{
    struct nt_row *row = nt_text_table_add(&n->rows, style, strdup(art), strdup(label), n->err);
    return row;
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

static int find_usual(struct net *n, const uint32_t *hosts, size_t count, struct usual *usual)
{
    NT_SCOPED struct nt_arena memory = {0};
    double *values = nt_arena_array(&memory, count, sizeof *values);
    double *into[] = {&usual->latency, &usual->out, &usual->back};
    if (nt_arena_check(&memory, n->err) != 0)
        return -1;
    for (size_t f = 0; f < 3; f++) {
        size_t known = 0;
        for (size_t k = 0; k < count; k++) {
            const struct nt_link *l = &n->model->link[n->up[hosts[k]]];
            double value = f == 0   ? l->latency_us
                           : f == 1 ? out_of(l, hosts[k])
                                    : back_to(l, hosts[k]);
            if (!isnan(value))
                values[known++] = value;
        }
        *into[f] = median_of(values, known);
    }
    return 0;
}

static bool is_usual(const struct net *n, uint32_t host, const struct usual *usual)
{
    const struct nt_link *l = &n->model->link[n->up[host]];
    return !l->suspect && !n->model->host_suspect[host] && !l->simplex && !l->effective &&
           l->probability >= NT_SUPPORT_ACTED && near_to(l->latency_us, usual->latency) &&
           near_to(out_of(l, host), usual->out) && near_to(back_to(l, host), usual->back);
}

/* The usual hosts on one line: names folded, medians, and how many. */
static int add_folded(struct net *n, const char *art, const uint32_t *hosts, size_t count,
                      const struct usual *usual)
{
    struct nt_strbuf d = {0};
    NT_SCOPED struct nt_arena memory = {0};
    const char **names = nt_arena_array(&memory, count, sizeof *names);
    double low = INFINITY, high = 0, sure = 1;
    if (nt_arena_check(&memory, n->err) != 0)
        return -1;
    bool at_least = true;
    for (size_t k = 0; k < count; k++) {
        const struct nt_link *l = &n->model->link[n->up[hosts[k]]];
        names[k] = nt_map_vertex_name(n->map, hosts[k]);
        low = fmin(low, l->latency_us);
        high = fmax(high, l->latency_us);
        sure = fmin(sure, l->probability);
        at_least &= l->at_least;
    }
    nt_hostlist_format(&d, names, count);
    char *label;
    if (nt_strbuf_finish(&d, &label, NULL, n->err) != 0)
        return -1;
    struct nt_row *row = nt_text_table_add(&n->rows, NT_STYLE_PLAIN, strdup(art), label, n->err);
    if (row == NULL)
        return -1;
    struct nt_link typical = {.at_least = at_least};
    put_latency(n, row->cell[LATENCY], usual->latency, NAN);
    put_bandwidth(n, row->cell[UP], usual->out, &typical);
    put_bandwidth(n, row->cell[DOWN], usual->back, &typical);
    put_sure(row, sure);
    snprintf(row->note, sizeof row->note, "%zu hosts", count);
    if (isfinite(low))
        snprintf(row->besides, sizeof row->besides, ", %.*f to %.*f us", n->places, low, n->places,
                 high);
    return 0;
}

static int add_host(struct net *n, const char *art, uint32_t host)
{
    struct nt_row *row = add_row(n, NT_STYLE_PLAIN, art, nt_map_vertex_name(n->map, host));
    if (row == NULL)
        return -1;
    put_figures(n, row, &n->model->link[n->up[host]], host);
    return 0;
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

static int draw_hosts(struct net *n, const struct branch *b, const uint32_t *host, size_t count,
                      bool more)
{
    char text[sizeof b->prefix + 16];
    struct usual usual;
    size_t same = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *alike_hosts = nt_arena_array(&memory, count, sizeof *alike_hosts);
    if (nt_arena_check(&memory, n->err) != 0)
        return -1;
    int rc = find_usual(n, host, count, &usual);
    for (size_t k = 0; rc == 0 && k < count; k++)
        if (n->fold && is_usual(n, host[k], &usual))
            alike_hosts[same++] = host[k];
    bool fold = same >= FOLD_LEAST;
    size_t left = fold ? count - same + 1 : count;
    if (rc == 0 && fold)
        rc = add_folded(n, branch_art(n, b, --left == 0 && !more, text, sizeof text), alike_hosts,
                        same, &usual);
    for (size_t k = 0; rc == 0 && k < count; k++)
        if (!fold || !is_usual(n, host[k], &usual))
            rc = add_host(n, branch_art(n, b, --left == 0 && !more, text, sizeof text), host[k]);
    return rc;
}

static int draw_switch(struct net *n, uint32_t v, const char *own_art)
{
    uint32_t s = v - (uint32_t)n->model->hosts;
    struct nt_row *row = add_row(n, NT_STYLE_SWITCH, own_art, nt_map_vertex_name(n->map, v));
    if (row == NULL)
        return -1;
    if (n->up[v] != NT_NO_LINK)
        put_figures(n, row, &n->model->link[n->up[v]], v);
    put_sure(row, n->support[s]);
    if (n->model->oversubscription[s] > 1 + alike) {
        char text[48];
        snprintf(text, sizeof text, "%.3g:1 oversubscribed", n->model->oversubscription[s]);
        note_row(row, text);
    }
    return 0;
}

static int draw_below(struct net *n, uint32_t v, struct branch *b)
{
    char text[sizeof b->prefix + 16];
    size_t hosts, most = nt_graph_degree(&n->graph, v);
    if (b->depth >= DEPTH_MAX)
        return 0; /* a chain this long has shown its shape */
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *child = nt_arena_array(&memory, most, sizeof *child);
    if (nt_arena_check(&memory, n->err) != 0)
        return -1;
    size_t count = list_children(n, v, child, &hosts);
    int rc = hosts == 0 ? 0 : draw_hosts(n, b, child, hosts, count > hosts);
    for (size_t k = hosts; rc == 0 && k < count; k++) {
        bool last = k + 1 == count;
        rc = draw_switch(n, child[k], branch_art(n, b, last, text, sizeof text));
        size_t used = strlen(b->prefix);
        strncat(b->prefix, twigs[n->terminal->unicode][last ? 3 : 2], sizeof b->prefix - used - 1);
        b->depth++;
        if (rc == 0)
            rc = draw_below(n, child[k], b);
        b->depth--;
        b->prefix[used] = '\0';
    }
    return rc;
}

/* Breadth first, so that a vertex hangs from the nearest way to the top. */
static int reach_vertices(struct net *n, uint32_t top)
{
    size_t vertices = n->model->hosts + n->model->switches, tail = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *queue = nt_arena_array(&memory, vertices, sizeof *queue);
    if (nt_arena_check(&memory, n->err) != 0)
        return -1;
    n->reached[top] = true;
    queue[tail++] = top;
    for (size_t head = 0; head < tail; head++) {
        uint32_t v = queue[head];
        for (uint32_t k = n->graph.start[v]; k < n->graph.start[v + 1]; k++) {
            uint32_t w = n->graph.to[k];
            if (n->reached[w] || v < n->model->hosts) /* a host passes nothing on */
                continue;
            n->reached[w] = true;
            n->up[w] = n->graph.link[k];
            n->drawn[n->graph.link[k]] = true;
            queue[tail++] = w;
        }
    }
    return 0;
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

static int draw_trees(struct net *n)
{
    for (uint32_t top = next_top(n); top != NT_NO_LINK; top = next_top(n)) {
        struct branch b = {.depth = 0};
        if (reach_vertices(n, top) != 0 || draw_switch(n, top, "") != 0 ||
            draw_below(n, top, &b) != 0)
            return -1;
    }
    return 0;
}

/* ---- links that no tree holds -----------------------------------------------------------------
 */

static int draw_link(struct net *n, const struct nt_link *l)
{
    char label[600];
    snprintf(label, sizeof label, "%s %s %s", nt_map_vertex_name(n->map, l->a),
             n->terminal->unicode ? "─" : "-", nt_map_vertex_name(n->map, l->b));
    struct nt_row *row = add_row(n, NT_STYLE_PLAIN, "", label);
    if (row == NULL)
        return -1;
    put_figures(n, row, l, l->a);
    return 0;
}

static int draw_other_links(struct net *n)
{
    const struct nt_model *m = n->model;
    size_t left = 0, known = 0, shown = 0;
    NT_SCOPED struct nt_arena memory = {0};
    double *latency = nt_arena_array(&memory, m->links, sizeof *latency);
    if (nt_arena_check(&memory, n->err) != 0)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        left += !n->drawn[k];
        if (!n->drawn[k] && !isnan(m->link[k].latency_us))
            latency[known++] = m->link[k].latency_us;
    }
    bool fold = n->fold && left > SCREEN_ROWS / 2;
    double middle = median_of(latency, known);
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < m->links; k++) {
        if (n->drawn[k] || (fold && !m->link[k].suspect && near_to(m->link[k].latency_us, middle)))
            continue;
        rc = draw_link(n, &m->link[k]);
        shown++;
    }
    if (rc == 0 && left > shown) {
        char label[96];
        snprintf(label, sizeof label, "%zu%s links, all alike (--all lists them)", left - shown,
                 shown > 0 ? " other" : "");
        struct nt_row *row = add_row(n, NT_STYLE_PLAIN, "", label);
        if (row == NULL)
            return -1;
        put_latency(n, row->cell[LATENCY], middle, NAN);
    }
    return rc;
}

static int draw_missing(struct net *n)
{
    for (uint32_t k = 0; k < n->model->hosts; k++) {
        if (!n->model->missing[k])
            continue;
        struct nt_row *row = add_row(n, NT_STYLE_BAD, "", nt_map_vertex_name(n->map, k));
        if (row == NULL)
            return -1;
        note_row(row, "MISSING");
    }
    return 0;
}

/* ---- all together -----------------------------------------------------------------------------
 */

static int net_init(struct net *n)
{
    size_t vertices = n->model->hosts + n->model->switches;
    n->up = nt_arena_array(&n->memory, vertices, sizeof *n->up);
    n->reached = nt_arena_array(&n->memory, vertices, sizeof *n->reached);
    n->drawn = nt_arena_array(&n->memory, n->model->links, sizeof *n->drawn);
    if (nt_graph_init(&n->graph, n->model, &n->memory, n->err) != 0)
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
                    .err = err,
                    .places = latency_decimals(map->model)};
    n.fold = !all && map->model->hosts + map->model->switches > SCREEN_ROWS;
    struct nt_row *head = add_row(&n, NT_STYLE_HEAD, "", "");
    int rc = head == NULL ? -1 : 0;
    if (rc == 0) {
        snprintf(head->cell[LATENCY], sizeof head->cell[LATENCY], "latency us");
        snprintf(head->cell[UP], sizeof head->cell[UP], "MB/s up");
        snprintf(head->cell[DOWN], sizeof head->cell[DOWN], "down");
        snprintf(head->cell[SURE], sizeof head->cell[SURE], "sure");
        rc = net_init(&n);
    }
    if (rc == 0)
        rc = nt_support_create(map->model, &n.support, err);
    if (rc == 0 && draw_trees(&n) == 0 && draw_other_links(&n) == 0 && draw_missing(&n) == 0)
        nt_text_table_put(&n.rows, terminal, buf);
    else
        rc = -1;
    nt_text_table_fini(&n.rows);
    free(n.support);
    nt_arena_fini(&n.memory);
    return rc;
}
