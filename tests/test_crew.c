#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "pace.h"

enum { MAX = 16 };

/* A piece of a rank on that host and machine; cores of it. */
static struct nt_piece piece(const char *host, unsigned char machine, uint32_t cores)
{
    struct nt_greeting g = {
        .cores = cores, .address = (const unsigned char *)host, .address_bytes = strlen(host)};
    struct nt_bytes bytes;
    snprintf(g.host, sizeof g.host, "%s", host);
    memset(g.machine, machine, sizeof g.machine);
    assert_int_equal(nt_greeting_encode(&g, &bytes, NULL), 0);
    return (struct nt_piece){true, bytes.bytes, bytes.data};
}

static void ranks_of_one_host_count_once(void **state)
{
    (void)state;
    struct nt_piece pieces[5] = {piece("a", 1, 4), piece("b", 2, 4), piece("a", 1, 4),
                                 piece("c", 3, 4), piece("b", 2, 4)};
    struct nt_crew *crew = NULL;
    struct nt_peer_table table;
    assert_int_equal(nt_crew_create(pieces, 5, NULL, &crew, &table, NULL), 0);
    assert_int_equal(crew->hosts, 3);
    assert_string_equal(crew->name[2], "c");
    assert_int_equal(crew->rank_of[0], 0);
    assert_int_equal(crew->rank_of[1], 1);
    assert_int_equal(crew->rank_of[2], 3);
    assert_int_equal(crew->host_of[2], NT_NOBODY);
    assert_int_equal(crew->host_of[3], 2);
    assert_non_null(table.seat[3].address);
    assert_null(table.seat[4].address);
    assert_int_equal(nt_crew_present(crew), 3);
    nt_crew_destroy(crew);
    nt_peer_table_fini(&table);
    nt_pieces_free(pieces, 5);
}

static void cores_are_counted_by_machine(void **state)
{
    (void)state;
    struct nt_piece pieces[5] = {piece("a", 1, 2), piece("b", 1, 2), piece("c", 2, 2),
                                 piece("d", 1, 4), piece("e", 3, 1)};
    static const bool own[5] = {false, false, true, true, true};
    struct nt_crew *crew = NULL;
    struct nt_peer_table table;
    assert_int_equal(nt_crew_create(pieces, 5, NULL, &crew, &table, NULL), 0);
    for (size_t r = 0; r < 5; r++)
        assert_int_equal(table.seat[r].own_core, own[r]);
    nt_crew_destroy(crew);
    nt_peer_table_fini(&table);
    nt_pieces_free(pieces, 5);
}

static void who_does_not_come_is_gone_by_its_known_name(void **state)
{
    (void)state;
    static const char *const known[4] = {"n1", "n2", "n3", "n4"};
    struct nt_piece pieces[4] = {piece("x", 1, 1), {0}, piece("y", 2, 1), piece("z", 3, 1)};
    struct nt_crew *crew = NULL;
    struct nt_peer_table table;
    pieces[3].data[0] = 'X'; /* not a greeting */
    assert_int_equal(nt_crew_create(pieces, 4, known, &crew, &table, NULL), 0);
    assert_int_equal(crew->hosts, 4);
    assert_string_equal(crew->name[0], "n1"); /* whatever it calls itself */
    assert_null(crew->gone[0]);
    assert_string_equal(crew->gone[1], "did not answer");
    assert_non_null(strstr(crew->gone[3], "malformed"));
    assert_int_equal(nt_crew_present(crew), 2);
    nt_crew_destroy(crew);
    nt_peer_table_fini(&table);
    nt_pieces_free(pieces, 4);
}

static struct nt_piece piece_inside(const char *host, const char *inside, double cache_us)
{
    struct nt_greeting g = {
        .cores = 2, .address = (const unsigned char *)host, .address_bytes = strlen(host)};
    struct nt_bytes bytes;
    snprintf(g.host, sizeof g.host, "%s", host);
    snprintf(g.inside, sizeof g.inside, "%s", inside);
    g.core_us[NT_BETWEEN_CACHE] = cache_us;
    assert_int_equal(nt_greeting_encode(&g, &bytes, NULL), 0);
    return (struct nt_piece){true, bytes.bytes, bytes.data};
}

