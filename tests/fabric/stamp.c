/* SPDX-License-Identifier: Apache-2.0 */
#include "stamp.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

/* Older kernel headers know the call but not the attach point (added in 6.6). */
enum { TCX_EGRESS = 47 };

/* A frame that waited longer in a device queue is one whose address was no stamp. */
static const int64_t STAMP_AGE_MAX_NS = 500000000;

static long bpf(int command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof *attr);
}

int nt_fab_stamp_load(struct nt_err *err)
{
    /* r6 = skb; *(u64 *)(r10 - 8) = bpf_ktime_get_ns();
     * bpf_skb_store_bytes(r6, 0, r10 - 8, 6, 0); return TCX_NEXT */
    static const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
        {.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 0, .off = -8},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 3, .imm = -8},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = NT_FAB_STAMP_BYTES},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 5, .imm = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_store_bytes},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = -1},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    attr.insns = (uint64_t)(uintptr_t)program;
    attr.insn_cnt = sizeof program / sizeof *program;
    attr.license = (uint64_t)(uintptr_t) "GPL";
    long fd = bpf(BPF_PROG_LOAD, &attr);
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "the stamp program does not load: %s",
                          strerror(errno));
    return (int)fd;
}

int nt_fab_stamp_attach(int program, unsigned int device, struct nt_err *err)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_fd = device;
    attr.link_create.attach_type = TCX_EGRESS;
    long fd = bpf(BPF_LINK_CREATE, &attr);
    if (fd < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "no tcx attachment (needs Linux 6.6): %s",
                          strerror(errno));
    return (int)fd;
}

int64_t nt_fab_stamp_read(const unsigned char stamp[NT_FAB_STAMP_BYTES], int64_t now_ns)
{
    const int64_t range = INT64_C(1) << 48;
    int64_t low = 0;
    for (int k = NT_FAB_STAMP_BYTES - 1; k >= 0; k--)
        low = low * 256 + stamp[k];
    int64_t at = now_ns - now_ns % range + low;
    if (at > now_ns)
        at -= range; /* the clock's low bits went round in between */
    return now_ns - at < STAMP_AGE_MAX_NS ? at : now_ns;
}
