/* SPDX-License-Identifier: Apache-2.0 */
/* The declared network: what a .fabric text says, as a graph.
 *
 *     host NAME SWITCH LATENCY_US RATE_MBIT [BACK_RATE_MBIT]
 *     link SWITCH SWITCH LATENCY_US RATE_MBIT [BACK_RATE_MBIT]
 *     share SWITCH SWITCH SWITCH
 *
 * RATE counts from the first name to the second, BACK_RATE the other way (absent: the same).
 * A host that is named twice has two rails: its second line is device fab1 on a network of its
 * own. share: the links of the first two switches to the third are one cable, with one queue each
 * way; both were declared above. '#' starts a comment. Knows nothing of devices, time and
 * namespaces. */
#ifndef NT_FAB_DECLARE_H
#define NT_FAB_DECLARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum {
    NT_FAB_NAME_BYTES = 64,
    NT_FAB_RAILS_MAX = 2,
    NT_FAB_HOSTS_MAX = 128,
    NT_FAB_PORTS_MAX = NT_FAB_HOSTS_MAX * NT_FAB_RAILS_MAX,
    NT_FAB_NODES_MAX = 512,
    NT_FAB_LINKS_MAX = 2048,
    NT_FAB_TEXT_MAX = 1 << 20,
};

/* More would turn a typing error into a test that never ends. */
#define NT_FAB_LATENCY_MAX_US 1e6
#define NT_FAB_RATE_MIN_MBIT 0.01
#define NT_FAB_RATE_MAX_MBIT 1e5

/* One direction of a cable. */
struct nt_fab_link {
    int from, to; /* nodes */
    int64_t latency_ns;
    double rate_mbit;
    int queue;   /* in which frames wait for its sender; of a link of its own its index */
    double loss; /* share of the frames, 0 to 1; 0 as declared */
    size_t mtu;  /* of a packet, bytes; 0 as declared: any that a host sends */
    bool down;   /* false as declared */
};

/* A switch, or one port of a host. */
struct nt_fab_node {
    char name[NT_FAB_NAME_BYTES]; /* of the switch or the host */
    int port;                     /* index into ports; -1: a switch */
};

struct nt_fab_port {
    int node, host, rail;
};

struct nt_fab_host {
    char name[NT_FAB_NAME_BYTES];
    int ports[NT_FAB_RAILS_MAX]; /* -1: has no such rail */
};

/* Hosts and ports are in the order of the text; links come in pairs, 2k there and 2k+1 back. */
struct nt_fab {
    int host_count, port_count, node_count, link_count;
    struct nt_fab_host hosts[NT_FAB_HOSTS_MAX];
    struct nt_fab_port ports[NT_FAB_PORTS_MAX];
    struct nt_fab_node nodes[NT_FAB_NODES_MAX];
    struct nt_fab_link links[NT_FAB_LINKS_MAX];
};

/* Reads text (bytes long, need not be terminated) into *fab; file names it in errors, which also
 * name the line. Whether every two ports of a rail are connected is for routes.h to say.
 * On error (NT_ERR_INPUT, NT_ERR_SYSTEM) *fab is untouched. */
int nt_fab_parse(const char *file, const char *text, size_t bytes, struct nt_fab *fab,
                 struct nt_err *err);

/* The same from a file; "-" is standard input. */
int nt_fab_read(const char *file, struct nt_fab *fab, struct nt_err *err);

/* The whole word as a number from min to max; false when it is none. */
bool nt_fab_read_number(const char *word, double min, double max, double *value);

/* n2 before n10. */
int nt_fab_name_compare(const char *a, const char *b);

#endif
