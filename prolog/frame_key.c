/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_key.h"

#include <sodium.h>
#include <string.h>

void nt_frame_key_derive(const unsigned char member_secret[NT_SECRET_BYTES],
                         const unsigned char leader_secret[NT_SECRET_BYTES], const char *name,
                         struct nt_frame_key *key)
{
    unsigned char both[2 * NT_SECRET_BYTES];
    _Static_assert((int)sizeof both <= (int)crypto_generichash_blake2b_KEYBYTES_MAX,
                   "the secrets must fit into a key");
    *key = (struct nt_frame_key){.is_set = true};
    memcpy(both, member_secret, NT_SECRET_BYTES);
    memcpy(both + NT_SECRET_BYTES, leader_secret, NT_SECRET_BYTES);
    crypto_generichash_blake2b(key->key, sizeof key->key, (const unsigned char *)name, strlen(name),
                               both, sizeof both);
    sodium_memzero(both, sizeof both);
}

void nt_frame_key_tag(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                      unsigned char tag[NT_TAG_BYTES])
{
    crypto_generichash_blake2b_state state;
    unsigned char count[8];
    for (int k = 0; k < 8; k++)
        count[k] = (unsigned char)(key->frames >> (8 * k) & 0xff);
    key->frames++;
    crypto_generichash_blake2b_init(&state, key->key, sizeof key->key, NT_TAG_BYTES);
    crypto_generichash_blake2b_update(&state, count, sizeof count);
    crypto_generichash_blake2b_update(&state, frame, bytes);
    crypto_generichash_blake2b_final(&state, tag, NT_TAG_BYTES);
}

bool nt_frame_key_check(struct nt_frame_key *key, const unsigned char *frame, size_t bytes,
                        const unsigned char tag[NT_TAG_BYTES])
{
    unsigned char expected[NT_TAG_BYTES];
    nt_frame_key_tag(key, frame, bytes, expected);
    return sodium_memcmp(tag, expected, NT_TAG_BYTES) == 0;
}
