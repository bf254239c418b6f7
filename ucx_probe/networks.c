/* SPDX-License-Identifier: Apache-2.0 */
#include "networks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A peer's text is for a warning: of the form above, or it is not known. */
static bool is_known(const char *list)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-:/@ ,";
    return list != NULL && list[0] != '\0' && strspn(list, allowed) == strlen(list);
}

/* Of "DEVICE NETWORK" both are others. */
static bool differ(const char *a, const char *b)
{
    size_t n = strcspn(a, " "), m = strcspn(b, " ");
    return (n != m || strncmp(a, b, n) != 0) && strcmp(a + n, b + m) != 0;
}

void nt_networks_judge(const char *const *host, const char *const *list, size_t hosts,
                       char warning[NT_NETWORKS_WARNING_BYTES])
{
    static const char todo[] =
        "name the fabric's devices in net_devices of nettopo.conf or in UCX_NET_DEVICES";
    size_t first = hosts;
    warning[0] = '\0';
    for (size_t k = 0; k < hosts && warning[0] == '\0'; k++) {
        if (!is_known(list[k]))
            continue;
        first = first == hosts ? k : first;
        if (strchr(list[k], ',') != NULL)
            snprintf(warning, NT_NETWORKS_WARNING_BYTES,
                     "UCX chose among devices of several networks (%.64s: %.110s), and what was "
                     "measured may not be the fabric: %s",
                     host[k], list[k], todo);
        else if (differ(list[k], list[first]))
            snprintf(warning, NT_NETWORKS_WARNING_BYTES,
                     "the hosts' devices do not lie in one network (%.60s: %.60s; %.60s: %.60s): "
                     "%s",
                     host[first], list[first], host[k], list[k], todo);
    }
}
