/* SPDX-License-Identifier: Apache-2.0 */
/* START and the last frames of a probe. */
#include <poll.h>
#include <sys/socket.h>

#include "asserts.h"
#include "clock.h"
#include "oob.h"
#include "session.h"
#include "start.h"

static char **name_hosts(size_t hosts)
{
    char **name = calloc(hosts, sizeof *name);
    assert_non_null(name);
    for (size_t k = 0; k < hosts; k++) {
        name[k] = malloc(32);
        assert_non_null(name[k]);
        snprintf(name[k], 32, "node%06u.example.org", (unsigned)(k % 1000000));
    }
    return name;
}

/* Reads START as a probe that begins late. */
static size_t read_start(struct nt_session *session, struct nt_conn *probe, char *text, size_t room)
{
    struct nt_frame frame = {.flags = NT_FRAME_MORE};
    const unsigned char *payload;
    size_t bytes = 0;
    while ((frame.flags & NT_FRAME_MORE) != 0) {
        nt_session_probe_flush(session);
        if (nt_conn_next(probe, &frame, &payload, NULL) != 1)
            fail_msg("START breaks off after %zu bytes", bytes);
        assert_int_equal(frame.type, NT_FRAME_START);
        assert_at_most(frame.payload_bytes, room - bytes);
        memcpy(text + bytes, payload, frame.payload_bytes);
        bytes += frame.payload_bytes;
    }
    return bytes;
}

TEST(start_of_the_largest_job_is_complete)
{
    enum { HOSTS = NT_JOB_HOSTS_MAX, ROOM = 4 << 20 };
    struct nt_conf conf;
    struct nt_option option;
    struct nt_start start;
    struct nt_conn probe;
    int fd[2];
    const struct nt_job_use use = {.limit_s = 7200};
    struct nt_job job = {.id = 1, .hosts = HOSTS, .host = name_hosts(HOSTS), .self = HOSTS - 1};
    struct nt_service service = {.child = {.pidfd = -1}};
    struct nt_session session = {.conf = &conf,
                                 .job = &job,
                                 .option = &option,
                                 .deadline = nt_clock_s() + 600,
                                 .client = {.fd = -1, .local = &service},
                                 .probe_pidfd = -1};
    char *text = malloc(ROOM);
    assert_non_null(text);
    nt_conf_default(&conf);
    must(nt_option_parse("quick", &option, &err));
    option.level_auto = true;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    must(nt_conn_init(&session.probe, fd[0], NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, &err));
    must(nt_conn_init(&probe, fd[1], NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, &err));
    must(nt_session_start_probe(&session, NT_POLICY_FULL, &use, &err));
    size_t bytes = read_start(&session, &probe, text, ROOM);
    must(nt_start_parse(text, bytes, &start, &err));
    assert_int_equal(start.size, HOSTS);
    assert_true(start.job.option.level_auto && start.job.limit_s == 7200 && !start.job.use_unknown);
    assert_int_equal(start.rank, HOSTS - 1);
    assert_string_equal(start.host[HOSTS - 1], job.host[HOSTS - 1]);
    nt_start_fini(&start);
    nt_conn_fini(&probe);
    nt_conn_fini(&session.probe);
    nt_job_fini(&job);
    free(text);
}

