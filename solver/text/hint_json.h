/* SPDX-License-Identifier: Apache-2.0 */
/* A hint as the JSON of `nettopo hint --format json`.
 * Tests: bats/commands.bats. */
#ifndef NT_HINT_JSON_H
#define NT_HINT_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* What is known of a placement, in plain values: the texts know nothing of how it was found. */
struct nt_hint_words {
    const char *pattern;
    size_t ntasks;
    const uint32_t *rank_host;
    const char *const *host_name;
    double message_bytes;
    double cost, cost_default, gain, lower_bound; /* lower_bound NaN: not known */
    double first_percent;                         /* 0: not stated */
    const uint32_t *spare;                        /* hosts that are left out: spares of them */
    size_t spares;
    double metrics[3], metrics_default[3]; /* latency, hop_bytes, max_link_load */
    const char *devices;                   /* as UCX_NET_DEVICES has them; "": no advice */
    size_t rails;                          /* how many */
};

int nt_hint_write_json(const struct nt_hint_words *words, char **text, size_t *bytes,
                       struct nt_err *err);

#endif
