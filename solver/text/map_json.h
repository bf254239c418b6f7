/* SPDX-License-Identifier: Apache-2.0 */
/* The map as JSON: nettopo-map/1, described in nettopo-map(5) and etc/nettopo-map.schema.json.
 * Reading and writing use one table (json_fields.h): a new field is a line in map_json.c. Numbers
 * have six significant digits. A value that was not measured (NaN) is absent, and so are an
 * overhead of 0, no job and no seconds. */
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

/* Writes a map. compact: one line without a newline; otherwise indented, one item per line. The
 * caller frees the text. Hosts, switches and links are written in the map's order: call nt_map_sort
 * first. */
int nt_map_write(const struct nt_map *map, bool compact, char **text, size_t *bytes,
                 struct nt_err *err);

/* Reads a map. text need not be terminated; file is its name in errors. Writing the map gives the
 * same text if nt_map_write made it. Unknown fields are ignored. NT_ERR_INPUT: an invalid field, or
 * a name that nothing has. */
int nt_map_read(const char *file, const char *text, size_t bytes, struct nt_map **out,
                struct nt_err *err);

/* Adds every invalid field to findings (empty before). If there is none, *out is the map. -1 if the
 * text is not JSON, or without memory. */
int nt_map_inspect(const char *file, const char *text, size_t bytes, struct nt_findings *findings,
                   struct nt_map **out, struct nt_err *err);

/* Checks the invariants of a map with valid fields (map_check.c) and adds violations to findings.
 * Among them: every host that answered is connected to all others; a tree has no cycle; switches
 * have two links; tiers and counts agree; no switch has a support below 0.5; the confidence is at
 * most the lowest support of a switch; findings are about parts of the map; if latencies were
 * measured, no host's link is 0 and no link between switches is below the resolution. */
int nt_map_check(const struct nt_map *map, struct nt_findings *findings, struct nt_err *err);

#endif
