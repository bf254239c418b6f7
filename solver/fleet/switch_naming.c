/* SPDX-License-Identifier: Apache-2.0 */
#include "switch_naming.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { NONE = UINT32_MAX };

void nt_switch_naming_fini(struct nt_switch_naming *naming)
{
    free(naming->member);
    *naming = (struct nt_switch_naming){0};
}

int nt_switch_naming_add(struct nt_switch_naming *naming, struct nt_switch_member member,
                         struct nt_err *err)
{
    if (member.number == 0 || member.tier == 0)
        return nt_err_set(err, NT_ERR_INPUT, "host %u below switch %u of tier %u: both from 1 on",
                          member.host, member.number, member.tier);
    if (naming->members == naming->capacity) {
        size_t room = naming->capacity > 0 ? 2 * naming->capacity : 256;
        struct nt_switch_member *more = realloc(naming->member, room * sizeof *more);
        if (more == NULL)
            return nt_err_memory(err);
        naming->member = more;
        naming->capacity = room;
    }
    naming->member[naming->members++] = member;
    if (member.number > naming->last)
        naming->last = member.number;
    return 0;
}

/* ---- who is below a switch now ---- */

/* Lists the members of the new naming. For now, a number is the model's switch index plus 1. */
static int list_members(const struct nt_model *m, struct nt_switch_naming *now, struct nt_err *err)
{
    uint32_t *parent = malloc((m->hosts + m->switches + 1) * sizeof *parent);
    int rc = parent != NULL ? 0 : nt_err_memory(err);
    if (rc == 0)
        nt_model_parents(m, parent);
    for (uint32_t h = 0; rc == 0 && h < m->hosts; h++)
        for (uint32_t v = parent[h]; rc == 0 && v != NONE; v = parent[v])
            rc = nt_switch_naming_add(
                now, (struct nt_switch_member){h, nt_model_tier(m, v), v - (uint32_t)m->hosts + 1},
                err);
    free(parent);
    return rc;
}

/* ---- matching ---- */

static int by_host(const void *x, const void *y)
{
    const struct nt_switch_member *p = x, *q = y;
    return NT_ORDER(p->host, q->host,
                    NT_ORDER(p->tier, q->tier, NT_ORDER(p->number, q->number, 0)));
}

static void sort_members(struct nt_switch_naming *naming)
{
    if (naming->members > 0)
        qsort(naming->member, naming->members, sizeof *naming->member, by_host);
}

/* Number of hosts below both the old and the new switch. */
struct common {
    uint32_t old, new;
    uint32_t hosts;
};

static int by_switches(const void *x, const void *y)
{
    const struct common *p = x, *q = y;
    return NT_ORDER(p->new, q->new, NT_ORDER(p->old, q->old, 0));
}

/* Counts the hosts below each pair of an old and a new switch of the same tier. Both namings are
 * sorted by host. */
static size_t count_common(const struct nt_switch_naming *before,
                           const struct nt_switch_naming *now, struct common *common)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0, k = 0; i < before->members && k < now->members;) {
        const struct nt_switch_member *old = &before->member[i], *new = &now->member[k];
        if (old->host == new->host && old->tier == new->tier) {
            common[n++] = (struct common){old->number, new->number, 1};
            i++;
            k++;
        } else if (old->host < new->host || (old->host == new->host && old->tier < new->tier)) {
            i++;
        } else {
            k++;
        }
    }
    if (n > 0)
        qsort(common, n, sizeof *common, by_switches);
    for (size_t k = 0; k < n; k++) {
        if (kept > 0 && common[kept - 1].old == common[k].old &&
            common[kept - 1].new == common[k].new)
            common[kept - 1].hosts++;
        else
            common[kept++] = common[k];
    }
    return kept;
}

static void count_members(const struct nt_switch_naming *naming, uint32_t *size)
{
    for (size_t k = 0; k < naming->members; k++)
        size[naming->member[k].number]++;
}

/* A switch keeps the number of the old switch if more than half of the hosts of each are below
 * both. At most one old switch satisfies this for a new one, and the reverse. */
static void keep_numbers(const struct common *common, size_t n, const uint32_t *old_size,
                         const uint32_t *new_size, uint32_t *number)
{
    for (size_t k = 0; k < n; k++)
        if (2 * common[k].hosts > old_size[common[k].old] &&
            2 * common[k].hosts > new_size[common[k].new])
            number[common[k].new - 1] = common[k].old;
}

/* Keeps the former members of hosts that are below no switch now. Both are sorted by host. */
static int join_members(const struct nt_switch_naming *before, const uint32_t *number,
                        struct nt_switch_naming *now, struct nt_err *err)
{
    size_t known = now->members;
    for (size_t k = 0; k < known; k++)
        now->member[k].number = number[now->member[k].number - 1];
    for (size_t i = 0, k = 0; i < before->members; i++) {
        while (k < known && now->member[k].host < before->member[i].host)
            k++;
        if ((k == known || now->member[k].host != before->member[i].host) &&
            nt_switch_naming_add(now, before->member[i], err) < 0)
            return -1;
    }
    return 0;
}

static int match(const struct nt_switch_naming *before, const struct nt_model *m, uint32_t *number,
                 struct nt_switch_naming *now, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_switch_naming was = {.last = before->last};
    int rc = list_members(m, now, err);
    for (size_t k = 0; rc == 0 && k < before->members; k++)
        rc = nt_switch_naming_add(&was, before->member[k], err);
    sort_members(now);
    sort_members(&was);
    struct common *common = nt_arena_array(&memory, now->members + 1, sizeof *common);
    uint32_t *old_size = nt_arena_array(&memory, (size_t)was.last + 1, sizeof *old_size);
    uint32_t *new_size = nt_arena_array(&memory, m->switches + 1, sizeof *new_size);
    if (rc == 0)
        rc = nt_arena_check(&memory, err);
    if (rc == 0) {
        count_members(&was, old_size);
        count_members(now, new_size);
        size_t n = count_common(&was, now, common);
        now->last = was.last;
        memset(number, 0, m->switches * sizeof *number);
        keep_numbers(common, n, old_size, new_size, number);
        for (size_t s = 0; s < m->switches; s++)
            if (number[s] == 0)
                number[s] = ++now->last;
        rc = join_members(&was, number, now, err);
    }
    nt_switch_naming_fini(&was);
    return rc;
}

int nt_switch_naming_match(const struct nt_switch_naming *before, const struct nt_model *model,
                           uint32_t *number, struct nt_switch_naming *after, struct nt_err *err)
{
    struct nt_switch_naming now = {0};
    if (match(before, model, number, &now, err) < 0) {
        nt_switch_naming_fini(&now);
        return -1;
    }
    if (after == NULL) {
        nt_switch_naming_fini(&now);
        return 0;
    }
    if (after == before)
        nt_switch_naming_fini(after);
    *after = now;
    return 0;
}
