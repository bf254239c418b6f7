/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults_text.h"
#include "graph.h"
#include "number.h"
#include "svg_parts.h"
#include "switch_support.h"

enum { LINE = 19, SENTENCES_MAX = 20, FOOT_WIDTH = 640 };

static const double THICKEST = 10, ALL_ALIKE = 4, THINNEST = 1.6, UNKNOWN = 2;

/* Quiet colours, and one that is strong; the same as in page.css. */
static const char STYLE[] =
    "<style>\n"
    "svg{--bg:#fbfbf9;--fg:#1c2530;--dim:#59646f;--link:#7c8fa5;--host:#56708c;--switch:#2f4a66;"
    "--strong:#c4122f}\n"
    "@media (prefers-color-scheme:dark){svg{--bg:#14181c;--fg:#e6eaee;--dim:#9aa6b2;--link:#66788b;"
    "--host:#9ab3cc;--switch:#c3d3e3;--strong:#ff6b74}}\n"
    ".ground{fill:var(--bg)}\n"
    "text{fill:var(--fg);font:13px system-ui,\"DejaVu Sans\",sans-serif}\n"
    ".small{fill:var(--dim);font-size:11px}\n"
    ".head{font-size:15px;font-weight:600}\n"
    ".halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}\n"
    ".link{fill:none;stroke:var(--link)}\n"
    ".host .mark{fill:var(--host)}.switch .mark{fill:var(--switch)}\n"
    ".mark{stroke:var(--bg)}\n"
    ".missing .mark{fill:var(--bg);stroke:var(--dim);stroke-dasharray:2 2}\n"
    ".strong .link{stroke:var(--strong);stroke-dasharray:7 3}\n"
    ".strong .name,.said{fill:var(--strong);font-weight:600}\n"
    ".host.strong .mark,.own .mark{fill:var(--strong)}\n"
    "</style>\n";

double nt_svg_text_width(size_t characters, double size)
{
    return 0.64 * size * (double)characters;
}

double nt_svg_rate(const struct nt_link *l)
{
    return fmin(l->bandwidth_MBps, l->bandwidth_back_MBps); /* fmin: the one that is known */
}

double nt_svg_thickness(const struct nt_svg *svg, const struct nt_link *l)
{
    double rate = nt_svg_rate(l);
    return isfinite(rate) ? fmax(THINNEST, svg->thick_px * rate / svg->widest_MBps) : UNKNOWN;
}

void nt_svg_figures(double latency_us, double rate_MBps, char text[NT_SVG_FIGURES_BYTES])
{
    char number[NT_NUMBER_BYTES];
    struct nt_strbuf d = {0};
    text[0] = '\0';
    if (isfinite(latency_us)) {
        nt_number_plain(latency_us, 3, number);
        nt_strbuf_print(&d, "%s us", number);
    }
    if (isfinite(rate_MBps)) {
        nt_number_plain(rate_MBps, 3, number);
        nt_strbuf_print(&d, "%s%s MB/s", isfinite(latency_us) ? " \xc2\xb7 " : "", number);
    }
    if (d.text != NULL && d.used < NT_SVG_FIGURES_BYTES) {
        memcpy(text, d.text, d.used);
        text[d.used] = '\0';
    }
    free(d.text);
}

static void put_escaped(struct nt_strbuf *d, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("<>&\"", *text) != NULL)
            nt_strbuf_print(d, "&#%d;", *text);
        else
            nt_strbuf_put(d, text, 1);
}

void nt_svg_put_text(struct nt_svg *svg, double x, double y, const char *style, bool to_the_left,
                     const char *text)
{
    nt_strbuf_print(&svg->body, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\"%s>", x, y, style,
                    to_the_left ? " text-anchor=\"end\"" : "");
    put_escaped(&svg->body, text);
    nt_strbuf_puts(&svg->body, "</text>");
}

