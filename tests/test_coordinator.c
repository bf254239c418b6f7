/* SPDX-License-Identifier: Apache-2.0 */
/* Real probes on loopback: the sweep from START to DONE, and hosts that are lost in it. */
#include <dlfcn.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucp/api/ucp.h>

#include "asserts.h"
#include "clock.h"
#include "coordinator.h"
#include "participant.h"
#include "relay.h"
#include "ucx_environment.h"

enum { TAG_SHIFT = 24, TAG_FLOW_DONE = 0x06 };

/* In a probe: its flows are never acknowledged, as when too many share a link. */
static bool stuck;

/* In a probe: nothing of it leaves, as when its link is down, once flows have begun. */
static bool fades;
static bool *flows_begun; /* in all of them */

/* Endpoints that all probes of a sweep made, and closed. */
static struct endpoints {
    _Atomic unsigned made, closed;
} * endpoints;

/* So many times slower than the world go all clocks here: what a busy machine takes from a probe is
 * less of the limits, so that only who is stopped or gone is late. */
static int slower = 1;

/* These replace the library's functions. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    long rc = syscall(SYS_clock_gettime, clock, t);
    if (rc != 0 || clock != CLOCK_MONOTONIC || slower == 1)
        return (int)rc;
    int64_t ns = ((int64_t)t->tv_sec * 1000000000 + t->tv_nsec) / slower;
    *t = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
    int wait = ms > INT_MAX / slower ? INT_MAX : ms * slower;
    struct timespec t = {wait / 1000, wait % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, fds, n, ms < 0 ? NULL : &t, NULL, 0);
}

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep)
{
    static ucs_status_t (*real)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_ep_create");
    endpoints->made++;
    return real(worker, params, ep);
}

ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*real)(ucp_ep_h, const ucp_request_param_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_ep_close_nbx");
    endpoints->closed++;
    return real(ep, param);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*real)(ucp_ep_h, const void *, size_t, ucp_tag_t,
                                    const ucp_request_param_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    if (stuck && (tag >> TAG_SHIFT & 0xff) == TAG_FLOW_DONE) {
        *flows_begun = true;
        return NULL;
    }
    if (fades && *flows_begun)
        return NULL;
    return real(ep, buffer, count, tag, param);
}

static int run_coordinator(struct nt_oob *oob, const struct nt_probe_job *job,
                           struct nt_participant *participant)
{
    struct nt_coordinator_result done = {0};
    struct nt_coordinator_options how = {.created = "2026-01-01T00:00:00Z"};
    char *text = NULL;
    size_t bytes = 0;
    if (nt_coordinator_run(oob, job, participant, &how, &done, &err) != 0)
        return oob->ops->done(oob, NT_STATUS_FAILED, err.text, &err), 1;
    int rc = nt_samples_write(done.samples, &text, &bytes, &err);
    if (rc == 0)
        rc = oob->ops->artifact(oob, NT_ARTIFACT_SAMPLES, text, bytes, &err);
    if (rc == 0)
        rc = oob->ops->done(oob, done.samples->status, done.reason, &err);
    free(text);
    nt_coordinator_result_fini(&done);
    return rc;
}

static int probe(int fd, unsigned rank, const void *context)
{
    struct nt_oob *oob = NULL;
    struct nt_probe_job job;
    struct nt_pair *pair = NULL;
    struct nt_participant participant;
    struct nt_err err = {0}, why = {0};
    if (context != NULL) /* starts late */
        nt_clock_sleep(*(const double *)context);
    if (nt_oob_tcp_create(fd, &oob, &job, &err) != 0)
        return 1;
    if (nt_pair_create(&pair, &why) != 0)
        pair = NULL;
    nt_participant_init(&participant, oob, pair, why.text);
    int rc = rank == 0 ? run_coordinator(oob, &job, &participant)
                       : nt_participant_run(oob, &job, &participant, &err);
    nt_participant_fini(&participant);
    nt_pair_destroy(pair);
    oob->ops->destroy(oob);
    return rc != 0;
}

static struct nt_samples *read_samples(const struct relay_outcome *out)
{
    struct nt_samples_reader *reader = NULL;
    struct nt_samples *samples = NULL;
    assert_non_null(out->artifact[NT_ARTIFACT_SAMPLES]);
    must(nt_samples_reader_create("samples", &reader, &err));
    must(nt_samples_reader_feed(reader, out->artifact[NT_ARTIFACT_SAMPLES],
                                out->bytes[NT_ARTIFACT_SAMPLES], &err));
    must(nt_samples_reader_finish(reader, &samples, &err));
    nt_samples_reader_destroy(reader);
    return samples;
}

