/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the lines of hint.env into the variables of the job.
 *
 * The lines were written by a process of the job's user, so they are checked like any user's input:
 * only known names, each once, with a value of the form that the name has. Files are given by their
 * known name without a path; the path is added here. One wrong line rejects the whole text. Does
 * not depend on Slurm. */
#ifndef NT_ENVIRON_H
#define NT_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum {
    NT_ENVIRON_TEXT_MAX = 262144,  /* of hint.env */
    NT_ENVIRON_VALUE_MAX = 122880, /* of one value; a variable may not reach 128 KiB */
    NT_ENVIRON_VARS_MAX = 16,
};

struct nt_variable {
    const char *name; /* a constant */
    const char *value;
};

struct nt_environ {
    size_t count;
    struct nt_variable var[NT_ENVIRON_VARS_MAX];
    char *memory; /* the values; owned */
};

struct nt_environ_options {
    const char *dir; /* the job's directory, absolute */
    bool apply;      /* the job has the item: SLURM_HOSTFILE and SLURM_DISTRIBUTION are set */
    /* whether dir has this file; NULL: all exist */
    bool (*has)(const void *context, const char *file);
    const void *context;
};

/* NT_ERR_INPUT names the line. NETTOPO_STATUS is always among the variables. */
int nt_environ_read(const char *text, size_t bytes, const struct nt_environ_options *options,
                    struct nt_environ *environ, struct nt_err *err);
void nt_environ_fini(struct nt_environ *environ);

#endif
