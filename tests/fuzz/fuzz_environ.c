/* SPDX-License-Identifier: Apache-2.0 */
/* Any hint.env: only known names with printable values pass, and paths in the job's directory. */
#include "environ.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_environ environ;
    struct nt_err err;
    if (size == 0)
        return 0;
    struct nt_environ_options options = {.dir = "/run/nettopo/1", .apply = (data[0] & 1) != 0};
    if (nt_environ_read((const char *)data + 1, size - 1, &options, &environ, &err) != 0)
        return 0;
    for (size_t k = 0; k < environ.count; k++) {
        const char *name = environ.var[k].name, *value = environ.var[k].value;
        if (strncmp(name, "NETTOPO_", 8) != 0 &&
            (!options.apply || strncmp(name, "SLURM_", 6) != 0))
            abort();
        if (strlen(value) > NT_ENVIRON_VALUE_MAX)
            abort();
        if (strstr(name, "FILE") != NULL && strncmp(value, "/run/nettopo/1/", 15) != 0)
            abort();
        if (!nt_text_is_clean(value, strlen(value)))
            abort();
    }
    nt_environ_fini(&environ);
    return 0;
}
