/* SPDX-License-Identifier: Apache-2.0 */
/* One network from what many jobs measured (evidence.h), with how sure and how old each part is.
 *
 * Jobs are aligned by the pairs that they share, and by the classes of latencies that all show. The
 * readings of all jobs between two hosts add up (cluster_tiers.h), so that hosts that were never
 * together are placed by those that both met. The model of a single job finds the network between
 * hosts and leaves of hosts (cluster_network.h). It is too slow for many of them: then all hosts
 * count as equally deep, and the readings of each class of latencies make a tier. Groups that are
 * not sure are left out: a host hangs on the lowest switch that is certain. Hosts whose readings
 * contradict the network are left out, too. If readings contradict each other, and at least two
 * jobs have the newer ones, the host has moved (host_moves.h). Only nested tiers are found, also in
 * networks that have more.
 *
 * Time is about n log n in the entries, memory linear. The order in which jobs were added does not
 * matter, and relabelling hosts only relabels the result.
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

/* What says that a host stands where it does, or that a switch is one. */
struct nt_cluster_part {
    double support; /* 0..1; 0: not measured. Of a host that it is on that switch; of a switch
                       the share of its hosts and of those of the real one that are of
                       both, as expected: a few hosts that are still above it cost little
                       (tests/bench cluster_map has both beside what is so) */
    int64_t first_s, last_s; /* times of the first and the last job that say so; 0: none */
    uint32_t jobs, users;    /* how many; users: of those that are known */
    bool confirmed;          /* by jobs of two users (cluster_check.h) */
    bool contradicted;       /* hosts: the network does not explain their latencies, and is without
                                them: undetermined */
};

struct nt_cluster_map {
    struct nt_model *model; /* canonical; hosts as in the evidence; missing: never measured, or
                               contradicted. Owned, as are the others */
    struct nt_cluster_part *part; /* model->hosts + model->switches of them, by vertex */
    uint32_t *switch_number;      /* model->switches of them: names are "s" and that */
    double *slow_us; /* hosts: by how much the link of one that is slow in all jobs is longer; 0 */
    size_t moves;
    struct nt_cluster_move *move; /* by time, then host */
    size_t classes;
    double class_us[12]; /* latencies of pairs, rising: under one switch of tier 1, of tier 2 ... */
    double noise;        /* relative sd of one entry about its class */
    size_t jobs_unaligned; /* that share no pair with others */
};

/* evidence is aligned and sorted by this (nothing else of it changes). naming: the last one, {0} at
 * first; *after (may be NULL; may be naming): the next. seed: of random choices; the same evidence
 * and seed give the same cluster. NT_ERR_INPUT: too little was measured to find any classes. */
int nt_cluster_map_create(struct nt_evidence *evidence, const struct nt_switch_naming *naming,
                          struct nt_switch_naming *after, struct nt_cluster_map **out,
                          struct nt_err *err);
void nt_cluster_map_destroy(struct nt_cluster_map *cluster);

/* As a map for show, export and hint, its hosts and switches sorted by name: a vertex of it is not
 * the cluster's of that number. host_names[model->hosts]; level "fleet"; created and cluster are
 * the caller's to set. */
int nt_cluster_map_named(const struct nt_cluster_map *cluster, const char *const *host_names,
                         struct nt_map **out, struct nt_err *err);

#endif
