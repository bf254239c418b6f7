/* SPDX-License-Identifier: Apache-2.0 */
/* The card of a host on the emulated network, and the time stamp on each frame that leaves it. */
#ifndef NT_FAB_CARD_H
#define NT_FAB_CARD_H

#include <stdint.h>

#include "err.h"

/* A host's network card: a TAP device in the host's network namespace. */

enum { NT_FAB_MTU = 1500, NT_FAB_MAC_BYTES = 6 };

struct nt_fab_tap {
    int frames;  /* non-blocking, one frame a read or write */
    int stamper; /* the stamp program's attachment */
};

struct nt_fab_card {
    const char *netns; /* path of the namespace */
    int host, rail;    /* the card is fab<rail>, with that host's address */
    double rate_mbit;  /* the speed that the card reports */
    int stamp;         /* the loaded program */
};

/* Creates the card, sets what makes TCP predictable there (windows, congestion control), and
 * leaves the caller in that namespace. On error (NT_ERR_SYSTEM) nothing stays. */
int nt_fab_tap_open(const struct nt_fab_card *card, struct nt_fab_tap *tap, struct nt_err *err);

/* The card disappears. */
void nt_fab_tap_close(struct nt_fab_tap *tap);

/* The card's hardware address. */
void nt_fab_tap_mac(int host, int rail, unsigned char mac[NT_FAB_MAC_BYTES]);

/* The host that an IPv4 address (network order) names on that rail, or -1. */
int nt_fab_tap_host_of(const unsigned char address[4], int rail);

/* The time stamp at a host's egress: a tcx program that writes the low 48 bits of the monotonic
 * clock over a leaving frame's destination address.
 *
 * The fabric wakes up late when the machine is busy; by the stamp it still knows when the frame
 * left the host, and no wake-up of ours enters the emulated latency. */

enum { NT_FAB_STAMP_BYTES = 6 };

/* Loads the program; its descriptor, or -1 with NT_ERR_SYSTEM. */
int nt_fab_stamp_load(struct nt_err *err);

/* Attaches it to the device in the current network namespace. The descriptor of the attachment,
 * which ends when that is closed, or -1. */
int nt_fab_stamp_attach(int program, unsigned int device, struct nt_err *err);

/* When the frame was stamped, read at now_ns; now_ns itself when the stamp makes no sense. */
int64_t nt_fab_stamp_read(const unsigned char stamp[NT_FAB_STAMP_BYTES], int64_t now_ns);

#endif