/* Paler the less sure it is; as the cube, since between 1/2 and 1 a share itself differs little. */
void nt_svg_put_opacity(struct nt_svg *svg, double sure)
{
    if (sure < NT_SUPPORT_SHOWN)
        nt_strbuf_print(&svg->body, " opacity=\"%.2f\"", fmax(0.45, sure * sure * sure));
}

void nt_svg_put_link_style(struct nt_svg *svg, const struct nt_link *l)
{
    nt_strbuf_print(&svg->body, " stroke-width=\"%.1f\"", nt_svg_thickness(svg, l));
    nt_svg_put_opacity(svg, l->probability);
}

void nt_svg_put_title(struct nt_svg *svg, uint32_t v)
{
    const struct nt_model *m = svg->model;
    nt_strbuf_print(&svg->body, "<title>%s %s", v < m->hosts ? "host" : "switch",
                    nt_map_vertex_name(svg->map, v));
    if (v < m->hosts && m->missing[v])
        nt_strbuf_puts(&svg->body, ", did not answer");
    if (v >= m->hosts && svg->support[v - m->hosts] < NT_SUPPORT_SHOWN)
        nt_strbuf_print(&svg->body, ", %.0f %% sure", floor(100 * svg->support[v - m->hosts]));
    nt_strbuf_puts(&svg->body, "</title>");
}

const char *nt_svg_class(const struct nt_svg *svg, uint32_t v)
{
    const struct nt_model *m = svg->model;
    bool bad = svg->vertex_bad[v];
    if (v >= m->hosts)
        return bad ? "switch strong own" : "switch";
    return bad ? "host strong" : m->missing[v] ? "host missing" : "host";
}

/* ---- what is strong -------------------------------------------------------------------------*/

static void mark_bad(struct nt_svg *svg, uint32_t a, uint32_t b)
{
    if (a == NT_NO_VERTEX)
        return;
    svg->vertex_bad[a] = svg->vertex_bad[a] || a == b;
    for (size_t k = 0; k < svg->model->links; k++) {
        const struct nt_link *l = &svg->model->link[k];
        svg->link_bad[k] = svg->link_bad[k] || (l->a == a && l->b == b) || (l->a == b && l->b == a);
    }
}

static void find_bad(struct nt_svg *svg)
{
    for (size_t k = 0; k < svg->model->links; k++)
        svg->link_bad[k] = svg->model->link[k].suspect;
    for (size_t h = 0; h < svg->model->hosts; h++)
        svg->vertex_bad[h] = svg->model->host_suspect[h];
    for (size_t k = 0; k < svg->map->faults; k++)
        mark_bad(svg, svg->map->fault[k].part.a, svg->map->fault[k].part.b);
    for (size_t k = 0; k < svg->picture->remarks; k++)
        mark_bad(svg, svg->picture->remark[k].in_map[0], svg->picture->remark[k].in_map[1]);
}

/* As thick as wide: in proportion to the widest. Where all are alike, that says nothing. */
static void find_scale(struct nt_svg *svg)
{
    double least = INFINITY;
    for (size_t k = 0; k < svg->model->links; k++) {
        double rate = nt_svg_rate(&svg->model->link[k]);
        svg->widest_MBps = isfinite(rate) ? fmax(svg->widest_MBps, rate) : svg->widest_MBps;
        least = isfinite(rate) && !svg->link_bad[k] ? fmin(least, rate) : least;
    }
    svg->thick_px = least > 0.5 * svg->widest_MBps ? ALL_ALIKE : THICKEST;
}

/* ---- head and foot --------------------------------------------------------------------------*/

