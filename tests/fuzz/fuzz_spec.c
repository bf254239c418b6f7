/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "network.h"
#include "workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Its name is that kernel's, and its program, where it is small, is one of messages between its
 * hosts. */
static void check_workload(const struct nt_workload *load)
{
    char name[NT_WORKLOAD_NAME_BYTES];
    struct nt_workload again = {0};
    struct nt_program p;
    nt_workload_name(load, name);
    if (nt_workload_parse(name, &again, NULL) != 0 || again.kernel != load->kernel ||
        again.wave != load->wave || again.compute_us != load->compute_us)
        abort();
    if (load->messages > 10000 || nt_program_create(33, load, &p, NULL) != 0)
        return;
    for (size_t m = 0; m < p.messages; m++)
        if (p.message[m].from >= 33 || p.message[m].to >= 33)
            abort();
    for (size_t k = 0; k < p.ops; k++)
        if (p.op[k] != NT_PROGRAM_COMPUTE && p.op[k] / 2 >= p.messages)
            abort();
    nt_program_fini(&p);
}

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
    if (nt_workload_parse(text, &workload, &err) == 0)
        check_workload(&workload);
    else if (err.text[0] == '\0')
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