/* How many pairs among all but the host left out have a latency. */
static size_t pairs_without(const struct nt_samples *s, size_t out)
{
    size_t n = 0;
    bool met[RELAY_HOSTS_MAX][RELAY_HOSTS_MAX] = {{false}};
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *p = &s->sample[k];
        if (p->kind != NT_SAMPLE_LATENCY || p->a == out || p->b == out || met[p->a][p->b] ||
            met[p->b][p->a])
            continue;
        assert_above(p->value_us, 0);
        assert_below(p->value_us, 1e5);
        assert_at_least(p->latency.median_us, p->value_us);
        assert_above(p->count, 0);
        assert_below(p->count, 100000);
        met[p->a][p->b] = true;
        n++;
    }
    return n;
}

static struct relay_plan plan_of(unsigned hosts, unsigned deadline_ms)
{
    return (struct relay_plan){.hosts = hosts,
                               .deadline_ms = deadline_ms,
                               .option = "quick",
                               .policy = "full",
                               .probe = probe};
}

static void show(const char *what, const struct relay_outcome *out)
{
    print_message("%s: %s (%.2f s, %u gathers)\n", what, out->done, out->seconds, out->gathers);
}

static void assert_none_failed(const struct relay_outcome *out)
{
    if (out->fallen != 0)
        fail_msg("%u probes failed, the last with wait status %#x; done: %s, after %g s",
                 out->fallen, (unsigned)out->status, out->done, out->seconds);
}

TEST(all_pairs_are_measured)
{
    slower = 8;
    for (unsigned n = 1; n <= 5; n++) {
        struct relay_outcome out;
        struct relay_plan plan = plan_of(n, 8000);
        *endpoints = (struct endpoints){0};
        relay_run(&plan, &out);
        show("sweep", &out);
        assert_string_equal(out.done, "ok");
        assert_none_failed(&out);
        SCOPED(samples) *s = read_samples(&out);
        assert_int_equal(s->hosts, n);
        assert_int_equal(s->status, NT_STATUS_OK);
        assert_int_equal(s->job.id, 42);
        assert_int_equal(pairs_without(s, SIZE_MAX), n * (n - 1) / 2);
        /* each host connects with each other once, however often they meet */
        assert_at_least(s->rounds, (n < 2 ? 0 : 3 * nt_sweep_all_rounds(n)));
        assert_int_equal(endpoints->made, n * (n - 1));
        assert_int_equal(endpoints->closed, n * (n - 1));
        /* one for the greetings, two for the first round, and fewer than one for each other */
        if (n >= 4)
            assert_at_most(out.gathers, 3 + s->rounds / 2);
        relay_fini(&out);
    }
    slower = 1;
}

/* Whatever happens to host 2 of 5, the other four are known, in time, and it is named. */
static void check_loss(const char *what, struct relay_plan plan)
{
    struct relay_outcome out;
    slower = 4;
    relay_run(&plan, &out);
    slower = 1;
    show(what, &out);
    if (plan.after > 3 && out.gathers == plan.after && strcmp(out.done, "ok") == 0) {
        relay_fini(&out); /* slow as it was, that gather was the sweep's last: nobody was lost */
        return;
    }
    assert_memory_equal(out.done, "partial ", 8);
    assert_non_null(strstr(out.done, "n3"));
    assert_none_failed(&out);
    assert_below(out.seconds, plan.deadline_ms * 1e-3);
    SCOPED(samples) *s = read_samples(&out);
    assert_int_equal(s->hosts, 5);
    assert_int_equal(s->status, NT_STATUS_PARTIAL);
    assert_int_equal(pairs_without(s, 2), 6);
    if (plan.after <= 3)
        assert_non_null(s->missing[2]);
    size_t lines = s->missing[2] != NULL; /* one in the map */
    for (size_t k = 0; k < s->warnings; k++)
        lines += strstr(s->warning[k], "n3") != NULL;
    assert_int_equal(lines, 1);
    for (size_t h = 0; h < 5; h++)
        if (h != 2)
            assert_null(s->missing[h]);
    relay_fini(&out);
}

TEST(a_killed_probe_costs_only_itself)
{
    for (unsigned after = 1; after <= 4; after++) {
        struct relay_plan plan = plan_of(5, 6000);
        plan.victim = 2;
        plan.after = after;
        plan.signal = SIGKILL;
        check_loss("killed", plan);
    }
}

TEST(a_frozen_probe_costs_only_itself)
{
    for (unsigned after = 2; after <= 4; after++) {
        struct relay_plan plan = plan_of(5, 6000);
        plan.victim = 2;
        plan.after = after;
        plan.signal = SIGSTOP;
        check_loss("frozen", plan);
    }
}

