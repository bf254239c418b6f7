/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections to this probe only from the job's hosts. UCX's listener accepts any peer, and
 * UCX's protocols do not defend against hostile ones.
 *
 * UCX accepts connections with accept of the C library. The linker finds this module's accept
 * first, which closes connections from other addresses before UCX sees them. It also attaches a
 * filter to the listening socket, so that the kernel drops the packets of other hosts. accept
 * belongs to the whole process, hence the static state.
 * Tests: test_guard.c. */
#ifndef NT_GUARD_H
#define NT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_SOURCE_BYTES = 16, NT_SOURCES_MAX = 64 };

/* The source address of a connection: IPv6, or IPv4 in the form ::ffff:a.b.c.d. */
struct nt_source {
    unsigned char at[NT_SOURCE_BYTES];
};

/* Lists the addresses of this host, up to NT_SOURCES_MAX; with loopback also the address of its
 * loopback device. Returns their number. */
size_t nt_guard_own(bool loopback, struct nt_source own[NT_SOURCES_MAX]);

/* From now on connections wait in the kernel until nt_guard_open. */
void nt_guard_close(void);

/* Admits connections from the sources of all hosts of the job; an address appears once per host
 * that has it. An address that only this host has is excluded: no probe connects to itself, but
 * other users of the host could. No effect without nt_guard_close. -1 without memory. */
int nt_guard_open(const struct nt_source *sources, size_t n, struct nt_err *err);

#endif