/* Nonsense about itself does not cost a host its place. */
static void what_hosts_are_inside_is_recorded_once(void **state)
{
    (void)state;
    static const char alike[] = "packages=1 numa=1 cores=2 threads=2 allowed=2 cpu=A";
    struct nt_piece pieces[5] = {
        piece_inside("a", alike, 0.05), piece_inside("b", alike, 0),
        piece_inside("c", "packages=many", 1), piece("d", 1, 2),
        piece_inside("e", "packages=2 numa=2 cores=4 threads=8 allowed=8", 0.25)};
    struct nt_crew *crew = NULL;
    struct nt_peer_table table;
    struct nt_samples *s;
    struct nt_err err = {0};
    assert_int_equal(nt_crew_create(pieces, 5, NULL, &crew, &table, &err), 0);
    assert_int_equal(nt_crew_present(crew), 5);
    assert_int_equal(nt_samples_create(&s, &err), 0);
    for (size_t h = 0; h < 5; h++)
        assert_int_equal(nt_samples_add_host(s, crew->name[h], &err), 0);
    assert_int_equal(nt_crew_record_inside(crew, s, &err), 0);
    assert_int_equal(s->models, 2);
    assert_string_equal(s->model[0], alike);
    assert_int_equal(s->inside[0].model, 0);
    assert_int_equal(s->inside[1].model, 0);
    assert_int_equal(s->inside[2].model, NT_SAMPLES_NO_MODEL);
    assert_int_equal(s->inside[3].model, NT_SAMPLES_NO_MODEL);
    assert_int_equal(s->inside[4].model, 1);
    assert_true(s->inside[0].latency_us[NT_BETWEEN_CACHE] == 0.05f);
    assert_true(s->inside[1].latency_us[NT_BETWEEN_CACHE] == 0);
    assert_true(s->inside[2].latency_us[NT_BETWEEN_CACHE] == 0);
    nt_samples_destroy(s);
    nt_crew_destroy(crew);
    nt_peer_table_fini(&table);
    nt_pieces_free(pieces, 5);
}

static struct nt_crew *crew_of(size_t n)
{
    struct nt_piece pieces[MAX];
    struct nt_crew *crew = NULL;
    struct nt_peer_table table;
    for (size_t i = 0; i < n; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%zu", i);
        pieces[i] = piece(name, (unsigned char)i, 1);
    }
    assert_int_equal(nt_crew_create(pieces, n, NULL, &crew, &table, NULL), 0);
    nt_peer_table_fini(&table);
    nt_pieces_free(pieces, n);
    return crew;
}

/* Host `dead` fails with everybody: it alone goes, within two of its rounds. */
static void the_one_at_fault_goes_and_no_other(void **state)
{
    (void)state;
    for (size_t n = 3; n <= 12; n++)
        for (uint32_t dead = 0; dead < n; dead++) {
            struct nt_crew *crew = crew_of(n);
            struct nt_planner *planner = NULL;
            struct nt_order order;
            unsigned failures = 0;
            assert_int_equal(nt_sweep_all_create(n, NULL, 3, 1, 1, &planner, NULL), 0);
            while (planner->ops->next(planner, &order, NULL) == 1)
                for (size_t k = 0; k < order.pairs; k++) {
                    uint32_t a = order.pair[k][0], b = order.pair[k][1], lost;
                    bool ok = a != dead && b != dead;
                    failures += !ok;
                    nt_crew_judge(crew, a, b, ok, &lost);
                    assert_true(lost == NT_NOBODY || lost == dead);
                    if (lost != NT_NOBODY) {
                        planner->ops->lose(planner, lost);
                        assert_int_equal(nt_crew_lose(crew, lost, "dead", NULL), 0);
                    }
                }
            assert_int_equal(failures, 2);
            assert_non_null(crew->gone[dead]);
            assert_int_equal(nt_crew_present(crew), n - 1);
            nt_planner_destroy(planner);
            nt_crew_destroy(crew);
        }
}

