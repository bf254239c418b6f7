/* SPDX-License-Identifier: Apache-2.0 */
/* The map of the cluster from the store, as the verbs of `nettopo fleet` use it.
 * Tests: bats/fleet.bats. */
#ifndef NT_FLEET_CLUSTER_H
#define NT_FLEET_CLUSTER_H

#include "cluster_map.h"
#include "fleet.h"
#include "json_write.h"
#include "map.h"
#include "names.h"
#include "store.h"
#include "strbuf.h"

struct nt_fleet_cluster {
    struct nt_store_sums sums;
    struct nt_names hosts;          /* by number; owned, as are the others */
    int64_t *seen_s;                /* when each was last in a job */
    struct nt_cluster_map *cluster; /* NULL: too little was measured, why says so */
    struct nt_map *map;             /* the same with names, sorted by them; NULL */
    struct nt_cluster_part *part;   /* by vertex of map */
    uint32_t *at;                   /* of each host by number its vertex in map */
    struct nt_err why;
};

enum { NT_FLEET_ENTRIES_MAX = 20000000 }; /* of the newest readings; 640 MB */

/* Readings of the last days_s. The names of switches are kept in the store for the next time, when
 * this process may write it (given as in nt_fleet_open). */
int nt_fleet_cluster_load(const char *given, int64_t days_s, struct nt_fleet_cluster *out,
                          struct nt_err *err);
/* The same without the map: sums and names of hosts. */
int nt_fleet_cluster_load_names(const char *given, struct nt_fleet_cluster *out,
                                struct nt_err *err);
void nt_fleet_cluster_fini(struct nt_fleet_cluster *fleet);

/* The map with what jobs of two users confirm, and of the hosts those with that support: the others
 * are missing, switches without hosts are gone. was (may be NULL, room for all vertices): of each
 * vertex that of the map. NT_ERR_NO: nothing is confirmed. */
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

#endif
