/* SPDX-License-Identifier: Apache-2.0 */
#include <munge.h>
#include <time.h>

#include "asserts.h"
#include "auth.h"
#include "own_munge.h"

static struct own_munge munge;
static unsigned char nonce[3][NT_NONCE_BYTES];

static int start(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++)
        if (nt_nonce_make(nonce[k], NULL) != 0)
            return -1;
    own_munge_start(&munge);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (munge.pid > 0)
        own_munge_stop(&munge);
    return 0;
}

static const unsigned char secret[NT_SECRET_BYTES] = "a secret of thirty-two bytes....";
static unsigned char got_secret[NT_SECRET_BYTES];

static struct nt_claim good(void)
{
    return (struct nt_claim){.direction = NT_TO_LEADER,
                             .cluster = "one",
                             .job = 42,
                             .restart = 1,
                             .leader = "n1",
                             .member = "n2",
                             .member_index = 1,
                             .port = 24542,
                             .leader_nonce = nonce[0],
                             .member_nonce = nonce[1]};
}

TEST(a_valid_credential_is_accepted_once)
{
    struct nt_claim claim = good();
    char credential[NT_CREDENTIAL_MAX];
    if (munge.pid == 0)
        skip();
    must(nt_auth_prove(munge.socket, &claim, secret, credential, &err));
    must(nt_auth_check(munge.socket, &claim, credential, got_secret, &err));
    assert_memory_equal(got_secret, secret, NT_SECRET_BYTES);
    assert_int_equal(nt_auth_check(munge.socket, &claim, credential, got_secret, &err), -1);
    assert_non_null(strstr(err.text, "Replayed"));
}

TEST(any_other_claim_is_rejected)
{
    struct nt_claim others[10];
    if (munge.pid == 0)
        skip();
    for (size_t k = 0; k < 10; k++)
        others[k] = good();
    others[0].direction = NT_TO_MEMBER;
    others[1].job = 43;
    others[2].restart = 0;
    others[3].leader = "n3";
    others[4].member = "n3";
    others[5].member_index = 2;
    others[6].port = 24543;
    others[7].leader_nonce = nonce[2];
    others[8].member_nonce = nonce[2];
    others[9].cluster = "two"; /* with the same MUNGE key and job id */
    for (size_t k = 0; k < 10; k++) {
        struct nt_claim claim = good();
        char credential[NT_CREDENTIAL_MAX];
        must(nt_auth_prove(munge.socket, &others[k], secret, credential, &err));
        if (nt_auth_check(munge.socket, &claim, credential, got_secret, &err) != -1)
            fail_msg("claim %zu was taken", k);
        assert_string_equal(err.text, "munge: credential does not match the connection");
    }
}

TEST(host_names_cannot_be_confused)
{
    struct nt_claim one = good(), two = good();
    char credential[NT_CREDENTIAL_MAX];
    if (munge.pid == 0)
        skip();
    one.leader = "a port 1"; /* not a valid host name; rejected nevertheless */
    one.port = 2;
    two.leader = "a";
    two.port = 1;
    must(nt_auth_prove(munge.socket, &one, secret, credential, &err));
    assert_int_equal(nt_auth_check(munge.socket, &two, credential, got_secret, &err), -1);
}

/* The payload of a claim, taken from a credential of this process. */
static size_t text_of(const struct nt_claim *claim, char text[2048])
{
    char credential[NT_CREDENTIAL_MAX];
    void *payload = NULL;
    int bytes = 0;
    munge_ctx_t ctx = munge_ctx_create();
    assert_int_equal(munge_ctx_set(ctx, MUNGE_OPT_SOCKET, munge.socket), EMUNGE_SUCCESS);
    assert_int_equal(nt_auth_prove(munge.socket, claim, secret, credential, NULL), 0);
    assert_int_equal(munge_decode(credential, ctx, &payload, &bytes, NULL, NULL), EMUNGE_SUCCESS);
    assert_in_range(bytes, 1, 2047);
    memcpy(text, payload, (size_t)bytes);
    free(payload);
    munge_ctx_destroy(ctx);
    return (size_t)bytes;
}

/* A child with another uid makes a credential that anyone may decode. */
static void make_as(uid_t uid, const char *text, size_t bytes, char credential[NT_CREDENTIAL_MAX])
{
    int fd[2], status = 0;
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *made = NULL;
        munge_ctx_t ctx = munge_ctx_create();
        if (setresuid(uid, uid, uid) != 0 ||
            munge_ctx_set(ctx, MUNGE_OPT_SOCKET, munge.socket) != EMUNGE_SUCCESS ||
            munge_encode(&made, ctx, text, (int)bytes) != EMUNGE_SUCCESS)
            _exit(1);
        _exit(write(fd[1], made, strlen(made)) > 0 ? 0 : 2);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    ssize_t n = read(fd[0], credential, NT_CREDENTIAL_MAX - 1);
    assert_above(n, 0);
    credential[n] = '\0';
    close(fd[0]);
    close(fd[1]);
}

