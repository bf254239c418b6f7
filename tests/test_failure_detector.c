/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "failure_detector.h"

enum { MAX = 16 };

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

static struct nt_membership *membership_of(size_t n)
{
    struct nt_contribution contributions[MAX];
    struct nt_membership *membership = NULL;
    struct nt_peer_table table;
    for (size_t i = 0; i < n; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%zu", i);
        contributions[i] = contribution(name, (unsigned char)i, 1);
    }
    assert_int_equal(nt_membership_create(contributions, n, NULL, &membership, &table, NULL), 0);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, n);
    return membership;
}

/* One host fails with all others: it alone is lost, within two of its rounds. */
TEST(the_host_at_fault_is_lost_and_no_other)
{
    for (size_t n = 3; n <= 12; n++)
        for (uint32_t at_fault = 0; at_fault < n; at_fault++) {
            SCOPED(membership) *membership = membership_of(n);
            SCOPED(planner) *planner = NULL;
            struct nt_order order;
            unsigned failures = 0;
            const struct nt_sweep_setup setup = {n, NULL, 3, 1, 1, 0};
            assert_int_equal(nt_sweep_all_create(&setup, &planner, NULL), 0);
            while (planner->ops->next(planner, &order, NULL) == 1)
                for (size_t k = 0; k < order.pairs; k++) {
                    uint32_t a = order.pair[k][0], b = order.pair[k][1], lost;
                    bool ok = a != at_fault && b != at_fault;
                    failures += !ok;
                    nt_suspicion_note_pair(membership, a, b, ok, &lost);
                    assert_holds(lost == NT_NO_INDEX || lost == at_fault,
                                 "%u is lost, %u has the fault", lost, at_fault);
                    if (lost != NT_NO_INDEX) {
                        planner->ops->lose(planner, lost);
                        assert_int_equal(
                            nt_membership_set_lost(membership, lost, "no answer", NULL), 0);
                    }
                }
            assert_int_equal(failures, 2);
            assert_non_null(membership->lost[at_fault]);
            assert_int_equal(nt_membership_online(membership), n - 1);
        }
}

TEST(one_failing_pair_loses_no_host)
{
    SCOPED(membership) *membership = membership_of(4);
    uint32_t lost;
    for (int pass = 0; pass < 10; pass++) {
        nt_suspicion_note_pair(membership, 0, 1, false, &lost);
        assert_int_equal(lost, NT_NO_INDEX);
        nt_suspicion_note_pair(membership, 0, 2, true, &lost);
        nt_suspicion_note_pair(membership, 1, 3, true, &lost);
        assert_int_equal(lost, NT_NO_INDEX);
    }
}

/* One of the two has been cleared in between, the other had no partner: it is no second witness. */
TEST(the_same_pair_again_loses_no_host)
{
    SCOPED(membership) *membership = membership_of(4);
    uint32_t lost;
    for (int pass = 0; pass < 10; pass++) {
        nt_suspicion_note_pair(membership, 0, 1, false, &lost);
        assert_int_equal(lost, NT_NO_INDEX);
        nt_suspicion_note_pair(membership, 0, 2, true, &lost);
    }
    nt_suspicion_note_pair(membership, 3, 1, false, &lost); /* a second host does not reach it */
    assert_int_equal(lost, 1);
}

