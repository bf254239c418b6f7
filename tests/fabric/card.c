/* SPDX-License-Identifier: Apache-2.0 */
#include "card.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>

/* ---- cards
 * -------------------------------------------------------------------------------------*/

/* Rail r of host h is 10.(77+r).0.(h+1)/16. */
enum { NET_FIRST = 10, NET_SECOND = 77, SEND_BUFFER_BYTES = 0x7fffffff, QUEUE_FRAMES = 1000 };

void nt_fab_tap_mac(int host, int rail, unsigned char mac[NT_FAB_MAC_BYTES])
{
    mac[0] = 2; /* locally administered */
    mac[1] = mac[2] = mac[3] = 0;
    mac[4] = (unsigned char)rail;
    mac[5] = (unsigned char)(host + 1);
}

int nt_fab_tap_host_of(const unsigned char address[4], int rail)
{
    if (address[0] != NET_FIRST || address[1] != NET_SECOND + rail || address[2] != 0)
        return -1;
    return address[3] - 1;
}

static int refuse(struct nt_err *err, const struct nt_fab_card *card, const char *what)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "%s: fab%d: %s: %s", card->netns, card->rail, what,
                      strerror(errno));
}

static int enter(const struct nt_fab_card *card, struct nt_err *err)
{
    int fd = open(card->netns, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(err, card, "open");
    int status = setns(fd, CLONE_NEWNET);
    if (status != 0)
        refuse(err, card, "setns");
    close(fd);
    return status;
}

/* Settings differ between kernels; what is missing only makes the emulation less exact. */
static void set_sysctl(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, value, strlen(value)) < 0)
        fprintf(stderr, "fabric: %s: %s\n", path, strerror(errno));
    close(fd);
}

/* The emulated queues are infinite: bounded windows and a loss-based congestion control keep TCP
 * from filling them, and no memory of earlier connections makes runs alike. */
static void set_sysctls(void)
{
    set_sysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    set_sysctl("/proc/sys/net/ipv4/tcp_congestion_control", "reno");
    set_sysctl("/proc/sys/net/ipv4/tcp_wmem", "4096 262144 262144");
    set_sysctl("/proc/sys/net/ipv4/tcp_rmem", "4096 262144 262144");
    set_sysctl("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
    set_sysctl("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0");
}

static void set_address(struct ifreq *request, uint32_t address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    memcpy(&request->ifr_addr, &in, sizeof in);
}

/* UCX takes a device's bandwidth from here; the call needs two steps, the first tells how many
 * words of link modes follow. A card without a speed still works. */
static void set_speed(int socket, const char *name, double rate_mbit)
{
    enum { MODE_WORDS_MAX = 3 * 127 };
    struct ethtool_link_settings *link = calloc(1, sizeof *link + MODE_WORDS_MAX * 4);
    if (link == NULL)
        return;
    struct ifreq request = {.ifr_data = (void *)link};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    link->cmd = ETHTOOL_GLINKSETTINGS;
    if (ioctl(socket, SIOCETHTOOL, &request) == 0 && link->link_mode_masks_nwords < 0) {
        link->link_mode_masks_nwords = (int8_t)-link->link_mode_masks_nwords;
        link->cmd = ETHTOOL_GLINKSETTINGS;
        if (ioctl(socket, SIOCETHTOOL, &request) == 0) {
            link->cmd = ETHTOOL_SLINKSETTINGS;
            link->speed = (uint32_t)(rate_mbit < 1 ? 1 : rate_mbit);
            link->duplex = DUPLEX_FULL;
            if (ioctl(socket, SIOCETHTOOL, &request) != 0)
                fprintf(stderr, "fabric: %s: no speed: %s\n", name, strerror(errno));
        }
    }
    free(link);
}

/* No ARP: the fabric routes on the IP address and writes the hardware address itself. */
static int configure(int socket, const struct nt_fab_card *card, struct ifreq *request,
                     struct nt_err *err)
{
    unsigned char mac[NT_FAB_MAC_BYTES];
    nt_fab_tap_mac(card->host, card->rail, mac);
    request->ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(request->ifr_hwaddr.sa_data, mac, sizeof mac);
    if (ioctl(socket, SIOCSIFHWADDR, request) != 0)
        return refuse(err, card, "hardware address");
    request->ifr_mtu = NT_FAB_MTU;
    if (ioctl(socket, SIOCSIFMTU, request) != 0)
        return refuse(err, card, "MTU");
    request->ifr_qlen = QUEUE_FRAMES;
    if (ioctl(socket, SIOCSIFTXQLEN, request) != 0)
        return refuse(err, card, "queue length");
    uint32_t net = (uint32_t)NET_FIRST << 24 | (uint32_t)(NET_SECOND + card->rail) << 16;
    set_address(request, net + (uint32_t)card->host + 1);
    if (ioctl(socket, SIOCSIFADDR, request) != 0)
        return refuse(err, card, "address");
    set_address(request, 0xffff0000);
    if (ioctl(socket, SIOCSIFNETMASK, request) != 0)
        return refuse(err, card, "netmask");
    set_speed(socket, request->ifr_name, card->rate_mbit);
    request->ifr_flags = IFF_UP | IFF_RUNNING | IFF_NOARP;
    if (ioctl(socket, SIOCSIFFLAGS, request) != 0)
        return refuse(err, card, "up");
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (ioctl(socket, SIOCSIFFLAGS, &loopback) != 0)
        return refuse(err, card, "lo up");
    return 0;
}

static int attach_stamp(int socket, const struct nt_fab_card *card, struct ifreq *request,
                        struct nt_fab_tap *tap, struct nt_err *err)
{
    if (ioctl(socket, SIOCGIFINDEX, request) != 0)
        return refuse(err, card, "index");
    tap->stamper = nt_fab_stamp_attach(card->stamp, (unsigned int)request->ifr_ifindex, err);
    return tap->stamper < 0 ? -1 : 0;
}

static int create(const struct nt_fab_card *card, struct ifreq *request, struct nt_err *err)
{
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return refuse(err, card, "/dev/net/tun");
    request->ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(fd, TUNSETIFF, request) != 0) {
        refuse(err, card, "TUNSETIFF");
        close(fd);
        return -1;
    }
    int bytes = SEND_BUFFER_BYTES; /* the queueing is ours to emulate, not the device's */
    ioctl(fd, TUNSETSNDBUF, &bytes);
    return fd;
}

