/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_pack.h"

#include <stdlib.h>

#include <zlib.h>

enum { RAW_WINDOW = -15, LEVEL = 1, MEMORY = 8, TAIL_BYTES = 8, TEXT_MAX = 1 << 30 };

static int deflate_text(z_stream *z, const char *text, size_t bytes, int flush)
{
    z->next_in = (unsigned char *)text;
    z->avail_in = (unsigned)bytes;
    int rc = deflate(z, flush);
    return rc == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && z->avail_in == 0 ? 0 : -1;
}

static void put_little(unsigned char *at, unsigned long value)
{
    for (int k = 0; k < 4; k++)
        at[k] = (unsigned char)(value >> 8 * k & 0xff);
}

int nt_archive_pack(const char *map, size_t map_bytes, const char *record, size_t record_bytes,
                    char **out, size_t *bytes, struct nt_err *err)
{
    z_stream z = {0};
    if (map_bytes > TEXT_MAX || record_bytes > TEXT_MAX)
        return nt_err_set(err, NT_ERR_SYSTEM, "a map or a record of more than %d bytes", TEXT_MAX);
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, RAW_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return nt_err_memory(err);
    size_t room = deflateBound(&z, map_bytes + record_bytes);
    char *packed = malloc(room + TAIL_BYTES);
    z.next_out = (unsigned char *)packed;
    z.avail_out = packed != NULL ? (unsigned)room : 0;
    if (packed == NULL || (map_bytes > 0 && deflate_text(&z, map, map_bytes, Z_NO_FLUSH) != 0) ||
        deflate_text(&z, record, record_bytes, Z_FINISH) != 0) {
        deflateEnd(&z);
        free(packed);
        return nt_err_memory(err);
    }
    size_t used = room - z.avail_out;
    unsigned long crc = crc32(0, (const unsigned char *)map, (unsigned)map_bytes);
    if (map_bytes == 0)
        crc = crc32(0, NULL, 0);
    if (record_bytes > 0)
        crc = crc32(crc, (const unsigned char *)record, (unsigned)record_bytes);
    put_little((unsigned char *)packed + used, crc);
    put_little((unsigned char *)packed + used + 4, (unsigned long)(map_bytes + record_bytes));
    deflateEnd(&z);
    *out = packed;
    *bytes = used + TAIL_BYTES;
    return 0;
}
