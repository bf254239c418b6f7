/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual authentication of leader and member with one MUNGE credential each. The only file that
 * uses libmunge. Calls block as long as munged does. Does not use connections and is independent of
 * the sweep.
 *
 * The leader sends HELLO with a nonce, the member answers with a PROOF for the leader, the leader
 * with a PROOF for the member. A proof is a nonce and a MUNGE credential. The receiver accepts a
 * credential only if root (or the user of this agent) made it, and if its payload equals, byte for
 * byte, the text that the receiver builds itself: cluster, job, restart, leader, member, port, both
 * nonces and the direction. Nothing inside a credential is parsed. The text contains the port
 * because otherwise a process that listens on another port of the leader's host could relay the
 * exchange between two honest agents. MUNGE itself rejects replayed and expired credentials.
 *
 * After this text the payload contains 32 random bytes, the secret of the sender, which MUNGE
 * encrypts so that only agents can read it. The keys of all later frames are derived from both
 * secrets (conn.h). */
#ifndef NT_AUTH_H
#define NT_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "conn.h"
#include "err.h"

enum {
    NT_NONCE_BYTES = 32,
    NT_HELLO_BYTES = 12 + NT_NONCE_BYTES,
    NT_CREDENTIAL_MAX = 4096, /* including the final NUL */
    NT_PROOF_MAX = NT_NONCE_BYTES + NT_CREDENTIAL_MAX,
    NT_WIRE_VERSION = 3, /* version of the protocol between agents */
};

/* The release and the protocol version of this agent in one number. An agent rejects agents with
 * another number. */
uint32_t nt_auth_version(void);

/* Sets err (NT_ERR_INPUT) to a sentence with the release of each of the two hosts. Returns -1. */
int nt_auth_refuse_version(const char *host, uint32_t theirs, uint32_t ours, struct nt_err *err);

/* The payload of a HELLO frame. */
struct nt_hello {
    uint32_t version, job, restart;
    unsigned char nonce[NT_NONCE_BYTES];
};

void nt_hello_encode(const struct nt_hello *hello, unsigned char bytes[NT_HELLO_BYTES]);
int nt_hello_decode(const unsigned char *bytes, size_t n, struct nt_hello *hello,
                    struct nt_err *err);

enum nt_direction { NT_TO_LEADER = 1, NT_TO_MEMBER };

/* The facts that a credential proves. All pointers are borrowed. */
struct nt_claim {
    enum nt_direction direction;
    const char *cluster;
    uint32_t job, restart;
    const char *leader; /* host names of both agents */
    const char *member;
    uint32_t member_index;
    uint16_t port;
    const unsigned char *leader_nonce, *member_nonce; /* NT_NONCE_BYTES each */
};

int nt_nonce_make(unsigned char nonce[NT_NONCE_BYTES], struct nt_err *err);

/* Creates a NUL-terminated credential with this claim and secret. socket: path of munged's socket;
 * "": MUNGE's default. */
int nt_auth_prove(const char *socket, const struct nt_claim *claim,
                  const unsigned char secret[NT_SECRET_BYTES], char credential[NT_CREDENTIAL_MAX],
                  struct nt_err *err);

/* Returns 0 and sets secret only if the credential proves exactly this claim; otherwise -1,
 * NT_ERR_INPUT. */
int nt_auth_check(const char *socket, const struct nt_claim *claim, const char *credential,
                  unsigned char secret[NT_SECRET_BYTES], struct nt_err *err);

/* Derives the two keys of a connection from the secrets of both sides, after both have been
 * authenticated. */
void nt_auth_keys(const unsigned char member_secret[NT_SECRET_BYTES],
                  const unsigned char leader_secret[NT_SECRET_BYTES],
                  struct nt_frame_key *to_leader, struct nt_frame_key *to_member);

#endif
