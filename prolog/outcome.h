/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a job's sweep on one host, and advice to an administrator or user about a failure:
 * a sentence that is logged after the error and its place.
 * Tests: test_service.c, test_agent.c. */
#ifndef NT_OUTCOME_H
#define NT_OUTCOME_H

#include <stdbool.h>

#include "err.h"
#include "job_line.h"

enum nt_advice {
    NT_ADVICE_NONE,
    NT_ADVICE_AGENT,     /* the agent itself failed */
    NT_ADVICE_BUDGET,    /* out of time */
    NT_ADVICE_CRASH,     /* the probe crashed */
    NT_ADVICE_CPU_TIME,  /* the probe exceeded its CPU time */
    NT_ADVICE_JOB,       /* Slurm's variables are missing or wrong */
    NT_ADVICE_KILLED,    /* the probe was killed */
    NT_ADVICE_LEADER,    /* reported by the first host, or that host is lost */
    NT_ADVICE_CONNECT,   /* agents could not connect or authenticate */
    NT_ADVICE_NAMES,     /* a host name has no address */
    NT_ADVICE_PRIVILEGE, /* the change to the user, or the setup, failed */
    NT_ADVICE_PROBE,     /* reported by the probe */
    NT_ADVICE_PROGRAM,   /* the probe could not be executed */
    NT_ADVICE_PUBLISH,   /* the job's files could not be written */
    NT_ADVICE_ROOT,      /* a job of root is not measured */
    NT_ADVICE_ALLOC,     /* prologs do not start with the job */
    NT_ADVICE_SERIAL,    /* PrologFlags=Serial: a host runs one prolog at a time */
    NT_ADVICE_SHARED,    /* shared hosts are excluded by nettopo.conf */
    NT_ADVICE_SYSTEM,    /* the host lacks memory, descriptors or processes */
};

/* Returns the sentence of an advice; "" for NT_ADVICE_NONE. */
const char *nt_advice_text(enum nt_advice advice);

enum { NT_DONE_BYTES = NT_ERR_TEXT_BYTES + 16 }; /* "partial REASON" */

/* text: ok, partial or failed, then the reason. advice: logged with it. */
struct nt_outcome {
    bool decided;
    char text[NT_DONE_BYTES];
    enum nt_advice advice;
    struct nt_job_figures figures; /* values of the sweep, from the probe of the job's first host */
};

#endif
