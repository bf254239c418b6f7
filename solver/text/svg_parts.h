/* SPDX-License-Identifier: Apache-2.0 */
/* What both ways to draw an SVG (svg.c) share: the canvas, and what is said of each part.
 * Tests: test_svg.c. */
#ifndef NT_SVG_PARTS_H
#define NT_SVG_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "picture.h"
#include "strbuf.h"

enum { NT_SVG_MARGIN = 24, NT_SVG_SIGN = 5 };

struct nt_svg {
    const struct nt_picture *picture;
    const struct nt_map *map;
    const struct nt_model *model;
    struct nt_arena memory;
    double *support;              /* of each switch */
    bool *vertex_bad, *link_bad;  /* a finding or a difference */
    double widest_MBps, thick_px; /* of all links; how thick that one is */
    struct nt_strbuf body;        /* the drawing */
    double width, height;         /* of it */
};

/* Columns of text are as wide as this at most: the widest digit of common fonts. */
double nt_svg_text_width(size_t characters, double size);
double nt_svg_thickness(const struct nt_svg *svg, const struct nt_link *link);
/* The narrower direction; NaN: not measured. */
double nt_svg_rate(const struct nt_link *link);

/* "0.498 us, 12000 MB/s"; "" when nothing was measured. */
enum { NT_SVG_FIGURES_BYTES = 96 };
void nt_svg_figures(double latency_us, double rate_MBps, char text[NT_SVG_FIGURES_BYTES]);

void nt_svg_put_title(struct nt_svg *svg, uint32_t vertex);
void nt_svg_put_link_style(struct nt_svg *svg, const struct nt_link *link);
void nt_svg_put_opacity(struct nt_svg *svg, double sure);
void nt_svg_put_text(struct nt_svg *svg, double x, double y, const char *style, bool to_the_left,
                     const char *text);
const char *nt_svg_class(const struct nt_svg *svg, uint32_t vertex);

/* A network that is a tree with its hosts at the ends, all in one piece; *drawn: it is one. */
int nt_svg_draw_tree(struct nt_svg *svg, bool *drawn, struct nt_err *err);
int nt_svg_draw_net(struct nt_svg *svg, struct nt_err *err);

#endif
