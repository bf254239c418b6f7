/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "traffic.h"
#include "traffic_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Whatever a communication matrix says, it is refused in a sentence or makes traffic. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct nt_triples t;
    struct nt_traffic *traffic;
    struct nt_err err = {0};
    if (nt_triples_read("fuzz", (const char *)data, bytes, &t, &err) != 0)
        return err.text[0] == '\0' ? abort(), 0 : 0;
    if (nt_traffic_from_triples(t.ntasks, (const uint32_t(*)[2])t.pair, t.bytes, t.n, &traffic,
                                &err) == 0)
        nt_traffic_destroy(traffic);
    nt_triples_fini(&t);
    return 0;
}
