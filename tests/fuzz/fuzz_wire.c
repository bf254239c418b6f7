/* SPDX-License-Identifier: Apache-2.0 */
/* Every decoder of what a probe hears from another. What decodes is encoded again and must
 * decode to the same bytes. */
#include "fuzz.h"
#include "wire.h"

static void same(const struct nt_bytes *again, const uint8_t *data, size_t size)
{
    if (again->bytes != size || memcmp(again->data, data, size) != 0)
        abort();
    free(again->data);
}

static void try_round(const uint8_t *data, size_t size)
{
    struct nt_round round;
    struct nt_bytes again;
    if (nt_round_decode(data, size, 1 + size % 64, &round, NULL) != 0)
        return;
    if (nt_round_encode(&round, &again, NULL) == 0)
        free(again.data);
    nt_arena_fini(&round.memory);
}

static void try_table_and_go(const uint8_t *data, size_t size)
{
    struct nt_peer_table table;
    struct nt_go go;
    struct nt_bytes again;
    if (nt_peer_table_decode(data, size, &table, NULL) == 0) {
        if (nt_peer_table_encode(&table, &again, NULL) == 0)
            free(again.data);
        nt_peer_table_fini(&table);
    }
    if (nt_go_decode(data, size, &go, NULL) == 0) {
        if (nt_go_encode(&go, &again, NULL) == 0)
            same(&again, data, size);
        nt_arena_fini(&go.memory);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_greeting greeting;
    struct nt_report report;
    struct nt_bytes again;
    if (nt_greeting_decode(data, size, &greeting, NULL) == 0 &&
        nt_greeting_encode(&greeting, &again, NULL) == 0)
        free(again.data);
    try_round(data, size);
    try_table_and_go(data, size);
    nt_reports_decode(NT_WIRE_READY, data, size, &report, 1, NULL);
    nt_reports_decode(NT_WIRE_RESULT, data, size, &report, 1, NULL);
    nt_reports_decode(NT_WIRE_SERIES, data, size, &report, 1, NULL);
    return 0;
}
