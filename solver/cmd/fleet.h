/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands of `nettopo fleet`: each has a file, fleet_VERB.c, and a line in fleet.c.
 * Tests: bats/fleet.bats. */
#ifndef NT_FLEET_H
#define NT_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "changes.h"
#include "cluster_map.h"
#include "conf.h"
#include "fleet_job.h"
#include "json_write.h"
#include "map.h"
#include "names.h"
#include "store.h"
#include "strbuf.h"
#include "verbs.h"

extern const struct nt_verb nt_fleet_ingest;
extern const struct nt_verb nt_fleet_show;
extern const struct nt_verb nt_fleet_since;
extern const struct nt_verb nt_fleet_prior;
extern const struct nt_verb nt_fleet_sync;
extern const struct nt_verb nt_fleet_metrics;
extern const struct nt_verb nt_fleet_check;

/* Options of all or most commands. */
#define NT_FLAG_STORE                                                                              \
    {                                                                                              \
        "store", 0, "FILE", NT_AT(store), 1, "Store (default: fleet_store in nettopo.conf)"        \
    }
#define NT_FLAG_DAYS                                                                               \
    {                                                                                              \
        "days", 0, "SPAN", NT_AT(days), 1,                                                         \
            "Use jobs from the last SPAN before the most recent job (default 90d)"                 \
    }

/* Opens the store of --store (NULL: fleet_store in nettopo.conf; NT_ERR_USAGE: neither is set). */
int nt_fleet_open(const char *given, bool read_only, struct nt_store **out, struct nt_err *err);

/* Returns the seconds since 1970. */
int64_t nt_fleet_now(void);

/* Parses a duration such as 90, 15m, 12h or 30d; without a unit: seconds. NT_ERR_USAGE: the error
 * names the option. */
int nt_fleet_span(const char *option, const char *text, int64_t *seconds, struct nt_err *err);

/* Reads nettopo.conf, or the default values without it. */
int nt_fleet_conf(struct nt_conf *conf, struct nt_err *err);

/* The map of the cluster from the store, for the commands of `nettopo fleet`. */

struct nt_fleet_cluster {
    struct nt_store_sums sums;
    struct nt_names hosts;          /* by number; owned, as all pointers here */
    int64_t *seen_s;                /* by host: time of its last job */
    struct nt_cluster_map *cluster; /* NULL: too few measurements, see why */
    struct nt_map *map;             /* the cluster with names, sorted by name; or NULL */
    struct nt_cluster_part *part;   /* by vertex of map */
    uint32_t *at;                   /* by number of the host: its vertex in map */
    uint32_t *above;                /* by vertex of map: the vertex above it, or NT_NO_VERTEX */
    struct nt_err why;
};

/* Loads the readings of the last days_s. Stores the names of switches for the next call if this
 * process may write to the store (given: as in nt_fleet_open). with_map false: only totals and
 * names of hosts. */
int nt_fleet_cluster_load(const char *given, int64_t days_s, bool with_map,
                          struct nt_fleet_cluster *out, struct nt_err *err);
void nt_fleet_cluster_fini(struct nt_fleet_cluster *fleet);

/* Creates the map of the parts that jobs of two users confirm. Hosts with less support than this
 * are missing, and switches without hosts are omitted. was (may be NULL, room for all vertices): by
 * vertex, its index in fleet->map. NT_ERR_NO: no part is confirmed. */
int nt_fleet_cluster_confirmed(const struct nt_fleet_cluster *fleet, double support,
                               struct nt_map **out, uint32_t *was, struct nt_err *err);

/* Appends "n8 moved by 2026-01-05 (4 jobs of 3 users), away from n7, to n17" and a newline. */
void nt_fleet_cluster_put_move(struct nt_strbuf *d, const struct nt_fleet_cluster *fleet,
                               const struct nt_cluster_move *move);

/* Appends the move as an item of JSON. */
void nt_fleet_cluster_put_json_move(struct nt_json_writer *w, const struct nt_fleet_cluster *fleet,
                                    const struct nt_cluster_move *move);

/* Appends a time in UTC; nothing if it is not known (0). */
void nt_fleet_put_json_time(struct nt_json_writer *w, const char *name, int64_t time_s);

/* Changes in the cluster (fleet/changes.h), with the names of parts. */

struct nt_fleet_changes {
    struct nt_fleet_cluster fleet;
    struct nt_fleet_change *change; /* by time; owned */
    size_t count;
    bool *explained; /* by number of the host: see nt_fleet_changes_place; NULL: none; owned */
};

/* Loads the changes of the last days_s before the last job, including those from findings of jobs.
 * with_switches: also links between switches, which needs the map of the cluster; otherwise fleet
 * has no map. */
int nt_fleet_changes_load(const char *given, int64_t days_s, bool with_switches,
                          struct nt_fleet_changes *out, struct nt_err *err);
void nt_fleet_changes_fini(struct nt_fleet_changes *changes);

/* For changes loaded without switches. If the latency of a requested host is worse now, loads them
 * again with the map of the cluster, which contains the places of hosts now and before. Otherwise
 * does nothing, which is fast. asked: the hosts' numbers, NT_NAMES_NONE allowed. given, days_s: as
 * the changes were loaded. */
int nt_fleet_changes_place(struct nt_fleet_changes *changes, const char *given, int64_t days_s,
                           const uint32_t *asked, size_t count, struct nt_err *err);

/* Returns the last move of a host whose latency seemed worse without the map; NULL: it did not, or
 * the host has not moved. */
const struct nt_cluster_move *nt_fleet_changes_moved(const struct nt_fleet_changes *changes,
                                                     uint32_t host);

/* Returns whether the change makes the host's own link worse now. */
bool nt_fleet_change_is_worse_for(const struct nt_fleet_change *change, uint32_t host);

/* Returns whether the latency of the host's own link is worse now than before. */
bool nt_fleet_changes_slow(const struct nt_fleet_changes *changes, uint32_t host);

/* "since 2026-01-07", or "since the first job on 2026-01-07" if it was never better. */
enum { NT_SINCE_BYTES = 64 };
void nt_fleet_since_text(const struct nt_fleet_change *c, char text[NT_SINCE_BYTES]);

enum { NT_PART_BYTES = 520 };

/* Formats the name of a part: "n5 s3" for a link, "n5" if its switch is not known, "all hosts" for
 * a link type. */
void nt_fleet_part_name(const struct nt_fleet_changes *changes, const struct nt_fleet_change *c,
                        char name[NT_PART_BYTES]);

/* Appends "n5 s3: latency worse from 0.5 to 0.7 us since ..." and a newline. */
void nt_fleet_change_put(struct nt_strbuf *d, const struct nt_fleet_changes *changes,
                         const struct nt_fleet_change *change);

/* Appends the change as an item of JSON; part: its name. */
void nt_fleet_change_put_json(struct nt_json_writer *w, const struct nt_fleet_change *c,
                              const char *part);

/* Returns by how much the change lengthens the link in the map, in us: 0 for a bandwidth, a link
 * between switches, and a latency that the map already contains. The changes were loaded with
 * switches. */
double nt_fleet_change_added_us(const struct nt_fleet_changes *changes,
                                const struct nt_fleet_change *change);

/* Adds a finding to the map, which has none, for each change that is worse now. The changes were
 * loaded with switches. */
int nt_fleet_changes_mark(struct nt_fleet_changes *changes, struct nt_err *err);

/* "latency", "bandwidth up", "bandwidth down"; and the unit. */
const char *nt_fleet_kind_name(unsigned kind);
const char *nt_fleet_kind_unit(unsigned kind);

#endif
