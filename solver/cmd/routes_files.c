/* SPDX-License-Identifier: Apache-2.0 */
#include "routes_files.h"

#include "files.h"
#include "terminal.h"

static int feed_routes(void *reader, const char *text, size_t bytes, struct nt_err *err)
{
    return nt_routes_reader_feed(reader, text, bytes, err);
}

int nt_routes_file_read(const char *path, struct nt_routes_text **out, struct nt_err *err)
{
    struct nt_routes_reader *reader;
    if (nt_routes_reader_create(nt_file_name(path), &reader, err) != 0)
        return -1;
    nt_terminal_progress("reading %s", nt_file_name(path));
    int rc = nt_file_stream(path, feed_routes, reader, err);
    if (rc == 0)
        rc = nt_routes_reader_finish(reader, out, err);
    nt_routes_reader_destroy(reader);
    nt_terminal_progress(NULL);
    return rc;
}

static int feed_measured(void *reader, const char *text, size_t bytes, struct nt_err *err)
{
    return nt_measured_reader_feed(reader, text, bytes, err);
}

int nt_measured_file_read(const char *path, const struct nt_routes_text *routes,
                          struct nt_measured **out, struct nt_err *err)
{
    struct nt_measured_reader *reader;
    if (nt_measured_reader_create(nt_file_name(path), routes, &reader, err) != 0)
        return -1;
    nt_terminal_progress("reading %s", nt_file_name(path));
    int rc = nt_file_stream(path, feed_measured, reader, err);
    if (rc == 0)
        rc = nt_measured_reader_finish(reader, out, err);
    nt_measured_reader_destroy(reader);
    nt_terminal_progress(NULL);
    return rc;
}
