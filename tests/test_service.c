/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay that has been taken over can ask of root: nothing but what this host in this job may
 * have. And what is published when it lies, or dies. */
#define TEST_BEFORE make_ground
#define TEST_AFTER remove_ground

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "client.h"
#include "clock.h"
#include "own_munge.h"
#include "write_all.h"

enum { JOB = 42 };

static struct own_munge munge;
static char *names[] = {"n1", "n2", "n3"};

struct ground {
    char run[64];
    struct nt_conf conf;
    struct nt_option option;
    struct nt_job job;
    struct nt_service service;
};

static int start_munge(void **state)
{
    (void)state;
    own_munge_start(&munge);
    return 0;
}

static int stop_munge(void **state)
{
    (void)state;
    if (munge.pid > 0)
        own_munge_stop(&munge);
    return 0;
}

static int make_ground(void **state)
{
    struct ground *g = calloc(1, sizeof *g);
    struct nt_err err;
    if (g == NULL)
        return -1;
    snprintf(g->run, sizeof g->run, "/tmp/nettopo-service-XXXXXX");
    if (mkdtemp(g->run) == NULL || nt_option_parse("", &g->option, &err) != 0)
        return -1;
    nt_conf_default(&g->conf);
    snprintf(g->conf.run_dir, sizeof g->conf.run_dir, "%s", g->run);
    snprintf(g->conf.probe, sizeof g->conf.probe, "/bin/cat"); /* ends at once: wrong argument */
    snprintf(g->conf.munge_socket, sizeof g->conf.munge_socket, "%s", munge.socket);
    g->conf.publish_limit_bytes = 65536;
    g->job = (struct nt_job){.id = JOB,
                             .hosts = 3,
                             .host = names,
                             .self = 1,
                             .uid = getuid() != 0 ? getuid() : 65534,
                             .gid = getgid() != 0 ? getgid() : 65534};
    g->service = (struct nt_service){
        .conf = &g->conf, .job = &g->job, .option = &g->option, .deadline = 1e9, .give_up = 1e9};
    nt_service_init(&g->service);
    assert_int_equal(g->service.publish_err.kind, NT_ERR_NONE);
    *state = g;
    return 0;
}

static int remove_ground(void **state)
{
    struct ground *g = *state;
    if (g->service.probe_socket >= 0)
        close(g->service.probe_socket);
    nt_service_fini(&g->service);
    nt_publish_remove(g->run, JOB, NULL);
    int rc = rmdir(g->run);
    free(g);
    return rc;
}

static struct nt_service_reply ask(struct ground *g, const struct nt_service_request *request)
{
    struct nt_service_reply reply;
    int fd;
    nt_service_handle(&g->service, request, &reply, &fd);
    if (fd >= 0)
        close(fd);
    return reply;
}

TEST(unknown_requests_are_refused)
{
    static const uint32_t kinds[] = {0, NT_SERVICE_RESULT + 1, 0x7fffffff, 0xffffffff};
    for (size_t k = 0; k < 4; k++) {
        struct nt_service_request request = {.kind = kinds[k]};
        assert_int_equal(ask(*state, &request).rc, -1);
    }
}

/* ---- credentials ---- */

TEST(no_credential_is_made_for_other_connections)
{
    static const struct {
        uint32_t direction, peer;
    } bad[] = {{0, 0},
               {3, 0},
               {0xffffffff, 0},
               {NT_TO_LEADER, 1},
               {NT_TO_LEADER, 3},
               {NT_TO_MEMBER, 0xffffffff}};
    for (uint32_t kind = NT_SERVICE_PROVE; kind <= NT_SERVICE_CHECK; kind++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            struct nt_service_request request = {
                .kind = kind, .handshake = {.direction = bad[k].direction, .peer = bad[k].peer}};
            struct nt_service_reply reply = ask(*state, &request);
            assert_int_equal(reply.rc, -1);
            assert_string_equal(reply.err.text, "not a connection of this host");
        }
}

