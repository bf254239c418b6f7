#include "met.h"

#include <stdbool.h>
#include <stdlib.h>

enum { ROOM_MIN = 64 };

static int no_memory(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory for who has met whom");
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
    free(met->bit);
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

static size_t words_of(size_t hosts)
{
    return hosts * (hosts + 1) / 2 / 64 + 1;
}

/* Whether it was not set before. */
static bool set_bit(const struct nt_met *met, uint64_t low, uint64_t high)
{
    uint64_t at = high * (high - 1) / 2 + low, one = (uint64_t)1 << at % 64;
    bool news = (met->bit[at / 64] & one) == 0;
    met->bit[at / 64] |= one;
    return news;
}

static int become_bits(struct nt_met *met, struct nt_err *err)
{
    met->bit = calloc(words_of(met->hosts), sizeof *met->bit);
    if (met->bit == NULL)
        return no_memory(err);
    for (size_t k = 0; k < met->room; k++)
        if (met->slot[k] != 0)
            set_bit(met, met->slot[k] >> 32, met->slot[k] & UINT32_MAX);
    free(met->slot);
    met->slot = NULL;
    met->room = 0;
    return 0;
}

static int grow(struct nt_met *met, struct nt_err *err)
{
    struct nt_met wider = *met;
    wider.room = met->room * 2;
    if (wider.room >= words_of(met->hosts))
        return become_bits(met, err);
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

/* 1: the pair is new; 0: it is not */
static int enter(struct nt_met *met, uint64_t low, uint64_t high, struct nt_err *err)
{
    uint64_t pair = low << 32 | high, *slot = met->bit == NULL ? find(met, pair) : NULL;
    if (slot != NULL && *slot != 0)
        return 0;
    if (slot != NULL && 2 * (met->pairs + 1) >= met->room && grow(met, err) != 0)
        return -1;
    if (met->bit != NULL)
        return set_bit(met, low, high);
    *find(met, pair) = pair;
    return 1;
}

int nt_met_note(struct nt_met *met, uint32_t a, uint32_t b, struct nt_err *err)
{
    if (a == b)
        return 0; /* and 0 is no pair */
    int news = enter(met, a < b ? a : b, a < b ? b : a, err);
    if (news <= 0)
        return news;
    met->pairs++;
    met->partners[a]++;
    met->partners[b]++;
    return 0;
}
