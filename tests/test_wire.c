/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "rng.h"
#include "wire.h"

static struct nt_greeting example_greeting(void)
{
    static const unsigned char address[] = {1, 2, 3, 0, 255};
    struct nt_greeting g = {.cores = 7, .address = address, .address_bytes = sizeof address};
    snprintf(g.host, sizeof g.host, "node-1.example");
    snprintf(g.hardware, sizeof g.hardware, "packages=1 numa=1 cores=2 threads=4 allowed=4");
    g.core_us[NT_BETWEEN_CORE] = 0.02;
    g.core_us[NT_BETWEEN_MACHINE] = 0.3;
    memset(g.machine, 0xab, sizeof g.machine);
    g.sources = 2;
    memset(g.source, 0xcd, 2 * sizeof g.source[0]);
    return g;
}

TEST(a_greeting_comes_back_as_it_went)
{
    struct nt_greeting in = example_greeting(), out;
    struct nt_bytes bytes;
    must(nt_greeting_encode(&in, &bytes, &err));
    assert_int_equal(nt_wire_kind(bytes.data, bytes.bytes), NT_WIRE_GREETING);
    must(nt_greeting_decode(bytes.data, bytes.bytes, &out, &err));
    assert_string_equal(out.host, in.host);
    assert_memory_equal(out.machine, in.machine, sizeof in.machine);
    assert_int_equal(out.cores, 7);
    assert_int_equal(out.sources, 2);
    assert_memory_equal(out.source, in.source, 2 * sizeof in.source[0]);
    assert_string_equal(out.hardware, in.hardware);
    assert_memory_equal(out.core_us, in.core_us, sizeof in.core_us);
    assert_int_equal(out.address_bytes, 5);
    assert_memory_equal(out.address, in.address, 5);
    free(bytes.data);
}

TEST(a_bad_greeting_is_refused)
{
    static const char *const names[] = {"", "a b", "x;y", "a\nb", "\x7f", "n1/.."};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct nt_greeting in = example_greeting(), out;
        struct nt_bytes bytes;
        snprintf(in.host, sizeof in.host, "%s", names[k]);
        must(nt_greeting_encode(&in, &bytes, &err));
        assert_int_equal(nt_greeting_decode(bytes.data, bytes.bytes, &out, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        free(bytes.data);
    }
    static const double wrong[] = {-1, 1e7, NAN, INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct nt_greeting bad = example_greeting(), none;
        struct nt_bytes sent;
        bad.core_us[NT_BETWEEN_CACHE] = wrong[k];
        assert_int_equal(nt_greeting_encode(&bad, &sent, NULL), 0);
        assert_int_equal(nt_greeting_decode(sent.data, sent.bytes, &none, NULL), -1);
        free(sent.data);
    }
    struct nt_greeting in = example_greeting(), out;
    struct nt_bytes bytes;
    must(nt_greeting_encode(&in, &bytes, &err));
    bytes.data[1] = 9;
    assert_int_equal(nt_greeting_decode(bytes.data, bytes.bytes, &out, &err), -1);
    assert_non_null(strstr(err.text, "another version"));
    free(bytes.data);
    in.address_bytes = NT_WIRE_ADDRESS_MAX + 1;
    assert_int_equal(nt_greeting_encode(&in, &bytes, &err), -1);
}

TEST(a_table_comes_back_as_it_went)
{
    unsigned char address[3][300];
    struct nt_peer peer[4] = {
        {true, address[0], 300}, {false, NULL, 0}, {true, address[1], 1}, {false, address[2], 17}};
    struct nt_source source[2] = {{{1, 2}}, {{[15] = 3}}};
    struct nt_peer_table in = {.ranks = 4, .peer = peer, .sources = 2, .source = source}, out;
    struct nt_bytes bytes;
    memset(address, 0x5a, sizeof address);
    must(nt_peer_table_encode(&in, &bytes, &err));
    must(nt_peer_table_decode(bytes.data, bytes.bytes, &out, &err));
    assert_int_equal(out.ranks, 4);
    assert_int_equal(out.sources, 2);
    assert_memory_equal(out.source, source, sizeof source);
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(out.peer[k].own_core, peer[k].own_core);
        assert_int_equal(out.peer[k].bytes, peer[k].bytes);
        assert_int_equal(out.peer[k].address == NULL, peer[k].address == NULL);
        if (peer[k].address != NULL)
            assert_memory_equal(out.peer[k].address, peer[k].address, peer[k].bytes);
    }
    nt_peer_table_fini(&out);
    free(bytes.data);
}