/* What this host's relay asks for as member is not what another host's would get, and the other way
 * round. */
TEST(a_credential_states_this_host)
{
    struct ground *g = *state;
    struct nt_job third = g->job;
    if (munge.pid == 0)
        skip();
    third.self = 2;
    struct nt_service leader = {.conf = &g->conf}, member = {.conf = &g->conf, .job = &third};
    struct nt_job first = g->job;
    first.self = 0;
    leader.job = &first;
    struct nt_service_request prove = {
        .kind = NT_SERVICE_PROVE, .handshake = {.direction = NT_TO_LEADER, .peer = 0, .port = 7}};
    for (int k = 0; k < 2; k++) {
        /* this host's for the first host; it is checked as that of host 2 and of host 1 */
        struct nt_service_reply made = ask(g, &prove), checked;
        int fd;
        assert_int_equal(made.rc, 0);
        struct nt_service_request check = prove;
        check.kind = NT_SERVICE_CHECK;
        check.handshake.peer = k == 0 ? 2 : 1;
        memcpy(check.credential, made.credential, sizeof check.credential);
        nt_service_handle(&leader, &check, &checked, &fd);
        assert_int_equal(checked.rc, k == 0 ? -1 : 0);
    }
    /* a member cannot take it for the leader's */
    struct nt_service_reply made = ask(g, &prove), checked;
    int fd;
    struct nt_service_request check = {.kind = NT_SERVICE_CHECK,
                                       .handshake = {.direction = NT_TO_MEMBER, .port = 7}};
    memcpy(check.credential, made.credential, sizeof check.credential);
    nt_service_handle(&member, &check, &checked, &fd);
    assert_int_equal(checked.rc, -1);
}

TEST(a_credential_without_an_end_is_refused)
{
    struct nt_service_request request = {.kind = NT_SERVICE_CHECK,
                                         .handshake = {.direction = NT_TO_MEMBER}};
    memset(request.credential, 'A', sizeof request.credential);
    struct nt_service_reply reply = ask(*state, &request);
    assert_int_equal(reply.rc, -1);
    assert_string_equal(reply.err.text, "credential without its end");
}

/* ---- lookups ---- */

TEST(lookups_are_of_the_job_s_hosts_and_few)
{
    struct ground *g = *state;
    struct nt_service_request request = {.kind = NT_SERVICE_ADDRESSES, .host = 3};
    assert_int_equal(ask(g, &request).rc, -1);
    request.host = 0xffffffff;
    assert_int_equal(ask(g, &request).rc, -1);
    request.host = 0;
    for (int k = 0; k < NT_SERVICE_LOOKUPS; k++)
        assert_int_equal(ask(g, &request).rc, 0);
    assert_int_equal(ask(g, &request).rc, -1);
    assert_int_equal(g->service.lookups, NT_SERVICE_LOOKUPS);
}

/* ---- the end ---- */

static void read_back(const struct ground *g, const char *name, char *text, size_t room)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d/%s", g->run, JOB, name);
    int fd = open(path, O_RDONLY);
    assert_at_least(fd, 0);
    ssize_t n = read(fd, text, room - 1);
    assert_at_least(n, 0);
    text[n] = '\0';
    close(fd);
}

static void expect_failed(const struct ground *g, const char *reason)
{
    char text[512], path[128];
    read_back(g, "hint.env", text, sizeof text);
    assert_non_null(strstr(text, "NETTOPO_STATUS=failed\n"));
    if (strstr(text, reason) == NULL)
        fail_msg("%s has no \"%s\"", text, reason);
    snprintf(path, sizeof path, "%s/%d/map.json", g->run, JOB);
    assert_int_equal(access(path, F_OK), -1);
}

static void write_file(struct ground *g, int artifact, size_t bytes)
{
    static char much[100000];
    assert_int_equal(nt_write_all(g->service.publish.artifacts.fd[artifact], much, bytes), 0);
}