/* The deadline that a probe has which reads START only so much later than it was sent. */
static double deadline_of_late(double deadline, int late_ms)
{
    struct nt_conf conf;
    struct nt_option option;
    struct nt_oob *oob;
    struct nt_probe_job probe_job;
    char *host[] = {"n1"};
    int fd[2];
    struct nt_job job = {.id = 1, .hosts = 1, .host = host};
    struct nt_service service = {.child = {.pidfd = -1}};
    struct nt_session session = {.conf = &conf,
                                 .job = &job,
                                 .option = &option,
                                 .deadline = deadline,
                                 .client = {.fd = -1, .local = &service},
                                 .probe_pidfd = -1};
    nt_conf_default(&conf);
    must(nt_option_parse("quick", &option, &err));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    must(nt_conn_init(&session.probe, fd[0], NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, &err));
    must(nt_session_start_probe(&session, NT_POLICY_FULL, NULL, &err));
    poll(NULL, 0, late_ms);
    must(nt_oob_tcp_create(fd[1], &oob, &probe_job, &err));
    assert_true(probe_job.use_unknown); /* as of a leader whom slurmctld did not answer */
    double received = oob->deadline_s;
    oob->ops->destroy(oob);
    nt_conn_fini(&session.probe);
    return received;
}

TEST(a_late_probe_has_no_later_deadline)
{
    double due = nt_clock_s() + 2;
    assert_close(deadline_of_late(due, 200), due, 1e-4);
}

TEST(a_budget_of_minutes_is_not_cut)
{
    double due = nt_clock_s() + 250;
    assert_close(deadline_of_late(due, 0), due, 1e-4);
}

/* hint.env is complete: a failure of rank 0 is stated in it, one of an agent is not. */
TEST(a_failure_of_an_agent_publishes_no_artifacts)
{
    static const char text[] = "failed lost the connection";
    for (uint16_t flags = 0; flags <= NT_FRAME_AGENT; flags += NT_FRAME_AGENT) {
        struct nt_job job = {.id = 1, .hosts = 2, .self = 1};
        static struct nt_service service;
        service = (struct nt_service){.child = {.pidfd = -1}};
        struct nt_session session = {.job = &job,
                                     .client = {.fd = -1, .local = &service},
                                     .probe = {.fd = -1},
                                     .probe_pidfd = -1,
                                     .artifacts = &service.publish.artifacts};
        struct nt_frame done = {
            .type = NT_FRAME_DONE, .flags = flags, .payload_bytes = sizeof text - 1};
        session.artifacts->complete[NT_ARTIFACT_ENV] = true;
        nt_session_finish(&session, &done, text);
        assert_true(service.has_result);
        assert_string_equal(service.result.text, text);
        assert_int_equal(service.result.failed, flags == NT_FRAME_AGENT);
    }
}

/* At its deadline a probe sends DONE and exits, with unread frames in its socket. */
TEST(the_last_frame_of_a_probe_is_read)
{
    const char words[] = "partial 1 of 3 pairs measured: the time was up";
    struct nt_service service = {.child = {.pidfd = -1}};
    struct nt_session session = {.client = {.fd = -1, .local = &service}, .probe_pidfd = -1};
    struct nt_conn probe;
    struct nt_frame frame = {.type = NT_FRAME_GATHERED, .seq = 1};
    const unsigned char *payload;
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(nt_conn_init(&session.probe, fd[0], NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, NULL),
                     0);
    assert_int_equal(nt_conn_init(&probe, fd[1], NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, NULL), 0);
    nt_session_probe_send(&session, &frame, NULL); /* unread when it ends */
    frame = (struct nt_frame){.type = NT_FRAME_DONE, .payload_bytes = sizeof words};
    assert_int_equal(nt_conn_send(&probe, &frame, words, NULL), 0);
    nt_conn_fini(&probe);
    frame = (struct nt_frame){.type = NT_FRAME_GATHERED, .seq = 2};
    nt_session_probe_send(&session, &frame, NULL);
    nt_session_probe_queue(&session, &frame, NULL);
    nt_session_probe_flush(&session);
    assert_false(session.probe_lost);
    assert_int_equal(nt_session_probe_next(&session, &frame, &payload), 1);
    assert_int_equal(frame.type, NT_FRAME_DONE);
    assert_string_equal((const char *)payload, words);
    assert_int_equal(nt_session_probe_next(&session, &frame, &payload), 0);
    assert_true(session.probe_lost);
    nt_conn_fini(&session.probe);
}

RUN_TESTS
