/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files with a size limit and writes results. "-" is standard input or output.
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

/* Returns the name of a file for messages. */
const char *nt_file_name(const char *path);

/* Passes the file to feed in pieces; an error of feed ends it. NT_ERR_INPUT: there is no such file;
 * NT_ERR_SYSTEM: the system cannot read it. */
int nt_file_stream(const char *path, nt_feed *feed, void *context, struct nt_err *err);

/* Returns the file as a source that reports progress on the terminal. Borrows path. */
struct nt_text_source nt_file_source(const char *path);

/* A whole text with a size limit. Feeding it, even "", terminates it. */
struct nt_file_text {
    const char *path;
    size_t most, used, capacity;
    char *text; /* the caller frees it */
};
nt_feed nt_file_keep;

/* Reads a whole file, terminated; the caller frees *text. NT_ERR_INPUT: it has more than most
 * bytes. */
int nt_file_read(const char *path, size_t most, char **text, size_t *bytes, struct nt_err *err);

/* Reads a regular file in a directory that other users can write to: follows no link and waits for
 * no pipe. *st: status of the file read. */
int nt_file_read_regular(const char *path, size_t most, char **text, size_t *bytes, struct stat *st,
                         struct nt_err *err);

/* Writes a file as nt_file_write does, and frees the text. */
int nt_file_write_text(const char *path, char *text, size_t bytes, struct nt_err *err);

/* Ends the open object, if any, writes the writer's buffer (JSON or other text), and frees it. */
int nt_file_write_json(const char *path, struct nt_json_writer *w, struct nt_err *err);

/* Reads a map from a file; path NULL: see nt_file_map_path. */
int nt_file_read_map(const char *path, struct nt_map **out, struct nt_err *err);

/* Reads the samples of a sweep from a file. */
int nt_file_read_samples(const char *path, struct nt_samples **out, struct nt_err *err);

/* Stands for the map in $NETTOPO_JSON in functions here that read a path. Recognized by its
 * address, so that a file of the same name can still be read. */
extern const char nt_file_inline_map[];

/* Returns path, or $NETTOPO_MAP if path is NULL. If path is NULL or equals $NETTOPO_MAP, and that
 * file cannot be read (a container may not contain the host's /run), returns nt_file_inline_map if
 * $NETTOPO_JSON is set. NULL: there is no map: NT_ERR_USAGE, or NT_ERR_NO and the reason in a job
 * whose sweep has failed. */
const char *nt_file_map_path(const char *path, struct nt_err *err);

#endif
