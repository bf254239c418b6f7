/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed in the cluster (fleet/changes.h), with the names of parts.
 * Tests: bats/fleet.bats. */
#ifndef NT_FLEET_CHANGES_H
#define NT_FLEET_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "changes.h"
#include "fleet_cluster.h"

struct nt_fleet_changes {
    struct nt_fleet_cluster fleet;
    struct nt_fleet_change *change; /* by time; owned */
    size_t count;
    bool *explained; /* hosts by number: as in nt_fleet_changes_place; NULL: none. Owned */
};

/* With what jobs' findings say besides. Of the last days_s before the last job. with_switches:
 * links between switches too, which takes the map of the cluster; else fleet has no map. */
int nt_fleet_changes_load(const char *given, int64_t days_s, bool with_switches,
                          struct nt_fleet_changes *out, struct nt_err *err);
void nt_fleet_changes_fini(struct nt_fleet_changes *changes);

/* Of changes loaded without switches: where the latency of a host that is asked for is worse now,
 * loads them again with the map of the cluster, which knows where hosts stand and have stood; else
 * does nothing, which is cheap. asked: their numbers, NT_NAMES_NONE allowed. given, days_s: as the
 * changes were loaded. */
int nt_fleet_changes_place(struct nt_fleet_changes *changes, const char *given, int64_t days_s,
                           const uint32_t *asked, size_t count, struct nt_err *err);

/* The last move of a host whose latency only seemed to be worse until the map was made; NULL: it
 * did not, or has not moved. */
const struct nt_cluster_move *nt_fleet_changes_moved(const struct nt_fleet_changes *changes,
                                                     uint32_t host);

/* Whether the host's own link is worse now than it was. */
bool nt_fleet_change_is_against(const struct nt_fleet_change *change, uint32_t host);

/* Whether that is so of its latency. */
bool nt_fleet_changes_slow(const struct nt_fleet_changes *changes, uint32_t host);

/* "since 2026-01-07", or "since the first job on 2026-01-07" of what was never better. */
enum { NT_SINCE_BYTES = 64 };
void nt_fleet_since_text(const struct nt_fleet_change *c, char text[NT_SINCE_BYTES]);

enum { NT_PART_BYTES = 520 };

/* "n5 s3" of a link, "n5" where its switch is not known, "all hosts" of a class. */
void nt_fleet_part_name(const struct nt_fleet_changes *changes, const struct nt_fleet_change *c,
                        char name[NT_PART_BYTES]);

/* "n5 s3: latency worse from 0.5 to 0.7 us since ..." and a line's end. */
void nt_fleet_change_put(struct nt_strbuf *d, const struct nt_fleet_changes *changes,
                         const struct nt_fleet_change *change);

/* The same as an item of JSON; part: the name to give it. */
void nt_fleet_change_put_json(struct nt_json_writer *w, const struct nt_fleet_change *c,
                              const char *part);

/* Marks on the map what is worse now, as findings of it (which it had none of). Changes that were
 * loaded with switches. */
int nt_fleet_changes_mark(struct nt_fleet_changes *changes, struct nt_err *err);

/* "latency", "bandwidth up", "bandwidth down"; its unit. */
const char *nt_fleet_kind_name(unsigned kind);
const char *nt_fleet_kind_unit(unsigned kind);

#endif
