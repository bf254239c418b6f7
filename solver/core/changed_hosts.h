/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts whose latencies changed in the sweep: a link of theirs, or above them, became slower or
 * faster, or was disturbed for a while.
 *
 * One pair whose readings fall into a low and a high part may have had one wrong reading; a host of
 * which most pairs do has been in two networks. Of such a host's pairs the low part counts, so that
 * all pairs speak of one network, the undisturbed one. Pure.
 * Tests: test_remeasure.c. */
#ifndef NT_CHANGED_HOSTS_H
#define NT_CHANGED_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_changed_hosts {
    size_t hosts;
    uint32_t *read, *apart; /* pairs of each host; read is owned, apart the second half of it */
};

int nt_changed_hosts_init(struct nt_changed_hosts *changed, size_t hosts, struct nt_err *err);
void nt_changed_hosts_fini(struct nt_changed_hosts *changed);

/* A pair that was read several times, a, b < hosts; apart: its readings are of two kinds. */
void nt_changed_hosts_note(struct nt_changed_hosts *changed, uint32_t a, uint32_t b, bool apart);

/* After all were noted: whether the pair has such a host. */
bool nt_changed_hosts_have(const struct nt_changed_hosts *changed, uint32_t a, uint32_t b);

#endif
