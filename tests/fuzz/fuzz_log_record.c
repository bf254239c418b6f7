/* SPDX-License-Identifier: Apache-2.0 */
/* Any line of a log: no record, or one whose texts are terminated. */
#include "fuzz.h"
#include "log_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_log_record r;
    char *line = malloc(size); /* of its size, so that what is read beyond is seen */
    if (line == NULL && size > 0)
        abort();
    if (size > 0)
        memcpy(line, data, size);
    struct nt_log_line rest = {.at = line, .end = line + size};
    while (nt_log_record_next(&rest, &r))
        if (r.status > NT_STATUS_FAILED || memchr(r.reason, 0, sizeof r.reason) == NULL ||
            memchr(r.user, 0, sizeof r.user) == NULL ||
            memchr(r.missing, 0, sizeof r.missing) == NULL ||
            memchr(r.suspect, 0, sizeof r.suspect) == NULL)
            abort();
    free(line);
    return 0;
}
