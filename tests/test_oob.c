/* SPDX-License-Identifier: Apache-2.0 */
/* A probe's exchange over its agent's socket, and agents that break off, lie or take nothing. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "frame.h"
#include "oob.h"

struct talk {
    int agent; /* its end; -1: closed */
    struct nt_oob *oob;
    struct nt_probe_job job;
};

static void say(const struct talk *t, struct nt_frame frame, const void *payload)
{
    unsigned char head[NT_FRAME_HEAD_BYTES];
    nt_frame_encode(&frame, head);
    assert_int_equal(send(t->agent, head, sizeof head, 0), (ssize_t)sizeof head);
    if (frame.payload_bytes > 0)
        assert_int_equal(send(t->agent, payload, frame.payload_bytes, 0),
                         (ssize_t)frame.payload_bytes);
}

static void leave(struct talk *t)
{
    if (t->agent >= 0)
        close(t->agent);
    t->agent = -1;
}

static int open_talk(struct talk *t)
{
    int fd[2];
    *t = (struct talk){.agent = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    t->agent = fd[0];
    return fd[1];
}

/* In two frames, of which the second is empty. */
static void begin(struct talk *t, unsigned rank, double seconds)
{
    char text[256];
    int fd = open_talk(t), n;
    n = snprintf(text, sizeof text,
                 "rank %u\nsize 3\ndeadline_us %.0f\njob 42\nrestart 1\npolicy full\n"
                 "option quick\nhost n1\nhost n2\nhost n3\nend\n",
                 rank, (nt_clock_s() + seconds) * 1e6);
    say(t,
        (struct nt_frame){
            .type = NT_FRAME_START, .flags = NT_FRAME_MORE, .payload_bytes = (uint32_t)n},
        text);
    say(t, (struct nt_frame){.type = NT_FRAME_START}, NULL);
    must(nt_oob_tcp_create(fd, &t->oob, &t->job, &err));
    assert_int_equal(t->oob->rank, rank);
    assert_string_equal(t->job.host_names[2], "n3");
}

static void end(struct talk *t)
{
    leave(t);
    t->oob->ops->destroy(t->oob);
}

static void expect_no_start(int fd, const char *text)
{
    struct nt_oob *oob = NULL;
    struct nt_probe_job job;
    assert_int_equal(nt_oob_tcp_create(fd, &oob, &job, &err), -1);
    assert_null(oob);
    if (strstr(err.text, text) == NULL)
        fail_msg("%s, and not: %s", err.text, text);
}

TEST(without_a_valid_start_there_is_no_probe)
{
    static const unsigned char garbage[2 * NT_FRAME_HEAD_BYTES] = {0xff, 0xff, 0xff, 0xff};
    struct talk t;
    expect_no_start(-1, "the agent's descriptor -1");
    int fd = open_talk(&t);
    leave(&t);
    expect_no_start(fd, "closed the connection");
    fd = open_talk(&t);
    say(&t, (struct nt_frame){.type = NT_FRAME_BCAST}, NULL);
    expect_no_start(fd, "another frame before START");
    leave(&t);
    fd = open_talk(&t);
    assert_int_equal(send(t.agent, garbage, sizeof garbage, 0), (ssize_t)sizeof garbage);
    expect_no_start(fd, "frame");
    leave(&t);
    fd = open_talk(&t);
    say(&t, (struct nt_frame){.type = NT_FRAME_START, .payload_bytes = 5}, "rank\n");
    expect_no_start(fd, "");
    leave(&t);
}

/* ---- gather ---- */

static struct nt_frame part_of(uint32_t host, uint32_t seq, uint32_t bytes)
{
    return (struct nt_frame){
        .type = NT_FRAME_GATHER, .seq = seq, .host = host, .payload_bytes = bytes};
}

static int gather(struct talk *t, double wait_s, struct nt_contribution all[3], struct nt_err *err)
{
    return t->oob->ops->gather(t->oob, "me", 2, wait_s, all, err);
}

/* Of another gather, of rank 0 itself, a second time, of another kind: each is passed over. */
TEST(only_the_first_contribution_of_others_counts)
{
    struct nt_contribution all[3];
    struct talk t;
    begin(&t, 0, 10);
    say(&t, part_of(1, 7, 3), "old");
    say(&t, (struct nt_frame){.type = NT_FRAME_GATHERED, .seq = 7}, NULL);
    say(&t, part_of(0, 1, 3), "not");
    say(&t, part_of(1, 1, 3), "yes");
    say(&t, part_of(1, 1, 2), "no");
    say(&t, (struct nt_frame){.type = NT_FRAME_BCAST, .seq = 1}, NULL);
    say(&t, part_of(2, 1, 0), NULL);
    say(&t, (struct nt_frame){.type = NT_FRAME_GATHERED, .seq = 1}, NULL);
    assert_int_equal(gather(&t, 5, all, &err), 0);
    assert_memory_equal(all[0].data, "me", 2);
    assert_int_equal(all[1].bytes, 3);
    assert_memory_equal(all[1].data, "yes", 3);
    assert_true(all[2].present);
    assert_int_equal(all[2].bytes, 0);
    nt_contributions_free(all, 3);
    end(&t);
}

/* It is none, and the other host's is there; rank 0 has nothing to say itself. */
TEST(a_contribution_that_is_too_large_is_none)
{
    static unsigned char piece[NT_FRAME_PAYLOAD_MAX];
    struct nt_contribution all[3];
    struct talk t;
    int status;
    begin(&t, 0, 10);
    pid_t pid = fork(); /* more than a socket holds */
    if (pid == 0) {
        alarm(60); /* when nobody reads */
        for (size_t sent = 0; sent <= 1024 * 1024; sent += sizeof piece) {
            struct nt_frame frame = part_of(1, 1, sizeof piece);
            frame.flags = NT_FRAME_MORE;
            say(&t, frame, piece);
        }
        say(&t, part_of(1, 1, 3), "end");
        say(&t, part_of(2, 1, 2), "ok");
        say(&t, (struct nt_frame){.type = NT_FRAME_GATHERED, .seq = 1}, NULL);
        exit(0);
    }
    assert_int_equal(t.oob->ops->gather(t.oob, "", 0, 10, all, &err), 0);
    assert_true(all[0].present);
    assert_false(all[1].present);
    assert_int_equal(all[2].bytes, 2);
    nt_contributions_free(all, 3);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end(&t);
}

TEST(a_gather_that_breaks_off_fails)
{
    struct nt_contribution all[3];
    struct talk t;
    begin(&t, 0, 10);
    say(&t, part_of(3, 1, 0), NULL);
    assert_int_equal(gather(&t, 5, all, &err), -1);
    assert_string_equal(err.text, "the agent: a contribution of host 3 of 3");
    assert_int_equal(gather(&t, 0, all, &err), -1); /* nothing more comes */
    assert_string_equal(err.text, "the agent: did not end a gather in time");
    leave(&t);
    assert_int_equal(gather(&t, 5, all, &err), -1);
    end(&t);
}

/* ---- bcast ---- */

static struct nt_frame order_of(uint32_t seq, uint16_t flags, uint32_t bytes)
{
    return (struct nt_frame){
        .type = NT_FRAME_BCAST, .seq = seq, .flags = flags, .payload_bytes = bytes};
}

TEST(an_order_comes_in_parts_and_in_turn)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct talk t;
    begin(&t, 1, 10);
    say(&t, order_of(0, 0, 3), "old");
    say(&t, (struct nt_frame){.type = NT_FRAME_GATHERED, .seq = 1}, NULL);
    say(&t, order_of(1, NT_FRAME_MORE, 3), "one");
    say(&t, order_of(1, 0, 3), "two");
    assert_int_equal(t.oob->ops->receive(t.oob, &data, &bytes, 5, &err), 0);
    assert_int_equal(bytes, 6);
    assert_memory_equal(data, "onetwo", 6);
    free(data);
    say(&t, order_of(3, 0, 0), NULL);
    assert_int_equal(t.oob->ops->receive(t.oob, &data, &bytes, 5, &err), -1);
    assert_string_equal(err.text, "the agent: this probe missed a call and is out of step");
    assert_int_equal(t.oob->ops->receive(t.oob, &data, &bytes, 0, &err), -1);
    assert_string_equal(err.text, "the agent: nothing from rank 0 in time");
    say(&t, order_of(4, NT_FRAME_MORE, 3), "the");
    leave(&t);
    assert_int_equal(t.oob->ops->receive(t.oob, &data, &bytes, 5, &err), -1);
    assert_string_equal(err.text, "the agent: closed the connection");
    end(&t);
}