static struct nt_service_request result_request(const char *text)
{
    struct nt_service_request request = {.kind = NT_SERVICE_RESULT};
    snprintf(request.result.text, sizeof request.result.text, "%s", text);
    return request;
}

TEST(a_reported_result_is_published)
{
    struct ground *g = *state;
    char text[64];
    struct nt_service_request request = result_request("ok");
    assert_int_equal(nt_write_all(g->service.publish.artifacts.fd[NT_ARTIFACT_ENV], "A=1\n", 4), 0);
    request.result.complete[NT_ARTIFACT_ENV] = 1;
    assert_int_equal(ask(g, &request).rc, 0);
    nt_service_publish(&g->service);
    assert_string_equal(g->service.outcome.text, "ok");
    read_back(g, "hint.env", text, sizeof text);
    assert_string_equal(text, "A=1\n");
}

TEST(a_result_is_accepted_once_and_is_checked)
{
    struct ground *g = *state;
    struct nt_service_request request = result_request("failed \x1b[31mred\nline");
    request.result.advice = NT_ADVICE_SYSTEM + 1;
    assert_int_equal(ask(g, &request).rc, -1);
    request.result.advice = NT_ADVICE_PROBE;
    struct nt_service_request endless = request;
    memset(endless.result.text, 'A', sizeof endless.result.text);
    assert_int_equal(ask(g, &endless).rc, -1);
    request.result.failed = 1;
    assert_int_equal(ask(g, &request).rc, 0);
    assert_int_equal(ask(g, &request).rc, -1);
    nt_service_publish(&g->service);
    expect_failed(g, "NETTOPO_REASON=?[31mred?line\n");
}

TEST(files_that_are_not_complete_fail)
{
    struct ground *g = *state;
    struct nt_service_request request = result_request("ok");
    write_file(g, NT_ARTIFACT_ENV, 10);
    write_file(g, NT_ARTIFACT_MAP, 10);
    request.result.complete[NT_ARTIFACT_ENV] = 1;
    assert_int_equal(ask(g, &request).rc, 0);
    nt_service_publish(&g->service);
    expect_failed(g, "map.json is not complete");
}

TEST(files_over_the_limit_fail)
{
    struct ground *g = *state;
    struct nt_service_request request = result_request("ok");
    for (int k = 1; k < NT_ARTIFACT_END; k++) {
        write_file(g, k, 20000);
        request.result.complete[k] = 1;
    }
    assert_int_equal(ask(g, &request).rc, 0);
    nt_service_publish(&g->service);
    expect_failed(g, "larger than publish_limit, 65536 bytes");
}

TEST(without_a_result_it_fails)
{
    struct ground *g = *state;
    write_file(g, NT_ARTIFACT_ENV, 10);
    nt_service_publish(&g->service);
    expect_failed(g, "the agent's relay did not end within the budget");
    assert_true(g->service.outcome.decided);
    assert_int_equal(g->service.outcome.advice, NT_ADVICE_AGENT);
}

/* The relay waited for it until time was over: it has no result, and it is not at fault. */
TEST(a_munged_that_is_late_is_named)
{
    struct ground *g = *state;
    struct nt_service_request request = {.kind = NT_SERVICE_PROVE,
                                         .handshake = {.direction = NT_TO_LEADER, .port = 7}};
    _Atomic unsigned waits_on = NT_WAIT_NONE;
    g->service.waits_on = &waits_on;
    write_file(g, NT_ARTIFACT_ENV, 10);
    ask(g, &request);
    assert_false(g->service.munged_is_late);
    assert_int_equal(waits_on, NT_WAIT_NONE);
    g->service.give_up = nt_clock_s();
    ask(g, &request);
    assert_int_equal(waits_on, NT_WAIT_MUNGE); /* for the monitor, which may end the worker now */
    nt_service_publish(&g->service);
    assert_int_equal(waits_on, NT_WAIT_MUNGE);
    expect_failed(g, "munged on this host did not answer");
    assert_int_equal(g->service.outcome.advice, NT_ADVICE_CONNECT);
}

