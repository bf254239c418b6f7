/* SPDX-License-Identifier: Apache-2.0 */
/* Tests another host from this one. Needs no program on the other host. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netdb.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "ports.h"

/* Time limit for an answer. */
static const double ANSWER_S = 0.5;

/* ---- its ports ---- */

/* Returns 0 if packets pass in both directions: a program listens on the port, or the host rejects
 * the connection. */
static int try_port(const struct addrinfo *address, uint16_t port, struct nt_err *err)
{
    const int wait_ms = 2000;
    struct sockaddr_storage to;
    int why = 0, fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "socket: %s", strerror(errno));
    memcpy(&to, address->ai_addr, address->ai_addrlen);
    if (address->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)&to)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&to)->sin_port = htons(port);
    nt_source_port_bind(fd, address->ai_family);
    if (connect(fd, (struct sockaddr *)&to, address->ai_addrlen) != 0)
        why = errno;
    if (why == EINPROGRESS) {
        struct pollfd done = {.fd = fd, .events = POLLOUT};
        socklen_t bytes = sizeof why;
        if (poll(&done, 1, wait_ms) <= 0)
            why = ETIMEDOUT;
        else
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes);
    }
    close(fd);
    return why == 0 || why == ECONNREFUSED
               ? 0
               : nt_err_set(err, NT_ERR_SYSTEM, "port %u: %s", port, strerror(why));
}

static void check_ports_of(struct nt_check *check, const struct addrinfo *address)
{
    static const char what[] = "connection";
    struct nt_err err;
    const struct nt_conf *conf = &check->conf;
    if (try_port(address, conf->port_first, &err) != 0 ||
        try_port(address, conf->port_last, &err) != 0)
        nt_check_fail(check, what,
                      "Open the ports of nettopo.conf in the firewalls of both hosts, in both "
                      "directions and from ports below 1024",
                      "%s, %s", check->peer, err.text);
    else
        nt_check_ok(what, "ports %u and %u of %s answer", conf->port_first, conf->port_last,
                    check->peer);
}

/* ---- devices ---- */

struct device {
    char name[IFNAMSIZ];
    int index, mtu;
    struct in_addr address;
    unsigned char mac[ETH_ALEN];
    bool is_ethernet;
};

static bool read_device(const char *name, struct device *d)
{
    struct ifreq r = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    *d = (struct device){0};
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    bool known = fd >= 0 && ioctl(fd, SIOCGIFINDEX, &r) == 0;
    d->index = r.ifr_ifindex;
    known = known && ioctl(fd, SIOCGIFMTU, &r) == 0;
    d->mtu = r.ifr_mtu;
    known = known && ioctl(fd, SIOCGIFHWADDR, &r) == 0;
    d->is_ethernet = r.ifr_hwaddr.sa_family == ARPHRD_ETHER;
    memcpy(d->mac, r.ifr_hwaddr.sa_data, sizeof d->mac);
    known = known && ioctl(fd, SIOCGIFADDR, &r) == 0;
    struct sockaddr_in own;
    memcpy(&own, &r.ifr_addr, sizeof own);
    d->address = own.sin_addr;
    if (fd >= 0)
        close(fd);
    return known;
}

/* Finds the device that routes to the address; false: none does. */
static bool find_way(const struct sockaddr_in *to, struct device *d)
{
    struct sockaddr_in own = {0};
    socklen_t bytes = sizeof own;
    struct if_nameindex *all = if_nameindex();
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = false;
    if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &bytes) == 0)
        for (size_t k = 0; all != NULL && all[k].if_index != 0 && !found; k++)
            found = read_device(all[k].if_name, d) && d->address.s_addr == own.sin_addr.s_addr;
    if (fd >= 0)
        close(fd);
    if (all != NULL)
        if_freenameindex(all);
    return found;
}

/* ---- large messages ---- */

