/* SPDX-License-Identifier: Apache-2.0 */
/* In which IP network a device of this host is: hosts whose devices are in different ones measure
 * different fabrics, or cannot reach each other. */
#ifndef NT_DEVICE_NETWORK_H
#define NT_DEVICE_NETWORK_H

#include <netinet/in.h>
#include <stddef.h>

#include "pair.h"

enum { NT_NETWORK_BYTES = 56, NT_DEVICE_NETWORKS_BYTES = 128 };

/* "10.77.0.0/17" of a device such as fab0; of its first address, IPv4 before IPv6 (link-local ones
 * do not count). "-" for a device without one, as those of RDMA (mlx5_0:1). */
void nt_device_network_find(const char *device, char text[NT_NETWORK_BYTES]);

/* The same of an address and a mask of that family (AF_INET, AF_INET6), of struct in_addr or
 * in6_addr. */
void nt_device_network_format(int family, const void *address, const void *mask,
                              char text[NT_NETWORK_BYTES]);

/* "fab0 10.77.0.0/17,eth0 10.219.0.0/24": the networks of the devices that UCX may use, each once,
 * as far as they fit. "" where it does not choose among IP networks: UCX_NET_DEVICES names the
 * devices, or there are some of RDMA. */
void nt_device_network_list(const struct nt_pair *pair, char text[NT_DEVICE_NETWORKS_BYTES]);

/* "fab0 is down": the first of the devices, as UCX_NET_DEVICES lists them, that UCX cannot use for
 * that; "" when there is none, or devices is NULL. Those of RDMA and UCX's own words ("all") are
 * not looked at. */
void nt_device_network_fault(const char *devices, char text[NT_NETWORK_BYTES]);

#endif
