/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as output of a probe: terminated lines without control characters, and no byte is read
 * twice. */
#include "err.h"
#include "fuzz.h"
#include "log_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char line[NT_LOG_LINE_BYTES];
    size_t bytes, before = 0;
    for (size_t at = 0; (bytes = nt_log_line_next((const char *)data, size, &at, line)) > 0;) {
        if (at > size || at < before + bytes || bytes != strlen(line) || bytes >= sizeof line)
            abort();
        if (!nt_text_is_clean(line, bytes))
            abort();
        before = at;
    }
    return 0;
}
