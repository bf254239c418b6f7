/* SPDX-License-Identifier: Apache-2.0 */
/* The map as JSON: nettopo-map/1, described in nettopo-map(5) and etc/nettopo-map.schema.json.
 *
 * Reading and writing go by one table (json_fields.h): a new field is a line in map_json.c.
 * Figures have six significant digits. What was not measured (NaN) is absent; an
 * overhead of 0, no job, no seconds are absent too. */
#ifndef NT_MAP_JSON_H
#define NT_MAP_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "findings.h"
#include "json_fields.h"
#include "map.h"

/* The fields of a map. */
extern const struct nt_json_field nt_map_fields[];

/* compact: one line without its end; otherwise indented, an item a line. The text is the
 * caller's (free). Hosts, switches and links come in the map's order: nt_map_sort first. */
int nt_map_write(const struct nt_map *map, bool compact, char **text, size_t *bytes,
                 struct nt_err *err);

/* The map that a text holds; text need not be terminated, file names it in errors. Writing it
 * gives the text back if nt_map_write made it. Fields that are not known are passed over; one
 * that is wrong, or a name that nothing bears, is NT_ERR_INPUT. */
int nt_map_read(const char *file, const char *text, size_t bytes, struct nt_map **out,
                struct nt_err *err);

/* Lists every field that is wrong in findings (empty before). When there is none, *out is the
 * map. -1 when the text is no JSON at all or memory ran out. */
int nt_map_inspect(const char *file, const char *text, size_t bytes, struct nt_findings *findings,
                   struct nt_map **out, struct nt_err *err);

/* The invariants of a map whose fields are right (map_check.c): every host that answered is
 * connected with every other, a tree is one, switches have two links, tiers and counts agree, no
 * stated switch has a support below 0.5, where latencies were measured no host's link is 0 and no
 * link between switches below the resolution, and with an rms over it confidence is low. */
int nt_map_check(const struct nt_map *map, struct nt_findings *findings, struct nt_err *err);

#endif
