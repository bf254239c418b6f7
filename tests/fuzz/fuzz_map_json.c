/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: an error, or a map that can be checked and whose text reads back to the same text. */
#include "fuzz.h"
#include "map_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_map *map, *again;
    struct nt_findings findings = {0};
    struct nt_err err;
    char *text, *text_again;
    size_t bytes, bytes_again;
    if (nt_map_read("fuzz", (const char *)data, size, &map, &err) != 0)
        return 0;
    if (nt_map_check(map, &findings, &err) != 0)
        abort();
    nt_findings_fini(&findings);
    if (nt_map_write(map, size % 2, &text, &bytes, &err) != 0 ||
        nt_map_read("fuzz", text, bytes, &again, &err) != 0 ||
        nt_map_write(again, size % 2, &text_again, &bytes_again, &err) != 0)
        abort();
    if (bytes != bytes_again || memcmp(text, text_again, bytes) != 0)
        abort();
    if (nt_map_sort(again, &err) != 0)
        abort();
    free(text);
    free(text_again);
    nt_map_destroy(map);
    nt_map_destroy(again);
    return 0;
}