/* Also with the right claim. */
TEST(a_credential_of_another_user_is_rejected)
{
    struct nt_claim claim = good();
    char text[2048], credential[NT_CREDENTIAL_MAX];
    if (munge.pid == 0 || geteuid() != 0)
        skip();
    size_t bytes = text_of(&claim, text);
    make_as(0, text, bytes, credential);
    must(nt_auth_check(munge.socket, &claim, credential, got_secret, &err));
    make_as(12345, text, bytes, credential);
    assert_int_equal(nt_auth_check(munge.socket, &claim, credential, got_secret, &err), -1);
    assert_string_equal(err.text, "munge: expected a credential of root, found uid 12345");
    /* nor is a right prefix enough */
    make_as(0, text, bytes - 1, credential);
    assert_int_equal(nt_auth_check(munge.socket, &claim, credential, got_secret, &err), -1);
    assert_string_equal(err.text, "munge: credential does not match the connection");
}

/* One that was made two seconds ago and is good for one: as if its host's clock were behind. */
TEST(a_clock_that_is_behind_is_named)
{
    struct nt_claim claim = good();
    char text[2048], *made = NULL;
    munge_ctx_t ctx = munge_ctx_create();
    if (munge.pid == 0)
        skip();
    size_t bytes = text_of(&claim, text);
    assert_int_equal(munge_ctx_set(ctx, MUNGE_OPT_SOCKET, munge.socket), EMUNGE_SUCCESS);
    assert_int_equal(munge_ctx_set(ctx, MUNGE_OPT_TTL, 1), EMUNGE_SUCCESS);
    assert_int_equal(munge_encode(&made, ctx, text, (int)bytes), EMUNGE_SUCCESS);
    for (time_t late = time(NULL) + 2; time(NULL) < late;) /* munge counts whole seconds */
        poll(NULL, 0, 10);
    assert_int_equal(nt_auth_check(munge.socket, &claim, made, got_secret, &err), -1);
    assert_string_equal(err.text,
                        "munge: Expired credential: the clock of the sender is 2 s behind. "
                        "Synchronise the clocks.");
    munge_ctx_destroy(ctx);
    free(made);
}

TEST(text_that_is_no_credential_is_rejected)
{
    static const char *const texts[] = {"", "MUNGE:", "MUNGE:AAAA:", "garbage", "\xff\xfe"};
    struct nt_claim claim = good();
    if (munge.pid == 0)
        skip();
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        assert_int_equal(nt_auth_check(munge.socket, &claim, texts[k], got_secret, NULL), -1);
    char credential[NT_CREDENTIAL_MAX];
    assert_int_equal(nt_auth_prove(munge.socket, &claim, secret, credential, NULL), 0);
    credential[20] = credential[20] == 'A' ? 'B' : 'A';
    assert_int_equal(nt_auth_check(munge.socket, &claim, credential, got_secret, NULL), -1);
}

TEST(without_munged_the_error_is_one_line)
{
    struct nt_claim claim = good();
    char credential[NT_CREDENTIAL_MAX];
    assert_int_equal(nt_auth_prove("/nonexistent/socket", &claim, secret, credential, &err), -1);
    assert_int_equal(strncmp(err.text, "munge: ", 7), 0);
    assert_int_equal(nt_auth_check("/nonexistent/socket", &claim, "MUNGE:x:", got_secret, &err),
                     -1);
}

TEST(hello_has_one_length)
{
    struct nt_hello in = {.version = 1, .job = 0x01020304, .restart = 0xfffffffe}, out;
    unsigned char bytes[NT_HELLO_BYTES + 1];
    memcpy(in.nonce, nonce[0], NT_NONCE_BYTES);
    nt_hello_encode(&in, bytes);
    assert_int_equal(nt_hello_decode(bytes, NT_HELLO_BYTES, &out, NULL), 0);
    assert_memory_equal(&in, &out, sizeof in);
    assert_int_equal(nt_hello_decode(bytes, NT_HELLO_BYTES - 1, &out, NULL), -1);
    assert_int_equal(nt_hello_decode(bytes, NT_HELLO_BYTES + 1, &out, NULL), -1);
    assert_int_equal(nt_hello_decode(bytes, 0, &out, NULL), -1);
}

int main(void)
{
    return run_group(start, stop);
}
