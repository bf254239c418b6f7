/* SPDX-License-Identifier: Apache-2.0 */
/* The --nettopo option: ITEM[,ITEM...] as users write it, and as plugin, agent and probe pass it
 * on.
 *
 * Parsed by the plugin (which rejects errors at submission), again by the agent (which trusts no
 * input) and by the probe. No allocation, libc only. */
#ifndef NT_OPTION_H
#define NT_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum nt_level { NT_LEVEL_QUICK = 1, NT_LEVEL_STANDARD, NT_LEVEL_FULL };

/* How latencies are measured: auto adapts where hosts are many. */
enum nt_sweep_mode { NT_SWEEP_AUTO, NT_SWEEP_ALL, NT_SWEEP_ADAPTIVE, NT_SWEEP_SEQUENTIAL };

enum { NT_OPTION_TEXT_BYTES = 1536, NT_PATTERN_TEXT_BYTES = 1100 };

struct nt_option {
    bool off;            /* off, which stands alone: the other items have their defaults */
    enum nt_level level; /* standard where none is named: then nettopo.conf decides */
    bool level_named;
    bool level_auto; /* the probe decides, up to level: set by nettopo.conf, no item of the text */
    double budget_s; /* 0: the configured default */
    char pattern[NT_PATTERN_TEXT_BYTES]; /* "neighbour", "ring", "stencil:4x4", ... */
    uint32_t spare;                      /* hosts that the job does without; 0: none */
    bool apply;                          /* a plain srun follows the hint */
    enum nt_sweep_mode sweep;
    bool debug; /* write a log of the sweep beside the map */
};

/* text NULL or "" means the bare option: standard, default budget, neighbour.
 * On error (NT_ERR_USAGE) one sentence names the item; *option is unchanged. */
int nt_option_parse(const char *text, struct nt_option *option, struct nt_err *err);

/* Writes the option as text that nt_option_parse reads back to an equal value. */
int nt_option_format(const struct nt_option *option, char *text, size_t text_bytes,
                     struct nt_err *err);

/* "quick", "standard", "full"; NULL for anything else. */
const char *nt_level_name(enum nt_level level);

/* -1 for an unknown name. */
int nt_level_parse(const char *name, enum nt_level *level);

/* "auto", "all", "adaptive", "sequential"; -1 for an unknown name. */
int nt_sweep_mode_parse(const char *name, enum nt_sweep_mode *mode);

/* Checks the grammar of a pattern (neighbour, ring, alltoall, tree, allreduce[:ring|:tree],
 * stencil:AxB[xC][:periodic], halo: as stencil:, megatron:tp=T,pp=P,dp=D[,ep=E],
 * matrix:PATH with an absolute or relative PATH without ',' or control characters). */
int nt_pattern_check(const char *pattern, struct nt_err *err);

/* Sizes of the groups of megatron:..., each at least 1. */
struct nt_megatron {
    uint32_t tp, pp, dp, ep; /* tensor, pipeline, data, expert parallel; ep divides dp */
};

/* -1 when pattern is no such text. */
int nt_pattern_megatron(const char *pattern, struct nt_megatron *sizes);

/* The PATH of matrix:PATH, within pattern; NULL for any other pattern. */
const char *nt_pattern_matrix(const char *pattern);

/* Puts the directory dir before the relative PATH of matrix:PATH, so that it names the same file
 * from any directory; any other option is unchanged. NT_ERR_USAGE when the result is too long or
 * dir is not absolute or holds a character that a pattern must not; then the option is unchanged.
 */
int nt_option_resolve_path(struct nt_option *option, const char *dir, struct nt_err *err);

#endif
