/* SPDX-License-Identifier: Apache-2.0 */
/* The results of one job for the fleet: user and time, the combined latencies of its pairs, the
 * values of its links, its findings. Made of a map and, if available, the samples of the sweep.
 * Both come from a user, so all values are bounded and checked here.
 *
 * A link is identified by facts that are equal in all jobs: the first of the hosts below it, and
 * the tier of its lower end (0: the host's own link). Switches have other names in each job.
 * Tests: test_fleet_job.c. */
#ifndef NT_FLEET_JOB_H
#define NT_FLEET_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "evidence.h"
#include "map.h"
#include "memory.h"
#include "origin.h"
#include "samples.h"
#include "strbuf.h"

enum nt_figure_kind {
    NT_FIGURE_LATENCY, /* us, one-way */
    NT_FIGURE_UP,      /* MB/s, from the lower end upwards */
    NT_FIGURE_DOWN,    /* MB/s */
};

enum {
    NT_FIGURE_KINDS = NT_FIGURE_DOWN + 1,
    NT_FLEET_TIERS = 8,               /* number of tiers of links that are distinguished */
    NT_FLEET_PAIRS_MAX = 4096 * 1024, /* maximum per job */
    NT_FLEET_FINDINGS_MAX = 256,      /* maximum per job */
};

struct nt_fleet_figure {
    uint32_t host; /* index */
    uint8_t tier;  /* below NT_FLEET_TIERS */
    uint8_t kind;  /* enum nt_figure_kind */
    /* The job cannot distinguish this link from others: fewer than three hosts behind it and
     * beside it, so this may be the neighbour's value */
    bool shared;
    bool bound; /* the value is a lower bound */
    float value;
};

struct nt_fleet_finding {
    uint32_t host; /* index */
    uint8_t tier;
    uint8_t kind; /* enum nt_fault_kind */
    uint8_t way;  /* enum nt_fault_way */
    bool alone;   /* no other part can be the cause */
    float found, expected, confidence;
};

struct nt_fleet_job {
    struct nt_arena memory;
    char *cluster, *level;
    uint64_t job;
    uint32_t restart, user; /* NT_NO_USER: not known */
    int64_t time_s;         /* seconds since 1970 UTC */
    enum nt_status status;
    size_t hosts;
    char **host; /* names in the map's order */
    size_t pairs;
    struct nt_evidence_entry *pair; /* by a, then b; indices with a < b; job and ln are not set */
    size_t figures;
    struct nt_fleet_figure *figure; /* by host, tier, kind */
    size_t findings;
    struct nt_fleet_finding *finding;
    size_t loggps;
    struct nt_loggp *loggp; /* LogGP that the job measured */
};

/* Creates a job from a map. samples NULL: there are none, and so no pairs. origin: facts about the
 * job from a source other than its user. NT_ERR_INPUT: the map contradicts origin, samples of
 * another sweep, a map without a job, or a time before 2010 or more than a day after now_s. The
 * user in the map is ignored; the user in origin counts. */
int nt_fleet_job_create(const struct nt_map *map, const struct nt_samples *samples,
                        const struct nt_origin *origin, int64_t now_s, struct nt_fleet_job **out,
                        struct nt_err *err);
/* Packs the pairs and values of a job, by host; number[k]: the number of its host k. */
int nt_fleet_job_pack(const struct nt_fleet_job *job, const uint32_t *number,
                      struct nt_strbuf *pairs, struct nt_strbuf *figures, struct nt_err *err);
void nt_fleet_job_destroy(struct nt_fleet_job *job);

/* Packed readings and values in the store. Numbers are LEB128 varints (DWARF 4, section 7.6),
 * indices are differences to the previous one, and latencies and bandwidths are logarithms in steps
 * of 0.1 %: about ten bytes per pair, five per value. */

/* Appends pairs, sorted by a, then b, to buf. */
void nt_packed_put_pairs(struct nt_strbuf *buf, const struct nt_evidence_entry *pair, size_t n);
/* Appends values, sorted by host, tier and kind, to buf. */
void nt_packed_put_figures(struct nt_strbuf *buf, const struct nt_fleet_figure *figure, size_t n);

/* Called with each entry in order; -1 (with err set) ends the visit. */
typedef int nt_packed_each_pair(void *context, const struct nt_evidence_entry *pair,
                                struct nt_err *err);
typedef int nt_packed_each_figure(void *context, const struct nt_fleet_figure *figure,
                                  struct nt_err *err);

/* Calls each for every pair. NT_ERR_INPUT: an index is not below hosts, or the bytes are
 * invalid. */
int nt_packed_visit_pairs(const void *bytes, size_t n, size_t hosts, nt_packed_each_pair *each,
                          void *context, struct nt_err *err);
int nt_packed_visit_figures(const void *bytes, size_t n, size_t hosts, nt_packed_each_figure *each,
                            void *context, struct nt_err *err);

#endif
