/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-prior/1: results of earlier jobs for a cluster, from which a sweep starts.
 *
 * A text of lines with words separated by spaces; '#' starts a comment:
 *
 *   nettopo-prior/1
 *   generator nettopo 0.1.0           optional, as is cluster
 *   cluster c
 *   switch NAME UP US SUPPORT DAY     a switch; UP: the name of a switch above it in an earlier
 *                                     line, or -; US: latency of hosts whose path turns there
 *   host NAME SWITCH SUPPORT DAY      a host and its switch
 *   #loggp RAIL MIN MAX L O_SEND O_RECV g G GAP SUPPORT DAY CLASS...
 *                                     LogGP of a class of paths over a device (-: the only one) for
 *                                     messages of MIN to MAX bytes, in us; -: not known. A comment
 *                                     for older readers. Lines of a class and device are adjacent
 *                                     and ascend by size
 *   end                               the last line; a text without it is incomplete
 *
 * SUPPORT is a probability; DAY is when the part was last seen, YYYY-MM-DD. Every error contains
 * file and line. Limits: NT_HOSTS_MAX hosts and as many switches, NT_PRIOR_DEPTH_MAX levels of
 * switches, NT_PRIOR_BYTES_MAX bytes. Tests: test_prior.c. */
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
    NT_LOGGPS_MAX = 1024 /* maximum in a prior, a job, or samples */
};

struct nt_prior_part {
    uint32_t up;   /* index of the switch above; NT_PRIOR_TOP: none */
    float us;      /* switches: latency of a pair of hosts whose path turns there */
    float support; /* 0..1 */
    int32_t day;   /* days since 1970-01-01 */
};

struct nt_prior {
    char *cluster; /* "": not known; owned */
    struct nt_names switch_name, host_name;
    size_t switches_room, hosts_room;
    struct nt_prior_part *of_switch, *of_host; /* by index of the names; owned */
    size_t loggps;
    struct nt_loggp *loggp; /* seen and support are set; owned */
};

/* Creates a prior without hosts. cluster: its name; an invalid name counts as unknown. */
int nt_prior_create(const char *cluster, struct nt_prior **out, struct nt_err *err);

/* Parses text (bytes long). file: its name in errors. */
int nt_prior_parse(const char *file, const char *text, size_t bytes, struct nt_prior **out,
                   struct nt_err *err);
void nt_prior_destroy(struct nt_prior *prior);

/* Writes a prior. The caller frees the text. Reading it gives an equal value. */
int nt_prior_write(const struct nt_prior *prior, char **text, size_t *bytes, struct nt_err *err);

/* Converts a map to a prior. NT_ERR_INPUT if its network is not a tree. day: when each vertex was
 * last seen, as days since 1970; NULL: all on the map's day, or on the day of the prior that it was
 * taken from. Missing hosts are omitted. The root is the middle of the longest path, from which the
 * clusters of hosts are most distinct. Hosts whose depth below a switch differs from the median, so
 * that its latency does not apply to them, get no support. */
int nt_prior_from_map(const struct nt_map *map, const int32_t *day, struct nt_prior **out,
                      struct nt_err *err);

/* Adds a host or switch; the switch above is added first. NT_ERR_INPUT: an invalid name, a name
 * twice, a number out of range. */
int nt_prior_add(struct nt_prior *prior, bool is_host, const char *name, size_t bytes,
                 const struct nt_prior_part *part, struct nt_err *err);

/* Facts about some hosts in a prior. */
struct nt_prior_facts {
    size_t known;       /* number of these hosts in the prior with enough support and not too old */
    int32_t oldest_day; /* oldest day of them; INT32_MAX: none is known */
    /* Lowest support of them and of the switches between them; 1: none is known */
    float least_support;
};

/* Converts the prior of these hosts to a belief. Hosts with less support than NT_SUPPORT_REPORTED
 * belong to no cluster. *out has no levels if fewer than half of the hosts are known. facts may be
 * NULL. */
int nt_prior_to_belief(const struct nt_prior *prior, const char *const *host_name, size_t hosts,
                       struct nt_belief **out, struct nt_prior_facts *facts, struct nt_err *err);

/* Adds a copy. NT_ERR_INPUT: more than NT_LOGGPS_MAX, or it does not fit a line. */
int nt_loggps_add(struct nt_loggp **loggp, size_t *loggps, const struct nt_loggp *g,
                  struct nt_err *err);

/* nt_loggp_put appends the words of a line from RAIL on, with a space before each; nt_loggp_take
 * reads them (NT_ERR_INPUT). */
void nt_loggp_put(struct nt_strbuf *d, const struct nt_loggp *g);
int nt_loggp_take(struct nt_text_line *line, struct nt_loggp *out, struct nt_err *err);

/* Reads YYYY-MM-DD at the start of text; -1: there is none. */
int nt_prior_day(const char *text, size_t bytes, int32_t *day);
void nt_prior_day_write(int32_t day, char text[16]);

#endif
