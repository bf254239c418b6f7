/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of uplinks that a link of a tree can be in a sound network of tiers, with their prior
 * probabilities. faults.h describes the network. Knows no values. Private to sound_links.c.
 * Tests: test_faults.c. */
#ifndef NT_INFER_LINK_SUMS_H
#define NT_INFER_LINK_SUMS_H

#include <stddef.h>
#include <stdint.h>

enum {
    NT_LINK_TIERS = 4, /* of switches, the highest one included if it is not seen */
    NT_LINK_STEPS = NT_LINK_TIERS + 1,
    NT_LINK_STYLES =
        2, /* of a switch: each of its hosts may be past a tier or not; all are at it */
    NT_LINK_TERMS = NT_LINK_TIERS + 1,
    NT_LINK_SUMS = 1 + 2 * NT_LINK_TIERS * NT_LINK_TIERS,
};

#define NT_LINK_DIRECT 0.1 /* share of hosts or switches that are cabled past a tier */

/* One explanation of a link: a sum of uplinks, by its number, and its prior. */
struct nt_link_term {
    double prior;
    size_t sum;
};

struct nt_link_cell {
    size_t n;
    struct nt_link_term term[NT_LINK_TERMS];
};

/* The possible links in a network of this number of tiers; the sums of hosts' links come first. */
struct nt_link_sums {
    struct nt_link_cell host[NT_LINK_STYLES][NT_LINK_STEPS];
    struct nt_link_cell below[NT_LINK_STEPS][NT_LINK_STEPS]; /* lower, higher */
    struct nt_link_cell over[NT_LINK_STEPS][NT_LINK_STEPS];
    uint8_t times[NT_LINK_SUMS][NT_LINK_TIERS]; /* of the uplinks of each tier; [0]: unused */
    size_t sums, of_hosts;
};

/* Fills *t, which is zero, for a network of 1 to NT_LINK_TIERS tiers. */
void nt_link_sums_init(struct nt_link_sums *t, size_t tiers);

#endif
