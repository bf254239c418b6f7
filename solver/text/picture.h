/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a picture of a map, which html.h and svg.h draw; the caller owns all that it
 * points to. And its look in each kind of picture: colours, thickness, opacity, heads.
 *
 * Tests: test_picture.c. */
#ifndef NT_PICTURE_H
#define NT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "memory.h"
#include "strbuf.h"

enum { NT_REMARKS_MAX = 2000 };

/* A difference against a reference, as a sentence, and where: a link by its two ends, a host or a
 * switch twice, NT_NO_VERTEX (graph.h) twice where one of the two networks has nothing like it. */
struct nt_remark {
    uint32_t in_map[2], in_reference[2];
    char *text; /* owned */
};

/* What happened to a part of a map that is of many days. */
enum nt_event_kind { NT_EVENT_BETTER, NT_EVENT_WORSE, NT_EVENT_MOVED };

struct nt_event {
    enum nt_event_kind kind;
    char day[16];    /* from which on, YYYY-MM-DD */
    uint32_t at[2];  /* vertices: a link's ends; NT_NO_VERTEX twice: no single part */
    uint32_t series; /* what is worse or better is so until the next event of that number */
    uint32_t was;    /* moved: the switch that the host was on; NT_NO_VERTEX: not known */
    char *text;      /* owned */
};

struct nt_history {
    char first[16], last[16]; /* days */
    size_t events;
    struct nt_event *event; /* by day */
    char (*seen)[16];       /* by vertex: the first day; "": never */
};

struct nt_picture {
    const struct nt_map *map, *reference; /* NULL: none */
    const char *title[2];                 /* what the two are called; the second may be NULL */
    const struct nt_remark *remark;       /* remarks of them */
    size_t remarks;
    const char *summary; /* of the comparison, "" for none */
    const double
        *load;         /* by link of the map: what the hint's pattern lays on it; NULL: not known */
    bool load_is_time; /* us that its bytes need there, else bytes */
    const struct nt_history *history; /* of the map; NULL: it is of one sweep */
};

/* Quiet colours, and a strong one for findings and differences, as CSS; each against its ground. */
#define NT_PICTURE_LIGHT                                                                           \
    "--bg:#fbfbf9;--fg:#1c2530;--dim:#59646f;--link:#7c8fa5;--host:#56708c;--switch:#2f4a66;"      \
    "--strong:#c4122f"
#define NT_PICTURE_DARK                                                                            \
    "--bg:#14181c;--fg:#e6eaee;--dim:#9aa6b2;--link:#66788b;--host:#9ab3cc;--switch:#c3d3e3;"      \
    "--strong:#ff6b74"

/* Pixels: a line of a host and of a switch without hosts, the gap between switches, half a sign. */
enum { NT_PICTURE_PITCH = 20, NT_PICTURE_LONE = 36, NT_PICTURE_GAP = 10, NT_PICTURE_SIGN = 5 };

/* The seed of layouts (layout.h), so that a page and an SVG have the same one. */
enum { NT_PICTURE_SEED = 1 };

/* Paler the less sure it is; as the cube, since between 1/2 and 1 a share itself differs little. */
double nt_picture_opacity(double sure);

/* The narrower direction; NaN: not measured. */
double nt_picture_rate(const struct nt_link *link);

/* "64 hosts, 9 switches: tree, confidence 0.97"; the status, and the job that measured it. */
void nt_picture_put_what(struct nt_strbuf *to, const struct nt_model *model);
void nt_picture_put_job(struct nt_strbuf *to, const struct nt_map *map);

/* The look of one of the picture's maps. */
struct nt_look {
    struct nt_arena memory;
    double *support;                    /* of each switch */
    bool *vertex_bad, *link_bad;        /* a finding or a difference */
    double widest_MBps, narrowest_MBps; /* of all links; of those that are not bad */
};

int nt_look_init(struct nt_look *look, const struct nt_picture *picture, const struct nt_map *map,
                 struct nt_err *err);
void nt_look_fini(struct nt_look *look);

/* Pixels in proportion to the bandwidth; less for all if the bandwidths differ little. */
double nt_look_thickness(const struct nt_look *look, const struct nt_link *link);
double nt_look_thickest(const struct nt_look *look);

#endif
