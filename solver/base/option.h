/* SPDX-License-Identifier: Apache-2.0 */
/* The --nettopo option: ITEM[,ITEM...], as users write it and as plugin, agent and probe pass it.
 * The plugin parses it to reject errors at submission, the agent because it trusts no input, and
 * the probe. No allocation, libc only. */
#ifndef NT_OPTION_H
#define NT_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum nt_level { NT_LEVEL_QUICK = 1, NT_LEVEL_STANDARD, NT_LEVEL_FULL };

/* How latencies are measured. auto: adaptively with many hosts. */
enum nt_sweep_mode { NT_SWEEP_AUTO, NT_SWEEP_ALL, NT_SWEEP_ADAPTIVE, NT_SWEEP_SEQUENTIAL };

enum { NT_OPTION_TEXT_BYTES = 1536, NT_PATTERN_TEXT_BYTES = 1100 };

struct nt_option {
    bool off;            /* off, which excludes other items; they have their defaults */
    enum nt_level level; /* standard if none is named; then nettopo.conf decides */
    bool level_named;
    bool
        level_auto; /* the probe decides, up to level; from nettopo.conf, not an item of the text */
    double budget_s;                     /* 0: the configured default */
    char pattern[NT_PATTERN_TEXT_BYTES]; /* "neighbour", "ring", "stencil:4x4", ... */
    uint32_t spare;                      /* number of spare hosts; 0: none */
    bool apply;                          /* srun follows the hint by default */
    enum nt_sweep_mode sweep;
    bool debug; /* write a log of the sweep beside the map */
};

/* Parses an option. text NULL or "": the option without a value, which means level standard,
 * default budget, pattern neighbour. On error (NT_ERR_USAGE) the sentence names the item, and
 * *option is unchanged. */
int nt_option_parse(const char *text, struct nt_option *option, struct nt_err *err);

/* Formats the option as text that nt_option_parse converts to an equal value. */
int nt_option_format(const struct nt_option *option, char *text, size_t text_bytes,
                     struct nt_err *err);

/* Returns "quick", "standard" or "full"; NULL for any other value. */
const char *nt_level_name(enum nt_level level);

/* -1 for an unknown name. */
int nt_level_parse(const char *name, enum nt_level *level);

/* Parses "auto", "all", "adaptive" or "sequential"; -1 for an unknown name. */
int nt_sweep_mode_parse(const char *name, enum nt_sweep_mode *mode);

/* Checks the grammar of a pattern (neighbour, ring, alltoall, tree, allreduce[:ring|:tree],
 * stencil:AxB[xC][:periodic], halo: as stencil:, megatron:tp=T,pp=P,dp=D[,ep=E],
 * matrix:PATH with an absolute or relative PATH without ',' or control characters). */
int nt_pattern_check(const char *pattern, struct nt_err *err);

/* Group sizes of megatron:..., each at least 1. */
struct nt_megatron {
    uint32_t tp, pp, dp, ep; /* tensor, pipeline, data, expert parallel; ep divides dp */
};

/* Parses a megatron pattern; -1 for another pattern. */
int nt_pattern_megatron(const char *pattern, struct nt_megatron *sizes);

/* Returns the PATH of matrix:PATH, a pointer into pattern; NULL for another pattern. */
const char *nt_pattern_matrix(const char *pattern);

/* Inserts the absolute directory dir before the relative PATH of matrix:PATH, so that it names the
 * same file in any working directory; does nothing for other options. -1, NT_ERR_USAGE: the result
 * is too long, or dir is not absolute or contains a character that a pattern must not contain; the
 * option is unchanged. */
int nt_option_resolve_path(struct nt_option *option, const char *dir, struct nt_err *err);

#endif
