/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a map shows: html.h and svg.h draw it. The caller's, who keeps what it points
 * to.
 *
 * Tests: test_layout.c, test_svg.c. */
#ifndef NT_PICTURE_H
#define NT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

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

#endif