/* What the agent had not read when it died is a reset, and no end. */
TEST(an_agent_that_died_is_said_to_be_gone)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct nt_contribution all[3];
    struct talk t;
    begin(&t, 1, 10);
    assert_int_equal(gather(&t, 5, all, &err), 0);
    leave(&t);
    assert_int_equal(t.oob->ops->receive(t.oob, &data, &bytes, 5, &err), -1);
    assert_string_equal(err.text, "the agent: Connection reset by peer");
    end(&t);
}

/* ---- what a probe sends ---- */

/* Text by text: of one frame, of several, to one host and to all. */
static int send_all(const struct talk *t, const char *text, size_t bytes, int what,
                    struct nt_err *err)
{
    const struct nt_unicast one = {2, (const unsigned char *)text, bytes};
    switch (what) {
    case 0:
        return t->oob->ops->gather(t->oob, text, bytes, 1, NULL, err);
    case 1:
        return t->oob->ops->scatter(t->oob, &one, 1, "", 0, err);
    case 2:
        return t->oob->ops->done(t->oob, NT_STATUS_FAILED, "no reason", err);
    default:
        return t->oob->ops->artifact(t->oob, NT_ARTIFACT_MAP, text, bytes, err);
    }
}

TEST(an_agent_that_takes_nothing_fails_it_in_time)
{
    enum { LARGE = 8 * NT_FRAME_PAYLOAD_MAX };
    static char text[LARGE];
    struct talk t;
    for (int what = 0; what < 4; what++) {
        begin(&t, 1, 10);
        leave(&t);
        assert_int_equal(send_all(&t, text, LARGE, what, &err), -1);
        assert_string_equal(err.text, "the agent: Broken pipe");
        end(&t);
    }
    begin(&t, 1, 0.2);
    assert_int_equal(send_all(&t, text, LARGE, 3, &err), -1);
    assert_string_equal(err.text, "the agent: takes no more data");
    end(&t);
}

/* The end has a bounded reason, and figures that fit or none. */
TEST(done_is_one_bounded_line)
{
    char reason[2048], frame[NT_FRAME_HEAD_BYTES + 1024];
    struct talk t;
    begin(&t, 0, 10);
    memset(reason, 'r', sizeof reason);
    reason[1000] = '\n';
    reason[sizeof reason - 1] = '\0';
    assert_int_equal(t.oob->ops->done(t.oob, NT_STATUS_PARTIAL, reason, &err), 0);
    ssize_t n = recv(t.agent, frame, sizeof frame, 0);
    assert_int_equal(n, NT_FRAME_HEAD_BYTES + strlen("partial ") + 512);
    assert_int_equal(t.oob->ops->done(t.oob, NT_STATUS_OK, "unsaid\nx=1", &err), 0);
    n = recv(t.agent, frame, sizeof frame, 0);
    assert_int_equal(n, NT_FRAME_HEAD_BYTES + strlen("ok\nx=1"));
    assert_memory_equal(frame + NT_FRAME_HEAD_BYTES, "ok\nx=1", 6);
    end(&t);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return run_group(NULL, NULL);
}
