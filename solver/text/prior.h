/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-prior/1: what earlier jobs showed of a cluster, from which a sweep starts.
 *
 * A text of lines; words separated by blanks, '#' comments:
 *
 *   nettopo-prior/1
 *   generator nettopo 0.1.0           optional, as is cluster
 *   cluster c
 *   switch NAME UP US SUPPORT DAY     a switch; UP: the name of one above it that was named before,
 *                                     or -; US: latency between two hosts of its different parts
 *   host NAME SWITCH SUPPORT DAY      a host, and the switch that it is on
 *   #loggp RAIL MIN MAX L O_SEND O_RECV g G GAP SUPPORT DAY CLASS...
 *                                     LogGP of a class of paths over a device (-: the only one) for
 *                                     messages of MIN to MAX bytes, in us; -: not known. A comment
 *                                     to readers that do not know it. Those of a class and device
 *                                     follow each other, sizes rising
 *   end                               the last line: a text without it was cut off
 *
 * SUPPORT is how sure that is, 0 to 1; DAY when it was last seen, YYYY-MM-DD. Every error names
 * file and line. Bounds: NT_HOSTS_MAX hosts and as many switches, NT_PRIOR_DEPTH_MAX of them above
 * each other, NT_PRIOR_BYTES_MAX bytes.
 * Tests: test_prior.c. */
#ifndef NT_PRIOR_H
#define NT_PRIOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "lines.h"
#include "map.h"
#include "names.h"
#include "strbuf.h"

enum {
    NT_PRIOR_BYTES_MAX = 32 * 1024 * 1024,
    NT_PRIOR_TOP = UINT32_MAX,
    NT_PRIOR_DEPTH_MAX = 32,
    NT_LOGGPS_MAX = 1024 /* of a prior, a job, a record */
};

struct nt_prior_part {
    uint32_t up;   /* switch above; NT_PRIOR_TOP: none */
    float us;      /* switches: latency of a pair that meets there */
    float support; /* 0..1 */
    int32_t day;   /* since 1970-01-01 */
};

struct nt_prior {
    char *cluster; /* "" when unknown; owned */
    struct nt_names switch_name, host_name;
    size_t switches_room, hosts_room;
    struct nt_prior_part *of_switch, *of_host; /* as many as names; owned */
    size_t loggps;
    struct nt_loggp *loggp; /* with seen and support; owned */
};

/* Without hosts. cluster: its name; one that is no word counts as unknown. */
int nt_prior_create(const char *cluster, struct nt_prior **out, struct nt_err *err);

/* text: bytes of it. file: its name in errors. */
int nt_prior_parse(const char *file, const char *text, size_t bytes, struct nt_prior **out,
                   struct nt_err *err);
void nt_prior_destroy(struct nt_prior *prior);

/* The text, owned by the caller (free); reading it gives an equal value. */
int nt_prior_write(const struct nt_prior *prior, char **text, size_t *bytes, struct nt_err *err);

/* Of a map whose network is a tree, NT_ERR_INPUT for others. day: when each vertex of its model was
 * last seen, as above; NULL: all on the map's own day, or that of the prior that it was taken from.
 * Hosts that are missing are left out. The tree hangs at the middle of its longest path, where the
 * clusters of its hosts show best. Hosts that are not as deep below a switch as the middle one, so
 * that its latency is not theirs, have no support. */
int nt_prior_of_map(const struct nt_map *map, const int32_t *day, struct nt_prior **out,
                    struct nt_err *err);

/* Adding, as reading does: a switch's up before it. NT_ERR_INPUT: a bad name, a name twice, a
 * figure out of range. */
int nt_prior_add(struct nt_prior *prior, bool is_host, const char *name, size_t bytes,
                 const struct nt_prior_part *part, struct nt_err *err);

/* What it says of some hosts. */
struct nt_prior_facts {
    size_t known;        /* hosts of them that it has, support and age enough */
    int32_t oldest_day;  /* of them; INT32_MAX: none is known */
    float least_support; /* of them and of the switches that they meet at; 1: none is known */
};

/* Of these hosts; those with less support than NT_SUPPORT_REPORTED are loose. *out has no levels
 * when fewer than half of them are known. facts may be NULL. */
int nt_prior_believe(const struct nt_prior *prior, const char *const *host_name, size_t hosts,
                     struct nt_belief **out, struct nt_prior_facts *facts, struct nt_err *err);

/* Adds a copy. NT_ERR_INPUT beyond NT_LOGGPS_MAX, or if a line cannot hold it. */
int nt_loggps_add(struct nt_loggp **loggp, size_t *loggps, const struct nt_loggp *g,
                  struct nt_err *err);

/* The line's words from RAIL on; put: with a blank before each. take: NT_ERR_INPUT. */
void nt_loggp_put(struct nt_strbuf *d, const struct nt_loggp *g);
int nt_loggp_take(struct nt_text_line *line, struct nt_loggp *out, struct nt_err *err);

/* YYYY-MM-DD, at the beginning of text; -1 when there is none. */
int nt_prior_day(const char *text, size_t bytes, int32_t *day);
void nt_prior_day_write(int32_t day, char text[16]);

#endif
