/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's topology.conf and topology.yaml as texts in which one topology is replaced: what is not
 * of it stays, to the byte: blank lines and blanks at their ends, too, which lines.h drops. The
 * same file reads them (import.h) and writes them (export.h).
 * Tests: test_slurm_topology.c, test_import.c, test_export.c, bats/fleet.bats. */
#ifndef NT_SLURM_TOPOLOGY_H
#define NT_SLURM_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"
#include "strbuf.h"

struct nt_topology_text {
    const char *file; /* named in errors */
    const char *text; /* "" when there is none; terminated */
    size_t bytes;
    bool yaml; /* topology.yaml; else topology.conf, or what scontrol show topology prints */
};

/* Its switches or blocks, by the rules of nt_import_topology_conf and _yaml; of topology.yaml those
 * of the topology of that name (NULL: the cluster's default). block: whether it is topology/block.
 * *out and *block stay as they are where there is none, or a flat one. */
int nt_topology_read(const struct nt_topology_text *from, const char *name, struct nt_map **out,
                     bool *block, struct nt_err *err);

/* The entry of that name in topology.yaml, within the text. *bytes 0: there is none.
 * NT_ERR_INPUT: there is one, in a layout that is not Slurm's own. */
int nt_topology_find(const struct nt_topology_text *yaml, const char *name, const char **at,
                     size_t *bytes, struct nt_err *err);

/* The text with the topology in place of the old one, or behind it. exported: as nt_export_topology
 * writes it. Of a topology.yaml entry the keys stay that are no tree, block or flat, and the block
 * sizes; a new one is the cluster's default where there is none yet. */
int nt_topology_put_yaml(struct nt_strbuf *d, const struct nt_topology_text *old, const char *name,
                         const char *exported, struct nt_err *err);

/* The text without its switches and blocks, with exported behind it. NT_ERR_INPUT: a zero byte, or
 * a line that is too long. */
int nt_topology_put_conf(struct nt_strbuf *d, const struct nt_topology_text *old,
                         const char *exported, struct nt_err *err);

#endif
