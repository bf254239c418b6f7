/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's request: its command line or the environment of a Prolog or Epilog script, and the
 * configuration file, which must belong to root and be writable only by root. All values are
 * checked here, including those that the plugin has checked. Independent of how a sweep runs.
 * Tests: test_request.c, bats/ways.bats. */
#ifndef NT_REQUEST_H
#define NT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "err.h"
#include "option.h"
#include "slurm_conf.h"

enum nt_request_verb { NT_VERB_NONE, NT_VERB_RUN, NT_VERB_REMOVE, NT_VERB_HELP, NT_VERB_VERSION };

enum { NT_REQUEST_NOTE_BYTES = 160 };

struct nt_request {
    enum nt_request_verb verb;
    bool from_script; /* always exit with 0, because a Prolog script that fails drains the node */
    bool wanted;      /* the job was submitted with --nettopo */
    bool one_prolog;  /* PrologFlags=Serial: a host runs one prolog at a time; set by the caller */
    /* PrologFlags without Alloc: other hosts' prologs start with a step; set by the caller */
    bool late_prologs;
    const char *conf; /* borrowed from argv; NULL: the default file, which may be missing */
    uint32_t job;
    uid_t uid;
    gid_t gid;
    struct nt_option option;
    /* How limits changed level and budget, for the user; "": not at all */
    char limit_note[NT_REQUEST_NOTE_BYTES];
};

/* Reads the command line and the environment. -1, NT_ERR_USAGE: the error names the argument or the
 * variable. */
int nt_request_read(struct nt_request *request, int argc, char **argv, struct nt_err *err);

/* Limits the option to the values that the configuration and Slurm allow, and describes the changes
 * in limit_note. Returns the budget in seconds. */
double nt_request_limit(struct nt_request *request, const struct nt_conf *conf,
                        const struct nt_slurm_conf *slurm);

/* Reads the configuration file. is_optional: without the file conf has the default values. */
int nt_conffile_read(const char *path, bool is_optional, struct nt_conf *conf, struct nt_err *err);

#endif
