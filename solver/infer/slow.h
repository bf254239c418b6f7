/* SPDX-License-Identifier: Apache-2.0 */
/* Places hosts whose link is longer than those of the others, so that all other hosts are farther
 * from them by the same amount.
 *
 * Such a host fits nowhere among nested tiers. It is left out, and the others are merged without
 * it. Then it is placed at the switch where its readings are most likely; each switch is tried with
 * the offset that fits best there. A host that is closer to a few others than to the rest is at
 * their switch, however long its link is. This difference distinguishes a long link from a separate
 * switch (the four-point condition). If the readings do not show it, the host stays unplaced.
 * Tests: test_slow_hosts.c. */
#ifndef NT_SLOW_H
#define NT_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "clustering.h"
#include "err.h"
#include "readings.h"

enum { NT_SLOW_MAX = 8 };

struct nt_slow_host {
    uint32_t seat;
    bool placed;
    size_t level;             /* placed: the level of its switch */
    uint32_t beside;          /* placed: a seat below this switch */
    double us;                /* placed: its link is longer by this */
    double variance;          /* placed: variance of us, us^2 */
    double error_probability; /* placed: probability that it is at another switch */
};

struct nt_slow {
    size_t count;
    struct nt_slow_host host[NT_SLOW_MAX];
};

/* The largest number of slow hosts among this number of hosts; with more, the network is a
 * different one. */
size_t nt_slow_max(size_t seats);

bool nt_slow_has(const struct nt_slow *slow, uint32_t seat);
bool nt_slow_all_placed(const struct nt_slow *slow);

/* The seat must be new, and count below NT_SLOW_MAX. */
void nt_slow_add(struct nt_slow *slow, uint32_t seat);

/* Adds hosts with several pairs in the calibration whose latencies belong to no class, or to a
 * class that only a few hosts have. Adds none if they are too many or contradict each other. A host
 * that is added wrongly is placed with an offset of about 0. calibration: without hosts that slow
 * already contains. */
int nt_slow_find(const struct nt_calibration *calibration, const struct nt_classes *classes,
                 const bool *lost, struct nt_slow *slow, struct nt_err *err);

/* The state of a network of nested tiers; all borrowed. */
struct nt_found_tree {
    size_t seats;
    const bool *lost; /* per seat */
    const struct nt_classes *classes;
    struct nt_clusters *clusters; /* of all hosts except slow ones that are not placed */
    const struct nt_slow *slow;
    const struct nt_readings *readings; /* all; sorted for verify.h */
    double noise;                       /* relative sd of a reading of the calibration */
    /* Pings of such a reading; 0: unknown, then later readings have the sd of their class */
    double pings;
};

/* Places hosts one by one, if the place is certain, and adds them to the clusters of tree. slow is
 * tree->slow. */
int nt_slow_place(const struct nt_found_tree *tree, struct nt_slow *slow, struct nt_err *err);

enum { NT_SLOW_NONE = UINT32_MAX };

/* The seat that is not busy and whose reading with an unplaced host helps most to place it;
 * NT_SLOW_NONE: there is none. *late: it only distinguishes places that were already read. */
int nt_slow_partner(const struct nt_found_tree *tree, uint32_t seat, const bool *busy,
                    uint32_t *partner, bool *late, struct nt_err *err);

/* As above while no place is known: another unplaced host, or the first seat from from on with
 * which it was not read. */
int nt_slow_any_partner(const struct nt_found_tree *tree, uint32_t seat, uint32_t from,
                        const bool *busy, uint32_t *partner, struct nt_err *err);

#endif
