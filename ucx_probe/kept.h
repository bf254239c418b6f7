/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections a rank keeps from one round to the next, the last used of them.
 *
 * A rank keeps a connection exactly when it reported its round as good. So rank 0, which hears the
 * reports, knows of every rank what it keeps by the same rule, and orders the use of a connection
 * only where both ends have it: two ends that took different ones would wait in vain. Pure.
 * Tests: test_kept.c. */
#ifndef NT_KEPT_H
#define NT_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An endpoint takes up to two descriptors and 13 KiB. Of more hosts a pass over all pairs finds no
 * connection again. */
enum { NT_KEPT_MAX = 64 };

#define NT_KEPT_NONE UINT32_MAX

struct nt_kept {
    uint32_t n;
    uint32_t peer[NT_KEPT_MAX]; /* ranks, the longest unused first */
};

/* Whether peer is kept still when so many others have been used. */
bool nt_kept_stays(const struct nt_kept *kept, uint32_t peer, uint32_t uses);

/* peer is the last used now. Returns the peer that is kept no more for it, else NT_KEPT_NONE. */
uint32_t nt_kept_use(struct nt_kept *kept, uint32_t peer);

/* No effect on one that is not kept. */
void nt_kept_drop(struct nt_kept *kept, uint32_t peer);

#endif
