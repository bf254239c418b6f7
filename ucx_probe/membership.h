/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of the sweep: which rank measures for each host, and which hosts are missing or lost.
 * No I/O and no clock. failure_detector.h describes the states and decides on them. */
#ifndef NT_MEMBERSHIP_H
#define NT_MEMBERSHIP_H

#include "names.h"
#include "oob.h"
#include "samples.h"
#include "wire.h"

enum { NT_NO_INDEX = UINT32_MAX };

/* The hardware that a host reported. */
struct nt_member_hardware {
    uint32_t model; /* index into model; NT_NO_INDEX: not known */
    float core_us[NT_BETWEEN_END];
};

struct nt_membership {
    struct nt_arena
        memory;            /* all arrays below except models; first, as nt_object_create requires */
    struct nt_arena heard; /* the texts in networks, whose allocation may fail */
    size_t ranks, hosts;
    uint32_t *host_of;     /* by rank: its host; NT_NO_INDEX for a second rank on a host */
    uint32_t *rank_of;     /* by host: its rank; NT_NO_INDEX: no greeting arrived */
    const char **name;     /* hosts of them */
    const char **networks; /* by host: networks in its greeting; NULL: not known */
    const char **lost;     /* by host: NULL if it is online, otherwise why it is missing or lost */
    struct nt_member_hardware *hardware; /* hosts of them */
    struct nt_names models;              /* the different descriptions of hardware */
    const char **model;                  /* these descriptions by index */
    /* By host: number of failures in a row that it may have caused; 0: not suspect */
    unsigned char *suspicion;
    uint32_t *suspected_with; /* by host: partner in its last failure; valid while it is suspect */
    /* By host: the second partner that did not reach it, until a third host has decided;
     * NT_NO_INDEX: none */
    uint32_t *accused_by;
};

/* Creates the membership from the greetings. Ranks without a greeting get their name from known; if
 * known is NULL they are omitted. table: the addresses of all ranks, which point into the
 * contributions, and the sources of their connections. A host whose greeting is invalid is missing;
 * the other hosts are not affected. */
int nt_membership_create(const struct nt_contribution *contributions, size_t ranks,
                         const char *const *known, struct nt_membership **out,
                         struct nt_peer_table *table, struct nt_err *err);
void nt_membership_destroy(struct nt_membership *membership);

/* Adds the hosts' hardware to the samples, which already contain the hosts. */
int nt_membership_record_hardware(const struct nt_membership *membership,
                                  struct nt_samples *samples, struct nt_err *err);

size_t nt_membership_online(const struct nt_membership *membership);

int nt_membership_set_lost(struct nt_membership *membership, uint32_t host, const char *reason,
                           struct nt_err *err);

#endif
