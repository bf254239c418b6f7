/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the TCP segments that this process sent and retransmitted, to find packet loss.
 *
 * For each connection the kernel counts the segments with data that it sent and those that it
 * retransmitted (TCP_INFO, tcp(7), linux/tcp.h). Segments that the other end reports as received
 * twice (DSACK, RFC 2883) were not lost. The difference between two readings is the loss in
 * between. Transports other than TCP have no such connection: zeros. Reads kernel state; keeps
 * none.
 * Tests: test_resent.c. */
#ifndef NT_RESENT_H
#define NT_RESENT_H

#include <stdint.h>

struct nt_resent {
    uint64_t segments; /* segments with data, including retransmitted ones */
    uint64_t again;
};

/* Returns the sums over all open connections of this process, except those to this machine
 * (127.0.0.0/8, ::1). */
struct nt_resent nt_resent_read(void);

/* Returns the difference between two readings, at least zero, because connections may have closed
 * in between. */
struct nt_resent nt_resent_since(struct nt_resent before, struct nt_resent now);

#endif
