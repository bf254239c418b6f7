/* SPDX-License-Identifier: Apache-2.0 */
/* The IP networks among which UCX chooses by itself: where there are several, or different ones on
 * different hosts, it may measure another network than the fabric, such as a bridge. Pure. */
#ifndef NT_NETWORKS_H
#define NT_NETWORKS_H

#include <stddef.h>

enum { NT_NETWORKS_WARNING_BYTES = 400 };

/* What is wrong with the lists of the hosts (device_network.h; NULL or "": not known), as a
 * sentence; "" for nothing. Hosts whose one device has the same name on all may be in different
 * networks: between those packets are routed. */
void nt_networks_judge(const char *const *host, const char *const *list, size_t hosts,
                       char warning[NT_NETWORKS_WARNING_BYTES]);

#endif