static uint16_t checksum(const unsigned char *bytes, size_t n)
{
    uint32_t sum = 0;
    for (size_t k = 0; k + 1 < n; k += 2)
        sum += (uint32_t)bytes[k] << 8 | bytes[k + 1];
    if (n % 2 != 0)
        sum += (uint32_t)bytes[n - 1] << 8;
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

enum { PACKET_MAX = 65535, IP_HEAD_MAX = 60 };

/* Returns whether this is the answer to the sent echo request of n bytes. */
static bool is_answer(const unsigned char *packet, size_t got, const struct icmphdr *sent, size_t n)
{
    struct icmphdr head;
    size_t skip = got > 0 ? (packet[0] & 15U) * 4U : 0;
    if (skip < sizeof(struct iphdr) || got < skip + sizeof head || got - skip != n)
        return false;
    memcpy(&head, packet + skip, sizeof head);
    return head.type == ICMP_ECHOREPLY && head.un.echo.id == sent->un.echo.id &&
           head.un.echo.sequence == sent->un.echo.sequence;
}

static bool await_answer(int fd, unsigned char *room, const struct icmphdr *sent, size_t n)
{
    double until = nt_clock_s() + ANSWER_S;
    while (nt_clock_s() < until) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, nt_clock_left_ms(until)) <= 0)
            continue;
        ssize_t got = recv(fd, room, PACKET_MAX, 0);
        if (got > 0 && is_answer(room, (size_t)got, sent, n))
            return true;
    }
    return false;
}

/* Sends an echo request of that many bytes over IP, without fragmentation, and returns whether the
 * answer arrives; tries twice. Uses that device in any case: hosts answer for all their addresses
 * on each of their devices, so a name in one network is enough to test another. *longer: the kernel
 * knows that the path is limited to shorter packets, so all programs know it too. */
static bool is_echoed(const struct device *d, const struct sockaddr_in *to, size_t bytes,
                      bool *longer)
{
    static unsigned char packet[PACKET_MAX];
    int discover = IP_PMTUDISC_DO, fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    bool answered = false;
    if (fd < 0 || bytes > sizeof packet ||
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, d->name, sizeof d->name) != 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover) != 0)
        bytes = 0;
    for (uint16_t k = 1; k <= 2 && bytes > 0 && !answered; k++) {
        struct icmphdr head = {.type = ICMP_ECHO};
        head.un.echo.id = htons((uint16_t)getpid());
        head.un.echo.sequence = htons((uint16_t)(bytes + k));
        memset(packet, 0, bytes);
        memcpy(packet, &head, sizeof head);
        head.checksum = checksum(packet, bytes);
        memcpy(packet, &head, sizeof head);
        bool sent = sendto(fd, packet, bytes, 0, (const struct sockaddr *)to, sizeof *to) >= 0;
        *longer = !sent && errno == EMSGSIZE;
        answered = sent && await_answer(fd, packet, &head, bytes);
    }
    if (fd >= 0)
        close(fd);
    return answered;
}

static void check_large(struct nt_check *check, const struct device *d,
                        const struct sockaddr_in *to)
{
    static const char what[] = "large messages";
    enum { SMALL = 64, IP_HEAD = sizeof(struct iphdr) };
    bool longer = false;
    if (d->mtu <= SMALL + IP_HEAD)
        return;
    if (!is_echoed(d, to, SMALL, &longer))
        nt_check_ok(what, "not tested through %s, because %s answers no echo request there",
                    d->name, check->peer);
    else if (is_echoed(d, to, (size_t)(d->mtu - IP_HEAD), &longer) || longer)
        nt_check_ok(what, "%s answers packets of %s through %s", check->peer,
                    longer ? "less than the MTU" : "the MTU", d->name);
    else
        nt_check_fail(check, what,
                      "Set the same MTU on both hosts and on the switches between them (ip link)",
                      "%s answers packets of %d bytes through %s, but none of %d bytes, its MTU",
                      check->peer, SMALL + IP_HEAD, d->name, d->mtu);
}

/* ---- addresses that others have, too ---- */

/* Several devices of one host may be in one network. Then the host answers its own request. */
static bool is_own(const unsigned char mac[ETH_ALEN])
{
    struct if_nameindex *all = if_nameindex();
    struct device d;
    bool own = false;
    for (size_t k = 0; all != NULL && all[k].if_index != 0 && !own; k++) {
        read_device(all[k].if_name, &d); /* a device without an address has a MAC */
        own = memcmp(d.mac, mac, ETH_ALEN) == 0;
    }
    if (all != NULL)
        if_freenameindex(all);
    return own;
}

/* Asks in the network of that device which host has the address (RFC 5227, a probe), and waits for
 * an answer from another host. Hosts answer for the addresses of all their devices. */
