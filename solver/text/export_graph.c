/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "graph.h"
#include "memory.h"
#include "number.h"
#include "picture.h"
#include "strbuf.h"
#include "switch_support.h"

static const uint32_t BLACK = 0x000000, SWITCH = 0xf3d9c9;

static size_t vertices_of(const struct nt_map *map)
{
    return map->model->hosts + map->model->switches;
}

static void put_attribute(struct nt_strbuf *d, const char *name, double value)
{
    if (isfinite(value))
        nt_strbuf_print(d, ", %s=\"%.6g\"", name, value);
}

/* Writes a colour, mixed with more white for a lower probability. */
static void put_faded(struct nt_strbuf *d, const char *name, uint32_t colour, double sure)
{
    double keep = nt_picture_opacity(sure);
    nt_strbuf_print(d, ", %s=\"#", name);
    for (int shift = 16; shift >= 0; shift -= 8)
        nt_strbuf_print(d, "%02x",
                        (unsigned)lround(255 - keep * (255 - (double)(colour >> shift & 0xff))));
    nt_strbuf_puts(d, "\"");
}

/* Writes outline and label of an uncertain part. */
static void put_sure(struct nt_strbuf *d, double sure)
{
    if (nt_picture_opacity(sure) == 1)
        return;
    put_faded(d, "color", BLACK, sure);
    put_faded(d, "fontcolor", BLACK, sure);
    nt_strbuf_print(d, ", tooltip=\"probability %u %%\"", nt_percent(sure));
}

/* Writes the colour of a degraded part, as in other pictures. */
static void put_bad(struct nt_strbuf *d)
{
    nt_strbuf_puts(d, ", color=\"" NT_PICTURE_STRONG "\", fontcolor=\"" NT_PICTURE_STRONG "\"");
}

/* Writes a switch. Names are letters, digits, '.', '-' and '_' (nt_host_name_check) and need no
 * escapes. */
static void put_dot_switch(struct nt_strbuf *d, uint32_t tier, double support)
{
    nt_strbuf_puts(d, "shape=box, style=filled");
    put_faded(d, "fillcolor", SWITCH, support);
    put_sure(d, support);
    nt_strbuf_print(d, ", tier=%u", tier);
    put_attribute(d, "support", support);
}

static void put_dot_vertex(struct nt_strbuf *d, const struct nt_map *map, const double *support,
                           uint32_t v)
{
    const struct nt_model *m = map->model;
    nt_strbuf_print(d, "  \"%s\" [", nt_map_vertex_name(map, v));
    if (v >= m->hosts)
        put_dot_switch(d, m->tier[v - m->hosts], support[v - m->hosts]);
    else if (m->missing[v])
        nt_strbuf_puts(d, "shape=ellipse, style=dashed, status=missing");
    else
        nt_strbuf_puts(d, "shape=ellipse");
    if (v < m->hosts && m->host_suspect[v])
        put_bad(d);
    nt_strbuf_puts(d, "];\n");
}

static void put_dot_link(struct nt_strbuf *d, const struct nt_map *map, const struct nt_link *l,
                         const char *colour)
{
    char us[NT_VALUE_BYTES], MBps[NT_VALUE_BYTES];
    nt_strbuf_print(d, "  \"%s\" -- \"%s\" [label=\"", nt_map_vertex_name(map, l->a),
                    nt_map_vertex_name(map, l->b));
    nt_latency_text(l->latency_us, us);
    nt_rate_text(l, NT_WAY_NARROWER, true, MBps);
    nt_strbuf_print(d, "%s%s%s%s%s", us, us[0] != '\0' ? " us" : "",
                    us[0] != '\0' && MBps[0] != '\0' ? ", " : "", MBps,
                    MBps[0] != '\0' ? " MB/s" : "");
    nt_strbuf_puts(d, "\"");
    put_attribute(d, "latency_us", l->latency_us);
    put_attribute(d, "bandwidth_Gbps", l->bandwidth_MBps * 8 / 1000);
    put_attribute(d, "bandwidth_back_Gbps", l->bandwidth_back_MBps * 8 / 1000);
    put_attribute(d, "probability", l->probability);
    if (l->simplex)
        nt_strbuf_puts(d, ", simplex=true, dir=forward");
    if (l->suspect)
        nt_strbuf_puts(d, ", suspect=true, style=dashed, penwidth=3");
    if (l->suspect && colour == NULL)
        put_bad(d);
    else if (colour != NULL && *colour != '\0')
        nt_strbuf_print(d, ", color=\"%s\", penwidth=3", colour);
    else
        put_sure(d, l->probability);
    nt_strbuf_puts(d, "];\n");
}

