/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "membership.h"

/* A piece of a rank on that host and machine; cores of it. */
static struct nt_contribution contribution(const char *host, unsigned char machine, uint32_t cores)
{
    struct nt_greeting g = {
        .cores = cores, .address = (const unsigned char *)host, .address_bytes = strlen(host)};
    struct nt_bytes bytes;
    snprintf(g.host, sizeof g.host, "%s", host);
    memset(g.machine, machine, sizeof g.machine);
    assert_int_equal(nt_greeting_encode(&g, &bytes, NULL), 0);
    return (struct nt_contribution){true, bytes.bytes, bytes.data};
}

TEST(ranks_of_one_host_count_once)
{
    struct nt_contribution contributions[5] = {contribution("a", 1, 4), contribution("b", 2, 4),
                                               contribution("a", 1, 4), contribution("c", 3, 4),
                                               contribution("b", 2, 4)};
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    assert_int_equal(nt_membership_create(contributions, 5, NULL, &membership, &table, NULL), 0);
    assert_int_equal(membership->hosts, 3);
    assert_string_equal(membership->name[2], "c");
    assert_int_equal(membership->rank_of[0], 0);
    assert_int_equal(membership->rank_of[1], 1);
    assert_int_equal(membership->rank_of[2], 3);
    assert_int_equal(membership->host_of[2], NT_NO_INDEX);
    assert_int_equal(membership->host_of[3], 2);
    assert_non_null(table.peer[3].address);
    assert_null(table.peer[4].address);
    assert_int_equal(nt_membership_online(membership), 3);
    nt_membership_destroy(membership);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, 5);
}

TEST(cores_are_counted_by_machine)
{
    struct nt_contribution contributions[5] = {contribution("a", 1, 2), contribution("b", 1, 2),
                                               contribution("c", 2, 2), contribution("d", 1, 4),
                                               contribution("e", 3, 1)};
    static const bool own[5] = {false, false, true, true, true};
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    assert_int_equal(nt_membership_create(contributions, 5, NULL, &membership, &table, NULL), 0);
    for (size_t r = 0; r < 5; r++)
        assert_int_equal(table.peer[r].own_core, own[r]);
    nt_membership_destroy(membership);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, 5);
}

TEST(a_rank_without_a_greeting_is_missing_by_its_known_name)
{
    static const char *const known[4] = {"n1", "n2", "n3", "n4"};
    struct nt_contribution contributions[4] = {
        contribution("x", 1, 1), {0}, contribution("y", 2, 1), contribution("z", 3, 1)};
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    contributions[3].data[0] = 'X'; /* not a greeting */
    assert_int_equal(nt_membership_create(contributions, 4, known, &membership, &table, NULL), 0);
    assert_int_equal(membership->hosts, 4);
    assert_string_equal(membership->name[0], "n1"); /* whatever it calls itself */
    assert_null(membership->lost[0]);
    assert_string_equal(membership->lost[1], "did not answer");
    assert_non_null(strstr(membership->lost[3], "malformed"));
    assert_int_equal(nt_membership_online(membership), 2);
    nt_membership_destroy(membership);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, 4);
}

static struct nt_contribution contribution_with_hardware(const char *host, const char *hardware,
                                                         double cache_us)
{
    struct nt_greeting g = {
        .cores = 2, .address = (const unsigned char *)host, .address_bytes = strlen(host)};
    struct nt_bytes bytes;
    snprintf(g.host, sizeof g.host, "%s", host);
    snprintf(g.hardware, sizeof g.hardware, "%s", hardware);
    g.core_us[NT_BETWEEN_CACHE] = cache_us;
    assert_int_equal(nt_greeting_encode(&g, &bytes, NULL), 0);
    return (struct nt_contribution){true, bytes.bytes, bytes.data};
}

/* Nonsense about itself does not cost a host its place. */
TEST(each_hardware_model_is_recorded_once)
{
    static const char alike[] = "packages=1 numa=1 cores=2 threads=2 allowed=2 cpu=A";
    struct nt_contribution contributions[5] = {
        contribution_with_hardware("a", alike, 0.05), contribution_with_hardware("b", alike, 0),
        contribution_with_hardware("c", "packages=many", 1), contribution("d", 1, 2),
        contribution_with_hardware("e", "packages=2 numa=2 cores=4 threads=8 allowed=8", 0.25)};
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    struct nt_samples *s;
    must(nt_membership_create(contributions, 5, NULL, &membership, &table, &err));
    assert_int_equal(nt_membership_online(membership), 5);
    must(nt_samples_create(&s, &err));
    for (size_t h = 0; h < 5; h++)
        must(nt_samples_add_host(s, membership->name[h], &err));
    must(nt_membership_record_hardware(membership, s, &err));
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
    nt_membership_destroy(membership);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, 5);
}

/* One without a name cannot be distinguished from others; one without an address is missing with
 * its reason, or without one. What a host is lost for first stays. */
TEST(a_host_that_cannot_be_reached_is_lost_with_the_first_reason)
{
    struct nt_greeting unreached[2] = {{.host = "b"}, {.host = "c", .reason = "no device"}};
    struct nt_contribution contributions[4] = {contribution("a", 1, 1), contribution("", 1, 1)};
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    for (size_t k = 0; k < 2; k++) {
        struct nt_bytes bytes;
        assert_int_equal(nt_greeting_encode(&unreached[k], &bytes, NULL), 0);
        contributions[2 + k] = (struct nt_contribution){true, bytes.bytes, bytes.data};
    }
    must(nt_membership_create(contributions, 4, NULL, &membership, &table, &err));
    assert_int_equal(membership->hosts, 3);
    assert_string_equal(membership->lost[1], "no network address");
    assert_string_equal(membership->lost[2], "no device");
    must(nt_membership_set_lost(membership, 2, "later", &err));
    assert_string_equal(membership->lost[2], "no device");
    must(nt_membership_set_lost(membership, 0, "now", &err));
    assert_string_equal(membership->lost[0], "now");
    assert_int_equal(nt_membership_online(membership), 0);
    nt_membership_destroy(membership);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, 4);
}

TEST(more_ranks_than_a_message_names_are_refused)
{
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    assert_int_equal(
        nt_membership_create(NULL, NT_WIRE_RANKS_MAX + 1UL, NULL, &membership, &table, &err), -1);
    assert_non_null(strstr(err.text, "ranks: at most"));
    assert_null(membership);
    nt_membership_destroy(NULL);
}

RUN_TESTS