static void one_bad_pair_loses_nobody(void **state)
{
    (void)state;
    struct nt_crew *crew = crew_of(4);
    uint32_t lost;
    for (int pass = 0; pass < 10; pass++) {
        nt_crew_judge(crew, 0, 1, false, &lost);
        assert_int_equal(lost, NT_NOBODY);
        nt_crew_judge(crew, 0, 2, true, &lost);
        nt_crew_judge(crew, 1, 3, true, &lost);
        assert_int_equal(lost, NT_NOBODY);
    }
    nt_crew_destroy(crew);
}

/* The same two fail with each other and nobody else meets them: both are in doubt, neither goes. */
static void one_bad_pair_alone_is_in_doubt(void **state)
{
    (void)state;
    struct nt_crew *crew = crew_of(4);
    uint32_t lost;
    assert_false(nt_crew_in_doubt(crew, 1, 3, 1));
    for (unsigned pass = 1; pass < 300; pass++) {
        nt_crew_judge(crew, 1, 3, false, &lost);
        assert_int_equal(lost, NT_NOBODY);
        assert_true(nt_crew_in_doubt(crew, 1, 3, pass < 100 ? pass : 100));
        assert_false(nt_crew_in_doubt(crew, 1, 2, 1));
        assert_false(nt_crew_in_doubt(crew, 1, 3, pass + 1));
        assert_int_equal(nt_crew_witness(crew), 0);
    }
    nt_crew_judge(crew, 1, 0, true, &lost); /* tried with the witness: one is well, */
    assert_int_equal(lost, NT_NOBODY);
    nt_crew_judge(crew, 3, 0, false, &lost); /* so it is the other */
    assert_int_equal(lost, 3);
    nt_crew_judge(crew, 0, 2, false, &lost);
    assert_int_equal(nt_crew_witness(crew), 1);
    assert_int_equal(nt_crew_lose(crew, 1, "gone", NULL), 0);
    assert_int_equal(nt_crew_witness(crew), NT_NOBODY);
    assert_false(nt_crew_in_doubt(crew, 1, 3, 1));
    nt_crew_destroy(crew);
}

/* Whom nobody reached is no witness, and the next failure with somebody else is its own. */
static void a_suspect_is_no_witness(void **state)
{
    (void)state;
    struct nt_crew *crew = crew_of(4);
    uint32_t lost;
    nt_crew_suspect(crew, 0);
    assert_int_equal(nt_crew_witness(crew), 1);
    nt_crew_judge(crew, 0, 2, false, &lost);
    assert_int_equal(lost, 0);
    nt_crew_judge(crew, 0, 3, true, &lost);
    assert_int_equal(lost, NT_NOBODY);
    assert_int_equal(nt_crew_witness(crew), 0);
    nt_crew_destroy(crew);
}

static void the_pace_keeps_time_for_the_end(void **state)
{
    (void)state;
    static const double budgets[] = {0.2, 0.5, 1, 5, 20};
    for (size_t k = 0; k < 5; k++) {
        struct nt_pace pace;
        struct nt_order order = {.kind = NT_ORDER_LATENCY, .batches = 3, .count = 5};
        double deadline = 100 + budgets[k];
        nt_pace_init(&pace, 100, deadline);
        assert_true(deadline - pace.stop_s >= 0.1 - 1e-9);
        assert_true(deadline - pace.stop_s >= 0.15 * budgets[k] - 1e-9);
        for (double now = 100; now < pace.stop_s; now += 0.01) {
            struct nt_go go = {0};
            assert_true(now + nt_pace_warm_s(&pace, &order, now) <= pace.stop_s + 0.011);
            nt_pace_limit(&pace, &order, 1, now, &go);
            assert_true(now + go.give_up_s <= pace.stop_s + 0.011);
            assert_true(go.measure_s <= go.give_up_s);
            nt_pace_learn(&pace, 0.001, 0.002);
        }
    }
}

