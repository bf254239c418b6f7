/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "frame.h"

TEST(encode_then_decode_is_identity)
{
    struct nt_frame in = {.type = NT_FRAME_ARTIFACT,
                          .flags = NT_FRAME_MORE,
                          .seq = 0x01020304,
                          .host = 77,
                          .wait_ms = 1500,
                          .payload_bytes = NT_FRAME_PAYLOAD_MAX};
    struct nt_frame out;
    unsigned char head[NT_FRAME_HEAD_BYTES];
    nt_frame_encode(&in, head);
    must(nt_frame_decode(head, &out, &err));
    assert_int_equal(out.type, in.type);
    assert_int_equal(out.flags, in.flags);
    assert_int_equal(out.seq, in.seq);
    assert_int_equal(out.host, in.host);
    assert_int_equal(out.wait_ms, in.wait_ms);
    assert_int_equal(out.payload_bytes, in.payload_bytes);
}

TEST(invalid_headers_are_rejected_with_a_reason)
{
    static const struct {
        size_t at;
        unsigned char value;
        const char *says;
    } table[] = {{0, 'X', "not a nettopo frame"},
                 {4, 0, "unknown type 0"},
                 {4, 99, "unknown type 99"},
                 {6, 4, "unknown flags"},
                 {23, 1, "payload of"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_frame frame = {.type = NT_FRAME_BCAST}, out;
        unsigned char head[NT_FRAME_HEAD_BYTES];
        nt_frame_encode(&frame, head);
        head[table[k].at] = table[k].value;
        assert_int_equal(nt_frame_decode(head, &out, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_non_null(strstr(err.text, table[k].says));
    }
}

static void only_that_type_has(enum nt_frame_flag flag, unsigned that)
{
    for (unsigned type = NT_FRAME_START; type <= NT_FRAME_PROOF; type++) {
        struct nt_frame frame = {.type = (enum nt_frame_type)type, .flags = (uint16_t)flag}, out;
        unsigned char head[NT_FRAME_HEAD_BYTES];
        nt_frame_encode(&frame, head);
        assert_int_equal(nt_frame_decode(head, &out, &err), type == that ? 0 : -1);
    }
}

TEST(flags_belong_to_types)
{
    only_that_type_has(NT_FRAME_UNICAST, NT_FRAME_BCAST);
    only_that_type_has(NT_FRAME_AGENT, NT_FRAME_DONE);
}

RUN_TESTS
