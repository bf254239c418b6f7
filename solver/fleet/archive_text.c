/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_text.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { FIRST_BYTES = 65536, GZIP_WINDOW = 15 + 16 };

bool nt_archive_text_is(const void *file, size_t bytes)
{
    return bytes > 2 && memcmp(file, "\x1f\x8b", 2) == 0;
}

/* A map's lines begin with a brace or a blank. */
size_t nt_archive_text_split(const char *text, size_t bytes)
{
    static const char first[] = "\nnettopo-samples/";
    const char *found = memmem(text, bytes, first, sizeof first - 1);
    return found != NULL ? (size_t)(found + 1 - text) : bytes;
}

void nt_archive_text_fini(struct nt_archive_text *text)
{
    free(text->comment);
    free(text->text);
    *text = (struct nt_archive_text){0};
}

static int inflate_all(z_stream *z, size_t most, struct nt_archive_text *out, struct nt_err *err)
{
    size_t room = 0;
    for (int rc = Z_OK; rc != Z_STREAM_END;) {
        if (out->bytes == room) {
            if (room >= most)
                return nt_err_set(err, NT_ERR_INPUT, "expected at most %zu bytes unpacked", most);
            room = room == 0 ? FIRST_BYTES : room * 2;
            room = room > most ? most : room;
            char *grown = realloc(out->text, room + 1);
            if (grown == NULL)
                return nt_err_memory(err);
            out->text = grown;
        }
        size_t left = room - out->bytes;
        z->next_out = (unsigned char *)out->text + out->bytes;
        z->avail_out = (unsigned)(left < 1u << 30 ? left : 1u << 30);
        size_t before = z->avail_out;
        rc = inflate(z, Z_NO_FLUSH);
        out->bytes += before - z->avail_out;
        if (rc == Z_MEM_ERROR)
            return nt_err_memory(err);
        if (rc != Z_OK && rc != Z_STREAM_END)
            return nt_err_set(err, NT_ERR_INPUT, "expected gzip, found %s",
                              rc == Z_BUF_ERROR ? "a file that is cut off" : "other bytes");
    }
    out->text[out->bytes] = '\0';
    return 0;
}

static int read_member(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                       struct nt_err *err)
{
    z_stream z = {0};
    gz_header head = {.comment = (unsigned char *)out->comment, .comm_max = NT_ARCHIVE_COMMENT_MAX};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return nt_err_memory(err);
    z.next_in = (unsigned char *)file;
    z.avail_in = (unsigned)bytes;
    int rc =
        inflateGetHeader(&z, &head) == Z_OK ? inflate_all(&z, most, out, err) : nt_err_memory(err);
    inflateEnd(&z);
    return rc;
}

int nt_archive_text_read(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                         struct nt_err *err)
{
    struct nt_archive_text text = {0};
    if (bytes > 1u << 30)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %u bytes", 1u << 30);
    text.comment = calloc(1, NT_ARCHIVE_COMMENT_MAX + 1);
    if (text.comment == NULL)
        return nt_err_memory(err);
    if (read_member(file, bytes, most, &text, err) != 0) {
        nt_archive_text_fini(&text);
        return -1;
    }
    text.map_bytes = nt_archive_text_split(text.text, text.bytes);
    *out = text;
    return 0;
}
