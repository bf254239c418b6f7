/* SPDX-License-Identifier: Apache-2.0 */
/* One network from many jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_map.h"
#include "planted_jobs.h"
#include "shape.h"

/* Jobs of up to `most` hosts, drawn as schedulers do. */
static void run_jobs(const struct planted_jobs *p, struct nt_evidence *e, size_t jobs, size_t most,
                     uint64_t seed)
{
    struct nt_rng rng;
    uint32_t *host = calloc(p->network->hosts + 1, sizeof *host);
    nt_rng_init(&rng, seed);
    for (size_t j = 0; j < jobs; j++) {
        size_t n = planted_hosts(&rng, p->network->hosts, most, host);
        planted_job(p, e, PLANTED_START_S + (int64_t)j * 1000, j + 1, (uint32_t)(j % 7), host, n);
    }
    free(host);
}

static void test_found(void **state)
{
    static const char *const table[] = {"tree:4x8", "tree:2x4x8"};
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_network *n = made_machine(table[k]);
        struct nt_model *truth;
        struct nt_err err = {0};
        assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct planted_jobs p = {.network = n,
                                     .noise = {.sd = 0.02, .outliers = 0.01, .seed = seed},
                                     .offset_sd = 0.03};
            struct nt_evidence e;
            struct nt_switch_naming naming = {0};
            struct nt_cluster_map *c;
            assert_int_equal(nt_evidence_init(&e, n->hosts, &err), 0);
            run_jobs(&p, &e, 60, 24, seed);
            if (nt_cluster_map_create(&e, &naming, &naming, &c, &err) < 0)
                fail_msg("%s seed %u: %s", table[k], (unsigned)seed, err.text);
            if (!nt_shape_equal(c->model, truth))
                fail_msg("%s seed %u: another shape", table[k], (unsigned)seed);
            nt_cluster_map_destroy(c);
            nt_switch_naming_fini(&naming);
            nt_evidence_fini(&e);
        }
        nt_model_destroy(truth);
        nt_network_destroy(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
