/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's request: its command line, or the environment of a Prolog or Epilog script, and the
 * configuration file, which must belong to root and be writable only by root. All values are
 * checked here, also those that the plugin has checked. Tests: test_request.c, bats/ways.bats. */
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

enum { NT_REQUEST_CUT_BYTES = 160 };

struct nt_request {
    enum nt_request_verb verb;
    bool from_script; /* always exit 0: a Prolog script that fails drains the node */
    bool wanted;      /* the job has --nettopo */
    bool one_prolog;  /* PrologFlags=Serial: a host runs one prolog at a time; the caller sets it */
    bool late_prologs; /* PrologFlags without Alloc: other hosts' start with a step; likewise */
    const char *conf;  /* borrowed from argv; NULL: the default, which may be missing */
    uint32_t job;
    uid_t uid;
    gid_t gid;
    struct nt_option option;
    char cut[NT_REQUEST_CUT_BYTES]; /* what limits made of level and budget, for the user; "": kept
                                     */
};

/* NT_ERR_USAGE names the argument or the variable. */
int nt_request_read(struct nt_request *request, int argc, char **argv, struct nt_err *err);

/* Limits the option to what the configuration and Slurm allow, and says in cut what that has
 * changed. Returns the budget in seconds. */
double nt_request_limit(struct nt_request *request, const struct nt_conf *conf,
                        const struct nt_slurm_conf *slurm);

/* is_optional: without the file the defaults hold. */
int nt_conffile_read(const char *path, bool is_optional, struct nt_conf *conf, struct nt_err *err);

#endif
