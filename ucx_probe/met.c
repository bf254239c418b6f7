#include "met.h"

#include <stdlib.h>

enum { ROOM_MIN = 64 };

static int no_memory(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "the sweep: out of memory");
}

int nt_met_init(struct nt_met *met, size_t hosts, struct nt_err *err)
{
    *met = (struct nt_met){.hosts = hosts,
                           .partners = calloc(hosts + 1, sizeof *met->partners),
                           .slot = calloc(ROOM_MIN, sizeof *met->slot),
                           .room = ROOM_MIN};
    if (met->partners != NULL && met->slot != NULL)
        return 0;
    nt_met_fini(met);
    return no_memory(err);
}

void nt_met_fini(struct nt_met *met)
{
    free(met->partners);
    free(met->slot);
    *met = (struct nt_met){0};
}

/* Where the pair stands, or the free slot for it. */
static uint64_t *find(const struct nt_met *met, uint64_t pair)
{
    uint64_t h = pair * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h ^ h >> 29) & (met->room - 1);
    while (met->slot[i] != 0 && met->slot[i] != pair)
        i = (i + 1) & (met->room - 1);
    return &met->slot[i];
}

static int grow(struct nt_met *met, struct nt_err *err)
{
    struct nt_met wider = *met;
    wider.room = met->room * 2;
    wider.slot = calloc(wider.room, sizeof *wider.slot);
    if (wider.slot == NULL)
        return no_memory(err);
    for (size_t k = 0; k < met->room; k++)
        if (met->slot[k] != 0)
            *find(&wider, met->slot[k]) = met->slot[k];
    free(met->slot);
    *met = wider;
    return 0;
}

int nt_met_note(struct nt_met *met, uint32_t a, uint32_t b, struct nt_err *err)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a, pair = low << 32 | high;
    if (a == b)
        return 0; /* and 0 is no pair */
    uint64_t *slot = find(met, pair);
    if (*slot != 0)
        return 0;
    if (2 * (met->pairs + 1) >= met->room) {
        if (grow(met, err) != 0)
            return -1;
        slot = find(met, pair);
    }
    *slot = pair;
    met->pairs++;
    met->partners[a]++;
    met->partners[b]++;
    return 0;
}
