/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs for tests of the fleet: of a network of leaves with C hosts each, measured as said. */
#ifndef FLEET_MADE_H
#define FLEET_MADE_H

#include <stdio.h>
#include <stdlib.h>

#include "fleet_job.h"
#include "rng.h"
#include "samples.h"
#include "solve.h"

struct made_job {
    uint64_t job;
    uint32_t restart, leaf_hosts; /* hosts a leaf; host n1 is the first of the first leaf */
    const uint32_t *host;         /* hosts of them, from 1 */
    size_t hosts;
    const char *created;
    double offset; /* every latency times that */
    double noise;  /* relative */
    uint32_t slow; /* host whose link takes 0.4 us more; 0: none */
    uint64_t seed;
};

static inline struct nt_samples *made_samples(const struct made_job *m)
{
    struct nt_samples *s = NULL;
    struct nt_err err = {0};
    struct nt_rng rng;
    nt_rng_init(&rng, m->seed);
    int rc = nt_samples_create(&s, &err);
    s->job.id = m->job;
    s->job.restart = m->restart;
    rc |= nt_samples_set_word(&s->job.cluster, "c", &err);
    rc |= nt_samples_set_word(&s->job.level, "quick", &err);
    rc |= nt_samples_set_word(&s->job.created, m->created, &err);
    for (size_t k = 0; k < m->hosts; k++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", m->host[k]);
        rc |= nt_samples_add_host(s, name, &err);
    }
    rc |= nt_samples_begin_phase(s, "latency", &err);
    for (size_t a = 0; a < m->hosts; a++)
        for (size_t b = 0; b < m->hosts; b++) {
            if (a == b)
                continue;
            bool near = (m->host[a] - 1) / m->leaf_hosts == (m->host[b] - 1) / m->leaf_hosts;
            double us = near ? 1 : 1.5;
            us += m->host[a] == m->slow || m->host[b] == m->slow ? 0.4 : 0;
            us *= m->offset * (1 + m->noise * (nt_rng_uniform(&rng) - 0.5));
            rc |= nt_samples_begin_round(s, &err);
            struct nt_sample sample = {.kind = NT_SAMPLE_LATENCY,
                                       .a = (uint32_t)a,
                                       .b = (uint32_t)b,
                                       .count = 30,
                                       .bytes = 8,
                                       .value_us = us,
                                       .latency = {.se_us = 0.001, .median_us = us}};
            rc |= nt_samples_add(s, sample, NULL, &err);
        }
    rc |= nt_samples_end_phase(s, 0.1, &err);
    nt_samples_finish(s, NT_STATUS_OK, 0.2);
    if (rc != 0) {
        fprintf(stderr, "made_samples: %s\n", err.text);
        exit(1);
    }
    return s;
}

#endif
