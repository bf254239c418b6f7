/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the IP network of a device of this host: hosts whose devices are in different networks
 * measure different fabrics, or cannot reach each other. */
#ifndef NT_DEVICE_NETWORK_H
#define NT_DEVICE_NETWORK_H

#include <netinet/in.h>
#include <stddef.h>

#include "pair.h"

enum { NT_NETWORK_BYTES = 56, NT_DEVICE_NETWORKS_BYTES = 128 };

/* Sets text to the network of a device, such as "10.77.0.0/17" for fab0: the network of its first
 * address, IPv4 before IPv6, without link-local addresses. "-" for a device without an address,
 * such as an RDMA device (mlx5_0:1). */
void nt_device_network_find(const char *device, char text[NT_NETWORK_BYTES]);

/* Formats the network of an address and a mask of that family: struct in_addr for AF_INET, struct
 * in6_addr for AF_INET6. */
void nt_device_network_format(int family, const void *address, const void *mask,
                              char text[NT_NETWORK_BYTES]);

/* Sets text to the networks of the devices that UCX may use, each once, as far as they fit: "fab0
 * 10.77.0.0/17,eth0 10.219.0.0/24". "" if UCX does not choose among IP networks, because
 * UCX_NET_DEVICES names the devices or some are RDMA devices. */
void nt_device_network_list(const struct nt_pair *pair, char text[NT_DEVICE_NETWORKS_BYTES]);

/* Describes the first device in the list, which has the form of UCX_NET_DEVICES, that UCX cannot
 * use: "fab0 is down". "" if there is none, or if devices is NULL. RDMA devices and UCX's keywords
 * ("all") are not checked. */
void nt_device_network_fault(const char *devices, char text[NT_NETWORK_BYTES]);

#endif
