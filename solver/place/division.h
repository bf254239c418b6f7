/* SPDX-License-Identifier: Apache-2.0 */
/* How a tree divides its hosts: each link as a word that another model of the same hosts can be
 * searched for, the two sets of hosts that it divides (Buneman 1971). Knows indices only.
 * Tests: test_compare.c. */
#ifndef NT_DIVISION_H
#define NT_DIVISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "distance.h"
#include "err.h"
#include "memory.h"
#include "model.h"

struct nt_division {
    const struct nt_model *m; /* borrowed */
    struct nt_distance *distance;
    bool tree;              /* else the rest is not set */
    uint32_t *low;          /* links: the end away from the root */
    uint64_t *key;          /* links: the same for both ways round; 0: no host on one side */
    uint64_t *side;         /* links: the same for the same way round */
    size_t *size;           /* links: hosts on the smaller side */
    struct nt_arena memory; /* of all arrays */
};

/* Hosts with missing[h] are on no side; keys may be made again with others missing.
 * nt_division_fini is needed after an error too. */
int nt_division_init(struct nt_division *v, const struct nt_model *m, struct nt_err *err);
int nt_division_key(struct nt_division *v, const bool *missing, struct nt_err *err);
void nt_division_fini(struct nt_division *v);

/* The key of a link that has exactly these hosts on one side. */
uint64_t nt_division_key_of(const struct nt_division *v, const bool *missing, const bool *side);

/* The hosts on the smaller side of a link, as flags. */
void nt_division_mark(const struct nt_division *v, uint32_t link, const bool *missing, bool *side);

/* For each host, how many hosts are next to it (by a link of their own, or on the same switch),
 * and how many of them are so in the other model too. was and kept hold hosts values. */
int nt_division_neighbours(const struct nt_division *v, const struct nt_division *other,
                           const bool *missing, size_t *was, size_t *kept, struct nt_err *err);

#endif
