/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "hostlist.h"
#include "matrix.h"

static int count(void *context, const char *name, struct nt_err *err)
{
    (void)name;
    (void)err;
    if (++*(size_t *)context > NT_HOSTS_MAX)
        abort(); /* more than was promised */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_err err = {0};
    size_t names = 0;
    nt_hostlist_visit((const char *)data, size, count, &names, &err);
    return 0;
}
