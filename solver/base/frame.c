/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

static const uint32_t MAGIC = 0x3150544eu; /* "NTP1" */

static void put16(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v & 0xff);
    p[1] = (unsigned char)(v >> 8 & 0xff);
}

static void put32(unsigned char *p, uint32_t v)
{
    put16(p, v & 0xffff);
    put16(p + 2, v >> 16);
}

static uint32_t get16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
    return get16(p) | get16(p + 2) << 16;
}

const char *nt_artifact_name(uint32_t artifact)
{
    static const char *const names[NT_ARTIFACT_END] = {
        [NT_ARTIFACT_MAP] = "map.json",         [NT_ARTIFACT_ENV] = "hint.env",
        [NT_ARTIFACT_HOSTFILE] = "hostfile",    [NT_ARTIFACT_RANKFILE] = "rankfile",
        [NT_ARTIFACT_RANK_ORDER] = "rankorder", [NT_ARTIFACT_SAMPLES] = "samples",
        [NT_ARTIFACT_ARCHIVE] = "archive",
    };
    return artifact < NT_ARTIFACT_END ? names[artifact] : NULL;
}

void nt_frame_encode(const struct nt_frame *frame, unsigned char head[NT_FRAME_HEAD_BYTES])
{
    put32(head, MAGIC);
    put16(head + 4, (uint32_t)frame->type);
    put16(head + 6, frame->flags);
    put32(head + 8, frame->seq);
    put32(head + 12, frame->host);
    put32(head + 16, frame->wait_ms);
    put32(head + 20, frame->payload_bytes);
}

int nt_frame_decode(const unsigned char head[NT_FRAME_HEAD_BYTES], struct nt_frame *frame,
                    struct nt_err *err)
{
    uint32_t type = get16(head + 4), flags = get16(head + 6), bytes = get32(head + 20);
    if (get32(head) != MAGIC)
        return nt_err_set(err, NT_ERR_INPUT, "frame: not a nettopo frame");
    if (type < NT_FRAME_START || type > NT_FRAME_PROOF)
        return nt_err_set(err, NT_ERR_INPUT, "frame: unknown type %u", type);
    uint32_t known = NT_FRAME_MORE | (type == NT_FRAME_BCAST  ? NT_FRAME_UNICAST
                                      : type == NT_FRAME_DONE ? NT_FRAME_AGENT
                                                              : 0);
    if ((flags & ~known) != 0)
        return nt_err_set(err, NT_ERR_INPUT, "frame: unknown flags %#x", flags);
    if (bytes > NT_FRAME_PAYLOAD_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "frame: payload of %u bytes, at most %d", bytes,
                          (int)NT_FRAME_PAYLOAD_MAX);
    *frame = (struct nt_frame){.type = (enum nt_frame_type)type,
                               .flags = (uint16_t)flags,
                               .seq = get32(head + 8),
                               .host = get32(head + 12),
                               .wait_ms = get32(head + 16),
                               .payload_bytes = bytes};
    return 0;
}