static double put_head(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    nt_strbuf_print(d, "<text class=\"head\" x=\"%d\" y=\"30\">%zu host%s", (int)NT_SVG_MARGIN,
                    m->hosts, m->hosts == 1 ? "" : "s");
    if (m->switches > 0)
        nt_strbuf_print(d, ", %zu switch%s", m->switches, m->switches == 1 ? "" : "es");
    nt_strbuf_print(d, ": %s", nt_family_name(m->family));
    if (isfinite(m->confidence))
        nt_strbuf_print(d, ", confidence %.2f", floor(100 * m->confidence) / 100);
    nt_strbuf_print(
        d, "</text>\n<text class=\"small\" x=\"%d\" y=\"48\">nettopo: ", (int)NT_SVG_MARGIN);
    nt_strbuf_puts(d, nt_status_name(map->status));
    if (map->job_id != 0)
        nt_strbuf_print(d, ", job %llu", (unsigned long long)map->job_id);
    const char *const words[] = {map->cluster, map->level, map->created};
    for (size_t k = 0; k < 3; k++) {
        nt_strbuf_puts(d, words[k][0] == '\0' ? "" : k == 0 ? " on " : ", ");
        put_escaped(d, words[k]);
    }
    nt_strbuf_puts(d, "</text>\n");
    return 62;
}

struct foot {
    struct nt_strbuf *to;
    double y;
};

static void put_key_line(struct foot *f, double x, double thick, const char *more, const char *text)
{
    nt_strbuf_print(f->to,
                    "<g%s><path class=\"link\" stroke-width=\"%.1f\" d=\"M %.0f %.0f h 26\"/>"
                    "<text class=\"small\" x=\"%.0f\" y=\"%.0f\">%s</text></g>\n",
                    more, thick, x, f->y - 4, x + 34, f->y, text);
}

/* What the signs are, each where it is in the picture. */
static void put_legend(struct foot *f, const struct nt_svg *svg)
{
    const struct nt_model *m = svg->model;
    bool pale = false, missing = false, bad = false;
    for (size_t k = 0; k < m->links; k++) {
        pale = pale || m->link[k].probability < NT_SUPPORT_SHOWN;
        bad = bad || svg->link_bad[k];
    }
    for (size_t v = 0; v < m->hosts + m->switches; v++) {
        missing = missing || (v < m->hosts && m->missing[v]);
        bad = bad || svg->vertex_bad[v];
    }
    f->y += LINE;
    nt_strbuf_print(
        f->to,
        "<text class=\"small\" x=\"%d\" y=\"%.0f\">%sdot: host \xc2\xb7 line: link with "
        "its one-way latency and the narrower of both bandwidths%s%s</text>\n",
        (int)NT_SVG_MARGIN, f->y, m->switches > 0 ? "bar: switch \xc2\xb7 " : "",
        pale ? " \xc2\xb7 pale: not sure to be there" : "",
        missing ? " \xc2\xb7 hollow: did not answer" : "");
    f->y += LINE;
    if (svg->widest_MBps > 0) {
        char number[NT_NUMBER_BYTES], words[NT_NUMBER_BYTES + 8] = "";
        nt_number_plain(svg->widest_MBps, 3, number);
        snprintf(words, sizeof words, "%s MB/s", number);
        put_key_line(f, NT_SVG_MARGIN, svg->thick_px, "", words);
    }
    if (bad)
        put_key_line(f, NT_SVG_MARGIN + 150, 3, " class=\"strong\"",
                     svg->picture->reference != NULL
                         ? "worse than its like, or not as the reference"
                         : "worse than its like");
}

static void put_sentence(struct foot *f, const char *style, const char *text)
{
    f->y += LINE;
    nt_strbuf_print(f->to, "<text class=\"%s\" x=\"%d\" y=\"%.0f\">", style, (int)NT_SVG_MARGIN,
                    f->y);
    put_escaped(f->to, text);
    nt_strbuf_puts(f->to, "</text>\n");
}

