/* SPDX-License-Identifier: Apache-2.0 */
/* Routes and measurements as texts (the method of Liu et al., NPC 2018, needs both).
 *
 * Routes: a line a direction, HOST HOST LINK [LINK...]. Both directions of a pair may be given.
 * Measured: a line a measurement, HOST HOST LATENCY_US, one way; or the record of a sweep
 * (samples.h), each of whose readings of the smallest messages is a measurement.
 * Hosts of the routes that are asked for or measured are found as in host_match.h.
 * '#' begins a comment. Lines of at most NT_LINE_MAX bytes; bounds on hosts, links and pairs. */
#ifndef NT_ROUTES_TEXT_H
#define NT_ROUTES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "lines.h"
#include "measured.h"
#include "names.h"
#include "routes.h"

enum { NT_LINK_NAME_MAX = 255 };

struct nt_routes_text {
    struct nt_routes *routes;
    struct nt_names hosts, links; /* names of the routes' hosts and links, in order of the text */
    bool one_way; /* each direction is a pair of its own: host h is two of the routes' hosts */
};

/* One way: where host h of the names is an end of a route. */
static inline uint32_t nt_routes_source(uint32_t host)
{
    return 2 * host;
}

static inline uint32_t nt_routes_target(uint32_t host)
{
    return 2 * host + 1;
}

/* What of a text is read; {0}: all, and both directions of a pair are one. */
struct nt_routes_wanted {
    const struct nt_names *hosts; /* only routes between these (host_match.h); NULL: all */
    bool one_way;
};

void nt_routes_text_destroy(struct nt_routes_text *text);

/* wanted NULL: all. NT_ERR_INPUT with file and line for anything that is not a route, for a route
 * given twice and for a text without routes. */
int nt_routes_read(const struct nt_text_source *source, const struct nt_routes_wanted *wanted,
                   struct nt_routes_text **out, struct nt_err *err);

/* Measurements of these routes. A pair may be measured several times, in either order of its hosts
 * (one way: from the first to the second); a pair without a route is an error, and so is a text
 * without measurements. */
int nt_measured_read(const struct nt_text_source *source, const struct nt_routes_text *routes,
                     struct nt_measured **out, struct nt_err *err);

/* The texts, the caller's (free). Names have no blanks, no '#' and at most NT_LINK_NAME_MAX bytes;
 * reading gives the same pairs and paths (indices then go by the order of the text, and a pair is
 * written in the order of its first direction), latencies to 12 digits. */
int nt_routes_write(const struct nt_routes *routes, const char *const *host_name,
                    const char *const *link_name, char **text, size_t *bytes, struct nt_err *err);
int nt_measured_write(const struct nt_measured *measured, const struct nt_routes *routes,
                      const char *const *host_name, char **text, size_t *bytes, struct nt_err *err);

#endif
