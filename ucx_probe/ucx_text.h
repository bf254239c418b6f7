/* SPDX-License-Identifier: Apache-2.0 */
/* Parses UCX's printed description of its transports: since release 1.13 the only way to find out
 * which transports a context may use and which a connection uses. No I/O.
 * Tests: test_ucx_text.c. */
#ifndef NT_UCX_TEXT_H
#define NT_UCX_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { NT_UCX_NAME_BYTES = 32 };

struct nt_ucx_transport {
    char name[NT_UCX_NAME_BYTES];   /* name as in UCX_TLS: "rc_mlx5", "tcp" */
    char device[NT_UCX_NAME_BYTES]; /* name as in UCX_NET_DEVICES: "mlx5_0:1", "fab0" */
};

/* Parses a line of ucp_context_print_info, such as "# resource 3 : md 1 dev 1 flags -- tcp/fab0".
 * Returns false if it is no resource, or none of a network: memory, GPUs and the loop-back device
 * reach no other host. */
bool nt_ucx_text_resource(const char *line, struct nt_ucx_transport *out);

/* Parses a line of ucp_ep_print_info, such as "# lane[0]: 2:tcp/fab0.0 md[1] -> md[1]/tcp am
 * am_bw#0". */
bool nt_ucx_text_lane(const char *line, struct nt_ucx_transport *out);

/* Adds a word to a comma-separated list, unless it contains the word or has no room. */
void nt_ucx_text_add(char *list, size_t capacity, const char *word);

#endif