/* Writes a legend as one word of at most 255 bytes, the limit of nt_import_dot. */
static void put_dot_legend(struct nt_strbuf *d, const struct nt_map *map, bool coloured)
{
    const struct nt_model *m = map->model;
    bool rates = false, suspects = false, latencies = false, faded = false, simplex = false;
    for (size_t k = 0; k < m->links; k++) {
        latencies = latencies || isfinite(m->link[k].latency_us);
        rates = rates || isfinite(m->link[k].bandwidth_MBps);
        suspects = suspects || m->link[k].suspect;
        simplex = simplex || m->link[k].simplex;
        faded = faded || (!coloured && nt_picture_opacity(m->link[k].probability) < 1);
    }
    nt_strbuf_print(d, "  label=\"%s: %zu hosts (round), %zu switches (square)",
                    nt_family_name(m->family), m->hosts, m->switches);
    if (latencies || rates)
        nt_strbuf_print(d, "\\nlinks: %s%s%s", latencies ? "one-way latency" : "",
                        latencies && rates ? " and " : "",
                        rates ? "narrower of both bandwidths" : "");
    if (suspects)
        nt_strbuf_puts(d, "\\nred, dashed: clearly worse than comparable links");
    if (simplex)
        nt_strbuf_puts(d, "\\narrow: one direction only");
    if (faded)
        nt_strbuf_puts(d, "\\npale: support below 90 %");
    if (coloured)
        nt_strbuf_puts(d, "\\ntimes over a link, compared with a healthy network: red longer, "
                          "grey similar, blue shorter");
    nt_strbuf_puts(d, "\"; labelloc=b; fontname=\"sans-serif\"; fontsize=11;\n");
}

int nt_export_dot(const struct nt_map *map, const char *const *colour, char **text, size_t *bytes,
                  struct nt_err *err)
{
    struct nt_strbuf d = {0};
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *up = nt_arena_array(&memory, vertices_of(map), sizeof *up);
    double *support;
    if (nt_arena_check(&memory, err) != 0 || nt_support_create(m, &support, err) != 0)
        return -1;
    /* Graphviz puts the first end of a link, the lower one, to the right of the other */
    bool tree = m->switches > 0 && nt_links_are_forest(m->link, m->links, up, vertices_of(map));
    nt_strbuf_print(&d, "graph nettopo {\n  %s\n",
                    tree ? "layout=dot; rankdir=RL; ranksep=1; nodesep=0.15;"
                         : "layout=neato; overlap=false; splines=true;");
    nt_strbuf_puts(&d, "  node [fontname=\"sans-serif\", fontsize=10];\n"
                       "  edge [fontname=\"sans-serif\", fontsize=8];\n");
    put_dot_legend(&d, map, colour != NULL);
    for (uint32_t v = 0; v < vertices_of(map); v++)
        put_dot_vertex(&d, map, support, v);
    for (size_t k = 0; k < map->model->links; k++)
        put_dot_link(&d, map, &map->model->link[k], colour == NULL ? NULL : colour[k]);
    nt_strbuf_puts(&d, "}\n");
    free(support);
    return nt_strbuf_finish(&d, text, bytes, err);
}

static void put_tgf_edge(struct nt_strbuf *d, uint32_t a, uint32_t b, double us, double MBps)
{
    nt_strbuf_print(d, "%u %u", a + 1, b + 1);
    if (isfinite(us))
        nt_strbuf_print(d, " l: %.6g", us);
    if (isfinite(MBps))
        nt_strbuf_print(d, " t: %.6g", MBps);
    nt_strbuf_puts(d, "\n");
}

