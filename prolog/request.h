/* What the agent is told to do: its command line, or a Prolog script's environment. Checked here
 * again, whoever wrote it. */
#ifndef NT_REQUEST_H
#define NT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "err.h"
#include "option.h"

enum nt_request_verb { NT_VERB_NONE, NT_VERB_RUN, NT_VERB_REMOVE, NT_VERB_HELP, NT_VERB_VERSION };

struct nt_request {
    enum nt_request_verb verb;
    bool from_script; /* exit 0 whatever happens: a Prolog script's status drains nodes */
    bool wanted;      /* the job said --nettopo */
    const char *conf; /* borrowed from argv; NULL: the default, which may be missing */
    uint32_t job;
    uid_t uid;
    gid_t gid;
    struct nt_option option;
};

/* NT_ERR_USAGE names the argument or the variable. */
int nt_request_read(struct nt_request *request, int argc, char **argv, struct nt_err *err);

/* Holds the option to what the configuration allows; *budget_s becomes what is to be had. */
void nt_request_limit(struct nt_option *option, const struct nt_conf *conf, double *budget_s);

#endif
