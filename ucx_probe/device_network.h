/* SPDX-License-Identifier: Apache-2.0 */
/* In which IP network a device of this host is: hosts whose devices are in different ones measure
 * different fabrics, or cannot reach each other. */
#ifndef NT_DEVICE_NETWORK_H
#define NT_DEVICE_NETWORK_H

#include <netinet/in.h>
#include <stddef.h>

enum { NT_NETWORK_BYTES = 56 };

/* "10.77.0.0/17" of a device such as fab0; of its first address, IPv4 before IPv6 (link-local ones
 * do not count). "-" for a device without one, as those of RDMA (mlx5_0:1). */
void nt_device_network_find(const char *device, char text[NT_NETWORK_BYTES]);

/* The same of an address and a mask of that family (AF_INET, AF_INET6), of struct in_addr or
 * in6_addr. */
void nt_device_network_format(int family, const void *address, const void *mask,
                              char text[NT_NETWORK_BYTES]);

#endif
