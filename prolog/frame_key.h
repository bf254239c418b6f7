/* SPDX-License-Identifier: Apache-2.0 */
/* Keys for the frames between two agents, one for each direction, and the tag that each frame then
 * carries: a keyed hash (BLAKE2b, RFC 7693) of how many were sent before it, its head and its
 * payload. What is altered, injected, repeated, left out, out of order or of the other direction
 * does not have the tag that is expected.
 *
 * The hash is libsodium's: MUNGE's library has none, and OpenSSL's is a large part of a process
 * that runs as root. The only file that uses it.
 * Tests: test_conn.c. */
#ifndef NT_FRAME_KEY_H
#define NT_FRAME_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NT_SECRET_BYTES = 32, NT_TAG_BYTES = 16 };

struct nt_frame_key {
    bool is_set;
    unsigned char key[32];
    uint64_t frames; /* tagged or checked so far */
};

/* From the secrets that both sides put into their credentials. name: of the direction, as in the
 * claim. */
void nt_frame_key_derive(const unsigned char member_secret[NT_SECRET_BYTES],
                         const unsigned char leader_secret[NT_SECRET_BYTES], const char *name,
                         struct nt_frame_key *key);

/* The tag of the next frame: head and payload in one piece. */
void nt_frame_key_tag(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                      unsigned char tag[NT_TAG_BYTES]);

/* Whether this is the tag of the next frame. */
bool nt_frame_key_check(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                        const unsigned char tag[NT_TAG_BYTES]);

#endif
