/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces one topology in the text of Slurm's topology.conf or topology.yaml. All other text
 * remains byte for byte, including empty lines and trailing spaces, which lines.h drops. The same
 * file reads topologies (import.h) and writes them (export.h).
 * Tests: test_slurm_topology.c, test_import.c, test_export.c, bats/fleet.bats. */
#ifndef NT_SLURM_TOPOLOGY_H
#define NT_SLURM_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"
#include "strbuf.h"

struct nt_topology_text {
    const char *file; /* name in errors */
    const char *text; /* terminated; "": none */
    size_t bytes;
    bool yaml; /* topology.yaml; otherwise topology.conf or the output of scontrol show topology */
};

/* Reads the switches or blocks by the rules of nt_import_topology_conf and nt_import_topology_yaml;
 * of topology.yaml the topology of that name (NULL: the cluster's default). *block: whether it is
 * topology/block. *out and *block are unchanged if there is no topology or a flat one. */
int nt_topology_read(const struct nt_topology_text *from, const char *name, struct nt_map **out,
                     bool *block, struct nt_err *err);

/* Finds the entry of that name in topology.yaml; *at points into the text. *bytes 0: there is none.
 * NT_ERR_INPUT: the entry has a layout that Slurm does not write. */
int nt_topology_find(const struct nt_topology_text *yaml, const char *name, const char **at,
                     size_t *bytes, struct nt_err *err);

/* Appends the text with the new topology instead of the old one, or after it. exported: as
 * nt_export_topology writes it. Keys of the entry other than tree, block and flat remain, and so do
 * block sizes. A new entry becomes the cluster's default if there is none. */
int nt_topology_put_yaml(struct nt_strbuf *d, const struct nt_topology_text *old, const char *name,
                         const char *exported, struct nt_err *err);

/* Appends the text without its switches and blocks, followed by exported. NT_ERR_INPUT: a zero
 * byte, or a line that is too long. */
int nt_topology_put_conf(struct nt_strbuf *d, const struct nt_topology_text *old,
                         const char *exported, struct nt_err *err);

#endif
