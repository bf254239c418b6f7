/* SPDX-License-Identifier: Apache-2.0 */
/* The prior: its text, what it says of some hosts, and how it is made of a map. */
#include "asserts.h"
#include "made_network.h"
#include "prior.h"

static struct nt_prior *parsed(const char *text)
{
    struct nt_prior *p = NULL;
    must(nt_prior_parse("p", text, strlen(text), &p, &err));
    return p;
}

#define HEAD "nettopo-prior/1\n"

TEST(test_reads)
{
    static const char text[] = HEAD "generator nettopo 0.1.0\ncluster c\n"
                                    "switch s3 - 2.5 1 2026-11-03\n"
                                    "switch s1 s3 1.25 0.9 2026-11-02 # comment\n"
                                    "host n1 s1 0.95 2024-02-29\nhost n2 s3 1 1970-01-01\nend\n";
    SCOPED(prior) *p = parsed(text);
    char *again, *twice;
    size_t bytes;
    assert_string_equal(p->cluster, "c");
    assert_int_equal(p->switch_name.count, 2);
    assert_int_equal(p->of_switch[1].up, 0);
    assert_float_equal(p->of_switch[1].us, 1.25, 0);
    assert_int_equal(p->of_host[0].up, 1);
    assert_int_equal(p->of_host[0].day, 19782);
    assert_int_equal(p->of_host[1].day, 0);
    assert_int_equal(nt_prior_write(p, &again, &bytes, NULL), 0);
    SCOPED(prior) *q = parsed(again);
    assert_int_equal(nt_prior_write(q, &twice, &bytes, NULL), 0);
    assert_string_equal(again, twice);
    assert_non_null(strstr(again, "host n1 s1 0.95 2024-02-29\n"));
    free(again);
    free(twice);
}

/* LogGP of earlier jobs: a comment to readers that do not know it, so that what they read is the
 * same. */
TEST(loggp_is_kept)
{
    static const char tree[] = "switch s1 - 1.25 0.9 2026-11-02\nhost n1 s1 1 2026-11-03\n";
    static const char loggp[] =
        "#loggp mlx5_0:1 1 2048 2.82 1.4 1.4 1.4 0.00103 0.00103 0.8 2026-11-03 same switch\n"
        "#loggp mlx5_0:1 2049 4194304 5.5 - - - 0.0001 - 0.8 2026-11-03 same switch\n"
        "#loggp - 1 64 65.4 6.1 6.1 0.897 0.00849 0.00849 0.75 2026-11-01 through 3 switches\n";
    char text[1024], *again;
    size_t bytes;
    snprintf(text, sizeof text, HEAD "%s%s# a remark\n#loggpx\nend\n", tree, loggp);
    struct nt_prior *p = parsed(text);
    assert_int_equal(p->loggps, 3);
    assert_string_equal(p->loggp[0].class_name, "same switch");
    assert_string_equal(p->loggp[0].rail, "mlx5_0:1");
    assert_string_equal(p->loggp[0].seen, "2026-11-03");
    assert_float_equal(p->loggp[0].G_us_per_byte, 0.00103, 0);
    assert_true(isnan(p->loggp[1].g_us) && isnan(p->loggp[1].o_send_us));
    assert_string_equal(p->loggp[2].rail, "");
    assert_float_equal(p->loggp[2].support, 0.75, 0);
    assert_int_equal(nt_prior_write(p, &again, &bytes, NULL), 0);
    assert_non_null(strstr(again, tree));
    assert_non_null(strstr(again, loggp));
    free(again);
    nt_prior_destroy(p);
    static const char *const bad[] = {
        "",
        "-",
        "- 1 64 65.4 6.1 6.1 0.897 0.00849 0.00849 0.75 2026-11-01",
        "- 1 64 65.4 6.1 6.1 0.897 - 0.00849 0.75 2026-11-01 same switch",
        "- 1 64 65.4 6.1 6.1 0.897 0 0.00849 0.75 2026-11-01 same switch",
        "- 64 1 65.4 6.1 6.1 0.897 0.00849 0.00849 0.75 2026-11-01 same switch",
        "- 1 64 -1 6.1 6.1 0.897 0.00849 0.00849 0.75 2026-11-01 same switch",
        "- 1 64 nan 6.1 6.1 0.897 0.00849 0.00849 0.75 2026-11-01 same switch",
        "- 1 64 65.4 6.1 6.1 0.897 0.00849 0.00849 1.75 2026-11-01 same switch",
        "- 1 64 65.4 6.1 6.1 0.897 0.00849 0.00849 0.75 yesterday same switch",
        "- 1 64 65.4 6.1 6.1 0.897 0.00849 0.00849 0.75 - same switch",
        "- 1 64 65.4 6.1 6.1 0.897 0.00849 0.00849 - 2026-11-01 same switch",
        ("a23456789012345678901234567890123456789012345678901234567890123456789 1 64 1 1 1 1 1 1 1 "
         "2026-11-01 same switch")};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(text, sizeof text, HEAD "#loggp %s\nend\n", bad[k]);
        assert_int_equal(nt_prior_parse("p", text, strlen(text), &p, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strncmp(err.text, "p:2: LogGP: expected ", 21) != 0)
            fail_msg("%zu: %s", k, err.text);
    }
}

