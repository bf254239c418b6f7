/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect to this probe: the hosts of the job. UCX's listener takes any peer, and its
 * messages are not made for hostile ones.
 *
 * UCX accepts connections by the C library's accept, and the linker finds the one of this module
 * before that one: connections from other addresses are closed before UCX knows of them. The first
 * of them also gives the listening socket a filter, so that the kernel drops the others' packets.
 * For a whole process, as accept is: hence static state.
 * Tests: test_guard.c. */
#ifndef NT_GUARD_H
#define NT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_SOURCE_BYTES = 16, NT_SOURCES_MAX = 64 };

/* An address from which connections come: of IPv6, or of IPv4 in the form ::ffff:a.b.c.d. */
struct nt_source {
    unsigned char at[NT_SOURCE_BYTES];
};

/* Those of this host, up to NT_SOURCES_MAX; with loopback also that of its loopback device.
 * Returns how many. */
size_t nt_guard_own(bool loopback, struct nt_source own[NT_SOURCES_MAX]);

/* From now on connections wait, until it is known who may connect. */
void nt_guard_close(void);

/* Those may connect: sources of all hosts of the job, each as often as hosts have it. An address
 * that is this host's alone is left out: no probe connects to itself, but other users of the host
 * could. Only after nt_guard_close; else nothing. */
int nt_guard_open(const struct nt_source *sources, size_t n, struct nt_err *err);

#endif
