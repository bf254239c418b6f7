/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual authentication of leader and member with one MUNGE credential each.
 *
 * The leader sends HELLO with a nonce, the member answers with a PROOF for the leader, the leader
 * with a PROOF for the member. A credential is accepted only when MUNGE says that root (or the user
 * that this agent runs as) made it, and when its payload is byte for byte the text that the
 * receiver builds from its own knowledge: cluster, job, restart, leader, member, port, both nonces
 * and the direction. Behind this text are 32 random bytes, the secret of its maker, which MUNGE
 * encrypts for agents alone: the keys of all later frames are made of both sides' (conn.h).
 * Nothing inside a credential is parsed. It holds the port because otherwise a process that listens
 * on another port of the leader's host could relay the exchange between two honest agents. MUNGE
 * itself rejects replayed and expired credentials. The only file that uses libmunge. Calls block
 * for as long as munged takes. */
#ifndef NT_AUTH_H
#define NT_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "conn.h"
#include "err.h"

enum {
    NT_NONCE_BYTES = 32,
    NT_HELLO_BYTES = 12 + NT_NONCE_BYTES,
    NT_CREDENTIAL_MAX = 4096, /* with its NUL */
    NT_PROOF_MAX = NT_NONCE_BYTES + NT_CREDENTIAL_MAX,
    NT_WIRE_VERSION = 3, /* of the protocol */
};

/* The release and the protocol of this agent in one number: agents with others are refused. */
uint32_t nt_auth_version(void);

/* Says which of the two hosts has which release; err's kind is NT_ERR_INPUT. */
int nt_auth_refuse_version(const char *host, uint32_t theirs, uint32_t ours, struct nt_err *err);

/* The payload of HELLO. */
struct nt_hello {
    uint32_t version, job, restart;
    unsigned char nonce[NT_NONCE_BYTES];
};

void nt_hello_encode(const struct nt_hello *hello, unsigned char bytes[NT_HELLO_BYTES]);
int nt_hello_decode(const unsigned char *bytes, size_t n, struct nt_hello *hello,
                    struct nt_err *err);

enum nt_direction { NT_TO_LEADER = 1, NT_TO_MEMBER };

/* What a credential states. */
struct nt_claim {
    enum nt_direction direction;
    const char *cluster; /* borrowed, as all */
    uint32_t job, restart;
    const char *leader; /* host names */
    const char *member;
    uint32_t member_index;
    uint16_t port;
    const unsigned char *leader_nonce, *member_nonce; /* NT_NONCE_BYTES each; borrowed */
};

int nt_nonce_make(unsigned char nonce[NT_NONCE_BYTES], struct nt_err *err);

/* Makes a credential, NUL-terminated. socket: "" for MUNGE's default. */
int nt_auth_prove(const char *socket, const struct nt_claim *claim,
                  const unsigned char secret[NT_SECRET_BYTES], char credential[NT_CREDENTIAL_MAX],
                  struct nt_err *err);

/* 0 only when the credential states exactly this claim; then its secret. */
int nt_auth_check(const char *socket, const struct nt_claim *claim, const char *credential,
                  unsigned char secret[NT_SECRET_BYTES], struct nt_err *err);

/* The keys of a connection, when both sides have proved who they are. */
void nt_auth_keys(const unsigned char member_secret[NT_SECRET_BYTES],
                  const unsigned char leader_secret[NT_SECRET_BYTES],
                  struct nt_frame_key *to_leader, struct nt_frame_key *to_member);

#endif
