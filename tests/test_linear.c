/* SPDX-License-Identifier: Apache-2.0 */
/* What the job's first host has in memory when the sweep adapts follows the pairs that are
 * measured: many hosts' sweep, record and map within a bound that a matrix of them would break. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "made_network.h"
#include "map_json.h"
#include "recorded_sweep.h"
#include "sanitized.h"
#include "shape.h"
#include "solve.h"

struct trial {
    const char *topology;
    enum nt_level level;
    size_t most_rounds, hosts;
    bool told;
    size_t room_mb;
};

/* A matrix of 16,384 hosts: 1,024 MB, a byte a pair: 128; of 5,184: 102 and 13. */
static const struct trial trials[] = {
    {"tree:16x32x32", NT_LEVEL_STANDARD, 0, 16384, true, 96},
    {"tree:16x32x32", NT_LEVEL_QUICK, 9, 16384, false, 96},
    {"torus:72x72", NT_LEVEL_FULL, 0, 5184, false, 48},
};

/* What this process has now, and so much more. */
static void bound_memory(size_t more_mb)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_true(f != NULL && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)more_mb << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}), 0);
}

/* 0: as it should be. */
static int sweep_and_solve(const struct nt_network *n, const struct trial *t)
{
    struct recorded r =
        record_sweep(n, &(struct recording){.level = t->level,
                                            .noise = {.sd = 0.02, .outliers = 0.01, .seed = 1},
                                            .most_rounds = t->most_rounds});
    struct nt_model *truth;
    struct nt_map *map;
    char *text;
    size_t bytes;
    record_must(nt_samples_write(r.samples, &text, &bytes, &err), &err);
    free(text);
    record_must(nt_solve_samples(r.samples, NULL, NULL, &map, &err), &err);
    nt_samples_destroy(r.samples);
    record_must(nt_map_write(map, false, &text, NULL, &err), &err);
    free(text);
    record_must(nt_network_truth(n, &truth, &err), &err);
    bool exact = nt_shape_equal(map->model, truth), some = map->model->links > 0;
    int wrong = r.verified != t->told || exact != t->told || some != t->told ||
                (!t->told && (map->warnings == 0 || map->model->confidence > 0));
    nt_model_destroy(truth);
    nt_map_destroy(map);
    return wrong;
}

TEST(many_hosts_take_no_matrix)
{
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) {
        SCOPED(network) *n = made_network(trials[k].topology);
        int status = 0;
        assert_int_equal(n->hosts, trials[k].hosts);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            if (!SANITIZED)
                bound_memory(trials[k].room_mb);
            _exit(sweep_and_solve(n, &trials[k]));
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        if (status != 0)
            fail_msg("%s: ended with %d", trials[k].topology, status);
    }
}

RUN_TESTS
