/* From the lines of hint.env to the variables that a job gets.
 *
 * The lines were written by a process of the job's user, so they are looked at as any user's
 * text: only names that we know, each once, values of the form that the name asks for. Files are
 * named by their bare known name; the path to them is ours. One wrong line and the whole text
 * is refused. Knows nothing of Slurm. */
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
    bool apply; /* the job asked for it: SLURM_HOSTFILE and SLURM_DISTRIBUTION are let through */
    /* whether dir holds this file; NULL: all are there */
    bool (*has)(const void *context, const char *file);
    const void *context;
};

/* NT_ERR_INPUT names the line. NETTOPO_STATUS is always among the variables. */
int nt_environ_read(const char *text, size_t bytes, const struct nt_environ_options *options,
                    struct nt_environ *environ, struct nt_err *err);
void nt_environ_fini(struct nt_environ *environ);

#endif
