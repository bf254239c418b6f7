/* SPDX-License-Identifier: Apache-2.0 */
#include "device_network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char NO_NETWORK[] = "-";

void nt_device_network_format(int family, const void *address, const void *mask,
                              char text[NT_NETWORK_BYTES])
{
    unsigned char network[sizeof(struct in6_addr)];
    char number[INET6_ADDRSTRLEN];
    size_t bytes = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    unsigned ones = 0;
    for (size_t k = 0; k < bytes; k++) {
        unsigned char m = ((const unsigned char *)mask)[k];
        network[k] = ((const unsigned char *)address)[k] & m;
        for (; m != 0; m = (unsigned char)(m << 1))
            ones += (m & 0x80) != 0;
    }
    if (inet_ntop(family, network, number, sizeof number) == NULL)
        snprintf(text, NT_NETWORK_BYTES, "%s", NO_NETWORK);
    else
        snprintf(text, NT_NETWORK_BYTES, "%s/%u", number, ones);
}

static void format_interface(const struct ifaddrs *i, char text[NT_NETWORK_BYTES])
{
    int family = i->ifa_addr->sa_family;
    if (family == AF_INET)
        nt_device_network_format(family, &((const struct sockaddr_in *)i->ifa_addr)->sin_addr,
                                 &((const struct sockaddr_in *)i->ifa_netmask)->sin_addr, text);
    else
        nt_device_network_format(family, &((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr,
                                 &((const struct sockaddr_in6 *)i->ifa_netmask)->sin6_addr, text);
}

/* A link-local network is on every link. */
static int counts(const struct ifaddrs *i, int family)
{
    if (i->ifa_addr == NULL || i->ifa_netmask == NULL || i->ifa_addr->sa_family != family)
        return 0;
    return family == AF_INET ||
           !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr);
}

void nt_device_network_find(const char *device, char text[NT_NETWORK_BYTES])
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all = NULL;
    snprintf(text, NT_NETWORK_BYTES, "%s", NO_NETWORK);
    if (getifaddrs(&all) != 0)
        return;
    const struct ifaddrs *found = NULL;
    for (size_t k = 0; k < 2 && found == NULL; k++)
        for (const struct ifaddrs *i = all; i != NULL && found == NULL; i = i->ifa_next)
            if (strcmp(i->ifa_name, device) == 0 && counts(i, families[k]))
                found = i;
    if (found != NULL)
        format_interface(found, text);
    freeifaddrs(all);
}
