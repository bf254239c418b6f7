/* SPDX-License-Identifier: Apache-2.0 */
/* A host's agent: the program's own worker and relay, two processes with a socket between them, and
 * what prolog/monitor.c does around them. In place of prolog/relay.c's processes and of what
 * prolog/job.c reads of Slurm. */
#ifndef NT_STORM_AGENTS_H
#define NT_STORM_AGENTS_H

#include "cluster.h"

void agent_start(struct host *h, double at_s);
/* All processes of the agent and its probe, as when the monitor is killed. */
void agent_kill(struct host *h, int signal);
/* One of them, of which the others notice. */
void relay_kill(struct host *h, int signal);
void worker_kill(struct host *h, int signal);
void agent_stop(struct host *h, double until_s);
/* Of a host whose agent was killed: another agent of the same job. */
void agent_start_again(struct host *h);

#endif