int nt_fab_tap_open(const struct nt_fab_card *card, struct nt_fab_tap *tap, struct nt_err *err)
{
    if (enter(card, err) != 0)
        return -1;
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "fab%d", card->rail);
    struct nt_fab_tap made = {.frames = create(card, &request, err), .stamper = -1};
    if (made.frames < 0)
        return -1;
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) {
        refuse(err, card, "socket");
        goto close_tap;
    }
    set_sysctls();
    int status = configure(control, card, &request, err);
    if (status == 0)
        status = attach_stamp(control, card, &request, &made, err);
    close(control);
    if (status != 0)
        goto close_tap;
    *tap = made;
    return 0;
close_tap:
    nt_fab_tap_close(&made);
    return -1;
}

void nt_fab_tap_close(struct nt_fab_tap *tap)
{
    if (tap->stamper >= 0)
        close(tap->stamper);
    if (tap->frames >= 0)
        close(tap->frames);
    tap->frames = tap->stamper = -1;
}

/* ---- time stamps
 * -------------------------------------------------------------------------------*/

/* Older kernel headers know the call but not the attach point (added in 6.6). */
enum { TCX_EGRESS = 47 };

/* A frame that waited longer in a device queue is one whose address was no stamp. */
static const int64_t STAMP_AGE_MAX_NS = 500000000;

static long bpf(int command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof *attr);
}

int nt_fab_stamp_load(struct nt_err *err)
{
    /* r6 = skb; *(u64 *)(r10 - 8) = bpf_ktime_get_ns();
     * bpf_skb_store_bytes(r6, 0, r10 - 8, 6, 0); return TCX_NEXT */
    static const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
        {.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 0, .off = -8},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 3, .imm = -8},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = NT_FAB_STAMP_BYTES},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 5, .imm = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_store_bytes},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = -1},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    attr.insns = (uint64_t)(uintptr_t)program;
    attr.insn_cnt = sizeof program / sizeof *program;
    attr.license = (uint64_t)(uintptr_t) "GPL";
    long fd = bpf(BPF_PROG_LOAD, &attr);
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "the stamp program does not load: %s",
                          strerror(errno));
    return (int)fd;
}

int nt_fab_stamp_attach(int program, unsigned int device, struct nt_err *err)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_fd = device;
    attr.link_create.attach_type = TCX_EGRESS;
    long fd = bpf(BPF_LINK_CREATE, &attr);
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "no tcx attachment (needs Linux 6.6): %s",
                          strerror(errno));
    return (int)fd;
}

int64_t nt_fab_stamp_read(const unsigned char stamp[NT_FAB_STAMP_BYTES], int64_t now_ns)
{
    const int64_t range = INT64_C(1) << 48;
    int64_t low = 0;
    for (int k = NT_FAB_STAMP_BYTES - 1; k >= 0; k--)
        low = low * 256 + stamp[k];
    int64_t at = now_ns - now_ns % range + low;
    if (at > now_ns)
        at -= range; /* the clock's low bits went round in between */
    return now_ns - at < STAMP_AGE_MAX_NS ? at : now_ns;
}
