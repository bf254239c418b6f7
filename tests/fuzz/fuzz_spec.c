/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "kernels.h"
#include "network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Whatever a topology says, it is refused in a sentence or makes a network of the announced size
 * whose routes arrive. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[256];
    struct nt_spec spec;
    struct nt_network *n;
    struct nt_workload workload = {0};
    struct nt_err err = {0};
    size_t length = bytes < sizeof text - 1 ? bytes : sizeof text - 1;
    if (length > 0)
        memcpy(text, data, length);
    text[length] = '\0';
    if (nt_workload_parse(text, &workload, &err) != 0 && err.text[0] == '\0')
        abort();
    err.text[0] = '\0';
    if (nt_spec_parse(text, &spec, &err) != 0)
        return err.text[0] == '\0' ? abort(), 0 : 0;
    if (spec.hosts + spec.switches > 2000 || spec.links > 20000)
        return 0;
    if (nt_network_build(&spec, NULL, &n, &err) != 0 || n->arcs != 2 * spec.links)
        abort();
    for (uint32_t h = 0; h < n->hosts; h += 1 + (uint32_t)n->hosts / 7)
        if (!(nt_network_latency(n, h, (uint32_t)n->hosts - 1 - h) >= 0))
            abort();
    nt_network_destroy(n);
    return 0;
}
