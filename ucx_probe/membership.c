/* SPDX-License-Identifier: Apache-2.0 */
#include "membership.h"

#include <stdlib.h>
#include <string.h>

/* ---- probes that share the cores of a machine ---- */
struct machine_user {
    unsigned char machine[NT_WIRE_MACHINE_BYTES];
    uint32_t rank, cores;
};

static int by_machine(const void *a, const void *b)
{
    const struct machine_user *x = a, *y = b;
    return memcmp(x->machine, y->machine, sizeof x->machine);
}

static void assign_own_cores(struct machine_user *user, size_t n, struct nt_peer_table *table)
{
    qsort(user, n, sizeof *user, by_machine);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && by_machine(&user[i], &user[end]) == 0;)
            end++;
        for (size_t k = i; k < end; k++)
            table->peer[user[k].rank].own_core = user[k].cores >= end - i;
    }
}

/* ---- hardware ---- */
static int add_hardware_model(struct nt_membership *membership, const char *text, uint32_t *index,
                              struct nt_err *err)
{
    *index = nt_names_find(&membership->models, text, strlen(text));
    if (*index != NT_NAMES_NONE)
        return 0;
    const char *copy = nt_arena_text(&membership->memory, text, strlen(text));
    if (copy == NULL || nt_names_add(&membership->models, copy, index, err) != 0)
        return nt_err_memory(err);
    membership->model[*index] = copy; /* allocated for one model per host */
    return 0;
}

/* Stores the hardware of a host. An invalid text is ignored, and the host takes part without it. */
static int keep_hardware(struct nt_membership *membership, size_t host,
                         const struct nt_greeting *greeting, struct nt_err *err)
{
    struct nt_member_hardware *hardware = &membership->hardware[host];
    struct nt_machine machine;
    char text[NT_MACHINE_TEXT_BYTES];
    if (greeting->hardware[0] == '\0' || nt_machine_parse(greeting->hardware, &machine, NULL) != 0)
        return 0;
    nt_machine_write(&machine, text);
    for (int k = 0; k < NT_BETWEEN_END; k++)
        hardware->core_us[k] = (float)greeting->core_us[k];
    return add_hardware_model(membership, text, &hardware->model, err);
}

int nt_membership_record_hardware(const struct nt_membership *membership,
                                  struct nt_samples *samples, struct nt_err *err)
{
    uint32_t index;
    for (size_t k = 0; k < membership->models.count; k++)
        if (nt_samples_add_model(samples, membership->model[k], &index, err) != 0)
            return -1;
    for (size_t h = 0; h < membership->hosts; h++) {
        const struct nt_member_hardware *hardware = &membership->hardware[h];
        if (hardware->model == NT_NO_INDEX)
            continue;
        if (nt_samples_set_model(samples, h, hardware->model, err) != 0)
            return -1;
        for (int k = 0; k < NT_BETWEEN_END; k++)
            if (hardware->core_us[k] > 0 &&
                nt_samples_set_cores(samples, h, (enum nt_between)k, (double)hardware->core_us[k],
                                     err) != 0)
                return -1;
    }
    return 0;
}

/* ---- the hosts ---- */
static int add_host(struct nt_membership *membership, size_t rank, bool present, const char *name,
                    const char *lost, struct nt_err *err)
{
    size_t host = membership->hosts;
    membership->name[host] = nt_arena_text(&membership->memory, name, strlen(name));
    if (lost != NULL)
        membership->lost[host] = nt_arena_text(&membership->memory, lost, strlen(lost));
    if (nt_arena_check(&membership->memory, err) != 0)
        return -1;
    membership->rank_of[host] = present ? (uint32_t)rank : NT_NO_INDEX;
    membership->host_of[rank] = (uint32_t)host;
    membership->hardware[host].model = NT_NO_INDEX;
    membership->hosts++;
    return 0;
}

/* Decodes the greeting of a rank; false: reason explains why there is none. */
static bool decode_greeting(const struct nt_contribution *contribution,
                            struct nt_greeting *greeting, struct nt_err *why)
{
    if (!contribution->present) {
        nt_err_set(why, NT_ERR_SYSTEM, "did not answer");
        return false;
    }
    if (nt_greeting_decode(contribution->data, contribution->bytes, greeting, why) != 0)
        return false;
    if (greeting->address_bytes == 0) {
        nt_err_set(why, NT_ERR_SYSTEM, "%s",
                   greeting->reason[0] == '\0' ? "no network address" : greeting->reason);
        return false;
    }
    return true;
}

/* Adds a host with a valid greeting. */
static int add_greeting(struct nt_membership *membership, size_t rank, size_t host,
                        const struct nt_greeting *greeting, struct nt_peer_table *table,
                        struct nt_err *err)
{
    if (greeting->networks[0] != '\0') /* without memory the networks are not known */
        membership->networks[host] =
            nt_arena_text(&membership->heard, greeting->networks, strlen(greeting->networks));
    table->peer[rank] = (struct nt_peer){false, greeting->address, greeting->address_bytes};
    memcpy(table->source + table->sources, greeting->source,
           greeting->sources * sizeof greeting->source[0]);
    table->sources += greeting->sources;
    return keep_hardware(membership, host, greeting, err);
}