TEST(an_absent_probe_costs_only_itself)
{
    struct relay_plan plan = plan_of(5, 6000);
    plan.victim = 2;
    plan.absent = true;
    check_loss("absent", plan);
}

TEST(garbage_from_a_probe_costs_only_itself)
{
    struct relay_plan plan = plan_of(5, 6000);
    plan.victim = 2;
    plan.garbage = true;
    check_loss("garbage", plan);
}

TEST(a_short_time_ends_in_time)
{
    static const unsigned budgets[] = {0, 120, 200, 500};
    for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        struct relay_outcome out;
        struct relay_plan plan = plan_of(8, budgets[k]);
        slower = 8;
        relay_run(&plan, &out);
        slower = 1;
        show("short", &out);
        assert_below(out.seconds, budgets[k] * 1e-3 + 0.3);
        assert_string_not_equal(out.done, "");
        if (budgets[k] == 0) /* over before the probes are there */
            assert_non_null(strstr(out.done, "the time was too short"));
        relay_fini(&out);
    }
}

TEST(the_level_says_what_was_not_measured)
{
    struct relay_outcome out;
    struct relay_plan plan = plan_of(2, 3000);
    plan.option = "full";
    plan.policy = "latency";
    slower = 8;
    relay_run(&plan, &out);
    slower = 1;
    assert_string_equal(out.done, "ok");
    SCOPED(samples) *s = read_samples(&out);
    assert_at_least(s->warnings, 2);
    assert_non_null(strstr(s->warning[0], "shared hosts"));
    relay_fini(&out);
}

static int stuck_probe(int fd, unsigned rank, const void *context)
{
    stuck = true;
    return probe(fd, rank, context);
}

/* One follows the other, from the first round of each to its last: no time is nobody's. */
static void check_phases(const struct nt_samples *s)
{
    double end = 0;
    assert_above(s->phases, 0);
    for (size_t k = 0; k < s->phases; k++) {
        assert_at_least(s->phase_begin_s[k], (k == 0 ? 0 : end - 1e-6));
        if (k > 0)
            assert_below(s->phase_begin_s[k], end + 1e-3);
        assert_above(s->phase[k].rounds, 0);
        end = s->phase_begin_s[k] + s->phase[k].seconds;
    }
    assert_at_most(end, s->seconds + 1e-6);
}

TEST(flows_that_block_each_other_lose_no_host)
{
    for (unsigned n = 2; n <= 4; n += 2) {
        struct relay_outcome out;
        struct relay_plan plan = plan_of(n, 6000);
        plan.option = "standard,budget=6";
        plan.probe = stuck_probe;
        slower = 2;
        relay_run(&plan, &out);
        slower = 1;
        show("stuck flows", &out);
        assert_none_failed(&out);
        SCOPED(samples) *s = read_samples(&out);
        check_phases(s);
        size_t failed = 0;
        for (size_t k = 0; k < s->samples; k++)
            failed += s->sample[k].kind == NT_SAMPLE_FAILED;
        assert_above(failed, 0);
        for (size_t h = 0; h < n; h++)
            assert_null(s->missing[h]);
        for (size_t k = 0; k < s->warnings; k++)
            assert_null(strstr(s->warning[k], "reached"));
        relay_fini(&out);
    }
}

static size_t count_kind(const struct nt_samples *s, enum nt_sample_kind kind)
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++)
        n += s->sample[k].kind == kind;
    return n;
}

enum { FADING = 4 };

static int fading_probe(int fd, unsigned rank, const void *context)
{
    fades = rank == FADING;
    return stuck_probe(fd, rank, context);
}

/* The host without a flow of its own makes the indirect probes, and reaches none of the others. */
TEST(a_host_without_a_link_makes_no_other_lost)
{
    struct relay_outcome out;
    struct relay_plan plan = plan_of(FADING + 1, 8000);
    plan.option = "standard,budget=8";
    plan.probe = fading_probe;
    *flows_begun = false;
    slower = 2;
    relay_run(&plan, &out);
    slower = 1;
    show("a host without a link", &out);
    SCOPED(samples) *s = read_samples(&out);
    assert_above(count_kind(s, NT_SAMPLE_FAILED), 0);
    for (size_t k = 0; k < s->warnings; k++)
        for (size_t h = 0; h < FADING; h++)
            assert_null(strstr(s->warning[k], s->host_name[h]));
    for (size_t h = 0; h < FADING; h++)
        assert_null(s->missing[h]);
    relay_fini(&out);
}