TEST(test_refuses)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "expected \"end\" as the last line"},
        {"nettopo-prior/2\nend\n", "p:1: "},
        {HEAD, "expected \"end\" as the last line"},
        {HEAD "switch s1 - 1 1 2026-01-01\n", "expected \"end\" as the last line"},
        {HEAD "end\nhost a b 1 2026-01-01\n", "p:3: "},
        {HEAD "host a s1 1 2026-01-01\nend\n", "named before"},
        {HEAD "switch s1 s1 1 1 2026-01-01\nend\n", "named before"},
        {HEAD "switch s1 - 0 1 2026-01-01\nend\n", "latency"},
        {HEAD "switch s1 - -1 1 2026-01-01\nend\n", "latency"},
        {HEAD "switch s1 - nan 1 2026-01-01\nend\n", "latency"},
        {HEAD "switch s1 - 1 1.5 2026-01-01\nend\n", "support"},
        {HEAD "switch s1 - 1 1 2026-13-01\nend\n", "YYYY-MM-DD"},
        {HEAD "switch s1 - 1 1 yesterday\nend\n", "YYYY-MM-DD"},
        {HEAD "switch s1 - 1 1\nend\n", "expected switch NAME"},
        {HEAD "switch s1 - 1 1 2026-01-01\nswitch s1 - 1 1 2026-01-01\nend\n", "once"},
        {HEAD "switch s1 - 1 1 2026-01-01\nhost a/b s1 1 2026-01-01\nend\n", "host name"},
        {HEAD "wires\nend\n", "\"wires\""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_prior *p;
        assert_int_equal(nt_prior_parse("p", table[k].text, strlen(table[k].text), &p, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        if (strstr(err.text, table[k].says) == NULL || strncmp(err.text, "p:", 2) != 0)
            fail_msg("%zu: %s", k, err.text);
    }
}

TEST(test_believes)
{
    static const char text[] = HEAD
        "switch t - 2 1 2026-01-05\nswitch a t 1 0.9 2026-01-04\nswitch b t 1.01 1 2026-01-05\n"
        "host n1 a 1 2026-01-05\nhost n2 a 1 2026-01-03\nhost n3 b 0.8 2026-01-05\n"
        "host n4 b 1 2026-01-05\nhost n5 t 1 2026-01-05\nhost n6 a 0.4 2026-01-05\n"
        "host n7 a 1 2020-01-05\nend\n";
    static const char *const name[] = {"n4", "n1", "n6", "n2", "n5", "x", "n3"};
    SCOPED(prior) *p = parsed(text);
    struct nt_belief *b;
    struct nt_prior_facts f;
    int32_t day;
    assert_int_equal(nt_prior_to_belief(p, name, 7, &b, &f, NULL), 0);
    assert_int_equal(b->levels, 2);
    assert_int_equal(f.known, 5);
    assert_int_equal(nt_prior_day("2026-01-03", 10, &day), 0);
    assert_int_equal(f.oldest_day, day);
    assert_float_equal(f.least_support, 0.8, 1e-6);
    assert_true(b->cluster[2] == NT_BELIEF_LOOSE && b->cluster[5] == NT_BELIEF_LOOSE);
    assert_int_equal(b->cluster[1], b->cluster[3]);
    assert_int_equal(b->cluster[0], b->cluster[6]);
    assert_int_not_equal(b->cluster[0], b->cluster[1]);
    assert_int_not_equal(b->cluster[4], b->cluster[1]);
    assert_int_equal(nt_belief_check(b, NULL), 0);
    nt_belief_destroy(b);
    assert_int_equal(nt_prior_to_belief(p, name + 1, 1, &b, &f, NULL), 0);
    assert_int_equal(b->levels, 0);
    nt_belief_destroy(b);
    static const char *const strangers[] = {"x", "y", "n1", "z", "u"};
    assert_int_equal(nt_prior_to_belief(p, strangers, 5, &b, &f, NULL), 0);
    assert_int_equal(b->levels, 0);
    assert_int_equal(f.known, 1);
    nt_belief_destroy(b);
}

/* Of the map of a known network: hosts are together at each level as there; also where the top has
 * but two links, which a map states as one. */
TEST(test_of_map)
{
    static const struct {
        const char *topology;
        size_t levels;
        uint32_t below[3]; /* hosts of a cluster at each level */
    } table[] = {{"star:5", 1, {5, 0, 0}},       {"tree:4x4", 2, {4, 16, 0}},
                 {"tree:2x4", 2, {4, 8, 0}},     {"tree:3x3x6", 3, {6, 18, 54}},
                 {"tree:2x3x4", 3, {4, 12, 24}}, {"fattree:4,3", 3, {2, 4, 16}}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(network) *n = made_machine(table[k].topology);
        struct nt_model *truth;
        SCOPED(map) *map;
        SCOPED(prior) *p, *again;
        SCOPED(belief) *b;
        char names[64][8], *text;
        const char *name[64];
        size_t bytes;
        for (size_t h = 0; h < n->hosts; h++) {
            snprintf(names[h], sizeof names[h], "n%zu", h + 1);
            name[h] = names[h];
        }
        must(nt_network_truth(n, &truth, &err));
        must(nt_map_create(truth, name, &map, &err));
        if (nt_prior_from_map(map, NULL, &p, &err) != 0)
            fail_msg("%s: %s", table[k].topology, err.text);
        must(nt_prior_write(p, &text, &bytes, &err));
        again = parsed(text);
        must(nt_prior_to_belief(again, name, n->hosts, &b, NULL, &err));
        if (b->levels != table[k].levels)
            fail_msg("%s: %zu levels:\n%s", table[k].topology, b->levels, text);
        for (size_t l = 0; l + 1 < b->levels; l++)
            for (uint32_t x = 0; x < n->hosts; x++)
                for (uint32_t y = 0; y < n->hosts; y++)
                    assert_int_equal(b->cluster[l * n->hosts + x] == b->cluster[l * n->hosts + y],
                                     x / table[k].below[l] == y / table[k].below[l]);
        free(text);
    }
    SCOPED(network) *n = made_machine("torus:4x4");
    struct nt_model *truth;
    SCOPED(map) *map;
    struct nt_prior *p;
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                       "i", "j", "k", "l", "m", "n", "o", "p"};
    must(nt_network_truth(n, &truth, &err));
    must(nt_map_create(truth, name, &map, &err));
    assert_int_equal(nt_prior_from_map(map, NULL, &p, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
}

RUN_TESTS
