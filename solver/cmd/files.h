/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read with a bound, written whole or not at all. "-" is standard input or output.
 * Tests: bats/commands.bats. */
#ifndef NT_FILES_H
#define NT_FILES_H

#include <stddef.h>
#include <sys/stat.h>

#include "err.h"
#include "json_write.h"
#include "lines.h"
#include "map.h"
#include "samples.h"

/* How a file is called in a sentence. */
const char *nt_file_name(const char *path);

/* Gives the file to feed piece by piece; its error ends the reading. NT_ERR_INPUT when there is
 * no such file, NT_ERR_SYSTEM when the system refuses it. */
int nt_file_stream(const char *path, nt_feed *feed, void *context, struct nt_err *err);

/* The same as a source, with a line about it on the terminal. Borrows path. */
struct nt_text_source nt_file_source(const char *path);

/* A text that is kept whole, with a bound. Feeding it ("" at least) terminates it. */
struct nt_file_text {
    const char *path;
    size_t most, used, capacity;
    char *text; /* free it */
};
nt_feed nt_file_keep;

/* The whole file, terminated, owned by the caller; NT_ERR_INPUT when it has more than most. */
int nt_file_read(const char *path, size_t most, char **text, size_t *bytes, struct nt_err *err);

/* The same of a regular file that nobody has to be trusted with: no link is followed, no pipe is
 * waited for. *st: of what was read. */
int nt_file_read_regular(const char *path, size_t most, char **text, size_t *bytes, struct stat *st,
                         struct nt_err *err);

/* Writes the file atomically: beside it, then by rename, so that a reader sees the old or the new
 * one. What is no regular file (a terminal, a pipe, /dev/null) is written as it is. */
int nt_file_write(const char *path, const char *text, size_t bytes, struct nt_err *err);

/* The same, and frees the text. */
int nt_file_write_text(const char *path, char *text, size_t bytes, struct nt_err *err);

/* Ends the open object, if any, writes the writer's buffer (JSON or other text), and frees it. */
int nt_file_write_json(const char *path, struct nt_json_writer *w, struct nt_err *err);

/* The map in a file; path NULL: as nt_file_map_path. */
int nt_file_read_map(const char *path, struct nt_map **out, struct nt_err *err);

/* The record of a sweep in a file. */
int nt_file_read_samples(const char *path, struct nt_samples **out, struct nt_err *err);

/* Names the map in $NETTOPO_JSON wherever a function here reads a path. Recognised by its address:
 * no file of that name is hidden by it. */
extern const char nt_file_inline_map[];

/* path; or $NETTOPO_MAP, if path is NULL. Where path is $NETTOPO_MAP or NULL and no such file can
 * be read (a container does not show /run of its host): nt_file_inline_map, if $NETTOPO_JSON is
 * set. NULL: there is no map, with NT_ERR_USAGE, or in a job whose sweep has failed with NT_ERR_NO
 * and the reason. */
const char *nt_file_map_path(const char *path, struct nt_err *err);

#endif
