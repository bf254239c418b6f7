/* SPDX-License-Identifier: Apache-2.0 */
#include "auth.h"

#include <errno.h>
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { CLAIM_BYTES = 1024 };

static void put32(unsigned char *p, uint32_t v)
{
    for (int k = 0; k < 4; k++)
        p[k] = (unsigned char)(v >> (8 * k) & 0xff);
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- versions ---- */

/* Encodes "0.1.0" as 0x000100; the protocol version is in the 8 bits above. */
uint32_t nt_auth_version(void)
{
    uint32_t version = (uint32_t)NT_WIRE_VERSION;
    const char *at = NT_VERSION;
    for (int k = 0; k < 3; k++) {
        char *end;
        version = version << 8 | ((uint32_t)strtoul(at, &end, 10) & 0xff);
        at = *end == '.' ? end + 1 : end;
    }
    return version;
}

int nt_auth_refuse_version(const char *host, uint32_t theirs, uint32_t ours, struct nt_err *err)
{
    if (theirs >> 24 == 0) /* an agent from before the number contained the release */
        return nt_err_set(err, NT_ERR_INPUT,
                          "%.64s has an older nettopo (protocol %u) than this host. Install one "
                          "version on all hosts.",
                          host, theirs);
    return nt_err_set(err, NT_ERR_INPUT,
                      "%.64s has nettopo %u.%u.%u (protocol %u), this host %u.%u.%u (protocol %u). "
                      "Install one version on all hosts.",
                      host, theirs >> 16 & 0xff, theirs >> 8 & 0xff, theirs & 0xff, theirs >> 24,
                      ours >> 16 & 0xff, ours >> 8 & 0xff, ours & 0xff, ours >> 24);
}

/* ---- HELLO and credentials ---- */

void nt_hello_encode(const struct nt_hello *hello, unsigned char bytes[NT_HELLO_BYTES])
{
    put32(bytes, hello->version);
    put32(bytes + 4, hello->job);
    put32(bytes + 8, hello->restart);
    memcpy(bytes + 12, hello->nonce, NT_NONCE_BYTES);
}

int nt_hello_decode(const unsigned char *bytes, size_t n, struct nt_hello *hello,
                    struct nt_err *err)
{
    if (n != NT_HELLO_BYTES)
        return nt_err_set(err, NT_ERR_INPUT, "first message: expected %d bytes, found %zu",
                          (int)NT_HELLO_BYTES, n);
    hello->version = get32(bytes);
    hello->job = get32(bytes + 4);
    hello->restart = get32(bytes + 8);
    memcpy(hello->nonce, bytes + 12, NT_NONCE_BYTES);
    return 0;
}

int nt_nonce_make(unsigned char nonce[NT_NONCE_BYTES], struct nt_err *err)
{
    /* getrandom returns up to 256 bytes in full or fails */
    if (getrandom(nonce, NT_NONCE_BYTES, 0) != NT_NONCE_BYTES)
        return nt_err_set(err, NT_ERR_SYSTEM, "getrandom: %s", strerror(errno));
    return 0;
}

static void format_nonce(const unsigned char nonce[NT_NONCE_BYTES],
                         char text[2 * NT_NONCE_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t k = 0; k < NT_NONCE_BYTES; k++) {
        text[2 * k] = digits[nonce[k] >> 4];
        text[2 * k + 1] = digits[nonce[k] & 15];
    }
    text[2UL * NT_NONCE_BYTES] = '\0';
}

static const char *direction_name(enum nt_direction direction)
{
    return direction == NT_TO_LEADER ? "to-leader" : "to-member";
}

/* Writes the text of a claim, which both sides build in the same way. Returns its length, or -1. */
static int claim_text(const struct nt_claim *claim, char text[CLAIM_BYTES], struct nt_err *err)
{
    char leader_nonce[2 * NT_NONCE_BYTES + 1], member_nonce[2 * NT_NONCE_BYTES + 1];
    format_nonce(claim->leader_nonce, leader_nonce);
    format_nonce(claim->member_nonce, member_nonce);
    int n = snprintf(
        text, CLAIM_BYTES,
        "nettopo/%x\n%s\ncluster %s\njob %u restart %u\nleader %s port %u\nmember %u %s\n%s\n%s\n",
        nt_auth_version(), direction_name(claim->direction), claim->cluster, claim->job,
        claim->restart, claim->leader, claim->port, claim->member_index, claim->member,
        leader_nonce, member_nonce);
    if (n < 0 || n >= CLAIM_BYTES - NT_SECRET_BYTES)
        return nt_err_set(err, NT_ERR_INPUT, "munge: host names too long");
    return n;
}

/* Only this agent's user may decode the credential: decoding it elsewhere would count as a
 * replay. */
static munge_ctx_t create_context(const char *socket, struct nt_err *err)
{
    munge_ctx_t ctx = munge_ctx_create();
    if (ctx == NULL) {
        nt_err_memory(err);
        return NULL;
    }
    if ((socket[0] != '\0' && munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) ||
        munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, geteuid()) != EMUNGE_SUCCESS) {
        nt_err_set(err, NT_ERR_SYSTEM, "munge: %s", munge_ctx_strerror(ctx));
        munge_ctx_destroy(ctx);
        return NULL;
    }
    return ctx;
}