static struct nt_round example_round(uint32_t (*pair)[2])
{
    struct nt_round round = {.number = 77, .connect_s = 0.25};
    pair[0][0] = 3;
    pair[0][1] = 0;
    pair[1][0] = 1;
    pair[1][1] = 4;
    round.order = (struct nt_order){.kind = NT_ORDER_PRTT,
                                    .phase = "loggp",
                                    .pairs = 2,
                                    .pair = pair,
                                    .message_bytes = 4096,
                                    .batches = 10,
                                    .count = 16,
                                    .window_s = 0.5,
                                    .delay_us = 12.5,
                                    .hold_us = 800,
                                    .rail = "mlx5_0:1",
                                    .kernel = "sr:4"};
    return round;
}

TEST(an_order_comes_back_as_it_went)
{
    uint32_t pair[2][2];
    bool kept[] = {false, true};
    struct nt_round in = example_round(pair), out;
    struct nt_bytes bytes;
    uint32_t gone[] = {2, 4000000000};
    in.kept = kept;
    in.lost = 2;
    in.lost_rank = gone;
    must(nt_round_encode(&in, &bytes, &err));
    must(nt_round_decode(bytes.data, bytes.bytes, 5, &out, &err));
    assert_memory_equal(out.kept, kept, sizeof kept);
    assert_int_equal(out.lost, 2);
    assert_memory_equal(out.lost_rank, gone, sizeof gone);
    assert_int_equal(out.number, 77);
    assert_true(out.connect_s == 0.25);
    assert_int_equal(out.order.kind, NT_ORDER_PRTT);
    assert_string_equal(out.order.phase, "loggp");
    assert_string_equal(out.order.kernel, "sr:4");
    assert_int_equal(out.order.pairs, 2);
    assert_memory_equal(out.order.pair, pair, sizeof pair);
    assert_true(out.order.message_bytes == 4096 && out.order.window_s == 0.5);
    assert_true(out.order.delay_us == 12.5 && out.order.hold_us == 800);
    assert_string_equal(out.order.rail, "mlx5_0:1");
    assert_int_equal(out.order.batches, 10);
    assert_int_equal(out.order.count, 16);
    nt_arena_fini(&out.memory);
    free(bytes.data);
}

/* With where its ranks sit, for who has no table: found there first, and in a table else. */
TEST(an_order_brings_its_addresses)
{
    uint32_t pair[2][2], rank[3] = {3, 0, 4};
    unsigned char address[2][40];
    struct nt_peer peer[3] = {{true, address[0], 40}, {false, NULL, 0}, {false, address[1], 7}};
    struct nt_round in = example_round(pair), out;
    struct nt_bytes bytes;
    memset(address, 0xa5, sizeof address);
    in.peers = 3;
    in.peer_rank = rank;
    in.peer = peer;
    must(nt_round_encode(&in, &bytes, &err));
    must(nt_round_decode(bytes.data, bytes.bytes, 5, &out, &err));
    assert_int_equal(out.peers, 3);
    for (size_t k = 0; k < 3; k++) {
        const struct nt_peer *found = nt_peer_find(&out, &(struct nt_peer_table){0}, rank[k]);
        assert_non_null(found);
        assert_int_equal(found->own_core, peer[k].own_core);
        assert_int_equal(found->bytes, peer[k].bytes);
        assert_true((found->address == NULL) == (peer[k].address == NULL));
        if (found->address != NULL)
            assert_memory_equal(found->address, peer[k].address, peer[k].bytes);
    }
    assert_null(nt_peer_find(&out, &(struct nt_peer_table){0}, 1));
    struct nt_peer_table table = {.ranks = 3, .peer = peer};
    assert_ptr_equal(nt_peer_find(&out, &table, 1), &peer[1]);
    nt_arena_fini(&out.memory);
    for (size_t cut = 0; cut < bytes.bytes; cut++) /* cut off anywhere it is refused */
        assert_int_equal(nt_round_decode(bytes.data, cut, 5, &out, &err), -1);
    free(bytes.data);
}

