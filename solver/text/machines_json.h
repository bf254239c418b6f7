/* SPDX-License-Identifier: Apache-2.0 */
/* Inside text/: the models of hosts in a map's JSON.
 * Tests: test_map_json.c. */
#ifndef NT_MACHINES_JSON_H
#define NT_MACHINES_JSON_H

#include "json.h"
#include "map.h"

/* models[] and nodes[].model into the map, whose hosts are those of nodes. What is wrong is noted;
 * a lack of memory too (reader->no_memory). */
void nt_machines_read(struct nt_json_reader *reader, struct json_object *root,
                      struct json_object *nodes, struct nt_map *map);

#endif
