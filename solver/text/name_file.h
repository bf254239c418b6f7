/* SPDX-License-Identifier: Apache-2.0 */
/* A file of names (--names), one per line: either host names, in the order of a source without
 * names, or names of the nodes of an InfiniBand fabric by GUID, as in the node name map of
 * infiniband-diags (0xGUID "NAME") or in the list of ibnodes. # starts a comment.
 * Tests: test_name_file.c. */
#ifndef NT_NAME_FILE_H
#define NT_NAME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

struct nt_name_file {
    struct nt_arena memory;
    size_t count, room;
    bool by_guid; /* names of GUIDs, sorted by GUID; otherwise in the order of the file */
    struct nt_name_entry {
        uint64_t guid;
        const char *name; /* by_guid: a description as a node has; otherwise a host name */
        size_t line;
    } * entry;
};

/* Reads a whole text. file is its name in errors. NT_ERR_INPUT: no names, both kinds of
 * lines, or a host name twice. */
int nt_name_file_read(const char *file, const char *text, size_t bytes, struct nt_name_file *out,
                      struct nt_err *err);
void nt_name_file_fini(struct nt_name_file *names);

/* Returns the name in the first line with this GUID, or NULL, also if names is NULL. */
const char *nt_name_file_of(const struct nt_name_file *names, uint64_t guid);

/* Reads "0x0008f10403960984", or "H-0008f10403960984" as in the output of ibnetdiscover. */
bool nt_guid_read(const char *text, size_t bytes, uint64_t *guid);

#endif
