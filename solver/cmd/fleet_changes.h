/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed in the cluster (fleet/changes.h), with the names of parts.
 * Tests: bats/fleet.bats. */
#ifndef NT_FLEET_CHANGES_H
#define NT_FLEET_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "changes.h"
#include "fleet_cluster.h"

struct nt_fleet_changes {
    struct nt_fleet_cluster fleet;
    struct nt_fleet_change *change; /* by time; owned */
    size_t count;
};

/* With what jobs' findings say besides. Of the last days_s before the last job. with_switches:
 * links between switches too, which takes the map of the cluster; else fleet has no map. */
int nt_fleet_changes_load(const char *given, int64_t days_s, bool with_switches,
                          struct nt_fleet_changes *out, struct nt_err *err);
void nt_fleet_changes_fini(struct nt_fleet_changes *changes);

/* "since 2026-01-07", or "since the first job on 2026-01-07" of what was never better. */
enum { NT_SINCE_BYTES = 64 };
void nt_fleet_since_text(const struct nt_fleet_change *c, char text[NT_SINCE_BYTES]);

enum { NT_PART_BYTES = 520 };

/* "n5 s3" of a link, "n5" where its switch is not known, "all hosts" of a class. */
void nt_fleet_part_name(const struct nt_fleet_changes *changes, const struct nt_fleet_change *c,
                        char name[NT_PART_BYTES]);

/* "latency", "bandwidth up", "bandwidth down"; its unit. */
const char *nt_fleet_kind_name(unsigned kind);
const char *nt_fleet_kind_unit(unsigned kind);

#endif