/* The same two fail with each other and with no others: both are suspect, neither is lost. */
TEST(one_failing_pair_alone_makes_both_suspect)
{
    SCOPED(membership) *membership = membership_of(4);
    uint32_t lost;
    assert_false(nt_suspicion_is_mutual(membership, 1, 3, 1));
    for (unsigned pass = 1; pass < 300; pass++) {
        nt_suspicion_note_pair(membership, 1, 3, false, &lost);
        assert_int_equal(lost, NT_NO_INDEX);
        assert_true(nt_suspicion_is_mutual(membership, 1, 3, pass < 100 ? pass : 100));
        assert_false(nt_suspicion_is_mutual(membership, 1, 2, 1));
        assert_false(nt_suspicion_is_mutual(membership, 1, 3, pass + 1));
        assert_int_equal(nt_suspicion_find_prober(membership), 0);
    }
    nt_suspicion_note_pair(membership, 1, 0, true, &lost); /* an indirect probe: one is online, */
    assert_int_equal(lost, NT_NO_INDEX);
    nt_suspicion_note_pair(membership, 3, 0, false, &lost); /* so the other is lost */
    assert_int_equal(lost, 3);
    nt_suspicion_note_pair(membership, 0, 2, false, &lost);
    assert_int_equal(nt_suspicion_find_prober(membership), 1);
    assert_int_equal(nt_membership_set_lost(membership, 1, "no answer", NULL), 0);
    assert_int_equal(nt_suspicion_find_prober(membership), NT_NO_INDEX);
    assert_false(nt_suspicion_is_mutual(membership, 1, 3, 1));
}

/* A host that reached none of several probes no others, and its next failure is its own. */
TEST(a_suspect_probes_no_others)
{
    SCOPED(membership) *membership = membership_of(4);
    uint32_t lost;
    nt_suspicion_add(membership, 0);
    assert_int_equal(nt_suspicion_find_prober(membership), 1);
    nt_suspicion_note_pair(membership, 0, 2, false, &lost);
    assert_int_equal(lost, 0);
    nt_suspicion_note_pair(membership, 0, 3, true, &lost);
    assert_int_equal(lost, NT_NO_INDEX);
    assert_int_equal(nt_suspicion_find_prober(membership), 0);
}

/* ---- the detector, with probes over a network that is made up ---- */

struct made_up {
    struct nt_failure_detector detector;
    uint32_t blocked;  /* hosts from 1 on up to this one and the last do not reach each other */
    bool down[MAX];    /* its link: no measurement with it succeeds */
    bool stopped[MAX]; /* it does not report either */
    unsigned probes, lost;
    uint32_t round;
    bool over;
};

static int made_up_probe(void *context, uint32_t a, uint32_t b, bool *ok, struct nt_err *err)
{
    struct made_up *m = context;
    bool unreported[MAX] = {false};
    m->probes++;
    unreported[a] = m->stopped[a];
    unreported[b] = m->stopped[b];
    uint32_t last = (uint32_t)m->detector.membership->hosts - 1, other = a == last ? b : a;
    bool blocked = (a == last || b == last) && other >= 1 && other <= m->blocked;
    *ok = !m->down[a] && !m->down[b] && !blocked;
    return nt_failure_note_reports(&m->detector, unreported, err);
}

static bool made_up_is_over(void *context)
{
    return ((struct made_up *)context)->over;
}

static void made_up_lost(void *context, uint32_t host, const char *reason)
{
    (void)host;
    assert_above(strlen(reason), 0);
    ((struct made_up *)context)->lost++;
}

static const struct nt_failure_ops MADE_UP = {made_up_probe, made_up_is_over, made_up_lost};

static struct nt_membership *made_up_begin(struct made_up *m, size_t hosts)
{
    *m = (struct made_up){.round = 7};
    m->detector = (struct nt_failure_detector){membership_of(hosts), &MADE_UP, m, &m->round};
    return m->detector.membership;
}

/* A round of flows between 1 and 2 fails, and what the detector makes of it. */
static void flows_fail(struct made_up *m)
{
    uint32_t pair[1][2] = {{1, 2}};
    struct nt_order order = {.kind = NT_ORDER_BANDWIDTH, .pairs = 1, .pair = pair};
    nt_failure_note_pair(&m->detector, 1, 2, false);
    assert_int_equal(nt_failure_resolve(&m->detector, &order, NULL), 0);
}

TEST(an_indirect_probe_finds_the_host_at_fault)
{
    for (uint32_t at_fault = 1; at_fault <= 2; at_fault++) {
        struct made_up m;
        SCOPED(membership) *membership = made_up_begin(&m, 5);
        m.down[at_fault] = true;
        flows_fail(&m);
        assert_string_equal(membership->lost[at_fault],
                            "not reached by two hosts, last in round 7");
        assert_int_equal(m.lost, 1);
        assert_int_equal(m.probes, 3); /* the third by one that has not met it */
    }
}