/* The findings, then the differences, a line each; how long the longest is. */
static int put_sentences(struct foot *f, const struct nt_svg *svg, size_t *longest,
                         struct nt_err *err)
{
    size_t all = svg->map->faults + svg->picture->remarks, shown = 0;
    *longest = 0;
    if (svg->picture->summary != NULL && *svg->picture->summary != '\0') {
        put_sentence(f, "small", svg->picture->summary);
        *longest = strlen(svg->picture->summary);
    }
    for (; shown < all && shown < SENTENCES_MAX; shown++) {
        struct nt_strbuf words = {0};
        char *text;
        size_t bytes;
        if (shown < svg->map->faults)
            nt_fault_put_sentence(&words, svg->map, &svg->map->fault[shown]);
        else
            nt_strbuf_puts(&words, svg->picture->remark[shown - svg->map->faults].text);
        if (nt_strbuf_finish(&words, &text, &bytes, err) != 0)
            return -1;
        put_sentence(f, "said", text);
        *longest = bytes > *longest ? bytes : *longest;
        free(text);
    }
    if (all > shown) {
        char words[64];
        snprintf(words, sizeof words, "and %zu more", all - shown);
        put_sentence(f, "said", words);
    }
    return 0;
}

/* ---- all together ---------------------------------------------------------------------------*/

static int svg_init(struct nt_svg *svg, struct nt_err *err)
{
    const struct nt_model *m = svg->model;
    svg->vertex_bad = nt_arena_array(&svg->memory, m->hosts + m->switches, sizeof(bool));
    svg->link_bad = nt_arena_array(&svg->memory, m->links, sizeof(bool));
    if (nt_arena_check(&svg->memory, err) != 0 || nt_support_create(m, &svg->support, err) != 0)
        return -1;
    find_bad(svg);
    find_scale(svg);
    return 0;
}

static int draw(struct nt_svg *svg, struct nt_err *err)
{
    bool drawn;
    if (svg_init(svg, err) != 0 || nt_svg_draw_tree(svg, &drawn, err) != 0)
        return -1;
    return drawn ? 0 : nt_svg_draw_net(svg, err);
}

static int put_whole(struct nt_svg *svg, struct nt_strbuf *d, struct nt_err *err)
{
    struct nt_strbuf head = {0}, foot = {0};
    size_t longest, bytes;
    char *parts[3] = {NULL, NULL, NULL};
    double top = put_head(&head, svg->map);
    struct foot f = {.to = &foot, .y = top + svg->height};
    put_legend(&f, svg);
    int rc = put_sentences(&f, svg, &longest, err);
    struct nt_strbuf *from[3] = {&head, &svg->body, &foot};
    for (int k = 0; k < 3; k++)
        if (nt_strbuf_finish(from[k], &parts[k], &bytes, rc == 0 ? err : NULL) != 0)
            rc = -1;
    double width = fmax(fmax(svg->width, FOOT_WIDTH),
                        2 * NT_SVG_MARGIN + nt_svg_text_width(longest, 13)),
           height = f.y + NT_SVG_MARGIN;
    if (rc == 0) {
        nt_strbuf_print(d,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
                        width, height, width, height);
        nt_strbuf_print(d, "<title>%s</title>\n%s", "A network that nettopo found", STYLE);
        nt_strbuf_puts(d, "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
        nt_strbuf_puts(d, parts[0]);
        nt_strbuf_print(d, "<g transform=\"translate(0 %.0f)\">\n", top);
        nt_strbuf_puts(d, parts[1]);
        nt_strbuf_puts(d, "</g>\n");
        nt_strbuf_puts(d, parts[2]);
        nt_strbuf_puts(d, "</svg>\n");
    }
    for (int k = 0; k < 3; k++)
        free(parts[k]);
    return rc;
}

int nt_svg_write(const struct nt_picture *picture, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_svg svg = {.picture = picture, .map = picture->map, .model = picture->map->model};
    struct nt_strbuf d = {0};
    char *made;
    int rc = draw(&svg, err);
    if (rc == 0)
        rc = put_whole(&svg, &d, err);
    free(svg.body.text);
    free(svg.support);
    nt_arena_fini(&svg.memory);
    if (nt_strbuf_finish(&d, &made, bytes, rc == 0 ? err : NULL) != 0)
        return -1;
    if (rc != 0) {
        free(made);
        return -1;
    }
    *text = made;
    return 0;
}