int nt_auth_prove(const char *socket, const struct nt_claim *claim,
                  const unsigned char secret[NT_SECRET_BYTES], char credential[NT_CREDENTIAL_MAX],
                  struct nt_err *err)
{
    char text[CLAIM_BYTES], *made = NULL;
    int n = claim_text(claim, text, err), rc = -1;
    if (n < 0)
        return -1;
    memcpy(text + n, secret, NT_SECRET_BYTES);
    munge_ctx_t ctx = create_context(socket, err);
    if (ctx == NULL)
        return -1;
    munge_err_t code = munge_encode(&made, ctx, text, n + NT_SECRET_BYTES);
    if (code != EMUNGE_SUCCESS || made == NULL) {
        const char *why = munge_ctx_strerror(ctx);
        nt_err_set(err, NT_ERR_SYSTEM, "munge: %s", why != NULL ? why : munge_strerror(code));
    } else if (strlen(made) >= NT_CREDENTIAL_MAX) {
        nt_err_set(err, NT_ERR_SYSTEM, "munge: credential of %zu bytes", strlen(made));
    } else {
        memcpy(credential, made, strlen(made) + 1);
        rc = 0;
    }
    free(made);
    munge_ctx_destroy(ctx);
    return rc;
}

static void decode_failed(munge_ctx_t ctx, munge_err_t code, struct nt_err *err)
{
    const char *why = munge_ctx_strerror(ctx);
    time_t made, now;
    nt_err_set(err, NT_ERR_INPUT, "munge: %s", why != NULL ? why : munge_strerror(code));
    /* no credential of a sweep is as old as one may be: the clocks differ */
    if ((code != EMUNGE_CRED_EXPIRED && code != EMUNGE_CRED_REWOUND) ||
        munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &made) != EMUNGE_SUCCESS ||
        munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &now) != EMUNGE_SUCCESS)
        return;
    nt_err_set(err, NT_ERR_INPUT,
               "munge: %s: the clock of the sender is %lld s %s. Synchronise the clocks.",
               munge_strerror(code), llabs((long long)made - (long long)now),
               made < now ? "behind" : "ahead");
}

int nt_auth_check(const char *socket, const struct nt_claim *claim, const char *credential,
                  unsigned char secret[NT_SECRET_BYTES], struct nt_err *err)
{
    char text[CLAIM_BYTES];
    void *payload = NULL;
    int bytes = 0, n = claim_text(claim, text, err), rc = -1;
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    if (n < 0)
        return -1;
    munge_ctx_t ctx = create_context(socket, err);
    if (ctx == NULL)
        return -1;
    munge_err_t code = munge_decode(credential, ctx, &payload, &bytes, &uid, &gid);
    if (code != EMUNGE_SUCCESS) { /* munge_decode returns the payload of replayed and expired
                                     credentials too; ignored */
        decode_failed(ctx, code, err);
    } else if (uid != 0 && uid != geteuid()) {
        nt_err_set(err, NT_ERR_INPUT, "munge: expected a credential of root, found uid %u",
                   (unsigned)uid);
    } else if (payload == NULL || bytes != n + NT_SECRET_BYTES ||
               memcmp(payload, text, (size_t)n) != 0) {
        nt_err_set(err, NT_ERR_INPUT, "munge: credential does not match the connection");
    } else {
        memcpy(secret, (unsigned char *)payload + n, NT_SECRET_BYTES);
        rc = 0;
    }
    free(payload);
    munge_ctx_destroy(ctx);
    return rc;
}

void nt_auth_keys(const unsigned char member_secret[NT_SECRET_BYTES],
                  const unsigned char leader_secret[NT_SECRET_BYTES],
                  struct nt_frame_key *to_leader, struct nt_frame_key *to_member)
{
    nt_frame_key_derive(member_secret, leader_secret, direction_name(NT_TO_LEADER), to_leader);
    nt_frame_key_derive(member_secret, leader_secret, direction_name(NT_TO_MEMBER), to_member);
}