/* ---- the socket ---- */

TEST(messages_of_another_size_end_the_relay)
{
    struct ground *g = *state;
    static char bytes[sizeof(struct nt_service_request) + 1];
    static const size_t sizes[] = {1, sizeof bytes - 2, sizeof bytes};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(send(pair[1], bytes, sizes[k], 0), (ssize_t)sizes[k]);
        assert_false(nt_service_answer(&g->service, pair[0]));
    }
    close(pair[1]);
    assert_false(nt_service_answer(&g->service, pair[0]));
    close(pair[0]);
}

/* It asks for ever and reads no answer: neither memory nor the worker's time is taken. */
TEST(a_relay_that_does_not_read_blocks_nobody)
{
    struct ground *g = *state;
    struct nt_service_request request = {.kind = NT_SERVICE_PROBE_END};
    int pair[2], asked = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    for (int k = 0; k < 1000; k++) {
        asked += send(pair[1], &request, sizeof request, MSG_DONTWAIT) > 0;
        assert_true(nt_service_answer(&g->service, pair[0]));
    }
    assert_int_equal(asked, 1000);
    close(pair[1]);
    close(pair[0]);
}

/* Through the socket, with a descriptor. */
TEST(a_lookup_crosses_the_socket)
{
    struct ground *g = *state;
    int pair[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct nt_client client = {.fd = pair[1]};
        struct nt_lookup lookup;
        close(pair[0]);
        if (nt_client_look_up_addresses(&client, 3, &lookup, &err) == 0 ||
            strcmp(err.text, "not a host of the job") != 0 ||
            nt_client_look_up_addresses(&client, 0, &lookup, &err) != 0 || lookup.fd < 0)
            exit(1);
        struct pollfd ready = {.fd = lookup.fd, .events = POLLIN};
        poll(&ready, 1, 20000);
        exit(nt_lookup_poll(&lookup) == -1 ? 0 : 2); /* n1 has no address here */
    }
    close(pair[1]);
    struct pollfd ready = {.fd = pair[0], .events = POLLIN};
    while (poll(&ready, 1, 20000) == 1 && nt_service_answer(&g->service, pair[0]))
        ;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(pair[0]);
}

/* Gone before it is asked, and after: each call says so, and gives nothing. */
TEST(a_worker_that_is_gone_is_named)
{
    static const unsigned char secret[NT_SECRET_BYTES];
    static char credential[NT_CREDENTIAL_MAX];
    const struct nt_handshake handshake = {.direction = NT_TO_LEADER};
    struct nt_service_request request;
    unsigned char answered[NT_SECRET_BYTES];
    char ended[NT_PROBE_END_BYTES];
    enum nt_advice advice;
    struct nt_lookup lookup;
    int pair[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[1]);
        exit(recv(pair[0], &request, sizeof request, 0) == (ssize_t)sizeof request ? 0 : 1);
    }
    close(pair[0]);
    const struct nt_client client = {.fd = pair[1]};
    assert_int_equal(nt_client_check(&client, &handshake, credential, answered, &err), -1);
    assert_string_equal(err.text, "the agent's worker does not answer");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(nt_client_prove(&client, &handshake, secret, credential, NULL), -1);
    assert_int_equal(nt_client_look_up_use(&client, &lookup, NULL), -1);
    assert_int_equal(lookup.fd, -1);
    assert_false(nt_client_probe_ended(&client, ended, &advice));
    nt_client_stop_probe(&client);
    nt_client_report_result(&client, &(struct nt_relay_result){0});
    close(pair[1]);
}

int main(void)
{
    return run_group(start_munge, stop_munge);
}
