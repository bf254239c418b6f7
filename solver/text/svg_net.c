/* SPDX-License-Identifier: Apache-2.0 */
#include "svg_parts.h"

#include <math.h>
#include <string.h>

#include "graph.h"
#include "layout.h"

static const uint64_t SEED = 1;

enum { SIDES = 8, LABELLED_MAX = 300 };

static const double APART = 46, LEAST_SIZE = 300, MOST_SIZE = 2000, EDGE = 80;

struct net {
    struct nt_svg *svg;
    struct nt_graph graph;
    const double *at; /* two a vertex, the farthest at 1 */
    double unit;      /* px of that 1 */
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

static void put_label(struct net *n, uint32_t v)
{
    double side = free_side(n, v), away = NT_SVG_SIGN + 5, c = cos(side);
    const char *anchor = c > 0.3 ? "start" : c < -0.3 ? "end" : "middle";
    nt_strbuf_print(&n->svg->body,
                    "<text class=\"name halo\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                    anchor, x_of(n, v) + away * c, y_of(n, v) + 4.5 + (away + 3) * sin(side),
                    nt_map_vertex_name(n->svg->map, v));
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