/* Each breaks one rule of a good order. */
static void break_order(struct nt_round *round, uint32_t (*pair)[2], unsigned how)
{
    switch (how) {
    case 0:
        pair[1][1] = 5;
        break; /* no such rank */
    case 1:
        pair[1][1] = 3;
        break; /* in two pairs */
    case 2:
        round->connect_s = NAN;
        break;
    case 3:
        round->connect_s = -1;
        break;
    case 4:
        round->order.message_bytes = 1e18;
        break;
    case 5:
        round->order.count = UINT32_MAX;
        break;
    case 6:
        round->order.batches = UINT32_MAX;
        break;
    case 7:
        round->order.window_s = INFINITY;
        break;
    case 8:
        round->order.delay_us = 1e300;
        break;
    default:
        round->order.kind = (enum nt_order_kind)200;
        break;
    }
}

TEST(a_bad_order_is_refused)
{
    for (unsigned how = 0; how < 10; how++) {
        uint32_t pair[2][2];
        struct nt_round in = example_round(pair), out;
        struct nt_bytes bytes;
        break_order(&in, pair, how);
        must(nt_round_encode(&in, &bytes, &err));
        assert_int_equal(nt_round_decode(bytes.data, bytes.bytes, 5, &out, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        free(bytes.data);
    }
}

TEST(a_start_and_a_report_come_back)
{
    uint32_t skip[] = {2, 9};
    struct nt_go go = {.measure_s = 0.5, .give_up_s = 0.75, .skips = 2, .skip = skip}, gone;
    struct nt_report report = {.ok = true,
                               .kept = true,
                               .seconds = 0.125,
                               .result = {.value_us = 1.5,
                                          .se_us = 0.25,
                                          .median_us = 2,
                                          .count = 45,
                                          .bytes = 1e9}},
                     told;
    struct nt_bytes bytes;
    must(nt_go_encode(&go, &bytes, &err));
    must(nt_go_decode(bytes.data, bytes.bytes, &gone, &err));
    assert_true(gone.measure_s == 0.5 && gone.give_up_s == 0.75);
    assert_int_equal(gone.skips, 2);
    assert_memory_equal(gone.skip, skip, sizeof skip);
    nt_arena_fini(&gone.memory);
    free(bytes.data);
    snprintf(report.reason, sizeof report.reason, "no answer\nin time");
    must(nt_reports_encode(NT_WIRE_RESULT, &report, 1, &bytes, &err));
    assert_int_equal(nt_reports_decode(NT_WIRE_READY, bytes.data, bytes.bytes, &told, 1, &err), -1);
    must(nt_reports_decode(NT_WIRE_RESULT, bytes.data, bytes.bytes, &told, 1, &err));
    assert_true(told.ok && told.kept && !told.idle && told.seconds == 0.125);
    assert_true(told.result.value_us == 1.5 && told.result.se_us == 0.25);
    assert_true(told.result.median_us == 2 && told.result.bytes == 1e9);
    assert_int_equal(told.result.count, 45);
    assert_string_equal(told.reason, "no answer?in time");
    free(bytes.data);
    report.result.value_us = NAN;
    must(nt_reports_encode(NT_WIRE_RESULT, &report, 1, &bytes, &err));
    assert_int_equal(nt_reports_decode(NT_WIRE_RESULT, bytes.data, bytes.bytes, &told, 1, &err),
                     -1);
    free(bytes.data);
}

/* The pairs of a rank in several turns; a rank twice in one, or turns that fall, are refused. */
TEST(turns_come_back_as_they_went)
{
    uint32_t pair[3][2] = {{3, 0}, {1, 4}, {0, 4}}, turn[3] = {0, 0, 2};
    struct nt_round in = example_round(pair), out;
    struct nt_bytes bytes;
    pair[2][0] = 0;
    pair[2][1] = 4;
    in.order.pairs = 3;
    in.turns = 3;
    in.turn = turn;
    in.measure_s = 0.5;
    in.give_up_s = 0.75;
    in.series_s = 2;
    for (unsigned how = 0; how < 6; how++) {
        int expected = how == 0 ? 0 : -1;
        in.turns = how == 1 ? 2 : how == 2 ? NT_WIRE_TURNS_MAX + 1 : 3;
        in.series_s = how == 3 ? NAN : 2;
        turn[0] = how == 4 ? 1 : 0;
        turn[2] = how == 5 ? 0 : 2;
        assert_int_equal(nt_round_encode(&in, &bytes, NULL), 0);
        assert_int_equal(nt_round_decode(bytes.data, bytes.bytes, 5, &out, NULL), expected);
        free(bytes.data);
        if (how > 0)
            continue;
        assert_int_equal(out.turns, 3);
        assert_memory_equal(out.turn, turn, sizeof turn);
        assert_memory_equal(out.order.pair, pair, sizeof pair);
        assert_true(out.measure_s == 0.5 && out.give_up_s == 0.75 && out.series_s == 2);
        nt_arena_fini(&out.memory);
    }
}

TEST(reports_of_turns_come_back)
{
    struct nt_report report[3] = {{.ok = true, .kept = true, .result = {.value_us = 1.5}},
                                  {.idle = true},
                                  {.reason = "no answer in time", .result = {.value_us = 2}}},
                     told[3];
    struct nt_bytes bytes;
    assert_int_equal(nt_reports_encode(NT_WIRE_SERIES, report, 3, &bytes, NULL), 0);
    assert_int_equal(nt_wire_kind(bytes.data, bytes.bytes), NT_WIRE_SERIES);
    assert_int_equal(nt_reports_decode(NT_WIRE_SERIES, bytes.data, bytes.bytes, told, 3, NULL), 0);
    assert_true(told[0].ok && told[0].kept && told[0].result.value_us == 1.5);
    assert_true(told[1].idle && !told[1].ok);
    assert_string_equal(told[2].reason, "no answer in time");
    /* as many as there were turns, to the last byte */
    assert_int_equal(nt_reports_decode(NT_WIRE_SERIES, bytes.data, bytes.bytes, told, 2, NULL), -1);
    for (size_t cut = 0; cut < bytes.bytes; cut++)
        assert_int_equal(nt_reports_decode(NT_WIRE_SERIES, bytes.data, cut, told, 3, NULL), -1);
    free(bytes.data);
    assert_int_equal(nt_reports_encode(NT_WIRE_SERIES, NULL, 0, &bytes, NULL), 0);
    assert_int_equal(nt_reports_decode(NT_WIRE_SERIES, bytes.data, bytes.bytes, told, 0, NULL), 0);
    free(bytes.data);
}

static void decode_any(const unsigned char *data, size_t bytes)
{
    struct nt_greeting greeting;
    struct nt_peer_table table;
    struct nt_round round;
    struct nt_go go;
    struct nt_report report;
    nt_greeting_decode(data, bytes, &greeting, NULL);
    if (nt_peer_table_decode(data, bytes, &table, NULL) == 0)
        nt_peer_table_fini(&table);
    if (nt_round_decode(data, bytes, 5, &round, NULL) == 0)
        nt_arena_fini(&round.memory);
    if (nt_go_decode(data, bytes, &go, NULL) == 0)
        nt_arena_fini(&go.memory);
    nt_reports_decode(NT_WIRE_READY, data, bytes, &report, 1, NULL);
    nt_reports_decode(NT_WIRE_RESULT, data, bytes, &report, 1, NULL);
    nt_reports_decode(NT_WIRE_SERIES, data, bytes, &report, 1, NULL);
}

/* Cut anywhere or changed anywhere, a message is refused or decodes to something in bounds; the
 * exact copy on the heap lets ASan see a byte too far. */
TEST(damage_never_reaches_beyond_the_message)
{
    uint32_t pair[2][2];
    struct nt_round in = example_round(pair), out;
    struct nt_greeting greeting = example_greeting();
    struct nt_bytes bytes[2];
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    assert_int_equal(nt_round_encode(&in, &bytes[0], NULL), 0);
    assert_int_equal(nt_greeting_encode(&greeting, &bytes[1], NULL), 0);
    for (size_t which = 0; which < 2; which++) {
        for (size_t cut = 0; cut < bytes[which].bytes; cut++) {
            unsigned char *copy = malloc(cut + 1);
            memcpy(copy, bytes[which].data, cut);
            decode_any(copy, cut);
            assert_int_equal(nt_round_decode(copy, cut, 5, &out, NULL), -1);
            free(copy);
        }
        for (size_t turn = 0; turn < 20000; turn++) {
            unsigned char *copy = malloc(bytes[which].bytes);
            memcpy(copy, bytes[which].data, bytes[which].bytes);
            for (size_t k = 0; k < 1 + nt_rng_below(&rng, 4); k++)
                copy[nt_rng_below(&rng, bytes[which].bytes)] = (unsigned char)nt_rng_next(&rng);
            decode_any(copy, bytes[which].bytes);
            free(copy);
        }
        free(bytes[which].data);
    }
    decode_any(NULL, 0);
}

RUN_TESTS
