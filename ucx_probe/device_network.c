/* SPDX-License-Identifier: Apache-2.0 */
#include "device_network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Returns whether an address identifies a network: link-local networks exist on every link. */
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

/* ---- all that UCX chooses among ---- */

struct list {
    char *text;
    bool has_rdma;
};

static bool is_listed(const char *text, const char *network)
{
    size_t n = strlen(network);
    for (const char *at = text; (at = strstr(at, network)) != NULL; at += n)
        if (at > text && at[-1] == ' ' && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

static void add_network(void *context, const char *transport, const char *device)
{
    struct list *list = context;
    char network[NT_NETWORK_BYTES];
    size_t used = strlen(list->text);
    list->has_rdma |= strcmp(transport, "tcp") != 0;
    nt_device_network_find(device, network);
    if (network[0] == '-' || is_listed(list->text, network) ||
        used + strlen(device) + strlen(network) + 3 > NT_DEVICE_NETWORKS_BYTES)
        return;
    snprintf(list->text + used, NT_DEVICE_NETWORKS_BYTES - used, "%s%s %s", used > 0 ? "," : "",
             device, network);
}

void nt_device_network_list(const struct nt_pair *pair, char text[NT_DEVICE_NETWORKS_BYTES])
{
    const char *given = getenv("UCX_NET_DEVICES");
    struct list list = {.text = text};
    text[0] = '\0';
    if (pair == NULL || (given != NULL && strcmp(given, "all") != 0))
        return;
    nt_pair_each_rail(pair, add_network, &list);
    if (list.has_rdma)
        text[0] = '\0';
}

static const char *fault_of(const struct ifaddrs *all, const char *name)
{
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        if (strcmp(i->ifa_name, name) == 0)
            return (i->ifa_flags & IFF_UP) == 0        ? "is down"
                   : (i->ifa_flags & IFF_RUNNING) == 0 ? "has no carrier"
                                                       : NULL;
    return "does not exist on this host";
}

void nt_device_network_fault(const char *devices, char text[NT_NETWORK_BYTES])
{
    struct ifaddrs *all;
    char name[IFNAMSIZ];
    text[0] = '\0';
    if (devices == NULL || getifaddrs(&all) != 0)
        return;
    for (const char *at = devices; *at != '\0' && text[0] == '\0';) {
        size_t bytes = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)bytes, at);
        bool plain = bytes > 0 && bytes < sizeof name && strpbrk(name, ":*^") == NULL &&
                     strcmp(name, "all") != 0;
        const char *fault = plain ? fault_of(all, name) : NULL;
        if (fault != NULL)
            snprintf(text, NT_NETWORK_BYTES, "%s %s", name, fault);
        at += bytes + (at[bytes] == ',');
    }
    freeifaddrs(all);
}
