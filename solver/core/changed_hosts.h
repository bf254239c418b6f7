/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hosts whose latencies changed during the sweep because a link of the host, or above it,
 * became slower or faster or was disturbed for some time.
 *
 * If the readings of one pair fall into a low and a high group, one of them may be wrong. If most
 * pairs of a host have two groups of readings, the host was measured in two states of the network.
 * For such a host only the low groups are used, so that all pairs describe the undisturbed network.
 * Pure.
 * Tests: test_remeasure.c. */
#ifndef NT_CHANGED_HOSTS_H
#define NT_CHANGED_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_changed_hosts {
    size_t hosts;
    /* Per host: its pairs that were read several times, and how many have two groups; read is
     * owned, apart is the second half of its memory */
    uint32_t *read, *apart;
};

int nt_changed_hosts_init(struct nt_changed_hosts *changed, size_t hosts, struct nt_err *err);
void nt_changed_hosts_fini(struct nt_changed_hosts *changed);

/* Adds a pair that was read several times, a and b < hosts. apart: its readings fall into two
 * groups. */
void nt_changed_hosts_note(struct nt_changed_hosts *changed, uint32_t a, uint32_t b, bool apart);

/* Whether a or b changed. Valid after all pairs were added. */
bool nt_changed_hosts_contain(const struct nt_changed_hosts *changed, uint32_t a, uint32_t b);

#endif
