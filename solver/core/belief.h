/* SPDX-License-Identifier: Apache-2.0 */
/* What is believed of the network between the hosts of a sweep before it is measured: nested
 * clusters, from what earlier jobs measured. A belief saves rounds; what is true of it is decided
 * by measurements alone (infer/believed.h).
 *
 * Levels count from the lowest: level 0 has the hosts of one switch together, the highest all of
 * them. The class of a pair is the lowest level at which both are in one cluster.
 * Tests: test_sweep_prior.c. */
#ifndef NT_BELIEF_H
#define NT_BELIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_BELIEF_LEVELS_MAX = 8, NT_BELIEF_LOOSE = UINT32_MAX };

struct nt_belief {
    size_t hosts, levels; /* levels 0: nothing is believed */
    size_t known;         /* hosts of which something is believed */
    uint32_t *cluster; /* [level * hosts + host], of the levels below the highest: any number below
                          hosts, NT_BELIEF_LOOSE at all levels of a host of which nothing is
                          believed; owned */
    double us[NT_BELIEF_LEVELS_MAX]; /* latency of a pair that meets at a level; NaN: not known */
    bool taken;                      /* nothing was measured: the network is this one, and */
    double support;                  /* as sure as the least certain part of it, */
    int32_t oldest_day;              /* of which one was last seen on that day, since 1970-01-01 */
};

/* Every host loose. NT_ERR_INPUT over NT_BELIEF_LEVELS_MAX levels. */
int nt_belief_create(size_t hosts, size_t levels, struct nt_belief **out, struct nt_err *err);
void nt_belief_destroy(struct nt_belief *belief);

/* The clusters of a host from the lowest level on, levels - 1 of them. NT_ERR_INPUT: no such host,
 * or a number that is not below hosts. */
int nt_belief_set(struct nt_belief *belief, size_t host, const uint32_t *cluster,
                  struct nt_err *err);

/* Whether what is one at a level is one at all above it: NT_ERR_INPUT names two hosts. */
int nt_belief_check(const struct nt_belief *belief, struct nt_err *err);

/* Takes away levels at which nothing is together that is not together below. */
void nt_belief_reduce(struct nt_belief *belief);

#endif
