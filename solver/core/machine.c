/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <string.h>

const char *const nt_between_names[NT_BETWEEN_END] = {"core", "cache", "numa", "package",
                                                      "machine"};

const char *nt_between_name(enum nt_between between)
{
    return nt_between_names[between];
}

enum nt_between nt_between_parse(const char *name)
{
    enum nt_between k = NT_BETWEEN_CORE;
    while (k < NT_BETWEEN_END && strcmp(nt_between_names[k], name) != 0)
        k++;
    return k;
}
