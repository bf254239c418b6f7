/* SPDX-License-Identifier: Apache-2.0 */
/* A planted network and the jobs that measure parts of it, for tests and benches that combine the
 * results of many jobs. Include it behind cmocka.h. */
#ifndef NT_PLANTED_JOBS_H
#define NT_PLANTED_JOBS_H

#include <math.h>
#include <stdlib.h>

#include "evidence.h"
#include "made_network.h"
#include "measure.h"
#include "rng.h"

struct planted_jobs {
    const struct nt_network *network;
    struct nt_measure_noise noise; /* seed: of each job another is made of it */
    double offset_sd;              /* of a job, ln */
    size_t pairs_a_host;           /* that a job measures; 0: all pairs */
    const uint32_t *stands;        /* where each host stands: NULL: host h at place h */
};

enum { PLANTED_DAY_S = 86400, PLANTED_START_S = 1700000000 };

/* One reading of a pair. */
static inline int evidence_note(struct nt_evidence *evidence, uint32_t job, uint32_t a, uint32_t b,
                                double us, struct nt_err *err)
{
    const struct nt_evidence_entry one = {
        .a = a, .b = b, .job = job, .count = 1, .lowest_us = (float)us, .mean_us = (float)us};
    return nt_evidence_add(evidence, &one, err);
}

/* Hosts of a job as schedulers choose: a run of neighbours, with gaps. */
static inline size_t planted_hosts(struct nt_rng *rng, size_t cluster, size_t most, uint32_t *host)
{
    size_t n = 2 + nt_rng_below(rng, most - 1), taken = 0;
    size_t gaps = nt_rng_below(rng, 3); /* none, one in two, one in eight taken */
    uint32_t at = (uint32_t)nt_rng_below(rng, cluster);
    n = n < cluster ? n : cluster;
    for (size_t steps = 0; taken < n && steps < cluster; steps++, at = (at + 1) % (uint32_t)cluster)
        if (gaps == 0 || nt_rng_below(rng, gaps == 1 ? 2 : 8) == 0)
            host[taken++] = at;
    return taken;
}

/* The job of these hosts measures. */
static inline void planted_job(const struct planted_jobs *p, struct nt_evidence *evidence,
                               int64_t time_s, uint64_t id, uint32_t user, const uint32_t *host,
                               size_t hosts)
{
    struct nt_rng rng;
    struct nt_measure_noise noise = p->noise;
    struct nt_err err = {0};
    uint32_t job = 0;
    noise.seed = p->noise.seed * 1000003 + id;
    nt_rng_init(&rng, noise.seed);
    double factor = exp(p->offset_sd * nt_rng_normal(&rng));
    if (nt_evidence_add_job(evidence, time_s, id, user, &job, &err) < 0)
        fail_msg("%s", err.text);
    size_t all = hosts * (hosts - 1) / 2, some = p->pairs_a_host * hosts / 2;
    double share = some == 0 || some >= all ? 1 : (double)some / (double)all;
    for (size_t i = 0; i < hosts; i++)
        for (size_t k = i + 1; k < hosts; k++) {
            if (share < 1 && nt_rng_uniform(&rng) >= share)
                continue;
            uint32_t a = p->stands != NULL ? p->stands[host[i]] : host[i];
            uint32_t b = p->stands != NULL ? p->stands[host[k]] : host[k];
            double us = factor * nt_measure_latency(p->network, &noise, a, b, 0);
            if (!isnan(us) && evidence_note(evidence, job, host[i], host[k], us, &err) < 0)
                fail_msg("%s", err.text);
        }
}

#endif
