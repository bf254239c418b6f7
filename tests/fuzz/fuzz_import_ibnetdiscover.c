/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "import.h"

/* A scan, and behind a zero byte the names of its nodes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    struct nt_map *map = NULL;
    struct nt_name_file names = {0};
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t scan = zero != NULL ? (size_t)(zero - data) : size;
    if (zero != NULL)
        (void)nt_name_file_read("n", (const char *)zero + 1, size - scan - 1, &names, &err);
    if (nt_import_ibnetdiscover("f", (const char *)data, scan, &names, &map, &err) == 0)
        nt_map_destroy(map);
    nt_name_file_fini(&names);
    return 0;
}
