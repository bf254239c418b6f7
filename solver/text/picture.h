/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a picture of a map, which html.h and svg.h draw, and its appearance: colours,
 * thickness, opacity, arrow heads. The caller owns everything that it points to.
 * Tests: test_picture.c. */
#ifndef NT_PICTURE_H
#define NT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "memory.h"
#include "number.h"
#include "strbuf.h"

enum { NT_REMARKS_MAX = 2000 };

/* A difference from a reference, as a sentence, with its place: a link by its two ends; a host or
 * switch twice; NT_NO_VERTEX (graph.h) twice if one of the two networks has no counterpart. */
struct nt_remark {
    uint32_t in_map[2], in_reference[2];
    char *text; /* owned */
};

/* A change of a part of a map that covers several days. */
enum nt_event_kind { NT_EVENT_BETTER, NT_EVENT_WORSE, NT_EVENT_MOVED };

struct nt_event {
    enum nt_event_kind kind;
    char day[16];    /* first day, YYYY-MM-DD */
    uint32_t at[2];  /* the ends of a link; NT_NO_VERTEX twice: no single part */
    uint32_t series; /* the change lasts until the next event with the same number */
    uint32_t was;    /* moved: the host's previous switch; NT_NO_VERTEX: not known */
    double added_us; /* latency of the link beyond that in the map while the change lasts */
    char *text;      /* owned */
};

struct nt_history {
    char first[16], last[16]; /* first and last day */
    size_t events;
    struct nt_event *event; /* by day */
    char (*seen)[16];       /* by vertex: first day; "": never */
};

struct nt_picture {
    const struct nt_map *map, *reference; /* reference NULL: none */
    const char *title[2];                 /* names of both; the second may be NULL */
    const struct nt_remark *remark;       /* remarks entries */
    size_t remarks;
    const char *summary;              /* summary of the comparison; "": none */
    const double *load;               /* by link: load by the hint's pattern; NULL: not known */
    bool load_is_time;                /* load in us that the bytes need; otherwise in bytes */
    const struct nt_history *history; /* history of the map; NULL: it covers one sweep */
};

/* CSS colours: neutral ones, and a strong one for findings and differences, for each background. */
#define NT_PICTURE_STRONG "#c4122f"
#define NT_PICTURE_LIGHT                                                                           \
    "--bg:#fbfbf9;--fg:#1c2530;--dim:#59646f;--link:#7c8fa5;--host:#56708c;--switch:#2f4a66;"      \
    "--strong:" NT_PICTURE_STRONG
#define NT_PICTURE_DARK                                                                            \
    "--bg:#14181c;--fg:#e6eaee;--dim:#9aa6b2;--link:#66788b;--host:#9ab3cc;--switch:#c3d3e3;"      \
    "--strong:#ff6b74"

/* Pixels: height of a host's row and of a switch without hosts, gap between switches, half a
 * symbol, type of names and of values. */
enum {
    NT_PICTURE_PITCH = 22,
    NT_PICTURE_LONE = 44,
    NT_PICTURE_GAP = 10,
    NT_PICTURE_SIGN = 5,
    NT_PICTURE_NAME = 15,
    NT_PICTURE_SMALL = 13
};

/* Seed of layouts (layout.h), so that a page and an SVG have the same layout. */
enum { NT_PICTURE_SEED = 1 };

/* Returns the opacity for a probability: below NT_SUPPORT_USED its cube, because between 1/2 and 1
 * the probability itself varies little. */
double nt_picture_opacity(double probability);

/* ---- values as all views print them, with NT_FIGURE_DIGITS; "" if a value is not known ---- */

enum { NT_VALUE_BYTES = NT_NUMBER_BYTES + 4 };
enum nt_link_way { NT_WAY_FORTH, NT_WAY_BACK, NT_WAY_NARROWER };

/* Returns the lower bandwidth of the two directions; NaN: not measured. */
double nt_picture_rate(const struct nt_link *link);

void nt_latency_text(double us, char text[NT_VALUE_BYTES]);

/* The standard error of a latency, with two digits. */
void nt_error_text(double us, char text[NT_VALUE_BYTES]);

/* "12500", "≥25000" for a lower bound, "~25000" if it depends on routing; ASCII has ">=". */
void nt_rate_text(const struct nt_link *link, enum nt_link_way way, bool unicode,
                  char text[NT_VALUE_BYTES]);

/* "1.5:1"; "" up to 1.1. */
void nt_ratio_text(double oversubscription, char text[NT_VALUE_BYTES]);

/* Returns whole percents, rounded down: 0.899 is not nine in ten. */
unsigned nt_percent(double probability);

/* "64 hosts, 9 switches, 72 links: tree, 2 tiers, confidence 0.97" */
void nt_picture_put_what(struct nt_strbuf *to, const struct nt_model *model);

/* "Status ok, job 7 on cluster c, level standard, measured on 2026-01-24 at 10:00 UTC" */
void nt_picture_put_job(struct nt_strbuf *to, const struct nt_map *map);

/* ---- the appearance of one of the picture's maps ---- */

struct nt_look {
    struct nt_arena memory;
    const struct nt_model *model;
    double *support;             /* by switch */
    bool *vertex_bad, *link_bad; /* by vertex and link: has a finding or a difference */
    /* Highest bandwidth of all links; lowest bandwidth of links without finding or difference */
    double widest_MBps, narrowest_MBps;
    bool thin;    /* a grid (layout.h): all links have one thickness */
    bool crossed; /* lines must cross: there are more links than a planar graph can have */
};

int nt_look_init(struct nt_look *look, const struct nt_picture *picture, const struct nt_map *map,
                 struct nt_err *err);
void nt_look_fini(struct nt_look *look);

/* Returns the thickness of a link in pixels, in proportion to its bandwidth; thinner for all links
 * if the bandwidths differ little, and thinnest if lines must cross, too. A link with a finding or
 * difference has at least NT_BAD_PX. */
enum { NT_BAD_PX = 3 };
double nt_look_thickness(const struct nt_look *look, size_t link);

/* Lines of the legend: common rates up to the rate of the widest link. */
enum { NT_STROKES_MAX = 3 };
struct nt_stroke {
    double px;
    char text[96]; /* "100 Gbit/s (12500 MB/s)" */
};
size_t nt_look_strokes(const struct nt_look *look, struct nt_stroke stroke[NT_STROKES_MAX]);

#endif
