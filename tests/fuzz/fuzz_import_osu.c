/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    for (int kind = NT_MATRIX_LATENCY_US; kind <= NT_MATRIX_BANDWIDTH_MBPS; kind++) {
        struct nt_named_matrix *m = NULL;
        if (nt_import_osu("f", (const char *)data, size, (enum nt_matrix_kind)kind, &m, &err) == 0)
            nt_named_matrix_destroy(m);
    }
    return 0;
}