TEST(two_hosts_that_a_third_reaches_stay_online)
{
    struct made_up m;
    SCOPED(membership) *membership = made_up_begin(&m, 5);
    flows_fail(&m);
    assert_int_equal(m.lost, 0);
    assert_false(nt_suspicion_is_mutual(membership, 1, 2, 1));
}

/* Its ways to two hosts are closed, and it has a network: a third one reports it. */
TEST(a_host_that_two_do_not_reach_stays_online)
{
    uint32_t pair[1][2] = {{2, 4}};
    struct nt_order order = {.kind = NT_ORDER_LATENCY, .pairs = 1, .pair = pair};
    for (uint32_t blocked = 2; blocked <= 3; blocked++) {
        struct made_up m;
        SCOPED(membership) *membership = made_up_begin(&m, 5);
        m.blocked = blocked;
        m.down[0] = blocked == 3; /* then nobody reaches it */
        nt_failure_note_pair(&m.detector, 1, 4, false);
        nt_failure_note_pair(&m.detector, 2, 4, false);
        assert_null(membership->lost[4]);
        assert_int_equal(nt_failure_resolve(&m.detector, &order, NULL), 0);
        assert_int_equal(membership->lost[4] != NULL, blocked == 3);
        assert_int_equal(m.probes, 1);
        assert_true(membership->suspicion[4] == 0 || membership->lost[4] != NULL);
    }
}

/* It reaches neither, so another one is asked, and nobody is lost for its sake. */
TEST(a_prober_without_a_network_decides_nothing)
{
    struct made_up m;
    SCOPED(membership) *membership = made_up_begin(&m, 5);
    m.down[0] = m.down[2] = true;
    flows_fail(&m);
    assert_null(membership->lost[0]);
    assert_null(membership->lost[1]);
    assert_non_null(membership->lost[2]);
    assert_int_equal(m.probes, 5);
}

TEST(a_host_that_does_not_report_is_lost)
{
    struct made_up m;
    SCOPED(membership) *membership = made_up_begin(&m, 5);
    m.down[2] = m.stopped[2] = true;
    flows_fail(&m);
    assert_string_equal(membership->lost[2], "stopped answering in round 7");
    assert_int_equal(m.lost, 1);
}

/* 2 failed with 3, which then is lost: another failure of 2 is its first one, and what fails with a
 * host that is lost is none. */
TEST(what_a_lost_host_explains_makes_no_suspect)
{
    static const bool unreported[MAX] = {[3] = true};
    struct made_up m;
    SCOPED(membership) *membership = made_up_begin(&m, 5);
    nt_failure_note_pair(&m.detector, 2, 3, false);
    assert_int_equal(nt_failure_note_reports(&m.detector, unreported, NULL), 0);
    assert_int_equal(membership->suspicion[2], 0);
    nt_failure_note_pair(&m.detector, 2, 3, false);
    assert_int_equal(membership->suspicion[2], 0);
    nt_failure_note_pair(&m.detector, 2, 4, false);
    assert_null(membership->lost[2]);
    assert_int_equal(m.lost, 1);
}

TEST(two_hosts_alone_try_again_before_one_is_lost)
{
    struct made_up m;
    SCOPED(membership) *membership = made_up_begin(&m, 3);
    assert_int_equal(nt_membership_set_lost(membership, 0, "no answer", NULL), 0);
    m.down[2] = true;
    flows_fail(&m);
    assert_int_equal(m.lost, 0);
    flows_fail(&m);
    assert_int_equal(m.lost, 1);
    assert_string_equal(membership->lost[2], "not reached, last in round 7");
    assert_null(membership->lost[1]);
}

TEST(nobody_is_probed_when_the_time_is_over)
{
    struct made_up m;
    struct nt_membership *membership = made_up_begin(&m, 5);
    m.over = m.down[2] = true;
    flows_fail(&m);
    assert_int_equal(m.lost, 0);
    assert_int_equal(m.probes, 0);
    nt_membership_destroy(membership);
}

RUN_TESTS
