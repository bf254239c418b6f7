/* SPDX-License-Identifier: Apache-2.0 */
/* Stress kernels: their text, and what each task sends and waits for. */
#include "asserts.h"
#include "workload.h"

static struct nt_workload parsed(const char *text)
{
    struct nt_workload w = {.seed = 1};
    if (nt_workload_parse(text, &w, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    return w;
}

static struct nt_program program_of(const char *text, size_t hosts)
{
    struct nt_workload w = parsed(text);
    struct nt_program p;
    if (nt_program_create(hosts, &w, &p, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    return p;
}

TEST(a_text_gives_a_kernel_and_what_else_it_says)
{
    static const struct {
        const char *text, *name;
        double bytes, compute_us;
        uint32_t messages, tasks;
    } table[] = {
        {"a2a", "a2a", 0, 0, 0, 0},
        {"sr:16,bytes=4096,messages=1000,tasks=8,compute=50", "sr:16,compute=50", 4096, 50, 1000,
         8},
        {"hot:100,compute=1000000000", "hot:100,compute=1000000000", 0, 1e9, 0, 0},
        {"region:25,tasks=1048576", "region:25", 0, 0, 0, 1048576},
        {"sr:16777216,compute=1000000000", "sr:16777216,compute=1000000000", 0, 1e9, 0, 0},
        {"transpose,messages=16777216", "transpose", 0, 0, 16777216, 0},
        {"shuffle,bytes=1073741824", "shuffle", 1073741824, 0, 0, 0},
        {"shuffle,bytes=1G", "shuffle", 1073741824, 0, 0, 0},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        char name[NT_WORKLOAD_NAME_BYTES];
        struct nt_workload w = parsed(table[k].text), again;
        assert_true(w.bytes == table[k].bytes && w.compute_us == table[k].compute_us);
        assert_int_equal(w.messages, table[k].messages);
        assert_int_equal(w.tasks, table[k].tasks);
        nt_workload_name(&w, name);
        assert_string_equal(name, table[k].name);
        again = parsed(name);
        assert_true(again.kernel == w.kernel && again.wave == w.wave &&
                    again.percent == w.percent && again.compute_us == w.compute_us);
    }
    struct nt_workload kept = {.bytes = 7, .messages = 9};
    assert_int_equal(nt_workload_parse("gups,tasks=3", &kept, NULL), 0);
    assert_true(kept.bytes == 7 && kept.messages == 9 && kept.tasks == 3);
}

TEST(what_is_no_kernel_is_refused)
{
    static const char *const bad[] = {"",
                                      "A2A",
                                      "a2a:3",
                                      "sr",
                                      "sr:",
                                      "sr:0",
                                      "sr:-1",
                                      "sr:1x",
                                      "sr:999999999",
                                      "gups:2",
                                      "a2a ",
                                      "sr:01",
                                      "hot",
                                      "hot:0",
                                      "hot:101",
                                      "region:x",
                                      "transpose:2",
                                      "a2a,",
                                      ",a2a",
                                      "a2a,bytes",
                                      "a2a,bytes=",
                                      "a2a,bytes=0",
                                      "a2a,byte=1",
                                      "a2a,bytes=1k",
                                      "a2a,,",
                                      "a2a,tasks=-1",
                                      "a2a,bytes=1 ",
                                      "a2a,compute=1.5",
                                      "a2a,messages=16777217"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct nt_workload w = {.wave = 77};
        if (nt_workload_parse(bad[k], &w, &err) == 0)
            fail_msg("%s was taken", bad[k]);
        assert_int_equal(err.kind, NT_ERR_USAGE);
        assert_int_equal(w.wave, 77);
    }
}

/* Dally and Towles (2004), table 3.1, by hand. */
TEST(permutations_are_the_published_ones)
{
    static const struct {
        const char *kernel;
        size_t tasks;
        uint32_t to[16];
    } table[] = {
        {"complement", 8, {7, 6, 5, 4, 3, 2, 1, 0}},
        {"reverse", 8, {0, 4, 2, 6, 1, 5, 3, 7}},
        {"shuffle", 8, {0, 2, 4, 6, 1, 3, 5, 7}},
        {"transpose", 16, {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}},
        {"complement", 2, {1, 0}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_program p = program_of(table[k].kernel, table[k].tasks);
        assert_int_equal(p.messages, table[k].tasks);
        for (size_t m = 0; m < p.messages; m++)
            assert_int_equal(p.message[m].to, table[k].to[p.message[m].from]);
        for (size_t h = 0; h < p.hosts; h++) { /* one send, then the wait for what comes */
            assert_int_equal(p.first[h + 1] - p.first[h], 2);
            assert_int_equal(p.message[p.op[p.first[h]] / 2].from, h);
            assert_int_equal(p.op[p.first[h] + 1] % 2, 1);
            assert_int_equal(p.message[p.op[p.first[h] + 1] / 2].to, h);
        }
        nt_program_fini(&p);
    }
}

TEST(tasks_are_spread_over_hosts_and_fit_the_kernel)
{
    static const struct {
        const char *text;
        size_t hosts, tasks;
    } table[] = {
        {"a2a", 12, 12},
        {"a2a,tasks=5", 12, 5},
        {"a2a,tasks=13", 12, 0},
        {"reverse", 12, 8},
        {"transpose", 12, 4},
        {"transpose", 64, 64},
        {"transpose,tasks=8", 64, 0},
        {"transpose,tasks=16", 64, 16},
        {"shuffle,tasks=3", 12, 0},
        {"gups", 0, 0},
        {"complement", 1, 1},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_workload w = parsed(table[k].text);
        struct nt_program p;
        assert_int_equal(nt_workload_tasks(&w, table[k].hosts), table[k].tasks);
        if (table[k].tasks > 0 || table[k].hosts == 0) {
            must(nt_program_create(table[k].hosts, &w, &p, &err));
            nt_program_fini(&p);
            continue;
        }
        assert_int_equal(nt_program_create(table[k].hosts, &w, &p, &err), -1);
        assert_int_equal(err.kind, NT_ERR_USAGE);
    }
    struct nt_program p = program_of("o2a,tasks=4", 10);
    static const uint32_t to[3] = {2, 5, 7};
    assert_int_equal(p.messages, 3);
    for (size_t m = 0; m < 3; m++) {
        assert_int_equal(p.message[m].from, 0);
        assert_int_equal(p.message[m].to, to[m]);
    }
    assert_int_equal(p.first[2] - p.first[1], 0); /* host 1 has no task */
    nt_program_fini(&p);
}

TEST(hot_traffic_goes_where_it_should)
{
    struct nt_program p = program_of("hot:40,messages=20000", 16);
    size_t hot = 0;
    for (size_t m = 0; m < p.messages; m++)
        hot += p.message[m].to == 0;
    /* 40 % and a sixteenth of the others: four standard deviations of 20,000 draws are 280 */
    assert_in_range(hot, 8750 - 280, 8750 + 280);
    nt_program_fini(&p);
    p = program_of("region:40,messages=20000", 16);
    size_t region = 0, first = 0;
    for (size_t m = 0; m < p.messages; m++) {
        region += p.message[m].to < 2;
        first += p.message[m].to == 0;
    }
    assert_in_range(region, 9500 - 280, 9500 + 280);
    assert_in_range(first, 4750 - 240, 4750 + 240);
    nt_program_fini(&p);
}

TEST(each_task_computes_after_each_wave)
{
    struct nt_program p = program_of("sr:10,messages=35,compute=5", 4);
    for (size_t h = 0; h < 4; h++) {
        size_t computes = 0;
        for (uint32_t k = p.first[h]; k < p.first[h + 1]; k++) {
            uint32_t op = p.op[k];
            computes += op == NT_PROGRAM_COMPUTE;
            if (op != NT_PROGRAM_COMPUTE) /* what comes after a wave's computing is a later one's */
                assert_int_equal(op / 2 / 10, computes);
        }
        assert_int_equal(computes, 4);
        assert_true(p.op[p.first[h + 1] - 1] == NT_PROGRAM_COMPUTE);
    }
    assert_int_equal(p.ops, 2 * 35 + 4 * 4);
    nt_program_fini(&p);
    struct nt_workload w = parsed("sr:1,messages=16777216,compute=1");
    assert_int_equal(nt_program_create(64, &w, &p, NULL), -1);
}

RUN_TESTS
