/* SPDX-License-Identifier: Apache-2.0 */
/* What this process's TCP connections sent again.
 *
 * The kernel counts for each connection the segments with data that it sent and those that it sent
 * again (TCP_INFO, tcp(7), linux/tcp.h); what the other end reports as received twice (DSACK,
 * RFC 2883) was not lost. The difference of two looks is what was lost between them of what this
 * end sent. Other transports than TCP have no such connection: zeros. Not pure; no state.
 * Tests: test_resent.c. */
#ifndef NT_RESENT_H
#define NT_RESENT_H

#include <stdint.h>

struct nt_resent {
    uint64_t segments; /* with data, those sent again among them */
    uint64_t again;
};

/* Over all connections of this process that are open; those to the machine itself (127.0.0.0/8,
 * ::1) do not count. */
struct nt_resent nt_resent_read(void);

/* Of what was sent between two looks; never below zero, as connections may have ended. */
struct nt_resent nt_resent_since(struct nt_resent before, struct nt_resent now);

#endif
