/* SPDX-License-Identifier: Apache-2.0 */
/* The prior of one sweep: the network between its hosts as earlier jobs measured it, as nested
 * clusters of hosts. A prior saves rounds. Measurements alone decide whether it is right
 * (infer/prior_check.h). Knows indices only, no names and no file format (text/prior.h).
 *
 * Levels count from the lowest. A cluster of level 0 contains the hosts of one leaf switch; the
 * single cluster of the highest level contains all hosts. The class of a pair is the lowest level
 * at which one cluster contains both hosts.
 * Tests: test_sweep_prior.c. */
#ifndef NT_BELIEF_H
#define NT_BELIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_BELIEF_LEVELS_MAX = 8, NT_BELIEF_LOOSE = UINT32_MAX };

struct nt_belief {
    size_t hosts, levels; /* levels 0: there is no prior */
    size_t known;         /* hosts that the prior covers */
    uint32_t *cluster; /* [level * hosts + host], for the levels below the highest: a number below
                          hosts, or NT_BELIEF_LOOSE at all levels of a host that the prior does not
                          cover; owned */
    double us[NT_BELIEF_LEVELS_MAX]; /* latency of pairs of this class, one way; NaN: unknown */
    bool taken;                      /* nothing was measured: the prior is the result */
    double support;                  /* taken: 0..1, the lowest support among its parts */
    /* Taken: days from 1970-01-01 to when the least recent part was last measured */
    int32_t oldest_day;
};

/* All hosts are NT_BELIEF_LOOSE. NT_ERR_INPUT: more than NT_BELIEF_LEVELS_MAX levels. The caller
 * frees *out with nt_belief_destroy. */
int nt_belief_create(size_t hosts, size_t levels, struct nt_belief **out, struct nt_err *err);
void nt_belief_destroy(struct nt_belief *belief);

/* Sets the clusters of one host: levels - 1 numbers, lowest level first. NT_ERR_INPUT: no such
 * host, or a number that is not below hosts. */
int nt_belief_set(struct nt_belief *belief, size_t host, const uint32_t *cluster,
                  struct nt_err *err);

/* Checks that the clusters are nested: hosts in one cluster share a cluster at every higher level.
 * NT_ERR_INPUT names two hosts that do not. */
int nt_belief_check(const struct nt_belief *belief, struct nt_err *err);

/* Removes each level with the same clusters as the level below. */
void nt_belief_reduce(struct nt_belief *belief);

#endif
