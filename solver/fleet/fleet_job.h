/* SPDX-License-Identifier: Apache-2.0 */
/* What one job leaves behind for the fleet: who measured when, the latencies of its pairs folded,
 * the figures of its links, its findings. Made of a map and, where it is there, the record of the
 * sweep; both are a user's, so everything is bounded and checked here.
 *
 * A link is named by what stays the same from job to job: the first of the hosts below it, and the
 * tier of its lower end (0: the host's own link). Switches have other names in each job.
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
    NT_FIGURE_LATENCY, /* us, one way */
    NT_FIGURE_UP,      /* MB/s, from the lower end up */
    NT_FIGURE_DOWN,    /* MB/s */
};

enum {
    NT_FIGURE_KINDS = NT_FIGURE_DOWN + 1,
    NT_FLEET_TIERS = 8,               /* tiers of links that are told apart */
    NT_FLEET_PAIRS_MAX = 4096 * 1024, /* of one job */
    NT_FLEET_FINDINGS_MAX = 256,      /* of one job */
};

struct nt_fleet_figure {
    uint32_t host; /* index */
    uint8_t tier;  /* below NT_FLEET_TIERS */
    uint8_t kind;  /* enum nt_figure_kind */
    bool shared;   /* the job cannot tell this link from others: fewer than three hosts behind it
                      and beside it, so that its neighbour's figure may stand here */
    bool bound;    /* the link has at least that bandwidth */
    float value;
};

struct nt_fleet_finding {
    uint32_t host; /* index */
    uint8_t tier;
    uint8_t kind; /* enum nt_fault_kind */
    uint8_t way;  /* enum nt_fault_way */
    bool alone;   /* nothing else could be it */
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
    char **host; /* names, in the map's order */
    size_t pairs;
    struct nt_evidence_entry *pair; /* by a, then b; a < b: indices; job and ln unset */
    size_t figures;
    struct nt_fleet_figure *figure; /* by host, tier, kind */
    size_t findings;
    struct nt_fleet_finding *finding;
    size_t loggps;
    struct nt_loggp *loggp; /* that the job measured */
};

/* samples NULL: there is no record, and so no pairs. origin: what is known of the job from somebody
 * who is not its user; what the map says against it is NT_ERR_INPUT, as is a record of another
 * sweep, a map without a job, a time later than now_s by more than a day or before 2010. The map's
 * own user is unknown: that of the origin counts. */
int nt_fleet_job_create(const struct nt_map *map, const struct nt_samples *samples,
                        const struct nt_origin *origin, int64_t now_s, struct nt_fleet_job **out,
                        struct nt_err *err);
/* The pairs and figures of a job in few bytes, by host; number[k]: the number of its host k. */
int nt_fleet_job_pack(const struct nt_fleet_job *job, const uint32_t *number,
                      struct nt_strbuf *pairs, struct nt_strbuf *figures, struct nt_err *err);
void nt_fleet_job_destroy(struct nt_fleet_job *job);

/* Readings and figures in few bytes, as the store keeps them.
 *
 * Numbers are LEB128 varints (DWARF 4, section 7.6), indices differences to the last one, and
 * latencies and bandwidths logarithms in steps of 0.1 %: about ten bytes a pair, five a figure. */

/* Appends to buf. pair: by a, then b. */
void nt_packed_put_pairs(struct nt_strbuf *buf, const struct nt_evidence_entry *pair, size_t n);
/* figure: by host, tier, kind. */
void nt_packed_put_figures(struct nt_strbuf *buf, const struct nt_fleet_figure *figure, size_t n);

/* Called with each in order; -1 (with err set) ends the visit. */
typedef int nt_packed_each_pair(void *context, const struct nt_evidence_entry *pair,
                                struct nt_err *err);
typedef int nt_packed_each_figure(void *context, const struct nt_fleet_figure *figure,
                                  struct nt_err *err);

/* hosts: every index is below it, else NT_ERR_INPUT, as for bytes that are none of these. */
int nt_packed_visit_pairs(const void *bytes, size_t n, size_t hosts, nt_packed_each_pair *each,
                          void *context, struct nt_err *err);
int nt_packed_visit_figures(const void *bytes, size_t n, size_t hosts, nt_packed_each_figure *each,
                            void *context, struct nt_err *err);

#endif
