/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    struct nt_named_matrix *s = NULL;
    static const char beside[] = "a\na\nb\nc\n"; /* of NetCDF, and of a text without names */
    struct nt_text names;
    if (nt_text_begin(&names, "names", beside, sizeof beside - 1, &err) == 0 &&
        nt_import_parus_named("f", (const char *)data, size, &names, &s, &err) == 0)
        nt_named_matrix_destroy(s);
    return 0;
}
