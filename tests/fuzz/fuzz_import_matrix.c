/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    const char *text = (const char *)data;
    for (int kind = NT_MATRIX_LATENCY_US; kind <= NT_MATRIX_BANDWIDTH_MBPS; kind++) {
        struct nt_named_matrix *m = NULL;
        if (nt_import_benchmark("f", text, size, (enum nt_matrix_kind)kind, &m, &err) == 0)
            nt_named_matrix_destroy(m);
    }
    struct nt_named_matrix *m = NULL;
    if (nt_import_mpigraph("f", text, size, &m, &err) == 0)
        nt_named_matrix_destroy(m);
    nt_import_benchmark_line(text, size);
    return 0;
}