static bool is_taken(const struct device *d, struct in_addr address, unsigned char by[ETH_ALEN])
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ARP),
                             .sll_ifindex = d->index,
                             .sll_halen = ETH_ALEN};
    struct ether_arp probe = {.ea_hdr = {.ar_hrd = htons(ARPHRD_ETHER),
                                         .ar_pro = htons(ETH_P_IP),
                                         .ar_hln = ETH_ALEN,
                                         .ar_pln = sizeof address,
                                         .ar_op = htons(ARPOP_REQUEST)}},
                     answer;
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ARP));
    bool taken = false;
    memset(to.sll_addr, 0xff, ETH_ALEN);
    memcpy(probe.arp_sha, d->mac, ETH_ALEN);
    memcpy(probe.arp_tpa, &address, sizeof address);
    double until = nt_clock_s() + ANSWER_S;
    bool asked = fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
                 sendto(fd, &probe, sizeof probe, 0, (struct sockaddr *)&to, sizeof to) >= 0;
    while (asked && !taken && nt_clock_s() < until) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, nt_clock_left_ms(until)) <= 0 ||
            recv(fd, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
            continue;
        taken = answer.ea_hdr.ar_op == htons(ARPOP_REPLY) &&
                memcmp(answer.arp_spa, &address, sizeof address) == 0 && !is_own(answer.arp_sha);
    }
    if (taken)
        memcpy(by, answer.arp_sha, ETH_ALEN);
    if (fd >= 0)
        close(fd);
    return taken;
}

/* Checks an address in its own network and in the network that leads to the other host. */
static bool check_address(struct nt_check *check, const struct device *d, const struct device *way)
{
    unsigned char by[ETH_ALEN];
    char text[INET_ADDRSTRLEN];
    const struct device *asked = d;
    bool taken = d->is_ethernet && is_taken(d, d->address, by);
    if (!taken && way->is_ethernet && way->index != d->index) {
        asked = way;
        taken = is_taken(way, d->address, by);
    }
    if (taken)
        nt_check_fail(check, "addresses",
                      "Give each host its own address, or remove that device from net_devices (a "
                      "bridge of containers has the same address on every host)",
                      "%s of %s is also the address of another host: "
                      "%02x:%02x:%02x:%02x:%02x:%02x answers for "
                      "it on %s",
                      inet_ntop(AF_INET, &d->address, text, sizeof text), d->name, by[0], by[1],
                      by[2], by[3], by[4], by[5], asked->name);
    return taken;
}

/* Checks the devices that sweeps use and the device that routes to the host. InfiniBand devices
 * have no IP. */
static void check_devices_to(struct nt_check *check, const struct sockaddr_in *to)
{
    char list[sizeof check->devices], *rest = list, *name;
    struct device way, d;
    unsigned tried = 0, taken = 0;
    if (!find_way(to, &way))
        return;
    check_large(check, &way, to);
    snprintf(list, sizeof list, "%s", check->devices);
    while ((name = strsep(&rest, ",")) != NULL) {
        if (!read_device(name, &d) || d.index == (int)if_nametoindex("lo"))
            continue;
        tried++;
        taken += check_address(check, &d, &way);
        if (d.index != way.index)
            check_large(check, &d, to);
    }
    if (tried > 0 && taken == 0)
        nt_check_ok("addresses", "%s: no other host answers for %s", check->devices,
                    tried == 1 ? "it" : "them");
}

void nt_check_peer(struct nt_check *check)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (check->peer == NULL)
        return;
    int rc = getaddrinfo(check->peer, NULL, &hints, &list);
    if (rc != 0) {
        nt_check_fail(check, "connection", "Check the resolver, or NodeAddr in slurm.conf",
                      "%s: %s", check->peer, gai_strerror(rc));
        return;
    }
    if (list->ai_addrlen <= sizeof(struct sockaddr_storage))
        check_ports_of(check, list);
    const struct addrinfo *four = list;
    while (four != NULL && four->ai_family != AF_INET)
        four = four->ai_next;
    if (four != NULL) {
        struct sockaddr_in to;
        memcpy(&to, four->ai_addr, sizeof to);
        check_devices_to(check, &to);
    } else {
        nt_check_ok("large messages, addresses", "not tested, because %s has no IPv4 address",
                    check->peer);
    }
    freeaddrinfo(list);
}