/* Pairs connect in a millisecond; a crowd waits for the slowest host. */
static void a_kernel_gets_time_for_its_slowest_host(void **state)
{
    (void)state;
    struct nt_pace pace;
    struct nt_go go = {0};
    struct nt_order kernel = {.kind = NT_ORDER_KERNEL, .pairs = 4, .window_s = 0.2},
                    latency = {.kind = NT_ORDER_LATENCY, .batches = 3, .count = 5};
    nt_pace_init(&pace, 0, 100);
    for (int k = 0; k < 50; k++)
        nt_pace_learn(&pace, 0.001, 0.002);
    assert_true(nt_pace_warm_s(&pace, &latency, 1) < 0.2);
    assert_true(nt_pace_warm_s(&pace, &kernel, 1) >= 0.5);
    nt_pace_limit(&pace, &kernel, 0.001, 1, &go);
    assert_true(go.give_up_s >= 0.2 + 0.75);
    assert_true(nt_pace_warm_s(&pace, &kernel, pace.stop_s - 0.1) <= 0.1 + 1e-9);
}

/* Two messages of a flow get lost in a row, and what is left drains at a tenth of the rate. */
static void a_flow_gets_time_for_lost_messages(void **state)
{
    (void)state;
    struct nt_pace pace;
    struct nt_go go = {0};
    const struct nt_order flow = {
        .kind = NT_ORDER_BANDWIDTH, .pairs = 2, .batches = 1, .count = 8, .window_s = 0.4};
    nt_pace_init(&pace, 0, 100);
    nt_pace_learn(&pace, 0.001, 0.4);
    nt_pace_limit(&pace, &flow, 0.001, 1, &go);
    assert_true(go.give_up_s >= 0.4 + 0.2 + 0.4 + 0.4);
    nt_pace_limit(&pace, &flow, 0.001, pace.stop_s - 0.3, &go);
    assert_true(go.give_up_s <= 0.3 + 1e-9);
}

/* A host that is well and late is not lost for it, as long as there is time. */
static void who_is_judged_gets_time(void **state)
{
    (void)state;
    struct nt_pace pace, patient;
    struct nt_order order = {.kind = NT_ORDER_LATENCY, .batches = 1, .count = 4};
    struct nt_go go = {0};
    nt_pace_init(&pace, 100, 105);
    nt_pace_learn(&pace, 0.001, 0.002);
    patient = nt_pace_patient(&pace, 0.3);
    assert_true(nt_pace_warm_s(&pace, &order, 101) < 0.2);
    assert_true(nt_pace_warm_s(&patient, &order, 101) >= 0.8);
    nt_pace_limit(&patient, &order, 1e-3, 101, &go);
    assert_true(go.measure_s >= 0.8);
    nt_pace_limit(&patient, &order, 1e-3, patient.stop_s - 0.1, &go);
    assert_true(go.give_up_s <= 0.11);
    assert_true(nt_pace_slack_s(&pace, 100) >= 0.5);
    assert_true(nt_pace_slack_s(&pace, pace.stop_s) <= 0.25);
}

static void a_failed_round_teaches_nothing(void **state)
{
    (void)state;
    struct nt_pace pace;
    nt_pace_init(&pace, 0, 10);
    nt_pace_learn(&pace, 0, 0);
    assert_int_equal(pace.rounds, 0);
    nt_pace_learn(&pace, 0.01, 0.02);
    assert_int_equal(pace.rounds, 1);
    assert_true(pace.warm_s < 0.1 && pace.measure_s < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_host_count_once),
        cmocka_unit_test(cores_are_counted_by_machine),
        cmocka_unit_test(who_does_not_come_is_gone_by_its_known_name),
        cmocka_unit_test(what_hosts_are_inside_is_recorded_once),
        cmocka_unit_test(the_one_at_fault_goes_and_no_other),
        cmocka_unit_test(one_bad_pair_loses_nobody),
        cmocka_unit_test(one_bad_pair_alone_is_in_doubt),
        cmocka_unit_test(a_suspect_is_no_witness),
        cmocka_unit_test(the_pace_keeps_time_for_the_end),
        cmocka_unit_test(a_kernel_gets_time_for_its_slowest_host),
        cmocka_unit_test(a_flow_gets_time_for_lost_messages),
        cmocka_unit_test(who_is_judged_gets_time),
        cmocka_unit_test(a_failed_round_teaches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
