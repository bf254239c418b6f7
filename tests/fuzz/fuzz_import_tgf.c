/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    struct nt_map *map = NULL;
    if (nt_import_tgf("f", (const char *)data, size, &map, &err) == 0)
        nt_map_destroy(map);
    return 0;
}
