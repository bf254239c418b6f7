/* SPDX-License-Identifier: Apache-2.0 */
/* A file of names (--names): one per line, either of hosts, in the order of what has no names of
 * its own, or of the nodes of an InfiniBand fabric by their GUIDs. The latter as in the node name
 * map of infiniband-diags (0xGUID "NAME"), or as ibnodes lists nodes. # begins a comment.
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
    bool by_guid; /* then they are sorted by GUID, else as in the file */
    struct nt_name_entry {
        uint64_t guid;
        const char *name; /* by_guid: a description like a node's own; else a host's name */
        size_t line;
    } * entry;
};

/* The whole text; file is for messages. NT_ERR_INPUT: no names, or both kinds of lines. */
int nt_name_file_read(const char *file, const char *text, size_t bytes, struct nt_name_file *out,
                      struct nt_err *err);
void nt_name_file_fini(struct nt_name_file *names);

/* Of the first line with this GUID, or NULL; also if names is NULL. */
const char *nt_name_file_of(const struct nt_name_file *names, uint64_t guid);

/* "0x0008f10403960984", or as ibnetdiscover writes a node: "H-0008f10403960984". */
bool nt_guid_read(const char *text, size_t bytes, uint64_t *guid);

#endif