TEST(a_full_sweep_has_flows_trains_and_kernels)
{
    struct relay_outcome out;
    struct relay_plan plan = plan_of(5, 20000);
    plan.option = "full,budget=20";
    slower = 2;
    relay_run(&plan, &out);
    slower = 1;
    show("full", &out);
    struct nt_samples *s = read_samples(&out);
    for (size_t k = 0; k < s->phases; k++)
        print_message("  %s: %u rounds, %.2f s\n", s->phase[k].name, (unsigned)s->phase[k].rounds,
                      s->phase[k].seconds);
    for (size_t k = 0; k < s->warnings; k++)
        print_message("  %s\n", s->warning[k]);
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind != NT_SAMPLE_KERNEL)
            continue;
        print_message("  %s: %u times, %.0f us (%.0f to %.0f)\n", s->text[x->text], x->count,
                      x->value_us, x->kernel.low_us, x->kernel.high_us);
        assert_int_equal(x->a, 5);
        assert_at_least(x->count, 1);
        assert_at_least(x->bytes, 1024);
        uint32_t group[NT_SAMPLES_PARTICIPANTS_MAX];
        assert_int_equal(nt_samples_participants(s, x, group), 5);
        for (uint32_t h = 0; h < 5; h++)
            assert_int_equal(group[h], h);
        assert_below(0, x->kernel.low_us);
        assert_at_most(x->kernel.low_us, x->value_us);
        assert_at_most(x->value_us, x->kernel.high_us);
    }
    assert_int_equal(count_kind(s, NT_SAMPLE_KERNEL), 6);
    assert_above(count_kind(s, NT_SAMPLE_PRTT), 0);
    assert_below(out.seconds, 20);
    nt_samples_destroy(s);
    relay_fini(&out);
}

/* From the first gather to the last of a full sweep. */
TEST(a_death_in_any_phase_costs_only_itself)
{
    static const struct {
        unsigned after;
        int signal;
    } table[] = {{5, SIGKILL}, {40, SIGSTOP}, {60, SIGKILL}, {90, SIGSTOP}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct relay_outcome out;
        struct relay_plan plan = plan_of(5, 3000);
        plan.option = "full,budget=3";
        plan.victim = 2;
        plan.after = table[k].after;
        plan.signal = table[k].signal;
        slower = 2;
        relay_run(&plan, &out);
        slower = 1;
        show(plan.signal == SIGKILL ? "killed" : "frozen", &out);
        assert_memory_equal(out.done, "partial ", 8);
        assert_none_failed(&out);
        assert_below(out.seconds, 3);
        SCOPED(samples) *s = read_samples(&out);
        assert_int_equal(pairs_without(s, 2), 6);
        for (size_t h = 0; h < 5; h++)
            if (h != 2)
                assert_null(s->missing[h]);
        print_message("  %zu phases, the last is %s\n", s->phases, s->phase[s->phases - 1].name);
        relay_fini(&out);
    }
}

/* Loading takes longer than the budget: the agents still wait a quarter of a second for its word.
 */
TEST(probes_that_come_too_late_end_at_once)
{
    static const double late_s = 4 * 0.6; /* of the world, where clocks go four times slower */
    struct relay_outcome out;
    struct relay_plan plan = plan_of(3, 500);
    plan.context = &late_s;
    slower = 4;
    relay_run(&plan, &out);
    slower = 1;
    show("late", &out);
    assert_true(out.done[0] != '\0');
    assert_true(strcmp(out.done, "ok") != 0);
    assert_below(out.seconds, 0.5 + 0.25);
    relay_fini(&out);
}

int main(int argc, char **argv)
{
    (void)argc;
    set_ucx_environment(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_are_measured),
        cmocka_unit_test(a_killed_probe_costs_only_itself),
        cmocka_unit_test(garbage_from_a_probe_costs_only_itself),
        cmocka_unit_test(a_short_time_ends_in_time),
        cmocka_unit_test(the_level_says_what_was_not_measured),
        cmocka_unit_test(flows_that_block_each_other_lose_no_host),
        cmocka_unit_test(a_full_sweep_has_flows_trains_and_kernels),
    };
    const struct CMUnitTest full[] = {
        /* with FULL=1; the storm meets these in simulated time */
        cmocka_unit_test(a_frozen_probe_costs_only_itself),
        cmocka_unit_test(an_absent_probe_costs_only_itself),
        cmocka_unit_test(probes_that_come_too_late_end_at_once),
        cmocka_unit_test(a_host_without_a_link_makes_no_other_lost),
        cmocka_unit_test(a_death_in_any_phase_costs_only_itself),
    };
    flows_begun =
        mmap(NULL, sizeof *flows_begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    endpoints =
        mmap(NULL, sizeof *endpoints, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flows_begun == MAP_FAILED || endpoints == MAP_FAILED)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (getenv("FULL"))
        failed += cmocka_run_group_tests(full, NULL, NULL);
    return failed;
}
