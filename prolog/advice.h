/* What to do about a failure, in a sentence for an admin or a user: told beside what happened and
 * where, in the agent's log and the job's. */
#ifndef NT_ADVICE_H
#define NT_ADVICE_H

enum nt_advice {
    NT_ADVICE_NONE,
    NT_ADVICE_AGENT,     /* the agent itself did not get to its end */
    NT_ADVICE_BUDGET,    /* the time was over */
    NT_ADVICE_CRASH,     /* a signal of the probe's own doing */
    NT_ADVICE_CPU_TIME,  /* SIGXCPU */
    NT_ADVICE_JOB,       /* Slurm's variables are not what is expected */
    NT_ADVICE_KILLED,    /* SIGKILL */
    NT_ADVICE_LEADER,    /* the first host said so, or was lost */
    NT_ADVICE_MEET,      /* agents did not meet */
    NT_ADVICE_NAMES,     /* a host's name has no address */
    NT_ADVICE_PRIVILEGE, /* the probe could not become the user, or not be set up */
    NT_ADVICE_PROBE,     /* the probe says what it is */
    NT_ADVICE_PROGRAM,   /* the probe could not be run */
    NT_ADVICE_PUBLISH,   /* the job's files could not be written */
    NT_ADVICE_SHARED,    /* the policy */
    NT_ADVICE_SYSTEM,    /* memory, descriptors, processes */
};

/* "" for none. */
const char *nt_advice_text(enum nt_advice advice);

#endif
