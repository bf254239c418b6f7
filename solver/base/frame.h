/* The frame: how a probe speaks with the agent that started it, and agents with each other.
 *
 * A header of NT_FRAME_HEAD_BYTES, little-endian, then at most NT_FRAME_PAYLOAD_MAX bytes that
 * the agents never look into. Longer things go in several frames: all but the last carry
 * NT_FRAME_MORE. The agent therefore needs only fixed buffers, and parses only this header.
 *
 * The talk (seq counts up from 1, the same on every host):
 *   agent->probe  START   text that tells the probe its place (see ucx_probe/meet_tcp.c)
 *   probe->agent  GATHER  every probe's piece for seq. Rank 0's frame carries in wait_ms how long
 *                         the leader may wait for the others.
 *   agent->rank 0 GATHER  each piece with its host, as it comes; then GATHERED: everyone who is
 *                         not in by now is absent for this seq, and late pieces are dropped.
 *   rank 0->agent CAST    one text for everybody; each agent hands it to its probe (rank 0 does
 *                         not get its own back). With NT_FRAME_UNICAST a text for one host alone,
 *                         ahead of the text that all others get with this seq; who has got his
 *                         own drops that as late.
 *   rank 0->agent PAPER   a file to publish on every host; host holds enum nt_artifact.
 *   rank 0->agent DONE    all papers are written: publish by rename, everywhere. Payload: one
 *                         line, "ok", "partial REASON" or "failed REASON".
 * A probe that is alone in its job (one host) speaks the same way.
 * Libc only, no allocation: root code reads this. */
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
    /* between agents only, before anything else */
    NT_FRAME_HELLO,
    NT_FRAME_PROOF,
};

enum nt_frame_flag {
    NT_FRAME_MORE = 1,
    NT_FRAME_UNICAST = 2, /* CAST: for that host alone */
};

/* What rank 0 may publish; the agent knows the file names, the probe only these numbers. */
enum nt_artifact {
    NT_ARTIFACT_MAP = 1,    /* map.json */
    NT_ARTIFACT_ENV,        /* hint.env */
    NT_ARTIFACT_HOSTFILE,   /* hostfile */
    NT_ARTIFACT_RANKFILE,   /* rankfile */
    NT_ARTIFACT_RANK_ORDER, /* MPICH_RANK_ORDER */
    NT_ARTIFACT_SAMPLES,    /* samples */
    NT_ARTIFACT_END,
};

struct nt_frame {
    enum nt_frame_type type;
    uint16_t flags;
    uint32_t seq;
    uint32_t host; /* index in the job's host list, or enum nt_artifact (PAPER) */
    uint32_t wait_ms;
    uint32_t payload_bytes;
};

/* The file name of a paper in the job's directory; NULL for a number that is none. */
const char *nt_artifact_name(uint32_t paper);

void nt_frame_encode(const struct nt_frame *frame, unsigned char head[NT_FRAME_HEAD_BYTES]);

/* NT_ERR_INPUT for a wrong magic, type, flag or a payload over the limit. */
int nt_frame_decode(const unsigned char head[NT_FRAME_HEAD_BYTES], struct nt_frame *frame,
                    struct nt_err *err);

#endif
