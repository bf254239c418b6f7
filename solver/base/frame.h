/* SPDX-License-Identifier: Apache-2.0 */
/* The frame: the protocol between a probe and the agent that started it, and between agents. Does
 * not interpret payloads. Libc only, no allocation, because root code parses frames.
 *
 * A header of NT_FRAME_HEAD_BYTES, little-endian, then at most NT_FRAME_PAYLOAD_MAX bytes that the
 * agents never parse. A longer payload is sent in several frames, all but the last with
 * NT_FRAME_MORE. So the agent needs only fixed buffers and parses only this header. */
/* clang-format off */
/* The protocol (seq counts from 1, in the same way on every host):
 *   agent->probe    START     text with the probe's rank and the job (ucx_probe/start.h)
 *   probe->agent    GATHER    the probe's contribution to seq. wait_ms in rank 0's frame: how long
 *                             the leader may wait for the others
 *   agent->rank 0   GATHER    each contribution with its host, as it arrives
 *                   GATHERED  hosts that have not contributed are missing for this seq, and later
 *                             contributions are discarded
 *   rank 0->agent   BCAST     a text for all hosts; each agent sends it to its probe, except rank 0's
 *                             With NT_FRAME_UNICAST: a text for one host, sent before the broadcast
 *                             with the same seq; a probe that got it discards that broadcast as late
 *   rank 0->agent   ARTIFACT  a file to publish on every host; host contains enum nt_artifact
 *   rank 0->agent   DONE      all artifacts are sent: publish by rename on every host. Payload: one
 *                             line, "ok", "partial REASON" or "failed REASON"
 *   leader->member  DONE      with NT_FRAME_AGENT: the leader failed by itself, as the payload states
 *   member->leader  DONE      the member's probe has ended: "ok" or "failed", and how. Empty: from a
 *                             block leader, for a host that it has lost
 * The probe of a job with one host uses the same protocol. */
/* clang-format on */
#ifndef NT_FRAME_H
#define NT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_FRAME_HEAD_BYTES = 24, NT_FRAME_PAYLOAD_MAX = 65536 };

enum nt_frame_type {
    NT_FRAME_START = 1,
    NT_FRAME_GATHER,
    NT_FRAME_GATHERED,
    NT_FRAME_BCAST,
    NT_FRAME_ARTIFACT,
    NT_FRAME_DONE,
    /* between agents only, for authentication (prolog/auth.h) */
    NT_FRAME_HELLO,
    NT_FRAME_PROOF,
};

enum nt_frame_flag {
    NT_FRAME_MORE = 1,
    NT_FRAME_UNICAST = 2, /* BCAST: for one host only */
    NT_FRAME_AGENT = 4,   /* DONE: sent by an agent, not by rank 0 */
};

/* Files that rank 0 may publish. The agent knows their names, the probe only these numbers. */
enum nt_artifact {
    NT_ARTIFACT_MAP = 1,    /* map.json */
    NT_ARTIFACT_ENV,        /* hint.env */
    NT_ARTIFACT_HOSTFILE,   /* hostfile */
    NT_ARTIFACT_RANKFILE,   /* rankfile */
    NT_ARTIFACT_RANK_ORDER, /* MPICH_RANK_ORDER */
    NT_ARTIFACT_SAMPLES,    /* samples */
    NT_ARTIFACT_ARCHIVE,    /* for the archive on the first host; not published */
    NT_ARTIFACT_END,
};

struct nt_frame {
    enum nt_frame_type type;
    uint16_t flags;
    uint32_t seq;
    uint32_t host; /* index in the job's host list, or enum nt_artifact (ARTIFACT) */
    uint32_t wait_ms;
    uint32_t payload_bytes;
};

/* Returns the file name of an artifact in the job's directory; NULL for an unknown number. */
const char *nt_artifact_name(uint32_t artifact);

void nt_frame_encode(const struct nt_frame *frame, unsigned char head[NT_FRAME_HEAD_BYTES]);

/* Decodes a header. -1, NT_ERR_INPUT: wrong magic, type or flag, or a payload over the limit. */
int nt_frame_decode(const unsigned char head[NT_FRAME_HEAD_BYTES], struct nt_frame *frame,
                    struct nt_err *err);

#endif
