/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    struct nt_named_matrix *s = NULL;
    if (nt_import_parus("f", (const char *)data, size, &s, &err) == 0)
        nt_named_matrix_destroy(s);
    return 0;
}
