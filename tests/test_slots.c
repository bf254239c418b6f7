/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "slots.h"

static void tasks_sit_evenly_within_the_cpus(void **state)
{
    (void)state;
    static const struct {
        uint32_t tasks, task_cpus;
        bool known;
        uint32_t cpus[4], slots[4];
    } table[] = {
        {0, 0, false, {0}, {1, 1, 1, 1}},
        {4, 1, false, {0}, {1, 1, 1, 1}},
        {7, 1, false, {0}, {2, 2, 2, 1}},
        {8, 1, true, {4, 4, 4, 4}, {2, 2, 2, 2}},
        {8, 1, true, {1, 4, 4, 4}, {1, 3, 2, 2}},
        {8, 2, true, {4, 4, 4, 4}, {2, 2, 2, 2}},
        {6, 2, true, {2, 8, 2, 2}, {1, 3, 1, 1}},
        {40, 1, true, {4, 4, 4, 4}, {10, 10, 10, 10}}, /* more than the CPUs hold */
        {2, 1, true, {4, 4, 4, 4}, {1, 1, 0, 0}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        uint32_t slots[4];
        nt_slots_spread(table[k].tasks, table[k].task_cpus, table[k].known ? table[k].cpus : NULL,
                        slots, 4);
        assert_memory_equal(slots, table[k].slots, sizeof slots);
    }
}

static void the_record_holds_what_the_agent_said(void **state)
{
    (void)state;
    struct nt_probe_job job = {.tasks = 5, .task_cpus = 1, .cpus = "4,1"};
    struct nt_samples *s;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_create(&s, &err), 0);
    assert_int_equal(nt_samples_add_host(s, "a", &err), 0);
    assert_int_equal(nt_samples_add_host(s, "b", &err), 0);
    assert_int_equal(nt_slots_record(&job, s, &err), 0);
    assert_int_equal(s->slots[0], 4);
    assert_int_equal(s->slots[1], 1);
    job.cpus = "4(x7"; /* not Slurm's form: as if nothing had been said */
    assert_int_equal(nt_slots_record(&job, s, &err), 0);
    assert_int_equal(s->slots[0], 3);
    nt_samples_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_sit_evenly_within_the_cpus),
        cmocka_unit_test(the_record_holds_what_the_agent_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
