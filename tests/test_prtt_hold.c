/* SPDX-License-Identifier: Apache-2.0 */
/* PRTT with a hold between two processes of this machine: an answer that comes after the hold
 * would pass for a receiver's overhead. */
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

enum { TURNS = 5, TAG_SHIFT = 24, TAG_PONG = 0x03 };

/* The hold, and how late an answer is that is late: no scheduler makes one of the other. */
static const double HOLD_S = 0.02, LATE_S = 0.4;

static unsigned answers, late_answers; /* of them the first ones are late */

/* Stands before the library's own. */
ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*real)(ucp_ep_h, const void *, size_t, ucp_tag_t,
                                    const ucp_request_param_t *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    if ((tag >> TAG_SHIFT & 0xff) == TAG_PONG && answers++ < late_answers)
        nt_clock_sleep(LATE_S);
    return real(ep, buffer, count, tag, param);
}

/* One end of the measurement. */
static int measure(int fd, bool first, struct nt_result *result, struct nt_err *err)
{
    struct nt_pair *pair;
    struct pair_address other;
    struct nt_order order = {.kind = NT_ORDER_PRTT,
                             .message_bytes = 8,
                             .batches = TURNS,
                             .count = 1,
                             .hold_us = HOLD_S * 1e6};
    struct nt_pairing meeting = {.round = 1, .self = first, .peer = !first, .first = first};
    double trip, deadline = nt_clock_s() + 30;
    if (nt_pair_create(&pair, err) != 0)
        return -1;
    int rc = -1;
    if (send_address(fd, pair) && receive_address(fd, &other)) {
        meeting.address = other.data;
        meeting.address_bytes = other.bytes;
        rc = nt_pair_connect(pair, &meeting, &order, deadline, &trip, err);
    }
    if (rc == 0)
        rc = nt_pair_measure(pair, &order, deadline - 5, deadline, result, err);
    nt_pair_destroy(pair);
    return rc;
}

static int answer(int fd)
{
    struct nt_result result;
    return measure(fd, false, &result, &err) == 0 ? 0 : 1;
}

/* The first so many answers come after the hold. */
static int held(unsigned late, struct nt_result *result, struct nt_err *err)
{
    int fd, status;
    late_answers = late;
    pid_t answering = fork_end(answer, &fd);
    assert_at_least(answering, 0);
    int rc = measure(fd, true, result, err);
    close(fd);
    assert_int_equal(waitpid(answering, &status, 0), answering);
    assert_int_equal(status, 0);
    return rc;
}

TEST(answers_after_the_hold_are_dropped)
{
    struct nt_result result = {0};
    assert_int_equal(held(TURNS - 2, &result, &err), 0);
    assert_at_least(result.value_us, HOLD_S * 1e6);
    assert_below(result.median_us, LATE_S * 1e6);
}

TEST(no_answer_within_the_hold_is_no_result)
{
    struct nt_result result = {0};
    assert_int_equal(held(UINT32_MAX, &result, &err), 0);
    assert_true(result.ok);
    assert_int_equal(result.count, 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    set_ucx_environment(argv);
    return run_group(NULL, NULL);
}
