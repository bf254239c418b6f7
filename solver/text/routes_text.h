/* SPDX-License-Identifier: Apache-2.0 */
/* Routes and measurements as texts, for the method of Liu et al., NPC 2018.
 *
 * Routes: one line per direction, HOST HOST LINK [LINK...]; both directions of a pair may be given.
 * Measurements: one line each, HOST HOST LATENCY_US, one-way latency; or the samples of a sweep
 * (samples.h), of which each latency of the smallest messages is a measurement. Hosts are matched
 * as in host_match.h. '#' starts a comment. Lines have at most NT_LINE_MAX bytes; hosts, links and
 * pairs are limited. */
#ifndef NT_ROUTES_TEXT_H
#define NT_ROUTES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "lines.h"
#include "names.h"
#include "routes.h"

enum { NT_LINK_NAME_MAX = 255 };

struct nt_routes_text {
    struct nt_routes *routes;
    struct nt_names hosts,
        links; /* names of the routes' hosts and links, in the order of the text */
    /* Each direction is a pair of its own, so that host h is two of the routes' hosts */
    bool one_way;
};

/* With one_way: the index of host h as an end of a route. */
static inline uint32_t nt_routes_source(uint32_t host)
{
    return 2 * host;
}

static inline uint32_t nt_routes_target(uint32_t host)
{
    return 2 * host + 1;
}

/* The part of a text to read; {0}: all, with both directions as one pair. */
struct nt_routes_wanted {
    const struct nt_names *hosts; /* read only routes between these (host_match.h); NULL: all */
    bool one_way;
};

void nt_routes_text_destroy(struct nt_routes_text *text);

/* Reads routes. wanted NULL: all. NT_ERR_INPUT with file and line: an invalid line, a route given
 * twice, or no routes. */
int nt_routes_read(const struct nt_text_source *source, const struct nt_routes_wanted *wanted,
                   struct nt_routes_text **out, struct nt_err *err);

/* Reads measurements of these routes. A pair may be measured several times, in either order of its
 * hosts (one_way: from the first to the second). NT_ERR_INPUT: a pair without a route, or no
 * measurements. */
int nt_measured_read(const struct nt_text_source *source, const struct nt_routes_text *routes,
                     struct nt_measured **out, struct nt_err *err);

/* Write routes and measurements. The caller frees the texts. Names contain no spaces and no '#',
 * and have at most NT_LINK_NAME_MAX bytes. Reading gives the same pairs and paths (with indices in
 * the order of the text, and each pair in the order of its first direction), and latencies with 12
 * digits. */
int nt_routes_write(const struct nt_routes *routes, const char *const *host_name,
                    const char *const *link_name, char **text, size_t *bytes, struct nt_err *err);
int nt_measured_write(const struct nt_measured *measured, const struct nt_routes *routes,
                      const char *const *host_name, char **text, size_t *bytes, struct nt_err *err);

#endif
