/* The agent's outer process: it starts an inner one that does the work, waits for it, and when it
 * dies or does not end in time ends it and publishes failed in its place.
 *
 * libmunge, a file system or a bug may hold up the inner one; this one calls nothing that can. */
#ifndef NT_MONITOR_H
#define NT_MONITOR_H

#include "conf.h"
#include "request.h"
#include "session.h"

/* Does the whole job; returns when it is over: budget_s and less than a second more.
 * began: when the agent was started (monotonic). -1 when nothing could be published here. */
int nt_monitor_run(const struct nt_request *request, const struct nt_conf *conf, double budget_s,
                   double began, struct nt_err *err);

#endif
