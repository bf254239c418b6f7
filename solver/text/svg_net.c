/* SPDX-License-Identifier: Apache-2.0 */
#include "svg_parts.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "graph.h"
#include "layout.h"

static const uint64_t SEED = 1;

enum { SIDES = 8, LABELLED_MAX = 300, PLACES = 12, DISTANCES = 4, STEP = 7 };

static const double APART = 46, LEAST_SIZE = 300, MOST_SIZE = 2000, EDGE = 80;

struct box {
    double left, top, right, bottom;
};

struct net {
    struct nt_svg *svg;
    struct nt_graph graph;
    const double *at;  /* two a vertex, the farthest at 1 */
    double unit;       /* px of that 1 */
    struct box *label; /* that were put */
    size_t labels;
};

static double x_of(const struct net *n, uint32_t v)
{
    return EDGE + n->unit * (1 + n->at[2 * (size_t)v]);
}

static double y_of(const struct net *n, uint32_t v)
{
    return EDGE / 2 + n->unit * (1 + n->at[2 * (size_t)v + 1]);
}

/* So large that the links of middle length have room for words at their ends. */
static double unit_of(const struct net *n)
{
    const struct nt_model *m = n->svg->model;
    double sum = 0;
    for (size_t k = 0; k < m->links; k++) {
        const double *a = n->at + 2 * (size_t)m->link[k].a, *b = n->at + 2 * (size_t)m->link[k].b;
        sum += hypot(a[0] - b[0], a[1] - b[1]);
    }
    double mean = m->links > 0 && sum > 0 ? sum / (double)m->links : 1;
    return fmin(fmax(2 * APART / mean, LEAST_SIZE), MOST_SIZE);
}

/* Of eight sides of a vertex the one that is farthest from its links; right or left before others.
 */
static double free_side(const struct net *n, uint32_t v)
{
    double best = 0, most = -1;
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

/* Narrows from..to to that part of a line from p, d long, that lies between low and high. */
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

/* How much a label there would hide: a line is less than a sign or another label. */
static unsigned hidden_by(const struct net *n, const struct box *b, uint32_t v)
{
    const struct nt_model *m = n->svg->model;
    const unsigned worse = 100;
    unsigned hidden = 0;
    for (size_t k = 0; k < m->links; k++)
        hidden += meets(n, b, &m->link[k]);
    for (size_t k = 0; k < n->labels; k++)
        hidden += overlap(b, &n->label[k]) ? worse : 0;
    for (uint32_t w = 0; w < m->hosts + m->switches; w++) {
        double x = x_of(n, w), y = y_of(n, w), r = NT_SVG_SIGN + 1;
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
    const double letter = 8.2, ascent = 12, descent = 4;
    double away = NT_SVG_SIGN + 5 + more, c = cos(side);
    double wide = letter * (double)strlen(nt_map_vertex_name(n->svg->map, v));
    *p = (struct place){x_of(n, v) + away * c, y_of(n, v) + 4.5 + (away + 3) * sin(side),
                        c > 0.3    ? "start"
                        : c < -0.3 ? "end"
                                   : "middle"};
    double left = c > 0.3 ? p->x : c < -0.3 ? p->x - wide : p->x - wide / 2;
    return (struct box){left, p->y - ascent, left + wide, p->y + descent};
}

/* The side away from its links first, then around, then farther from it: the first that hides
 * least. */
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
    struct nt_svg *svg = n->svg;
    nt_strbuf_print(&svg->body, "<g class=\"%s\"", nt_svg_class(svg, v));
    if (v >= svg->model->hosts)
        nt_svg_put_opacity(svg, svg->support[v - svg->model->hosts]);
    nt_strbuf_puts(&svg->body, ">");
    nt_svg_put_title(svg, v);
    if (v >= svg->model->hosts)
        nt_strbuf_print(&svg->body,
                        "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                        "rx=\"3\"/>",
                        x_of(n, v) - NT_SVG_SIGN - 1, y_of(n, v) - NT_SVG_SIGN - 1,
                        2 * NT_SVG_SIGN + 2, 2 * NT_SVG_SIGN + 2);
    else
        nt_strbuf_print(&svg->body, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>",
                        x_of(n, v), y_of(n, v), (int)NT_SVG_SIGN);
    if (labelled || svg->vertex_bad[v])
        put_label(n, v);
    nt_strbuf_puts(&svg->body, "</g>\n");
}

static void put_link(struct net *n, size_t k)
{
    struct nt_svg *svg = n->svg;
    const struct nt_link *l = &svg->model->link[k];
    char figures[NT_SVG_FIGURES_BYTES];
    nt_svg_figures(l->latency_us, nt_svg_rate(l), figures);
    nt_strbuf_print(&svg->body, "<g%s><title>%s - %s", svg->link_bad[k] ? " class=\"strong\"" : "",
                    nt_map_vertex_name(svg->map, l->a), nt_map_vertex_name(svg->map, l->b));
    nt_strbuf_print(&svg->body, "%s%s</title><path class=\"link\" d=\"M %.1f %.1f L %.1f %.1f\"",
                    *figures != '\0' ? ": " : "", figures, x_of(n, l->a), y_of(n, l->a),
                    x_of(n, l->b), y_of(n, l->b));
    nt_svg_put_link_style(svg, l);
    nt_strbuf_puts(&svg->body, "/></g>\n");
}

int nt_svg_draw_net(struct nt_svg *svg, struct nt_err *err)
{
    const struct nt_model *m = svg->model;
    size_t vertices = m->hosts + m->switches;
    struct nt_layout *layout;
    struct net n = {.svg = svg};
    if (nt_graph_init(&n.graph, m, &svg->memory, err) != 0 ||
        nt_layout_create(m, 2, SEED, &layout, err) != 0)
        return -1;
    n.at = layout->at;
    n.label = nt_arena_array(&svg->memory, vertices, sizeof *n.label);
    if (nt_arena_check(&svg->memory, err) != 0) {
        nt_layout_destroy(layout);
        return -1;
    }
    n.unit = unit_of(&n);
    for (size_t k = 0; k < m->links; k++)
        put_link(&n, k);
    for (uint32_t v = 0; v < vertices; v++)
        put_vertex(&n, v, vertices <= LABELLED_MAX || v >= m->hosts);
    svg->width = 2 * (EDGE + n.unit);
    svg->height = EDGE + 2 * n.unit;
    nt_layout_destroy(layout);
    return 0;
}