static int add_ranks(struct nt_membership *membership, const struct nt_contribution *contributions,
                     const char *const *known, struct nt_peer_table *table, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct machine_user *user = nt_arena_array(&memory, membership->ranks, sizeof *user);
    struct nt_names names = {0};
    size_t users = 0;
    uint32_t host;
    int rc = nt_arena_check(&memory, err);
    for (size_t rank = 0; rank < membership->ranks && rc == 0; rank++) {
        struct nt_greeting greeting = {0};
        struct nt_err why = {0};
        bool valid = decode_greeting(&contributions[rank], &greeting, &why);
        membership->host_of[rank] = NT_NO_INDEX;
        const char *name = known != NULL ? known[rank] : greeting.host;
        if (name[0] == '\0' || nt_names_find(&names, name, strlen(name)) != NT_NAMES_NONE)
            continue;
        rc = add_host(membership, rank, contributions[rank].present, name, valid ? NULL : why.text,
                      err);
        if (rc == 0)
            rc = nt_names_add(&names, membership->name[membership->hosts - 1], &host, err);
        if (rc != 0 || !valid)
            continue;
        rc = add_greeting(membership, rank, host, &greeting, table, err);
        user[users] = (struct machine_user){.rank = (uint32_t)rank, .cores = greeting.cores};
        memcpy(user[users++].machine, greeting.machine, sizeof greeting.machine);
    }
    if (rc == 0)
        assign_own_cores(user, users, table);
    nt_names_fini(&names);
    return rc;
}

static int allocate(struct nt_membership *membership, struct nt_peer_table *table,
                    struct nt_err *err)
{
    struct nt_arena *memory = &membership->memory;
    size_t n = membership->ranks + 1;
    membership->host_of = nt_arena_array(memory, n, sizeof *membership->host_of);
    membership->rank_of = nt_arena_array(memory, n, sizeof *membership->rank_of);
    membership->name = nt_arena_array(memory, n, sizeof *membership->name);
    membership->lost = nt_arena_array(memory, n, sizeof *membership->lost);
    membership->networks = nt_arena_array(memory, n, sizeof *membership->networks);
    membership->suspicion = nt_arena_array(memory, n, sizeof *membership->suspicion);
    membership->suspected_with = nt_arena_array(memory, n, sizeof *membership->suspected_with);
    membership->accused_by = nt_arena_array(memory, n, sizeof *membership->accused_by);
    membership->hardware = nt_arena_array(memory, n, sizeof *membership->hardware);
    membership->model = nt_arena_array(memory, n, sizeof *membership->model);
    table->peer = nt_arena_array(&table->memory, n, sizeof *table->peer);
    table->source = nt_arena_array(&table->memory, n * NT_SOURCES_MAX, sizeof *table->source);
    if (nt_arena_check(memory, err) != 0 || nt_arena_check(&table->memory, err) != 0)
        return -1;
    for (size_t h = 0; h < n; h++)
        membership->accused_by[h] = NT_NO_INDEX;
    return 0;
}

int nt_membership_create(const struct nt_contribution *contributions, size_t ranks,
                         const char *const *known, struct nt_membership **out,
                         struct nt_peer_table *table, struct nt_err *err)
{
    if (ranks > NT_WIRE_RANKS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu ranks: at most %d", ranks,
                          (int)NT_WIRE_RANKS_MAX);
    struct nt_peer_table made = {.ranks = ranks};
    struct nt_membership *membership = nt_object_create(sizeof *membership, err);
    if (membership == NULL)
        return -1;
    membership->ranks = ranks;
    int rc = allocate(membership, &made, err);
    if (rc == 0)
        rc = add_ranks(membership, contributions, known, &made, err);
    if (rc != 0) {
        nt_peer_table_fini(&made);
        nt_membership_destroy(membership);
        return -1;
    }
    *out = membership;
    *table = made;
    return 0;
}

void nt_membership_destroy(struct nt_membership *membership)
{
    if (membership != NULL) {
        nt_names_fini(&membership->models);
        nt_arena_fini(&membership->heard);
    }
    nt_object_destroy(membership);
}

size_t nt_membership_online(const struct nt_membership *membership)
{
    size_t n = 0;
    for (size_t i = 0; i < membership->hosts; i++)
        n += membership->lost[i] == NULL;
    return n;
}

int nt_membership_set_lost(struct nt_membership *membership, uint32_t host, const char *reason,
                           struct nt_err *err)
{
    if (membership->lost[host] != NULL)
        return 0;
    membership->lost[host] = nt_arena_text(&membership->memory, reason, strlen(reason));
    return nt_arena_check(&membership->memory, err);
}