int nt_export_tgf(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (uint32_t v = 0; v < vertices_of(map); v++)
        nt_strbuf_print(&d, "%u %s\n", v + 1, nt_map_vertex_name(map, v));
    nt_strbuf_puts(&d, "#\n");
    for (size_t k = 0; k < map->model->links; k++) {
        const struct nt_link *l = &map->model->link[k];
        put_tgf_edge(&d, l->a, l->b, l->latency_us, l->bandwidth_MBps);
        if (!l->simplex)
            put_tgf_edge(&d, l->b, l->a, l->latency_us, l->bandwidth_back_MBps);
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

static void put_key(struct nt_strbuf *d, const char *name, const char *on, const char *type)
{
    nt_strbuf_print(d, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n", name,
                    on, name, type);
}

static void put_data(struct nt_strbuf *d, const char *key, double value)
{
    if (isfinite(value))
        nt_strbuf_print(d, "<data key=\"%s\">%.6g</data>", key, value);
}

static void put_graphml_node(struct nt_strbuf *d, const struct nt_map *map, const double *support,
                             uint32_t v)
{
    const struct nt_model *m = map->model;
    bool part = v >= m->hosts && m->tier[v - m->hosts] == 0; /* of a host: text/inside.h */
    const char *kind = part            ? "part"
                       : v >= m->hosts ? "switch"
                       : m->missing[v] ? "missing"
                                       : "host";
    nt_strbuf_print(d, "    <node id=\"%s\"><data key=\"kind\">%s</data>",
                    nt_map_vertex_name(map, v), kind);
    if (v >= m->hosts && !part) {
        nt_strbuf_print(d, "<data key=\"tier\">%u</data>", m->tier[v - m->hosts]);
        put_data(d, "support", support[v - m->hosts]);
    } else if (v < m->hosts && m->overhead_us[v] > 0) {
        put_data(d, "overhead_us", m->overhead_us[v]);
    }
    nt_strbuf_puts(d, "</node>\n");
}

int nt_export_graphml(const struct nt_map *map, char **text, size_t *bytes, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    struct nt_strbuf d = {0};
    double *support;
    if (nt_support_create(m, &support, err) != 0)
        return -1;
    nt_strbuf_puts(&d, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    put_key(&d, "kind", "node", "string");
    put_key(&d, "tier", "node", "int");
    put_key(&d, "support", "node", "double");
    put_key(&d, "overhead_us", "node", "double");
    put_key(&d, "latency_us", "edge", "double");
    put_key(&d, "latency_se_us", "edge", "double");
    put_key(&d, "bandwidth_MBps", "edge", "double");
    put_key(&d, "bandwidth_back_MBps", "edge", "double");
    put_key(&d, "probability", "edge", "double");
    put_key(&d, "suspect", "edge", "boolean");
    nt_strbuf_puts(&d, "  <graph id=\"nettopo\" edgedefault=\"undirected\">\n");
    for (uint32_t v = 0; v < vertices_of(map); v++)
        put_graphml_node(&d, map, support, v);
    free(support);
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        nt_strbuf_print(&d, "    <edge source=\"%s\" target=\"%s\"%s>",
                        nt_map_vertex_name(map, l->a), nt_map_vertex_name(map, l->b),
                        l->simplex ? " directed=\"true\"" : "");
        put_data(&d, "latency_us", l->latency_us);
        put_data(&d, "latency_se_us", l->latency_se_us);
        put_data(&d, "bandwidth_MBps", l->bandwidth_MBps);
        put_data(&d, "bandwidth_back_MBps", l->bandwidth_back_MBps);
        put_data(&d, "probability", l->probability);
        nt_strbuf_print(&d, "<data key=\"suspect\">%s</data></edge>\n",
                        l->suspect ? "true" : "false");
    }
    nt_strbuf_puts(&d, "  </graph>\n</graphml>\n");
    return nt_strbuf_finish(&d, text, bytes, err);
}
