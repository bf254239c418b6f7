/* SPDX-License-Identifier: Apache-2.0 */
/* A hint as JSON, for `nettopo hint --format json`.
 * Tests: bats/commands.bats. */
#ifndef NT_HINT_JSON_H
#define NT_HINT_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* A placement hint in plain values. Independent of how it was found. */
struct nt_hint_words {
    const char *pattern;
    size_t ntasks;
    const uint32_t *rank_host;
    const char *const *host_name;
    double message_bytes;
    double cost, cost_default, gain, lower_bound; /* lower_bound NaN: not known */
    double first_percent;                         /* 0: omitted */
    const uint32_t *spare;                        /* spare hosts */
    size_t spares;
    double metrics[3], metrics_default[3]; /* latency, hop_bytes, max_link_load */
    const char *devices;                   /* devices as in UCX_NET_DEVICES; "": no advice */
    size_t rails;                          /* number of devices */
};

int nt_hint_write_json(const struct nt_hint_words *words, char **text, size_t *bytes,
                       struct nt_err *err);

#endif
