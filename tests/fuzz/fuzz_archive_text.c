/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of the archive: an error, or a text within its bound. */
#include "fuzz.h"
#include "origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_archive_text text;
    struct nt_err err;
    if (nt_archive_text_read(data, size, 100000, &text, &err) != 0)
        return 0;
    if (text.bytes > 100000 || text.map_bytes > text.bytes || text.text[text.bytes] != '\0' ||
        strlen(text.comment) > NT_ARCHIVE_COMMENT_MAX)
        abort();
    nt_archive_text_fini(&text);
    return 0;
}
