/* SPDX-License-Identifier: Apache-2.0 */
/* Infers one network from the measurements of many jobs (evidence.h), with the support and age of
 * each part.
 *
 * Jobs are aligned by the pairs that they share, and by the classes of latencies that all show. The
 * readings of all jobs between two hosts are added (cluster_tiers.h), so that hosts that were never
 * in one job are placed by hosts that were measured with both. The model of a single job finds the
 * network between hosts and leaf switches (cluster_network.h). With many of them it is too slow;
 * then all hosts count as equally deep, and the readings of each class of latencies form a tier.
 *
 * Uncertain groups are omitted: a host is placed on the lowest certain switch. Hosts whose readings
 * contradict the network are omitted too. If readings contradict each other, and the newer ones
 * come from at least two jobs, the host has moved (host_moves.h). Only nested tiers are found, also
 * in other networks. Time is about n log n in the entries, memory is linear. The order in which
 * jobs were added does not matter, and relabelling hosts only relabels the result.
 * Tests: test_cluster_map.c. */
#ifndef NT_CLUSTER_MAP_H
#define NT_CLUSTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "evidence.h"
#include "host_moves.h"
#include "map.h"
#include "model.h"
#include "switch_naming.h"

/* The evidence for the place of a host, or for a switch. */
struct nt_cluster_part {
    /* 0..1; 0: not measured. Host: probability that it is on that switch. Switch: the expected
     * share of common hosts among the hosts of the found and of the real switch, so that a few
     * hosts that are still above it cost little (tests/bench cluster_map compares both with the
     * truth). */
    double support;
    int64_t first_s, last_s; /* times of the first and the last job with this evidence; 0: none */
    uint32_t jobs, users;    /* number of jobs and of known users */
    bool confirmed;          /* confirmed by jobs of two users (cluster_check.h) */
    bool contradicted; /* hosts: omitted, because the network does not explain their latencies */
};

struct nt_cluster_map {
    /* Canonical; hosts as in the evidence; missing: never measured, or contradicted; owned, as the
     * other pointers */
    struct nt_model *model;
    struct nt_cluster_part *part; /* by vertex: hosts, then switches */
    uint32_t *switch_number;      /* by switch: number in its name, "s" and the number */
    double *slow_us; /* by host: additional latency of a host whose link is slow in all jobs; 0 */
    size_t moves;
    struct nt_cluster_move *move; /* by time, then host */
    size_t classes;
    double
        class_us[12]; /* latencies of pairs below one switch of tier 1, of tier 2, ..., ascending */
    double noise;     /* relative sd of one entry around its class */
    size_t jobs_unaligned; /* number of jobs that share no pair with others */
};

/* Infers the network. Aligns and sorts evidence; nothing else of it changes. naming: the last
 * naming, {0} at first; *after (may be NULL; may be naming): the next. seed: for random choices;
 * the same evidence and seed give the same cluster. NT_ERR_INPUT: too few measurements to find
 * classes. */
int nt_cluster_map_create(struct nt_evidence *evidence, const struct nt_switch_naming *naming,
                          struct nt_switch_naming *after, struct nt_cluster_map **out,
                          struct nt_err *err);
void nt_cluster_map_destroy(struct nt_cluster_map *cluster);

/* Converts the cluster to a map for show, export and hint. Its hosts and switches are sorted by
 * name, so its vertices have other indices. host_names: by host; level is "fleet"; the caller sets
 * created and cluster. */
int nt_cluster_map_named(const struct nt_cluster_map *cluster, const char *const *host_names,
                         struct nt_map **out, struct nt_err *err);

#endif
