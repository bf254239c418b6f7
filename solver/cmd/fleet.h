/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `nettopo fleet` share: one file a verb, fleet_VERB.c, one line each in fleet.c.
 * Tests: bats/fleet.bats. */
#ifndef NT_FLEET_H
#define NT_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "command_line.h"
#include "conf.h"
#include "fleet_job.h"
#include "store.h"

extern const struct nt_verb nt_fleet_ingest;
extern const struct nt_verb nt_fleet_show;
extern const struct nt_verb nt_fleet_since;
extern const struct nt_verb nt_fleet_prior;
extern const struct nt_verb nt_fleet_sync;
extern const struct nt_verb nt_fleet_metrics;
extern const struct nt_verb nt_fleet_check;

/* Opens the store of --store (NULL: fleet_store of nettopo.conf; NT_ERR_USAGE: neither). */
int nt_fleet_open(const char *given, bool read_only, struct nt_store **out, struct nt_err *err);

/* Seconds since 1970. */
int64_t nt_fleet_now(void);

/* A span like 90, 15m, 12h, 30d; bare: seconds. NT_ERR_USAGE names the option. */
int nt_fleet_span(const char *option, const char *text, int64_t *seconds, struct nt_err *err);

/* What a file holds: one of the archive, a map with its record after it, or a map with its record
 * in a file "samples" beside it. Of files that are neither root's nor of who calls, the owner is
 * the user, whatever their head says. records: Slurm's, may be NULL. */
int nt_fleet_read_job(const char *path, const struct nt_slurm_jobs *records, int64_t now_s,
                      struct nt_fleet_job **out, struct nt_err *err);

/* nettopo.conf, or the defaults without it. */
int nt_fleet_conf(struct nt_conf *conf, struct nt_err *err);

#endif
