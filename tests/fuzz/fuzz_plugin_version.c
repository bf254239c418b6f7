/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a plugin: a version or an error, and nothing outside of them is read. */
#include "fuzz.h"
#include "plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t version;
    struct nt_err err = {0};
    int rc = nt_plugin_version_read(data, size, &version, &err);
    if ((rc != 0) != (err.kind != NT_ERR_NONE))
        abort();
    return 0;
}
