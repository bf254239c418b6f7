/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "coordinator_output.h"

/* A star of three hosts whose hint is c, a, b. */
static struct nt_map *example_map(void)
{
    static const char *const names[] = {"a", "b", "c"};
    struct nt_model *model = NULL;
    struct nt_map *map = NULL;
    assert_int_equal(nt_model_create(3, 1, 3, &model, NULL), 0);
    for (uint32_t k = 0; k < 3; k++) {
        model->link[k].a = k;
        model->link[k].b = 3;
        model->link[k].latency_us = 1;
    }
    model->family = NT_FAMILY_STAR;
    assert_int_equal(nt_map_create(model, names, &map, NULL), 0);
    map->placement = calloc(1, sizeof *map->placement);
    *map->placement = (struct nt_placement){
        .pattern = "neighbour", .hosts = 3, .cost = 1, .cost_default = 1.5, .gain = 1.5};
    map->placement->order = calloc(3, sizeof *map->placement->order);
    map->placement->order[0] = 2;
    map->placement->order[2] = 1;
    map->placement->rank_host = calloc(3, sizeof *map->placement->rank_host);
    memcpy(map->placement->rank_host, map->placement->order, 3 * sizeof *map->placement->rank_host);
    map->placement->ntasks = 3;
    return map;
}

static bool has_line(const char *text, const char *line)
{
    for (const char *at = text; (at = strstr(at, line)) != NULL; at++)
        if ((at == text || at[-1] == '\n') && at[strlen(line)] == '\n')
            return true;
    return false;
}

/* Also if the value is longer than any buffer on its way. */
TEST(the_inline_map_is_whole)
{
    SCOPED(map) *map = example_map();
    struct nt_artifacts artifacts;
    struct nt_artifacts_options plan = {.reason = "", .inline_limit_bytes = 100000};
    for (int k = 0; k < 40; k++)
        assert_int_equal(nt_map_warn(map, NULL, "warning %d of many: %0*d", k, 100, 0), 0);
    assert_int_equal(nt_artifacts_create(map, &plan, &artifacts, NULL), 0);
    const char *env = artifacts.text[NT_ARTIFACT_ENV], *json = strstr(env, "NETTOPO_JSON={");
    assert_non_null(json);
    size_t bytes = strcspn(json, "\n");
    assert_true(bytes > 40 * 100 && json[bytes - 1] == '}');
    nt_artifacts_fini(&artifacts);
}

TEST(the_job_finds_its_placement)
{
    SCOPED(map) *map = example_map();
    struct nt_artifacts artifacts;
    struct nt_artifacts_options plan = {.reason = "", .inline_limit_bytes = 100000};
    assert_int_equal(nt_artifacts_create(map, &plan, &artifacts, NULL), 0);
    const char *env = artifacts.text[NT_ARTIFACT_ENV];
    assert_true(has_line(env, "NETTOPO_STATUS=ok"));
    assert_null(strstr(env, "NETTOPO_REASON"));
    assert_true(has_line(env, "NETTOPO_MAP=map.json"));
    assert_true(has_line(env, "NETTOPO_HOSTFILE=hostfile"));
    assert_true(has_line(env, "NETTOPO_RANKFILE=rankfile"));
    assert_true(has_line(env, "NETTOPO_RANK_ORDER=rankorder"));
    assert_true(has_line(env, "NETTOPO_NODE_ORDER=c,a,b"));
    assert_true(has_line(env, "NETTOPO_GAIN=1.5"));
    assert_null(strstr(env, "NETTOPO_FINDINGS")); /* its links were not judged */
    assert_non_null(strstr(env, "\nNETTOPO_JSON={"));
    assert_null(strstr(env, "SLURM_"));
    assert_string_equal(artifacts.text[NT_ARTIFACT_HOSTFILE], "c\na\nb\n");
    assert_non_null(strstr(artifacts.text[NT_ARTIFACT_RANKFILE], "rank 0=c slot=0\n"));
    assert_string_equal(artifacts.text[NT_ARTIFACT_RANK_ORDER], "1,2,0\n");
    for (size_t k = 1; k < NT_ARTIFACT_END; k++)
        if (artifacts.text[k] != NULL)
            assert_int_equal(artifacts.bytes[k], strlen(artifacts.text[k]));
    nt_artifacts_fini(&artifacts);
}

