/* SPDX-License-Identifier: Apache-2.0 */
/* A network as text, as a graph with routes, and as a shape. Knows nothing of devices and clocks.
 */
#ifndef NT_FAB_NETWORK_H
#define NT_FAB_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* The declared network: a .fabric text as a graph.
 *
 *     host NAME SWITCH LATENCY_US RATE_MBIT [BACK_RATE_MBIT]
 *     link SWITCH SWITCH LATENCY_US RATE_MBIT [BACK_RATE_MBIT]
 *     share SWITCH SWITCH SWITCH
 *
 * RATE counts from the first name to the second, BACK_RATE the other way (absent: the same).
 * A host that is named twice has two rails: its second line is device fab1 on a network of its
 * own. share: the links of the first two switches to the third are one cable, with one queue each
 * way; both were declared above. '#' starts a comment. */

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
 * name the line. nt_fab_routes_find checks that every two ports of a rail are connected.
 * On error (NT_ERR_INPUT, NT_ERR_SYSTEM) *fab is untouched. */
int nt_fab_parse(const char *file, const char *text, size_t bytes, struct nt_fab *fab,
                 struct nt_err *err);

/* The same from a file; "-" is standard input. */
int nt_fab_read(const char *file, struct nt_fab *fab, struct nt_err *err);

/* The whole word as a number from min to max; false when it is none. */
bool nt_fab_read_number(const char *word, double min, double max, double *value);

/* n2 before n10. */
int nt_fab_name_compare(const char *a, const char *b);

/* A change of the running network, as one line of text:
 *
 *     host NAME CHANGE...        the link of the host, of all its rails
 *     link SWITCH SWITCH CHANGE...
 *
 * CHANGE: rate=MBIT, latency=US, loss=PERCENT, mtu=BYTES, down, up, and way=out|in|both for which
 * direction: out of the host (or of the first switch), into it, or both (default). A sign "%" may
 * follow the loss. Longer packets than the MTU are lost without a word, as by a switch that is set
 * for shorter ones. What is not named stays, and way is for all of the line. */

enum { NT_FAB_CHANGE_BYTES = 512 };

/* Changes the links that text names. On error (NT_ERR_INPUT) *fab is untouched. */
int nt_fab_change(struct nt_fab *fab, const char *text, struct nt_err *err);

/* Which way a frame goes, and how long it takes when nothing is in its way.
 *
 * Fewest hops; among equals the destination's index chooses, so a route is
 * fixed. The time of a path is store and forward: at every link the frame's serialisation at that
 * link's rate, then the link's latency. */

struct nt_fab_routes {
    int16_t next[NT_FAB_NODES_MAX][NT_FAB_PORTS_MAX]; /* link to take; -1: none, or arrived */
};

/* NT_ERR_INPUT when two ports of one rail are not connected; file names the text. */
int nt_fab_routes_find(const char *file, const struct nt_fab *fab, struct nt_fab_routes *routes,
                       struct nt_err *err);

/* When a frame that is ready at at_ns, and counts bytes with all its framing, comes out of the
 * link's far end. *free_ns is when the link's sender is next idle: the whole state of its FIFO. */
int64_t nt_fab_link_pass(const struct nt_fab_link *link, int64_t *free_ns, int64_t at_ns,
                         uint32_t bytes);

/* One way, alone on the network, in ns. */
int64_t nt_fab_path_ns(const struct nt_fab *fab, const struct nt_fab_routes *routes, int from_port,
                       int to_port, uint32_t bytes);

/* The declared tree as one line that two networks of the same shape share. */

enum { NT_FAB_SHAPE_BYTES = NT_FAB_HOSTS_MAX * NT_FAB_NAME_BYTES + NT_FAB_NODES_MAX * 4 };

/* Writes "[n1 n2 [n3 n4] [n5 n6]]": each bracket a switch, its hosts first, then the switches
 * below it, all in natural order; the outermost is the middle of the tree. Names of switches do
 * not count. Switches that no measurement between hosts can tell from a longer link (two links
 * and no host, or one host and one link) are taken out; when the middle is a link, a bracket
 * stands for it. NT_ERR_INPUT when the rail's network is no tree or has under two hosts. */
int nt_fab_shape(const char *file, const struct nt_fab *fab, int rail,
                 char text[NT_FAB_SHAPE_BYTES], struct nt_err *err);

#endif
