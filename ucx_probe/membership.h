/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of the sweep: which rank measures for each, and which are missing or lost.
 * Pure. The states and who changes them are described in failure_detector.h. */
#ifndef NT_MEMBERSHIP_H
#define NT_MEMBERSHIP_H

#include "names.h"
#include "oob.h"
#include "samples.h"
#include "wire.h"

enum { NT_NO_INDEX = UINT32_MAX };

/* What a host reported of its own hardware. */
struct nt_member_hardware {
    uint32_t model; /* index; NT_NO_INDEX: nothing */
    float core_us[NT_BETWEEN_END];
};

struct nt_membership {
    struct nt_arena memory; /* of all below but models; first, as nt_object_create has it */
    struct nt_arena heard;  /* of the texts of networks, which may fail */
    size_t ranks, hosts;
    uint32_t *host_of;     /* ranks of them: NT_NO_INDEX for a second rank on the host */
    uint32_t *rank_of;     /* hosts of them: NT_NO_INDEX when no greeting came */
    const char **name;     /* hosts of them */
    const char **networks; /* hosts of them, as they greeted; NULL: not known */
    const char **lost; /* hosts of them: NULL while it is online, or why it is missing or lost */
    struct nt_member_hardware *hardware; /* hosts of them */
    struct nt_names models;              /* texts of hardware, each once */
    const char **model;                  /* those texts */
    unsigned char *suspicion; /* hosts of them: failures in a row of which it may be the cause; 0:
                                 not suspect */
    uint32_t *suspected_with; /* hosts of them: the partner of its last failure, while suspect */
    uint32_t *accused_by;     /* hosts of them: the second partner that did not reach it, until a
                                 third has decided; NT_NO_INDEX: not accused */
};

/* From the greetings. Ranks without one have the names of known (may be NULL: then they are left
 * out). table: the addresses of all ranks, which point into the contributions, and from where they
 * connect. A host whose
 * greeting is malformed is missing; the others are not affected. */
int nt_membership_create(const struct nt_contribution *contributions, size_t ranks,
                         const char *const *known, struct nt_membership **out,
                         struct nt_peer_table *table, struct nt_err *err);
void nt_membership_destroy(struct nt_membership *membership);

/* The hardware of the hosts into the record, which has their names already. */
int nt_membership_record_hardware(const struct nt_membership *membership,
                                  struct nt_samples *samples, struct nt_err *err);

size_t nt_membership_online(const struct nt_membership *membership);

int nt_membership_set_lost(struct nt_membership *membership, uint32_t host, const char *reason,
                           struct nt_err *err);

#endif
