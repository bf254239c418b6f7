/* SPDX-License-Identifier: Apache-2.0 */
/* The START text. */
#include "fuzz.h"
#include "start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_start start;
    if (nt_start_parse((const char *)data, size, &start, NULL) == 0)
        nt_start_fini(&start);
    return 0;
}
