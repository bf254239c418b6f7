/* SPDX-License-Identifier: Apache-2.0 */
/* The few lines of slurm.conf that bound a prolog, read from the file: asking slurmctld would be a
 * message of every host for every job. Included files are not followed; what is not found has
 * Slurm's default. */
#ifndef NT_SLURM_CONF_H
#define NT_SLURM_CONF_H

#include <stdbool.h>
#include <stddef.h>

struct nt_slurm_conf {
    unsigned message_timeout_s;     /* MessageTimeout, 10 */
    unsigned batch_start_timeout_s; /* BatchStartTimeout, 10 */
    unsigned prolog_timeout_s;      /* PrologTimeout or PrologEpilogTimeout; 0: none */
    bool serial;                    /* PrologFlags=Serial */
    bool alloc; /* PrologFlags starts the prologs of all hosts with the job, by Alloc or a flag
                   that comes with it; true also where the text does not tell: it is empty, or
                   includes others and has no PrologFlags */
    bool defer_batch; /* PrologFlags=DeferBatch */
};

/* Of the file that SLURM_CONF names, else of /etc/slurm/slurm.conf; the defaults without one. */
void nt_slurm_conf_read(struct nt_slurm_conf *conf);

/* The text of a file of Slurm's, up to 1 MiB; the caller frees it. NULL: it cannot be read. */
char *nt_slurm_conf_load(const char *path, size_t *bytes);

/* Of a text, as nt_slurm_conf_read. */
void nt_slurm_conf_parse(struct nt_slurm_conf *conf, const char *text, size_t bytes);

/* The last value of a key in a text, terminated and cut to fit; false when there is none. */
bool nt_slurm_conf_value(const char *text, size_t bytes, const char *key, char *value, size_t room);

/* The longest budget that Slurm bears, in seconds, at least 1; *why names what bounds it. A prolog
 * may take a second more than its budget. From MessageTimeout - 2 on slurmd reports a hanging
 * prolog; BatchStartTimeout and at most 10 s more after its start a batch job that does not run on
 * a host that registers is requeued; a prolog over its own timeout is killed and drains the host.
 */
double nt_slurm_conf_budget_s(const struct nt_slurm_conf *conf, const char **why);

#endif
