/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of slurm.conf that limit a prolog. Read from the file, because asking slurmctld would
 * take one message per host and job. Included files are not read; a missing value is Slurm's
 * default.
 * Tests: test_request.c. */
#ifndef NT_SLURM_CONF_H
#define NT_SLURM_CONF_H

#include <stdbool.h>
#include <stddef.h>

struct nt_slurm_conf {
    unsigned message_timeout_s;     /* MessageTimeout, default 10 */
    unsigned batch_start_timeout_s; /* BatchStartTimeout, default 10 */
    unsigned prolog_timeout_s;      /* PrologTimeout or PrologEpilogTimeout; 0: none */
    bool serial;                    /* PrologFlags=Serial */
    /* PrologFlags starts the prologs of all hosts with the job, by Alloc or a flag that implies
     * it. Also true if the text does not show it: it is empty, or it includes other files and has
     * no PrologFlags. */
    bool alloc;
    bool defer_batch; /* PrologFlags=DeferBatch */
};

/* Reads the file that SLURM_CONF names, or /etc/slurm/slurm.conf. Without a file, conf has Slurm's
 * defaults. */
void nt_slurm_conf_read(struct nt_slurm_conf *conf);

/* Returns the text of a configuration file of Slurm, up to 1 MiB, which the caller frees. NULL: it
 * cannot be read. */
char *nt_slurm_conf_load(const char *path, size_t *bytes);

/* Parses a text as nt_slurm_conf_read does. */
void nt_slurm_conf_parse(struct nt_slurm_conf *conf, const char *text, size_t bytes);

/* Sets value to the last value of a key in a text, terminated and cut to fit. Returns false if
 * there is none. */
bool nt_slurm_conf_value(const char *text, size_t bytes, const char *key, char *value, size_t room);

/* Returns the longest budget that Slurm tolerates, in seconds, at least 1. *why: the parameter that
 * limits it. A prolog may take one second more than its budget. slurmd reports a prolog that takes
 * MessageTimeout - 2 s or more. A batch job that is not running is requeued when its host
 * registers, from BatchStartTimeout plus up to 10 s after its start. A prolog that exceeds its own
 * timeout is killed, and its host is drained. */
double nt_slurm_conf_budget_s(const struct nt_slurm_conf *conf, const char **why);

#endif
