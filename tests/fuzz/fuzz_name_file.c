/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "name_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    struct nt_name_file names;
    if (nt_name_file_read("f", (const char *)data, size, &names, &err) != 0)
        return 0;
    for (size_t k = 0; k < names.count; k++)
        if (names.by_guid && nt_name_file_of(&names, names.entry[k].guid) == NULL)
            abort();
    nt_name_file_fini(&names);
    return 0;
}