TEST(the_job_finds_what_is_worse_than_its_like)
{
    for (size_t faults = 0; faults < 2; faults++) {
        SCOPED(map) *map = example_map();
        struct nt_artifacts artifacts;
        struct nt_artifacts_options plan = {.reason = "", .inline_limit_bytes = 100000};
        map->judged = true;
        map->faults = faults;
        map->fault = calloc(1, sizeof *map->fault);
        *map->fault = (struct nt_fault){
            .part = {NT_FAULT_HOST_SLOW, 1, 1}, .found = 2, .expected = 1, .confidence = 0.97};
        assert_int_equal(nt_artifacts_create(map, &plan, &artifacts, NULL), 0);
        assert_true(
            has_line(artifacts.text[NT_ARTIFACT_ENV],
                     faults ? "NETTOPO_FINDINGS=host-slow b 2/1 us 0.97" : "NETTOPO_FINDINGS="));
        nt_artifacts_fini(&artifacts);
    }
}

TEST(apply_and_the_inline_limit_are_heeded)
{
    SCOPED(map) *map = example_map();
    struct nt_artifacts artifacts;
    struct nt_artifacts_options plan = {.reason = "", .apply = true, .inline_limit_bytes = 100};
    assert_int_equal(nt_artifacts_create(map, &plan, &artifacts, NULL), 0);
    assert_true(has_line(artifacts.text[NT_ARTIFACT_ENV], "SLURM_HOSTFILE=hostfile"));
    assert_true(has_line(artifacts.text[NT_ARTIFACT_ENV], "SLURM_DISTRIBUTION=arbitrary"));
    assert_null(strstr(artifacts.text[NT_ARTIFACT_ENV], "NETTOPO_JSON"));
    nt_artifacts_fini(&artifacts);
}

TEST(cores_are_as_many_as_the_host_has)
{
    static const struct {
        uint32_t cores, threads, task_cpus;
        const char *first;
    } table[] = {{0, 0, 2, "rank 0=c slot=0-1\n"}, /* not known */
                 {4, 4, 2, "rank 0=c slot=0-1\n"},
                 {4, 8, 8, "rank 0=c slot=0-3\n"}, /* 8 threads are 4 cores */
                 {4, 8, 3, "rank 0=c slot=0-1\n"},
                 {1, 2, 2, "rank 0=c slot=0\n"},
                 {3, 3, 4, "rank 0=c slot=0-2\n"}, /* as many as there are */
                 {8, 8, 0, "rank 0=c slot=0\n"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(map) *map = example_map();
        struct nt_artifacts artifacts;
        struct nt_artifacts_options plan = {.reason = "", .task_cpus = table[k].task_cpus};
        map->machines = 1;
        map->machine = calloc(1, sizeof *map->machine);
        map->machine->cores = table[k].cores;
        map->machine->threads = table[k].threads;
        map->machine_of = calloc(3, sizeof *map->machine_of);
        for (size_t h = 0; table[k].cores == 0 && h < 3; h++)
            map->machine_of[h] = NT_MAP_NO_MACHINE;
        assert_int_equal(nt_artifacts_create(map, &plan, &artifacts, NULL), 0);
        assert_non_null(strstr(artifacts.text[NT_ARTIFACT_RANKFILE], table[k].first));
        nt_artifacts_fini(&artifacts);
    }
}

TEST(a_map_without_a_placement_leaves_the_files_to_the_plugin)
{
    SCOPED(map) *map = example_map();
    struct nt_artifacts artifacts;
    struct nt_artifacts_options plan = {.reason = "", .apply = true};
    map->placement->ntasks = 0;
    assert_int_equal(nt_artifacts_create(map, &plan, &artifacts, NULL), 0);
    assert_null(artifacts.text[NT_ARTIFACT_HOSTFILE]);
    assert_null(strstr(artifacts.text[NT_ARTIFACT_ENV], "HOSTFILE"));
    nt_artifacts_fini(&artifacts);
}

TEST(a_failure_has_a_reason_of_one_line)
{
    struct nt_artifacts artifacts;
    struct nt_artifacts_options plan = {.status = NT_STATUS_FAILED,
                                        .reason = "no\nPATH=/evil\xc2\x9b\x9b"};
    assert_int_equal(nt_artifacts_create(NULL, &plan, &artifacts, NULL), 0);
    assert_string_equal(artifacts.text[NT_ARTIFACT_ENV],
                        "NETTOPO_STATUS=failed\nNETTOPO_REASON=no?PATH=/evil???\n");
    assert_null(artifacts.text[NT_ARTIFACT_MAP]);
    nt_artifacts_fini(&artifacts);
}

RUN_TESTS
