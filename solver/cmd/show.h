/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `nettopo show`, a file each; the network itself is show_net.h, which others draw
 * too. A part adds nothing where the map does not say.
 *
 * Tests: bats/commands.bats, bats/show.bats, bats/fleet.bats. */
#ifndef NT_SHOW_H
#define NT_SHOW_H

#include "err.h"
#include "map.h"
#include "strbuf.h"
#include "terminal.h"

/* show_machines.c: what the hosts are inside, a line a model. */
void nt_show_machines(struct nt_strbuf *buf, const struct nt_map *map);

/* show_rails.c: for each class of paths with two rails which rail for which sizes, and the settings
 * of UCX for it. */
int nt_show_rails(struct nt_strbuf *d, const struct nt_map *map, struct nt_err *err);

/* show_stress.c: the stress kernels as a table; as sentences where width columns are too few. */
void nt_show_stress(struct nt_strbuf *buf, const struct nt_map *map, size_t width);

/* show_since.c: a line for each host whose link is worse than it was, and since when, where
 * fleet_store of nettopo.conf (or store, if not NULL) can be read and is of this cluster. */
void nt_show_since(struct nt_strbuf *d, const struct nt_map *map, const char *store);

/* show_legend.c: what the words and signs that the map has mean. */
void nt_show_legend(struct nt_strbuf *buf, const struct nt_map *map,
                    const struct nt_terminal *terminal);

/* show_trace.c: the phases of a sweep with their times, from its record at path; NULL: "samples"
 * beside $NETTOPO_MAP. */
int nt_show_trace(const char *path, const struct nt_terminal *terminal, struct nt_strbuf *buf,
                  struct nt_err *err);

#endif
