/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the lines of hint.env to the environment variables of the job.
 *
 * A process of the job's user wrote the lines, so they are checked as user input: only known names,
 * each name once, each value in the form of its name. A file is given by its known name without a
 * path; this module adds the path. One invalid line rejects the whole text. Uses neither Slurm nor
 * JSON, and does not interpret the map. */
#ifndef NT_ENVIRON_H
#define NT_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum {
    NT_ENVIRON_TEXT_MAX = 262144,  /* bytes of hint.env */
    NT_ENVIRON_VALUE_MAX = 122880, /* bytes of one value; Linux limits a variable to 128 KiB */
    NT_ENVIRON_VARS_MAX = 16,
};

struct nt_variable {
    const char *name; /* static string */
    const char *value;
};

struct nt_environ {
    size_t count;
    struct nt_variable var[NT_ENVIRON_VARS_MAX];
    char *memory; /* all values; owned */
};

struct nt_environ_options {
    const char *dir; /* absolute path of the job's directory */
    bool apply;      /* the option contains apply: set SLURM_HOSTFILE and SLURM_DISTRIBUTION */
    /* returns whether dir contains this file; NULL: assume that all files exist */
    bool (*has)(const void *context, const char *file);
    const void *context;
};

/* Parses text and fills environ; the caller frees it with nt_environ_fini. -1 with NT_ERR_INPUT and
 * the line number for an invalid line, NT_ERR_SYSTEM without memory. On success NETTOPO_STATUS is
 * one of the variables. */
int nt_environ_read(const char *text, size_t bytes, const struct nt_environ_options *options,
                    struct nt_environ *environ, struct nt_err *err);
void nt_environ_fini(struct nt_environ *environ);

#endif
