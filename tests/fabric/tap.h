/* SPDX-License-Identifier: Apache-2.0 */
/* A host's network card: a TAP device in the host's network namespace. */
#ifndef NT_FAB_TAP_H
#define NT_FAB_TAP_H

#include "err.h"

enum { NT_FAB_MTU = 1500, NT_FAB_MAC_BYTES = 6 };

struct nt_fab_tap {
    int frames;  /* non-blocking, one frame a read or write */
    int stamper; /* the stamp program's attachment */
};

struct nt_fab_card {
    const char *netns; /* path of the namespace */
    int host, rail;    /* the card is fab<rail>, with that host's address */
    double rate_mbit;  /* what the card says its speed is */
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

#endif
