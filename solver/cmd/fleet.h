/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs of `nettopo fleet`: each has its file, fleet_VERB.c, and a line in fleet.c.
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

/* Options of all or most of them. */
#define NT_FLAG_STORE                                                                              \
    {                                                                                              \
        "store", 0, "FILE", NT_AT(store), 1, "Store (default: fleet_store in nettopo.conf)"        \
    }
#define NT_FLAG_DAYS                                                                               \
    {                                                                                              \
        "days", 0, "SPAN", NT_AT(days), 1,                                                         \
            "Use jobs from the last SPAN before the most recent job (default 90d)"                 \
    }

/* Opens the store of --store (NULL: fleet_store of nettopo.conf; NT_ERR_USAGE: neither). */
int nt_fleet_open(const char *given, bool read_only, struct nt_store **out, struct nt_err *err);

/* Seconds since 1970. */
int64_t nt_fleet_now(void);

/* A span like 90, 15m, 12h, 30d; bare: seconds. NT_ERR_USAGE names the option. */
int nt_fleet_span(const char *option, const char *text, int64_t *seconds, struct nt_err *err);

/* nettopo.conf, or the defaults without it. */
int nt_fleet_conf(struct nt_conf *conf, struct nt_err *err);

/* The map of the cluster from the store, as the verbs of `nettopo fleet` use it. */

struct nt_fleet_cluster {
    struct nt_store_sums sums;
    struct nt_names hosts;          /* by number; owned, as are the others */
    int64_t *seen_s;                /* when each was last in a job */
    struct nt_cluster_map *cluster; /* NULL: too little was measured, see why */
    struct nt_map *map;             /* the same with names, sorted by them; NULL */
    struct nt_cluster_part *part;   /* by vertex of map */
    uint32_t *at;                   /* of each host by number its vertex in map */
    uint32_t *above;                /* of each vertex of map the one above it, or NT_NO_VERTEX */
    struct nt_err why;
};

/* Readings of the last days_s. The names of switches are kept in the store for the next time, when
 * this process may write it (given as in nt_fleet_open). with_map false: sums and names of hosts
 * alone. */
int nt_fleet_cluster_load(const char *given, int64_t days_s, bool with_map,
                          struct nt_fleet_cluster *out, struct nt_err *err);
void nt_fleet_cluster_fini(struct nt_fleet_cluster *fleet);

/* The map of the parts that jobs of two users confirm. Hosts with less support than this are
 * missing, and switches without hosts are left out. was (may be NULL, room for all vertices): for
 * each vertex its number in fleet->map. NT_ERR_NO: no part is confirmed. */
int nt_fleet_cluster_confirmed(const struct nt_fleet_cluster *fleet, double support,
                               struct nt_map **out, uint32_t *was, struct nt_err *err);

/* "n8 moved by 2026-01-05 (4 jobs of 3 users), away from n7, to n17" and a line's end. */
void nt_fleet_cluster_put_move(struct nt_strbuf *d, const struct nt_fleet_cluster *fleet,
                               const struct nt_cluster_move *move);

/* The same as an item of JSON. */
void nt_fleet_cluster_put_json_move(struct nt_json_writer *w, const struct nt_fleet_cluster *fleet,
                                    const struct nt_cluster_move *move);

/* In UTC; nothing at all when it is not known (0). */
void nt_fleet_put_json_time(struct nt_json_writer *w, const char *name, int64_t time_s);

/* What has changed in the cluster (fleet/changes.h), with the names of parts. */

struct nt_fleet_changes {
    struct nt_fleet_cluster fleet;
    struct nt_fleet_change *change; /* by time; owned */
    size_t count;
    bool *explained; /* hosts by number: as in nt_fleet_changes_place; NULL: none. Owned */
};

/* Changes of the last days_s before the last job, also those that jobs' findings name.
 * with_switches: links between switches too, which takes the map of the cluster; else fleet has no
 * map. */
int nt_fleet_changes_load(const char *given, int64_t days_s, bool with_switches,
                          struct nt_fleet_changes *out, struct nt_err *err);
void nt_fleet_changes_fini(struct nt_fleet_changes *changes);

/* For changes loaded without switches. If the latency of a host that is asked for is worse now,
 * loads them again with the map of the cluster, which has the places of hosts now and before; else
 * does nothing, which is cheap. asked: their numbers, NT_NAMES_NONE allowed. given, days_s: as the
 * changes were loaded. */
int nt_fleet_changes_place(struct nt_fleet_changes *changes, const char *given, int64_t days_s,
                           const uint32_t *asked, size_t count, struct nt_err *err);

/* The last move of a host whose latency seemed to be worse until the map was made; NULL: it did not
 * seem so, or the host has not moved. */
const struct nt_cluster_move *nt_fleet_changes_moved(const struct nt_fleet_changes *changes,
                                                     uint32_t host);

/* Whether the host's own link is worse now than it was. */
bool nt_fleet_change_is_against(const struct nt_fleet_change *change, uint32_t host);

/* Whether the latency of the host's own link is worse now than it was. */
bool nt_fleet_changes_slow(const struct nt_fleet_changes *changes, uint32_t host);

/* "since 2026-01-07", or "since the first job on 2026-01-07" if it was never better. */
enum { NT_SINCE_BYTES = 64 };
void nt_fleet_since_text(const struct nt_fleet_change *c, char text[NT_SINCE_BYTES]);

enum { NT_PART_BYTES = 520 };

/* "n5 s3" of a link, "n5" if its switch is not known, "all hosts" of a class. */
void nt_fleet_part_name(const struct nt_fleet_changes *changes, const struct nt_fleet_change *c,
                        char name[NT_PART_BYTES]);

/* "n5 s3: latency worse from 0.5 to 0.7 us since ..." and a line's end. */
void nt_fleet_change_put(struct nt_strbuf *d, const struct nt_fleet_changes *changes,
                         const struct nt_fleet_change *change);

/* The same as an item of JSON; part: the name to give it. */
void nt_fleet_change_put_json(struct nt_json_writer *w, const struct nt_fleet_change *c,
                              const char *part);

/* Adds a finding to the map, which has none, for each change that is worse now. The changes were
 * loaded with switches. */
int nt_fleet_changes_mark(struct nt_fleet_changes *changes, struct nt_err *err);

/* "latency", "bandwidth up", "bandwidth down"; its unit. */
const char *nt_fleet_kind_name(unsigned kind);
const char *nt_fleet_kind_unit(unsigned kind);

#endif
