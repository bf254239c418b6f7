/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds one after another between two processes of this machine: connections that are begun ahead
 * or kept, and how much of a flow may be under way. */
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "pair_ends.h"
#include "ucx_environment.h"

enum { TAG_SHIFT = 24, TAG_FLOW = 0x04, TAG_FLOW_ACK = 0x05, WINDOW = 16 };

/* The second end of a flow looks at nothing for so long. */
static const double LATE_S = 0.3;

static unsigned endpoints, flow_messages, flow_messages_first;

/* Both stand before the library's own. */
ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep)
{
    static ucs_status_t (*real)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_ep_create");
    endpoints++;
    return real(worker, params, ep);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*real)(ucp_ep_h, const void *, size_t, ucp_tag_t,
                                    const ucp_request_param_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    flow_messages += (tag >> TAG_SHIFT & 0xff) == TAG_FLOW;
    return real(ep, buffer, count, tag, param);
}

ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h worker, void *buffer, size_t count, ucp_tag_t tag,
                                  ucp_tag_t mask, const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*real)(ucp_worker_h, void *, size_t, ucp_tag_t, ucp_tag_t,
                                    const ucp_request_param_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_tag_recv_nbx");
    if ((tag >> TAG_SHIFT & 0xff) == TAG_FLOW_ACK && flow_messages_first == 0)
        flow_messages_first = flow_messages;
    return real(worker, buffer, count, tag, mask, param);
}

static const struct nt_order PINGS = {
    .kind = NT_ORDER_LATENCY, .message_bytes = 8, .batches = 3, .count = 5};
static const struct nt_order FLOW = {.kind = NT_ORDER_BANDWIDTH,
                                     .message_bytes = 8192,
                                     .batches = 1,
                                     .count = WINDOW,
                                     .window_s = 0.02};

/* One round, of which the connection is kept. */
static int run_round(struct nt_pair *pair, const struct nt_pairing *pairing,
                     const struct nt_order *order, double wait_s, struct nt_result *result,
                     struct nt_err *err)
{
    double deadline = nt_clock_s() + 30;
    int rc = nt_pair_connect(pair, pairing, order, deadline, NULL, err);
    if (rc == 0) {
        nt_clock_sleep(wait_s);
        rc = nt_pair_measure(pair, order, deadline - 5, deadline, result, err);
    }
    nt_pair_close(pair, rc == 0 && nt_pair_can_keep(pair));
    return rc;
}

/* Pings over a connection begun ahead, again over the same, and a flow; at last one that is begun
 * and never used. */
static int run_rounds(struct nt_pair *pair, struct nt_pairing pairing, struct nt_result result[3],
                      struct nt_err *err)
{
    nt_pair_connect_ahead(pair, &pairing);
    for (size_t k = 0; k < 3; k++) {
        pairing.round = (uint32_t)k + 1;
        pairing.kept = k > 0;
        if (run_round(pair, &pairing, k < 2 ? &PINGS : &FLOW, k == 2 && !pairing.first ? LATE_S : 0,
                      &result[k], err) != 0)
            return -1;
    }
    unsigned used = endpoints;
    nt_pair_connect_ahead(pair, &pairing);
    nt_pair_drop_ahead(pair);
    return used == 1 && endpoints == 2 ? 0 : nt_err_set(err, NT_ERR_SYSTEM, "%u endpoints", used);
}

static int meet(int fd, bool first, struct nt_result result[3], struct nt_err *err)
{
    struct nt_pair *pair;
    struct pair_address other;
    if (nt_pair_create(&pair, err) != 0)
        return -1;
    int rc = -1;
    if (send_address(fd, pair) && receive_address(fd, &other))
        rc = run_rounds(pair,
                        (struct nt_pairing){.self = first,
                                            .peer = !first,
                                            .first = first,
                                            .address = other.data,
                                            .address_bytes = other.bytes},
                        result, err);
    nt_pair_destroy(pair);
    return rc;
}

static int meet_as_second(int fd)
{
    struct nt_result result[3];
    return meet(fd, false, result, &err) == 0 ? 0 : 1;
}

TEST(rounds_use_one_connection)
{
    int fd, status;
    struct nt_result result[3] = {0};
    pid_t second = fork_end(meet_as_second, &fd);
    assert_at_least(second, 0);
    int rc = meet(fd, true, result, &err);
    close(fd);
    assert_int_equal(waitpid(second, &status, 0), second);
    must(rc);
    assert_int_equal(status, 0);
    for (size_t k = 0; k < 2; k++) {
        assert_true(result[k].ok);
        assert_above(result[k].value_us, 0);
        assert_int_equal(result[k].count, PINGS.batches * PINGS.count);
    }
    assert_true(result[2].ok);
    assert_above(result[2].count, WINDOW);
    /* though its partner took nothing in yet, and a socket would have taken more */
    assert_int_equal(flow_messages_first, WINDOW);
}

static int leave_address(int fd)
{
    struct nt_pair *pair;
    return nt_pair_create(&pair, &err) == 0 && send_address(fd, pair) ? 0 : 1;
}

/* There, but it never looks at its network. */
static int be_silent(int fd)
{
    char end;
    return leave_address(fd) == 0 && read(fd, &end, 1) == 0 ? 0 : 1;
}

/* Whoever has the address of one that has ended, or is silent, waits as long as it takes to
 * connect, and not to measure. */
static bool waits_to_connect(struct nt_pair *pair, const struct nt_pairing *pairing)
{
    struct nt_result result;
    double began = nt_clock_s(), hours_s = began + 7200;
    nt_pair_connect_ahead(pair, pairing);
    bool good = nt_pair_connect(pair, pairing, &PINGS, began + 0.05, NULL, &err) == 0 &&
                nt_pair_measure(pair, &PINGS, hours_s, hours_s, &result, &err) == -1;
    nt_pair_close(pair, false);
    nt_pair_connect_ahead(pair, pairing);
    nt_pair_drop_ahead(pair);
    nt_pair_connect_ahead(pair, pairing);
    return good;
}

static bool wait_for_other(int other(int), bool first, bool is_gone)
{
    int fd, status = 0;
    struct nt_pair *pair;
    struct pair_address theirs;
    pid_t pid = fork_end(other, &fd);
    bool good = pid >= 0 && receive_address(fd, &theirs) &&
                (!is_gone || waitpid(pid, &status, 0) == pid) && nt_pair_create(&pair, &err) == 0;
    if (!good)
        return false;
    struct nt_pairing pairing = {.round = 1,
                                 .peer = 1,
                                 .first = first,
                                 .address = theirs.data,
                                 .address_bytes = theirs.bytes};
    good = waits_to_connect(pair, &pairing);
    nt_pair_destroy(pair);
    close(fd);
    return good && (is_gone || waitpid(pid, &status, 0) == pid) && status == 0;
}

TEST(one_that_does_not_answer_costs_the_deadline_alone)
{
    int status;
    assert_true(wait_for_other(leave_address, true, true));
    assert_true(wait_for_other(leave_address, false, true));
    assert_true(wait_for_other(be_silent, false, false));
    /* a ping that nobody takes stays with UCX, and all that it may look at with it */
    pid_t pid = fork();
    if (pid == 0)
        _exit(!wait_for_other(be_silent, true, false));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    set_ucx_environment(argv);
    return run_group(NULL, NULL);
}
