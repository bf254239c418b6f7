/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a message in either direction ----
 * Each message is described once, by a function that writes its fields or reads them. What fails is
 * kept, so that one check at the end is enough. */
struct codec {
    bool reads;
    unsigned char *out; /* output, which grows */
    size_t bytes, capacity;
    const unsigned char *at; /* input; zeros beyond its end */
    size_t left;
    bool is_bad;             /* no memory (writing), or the message is invalid (reading) */
    struct nt_arena *memory; /* memory of lists that are read */
};

static bool grow(struct codec *c, size_t bytes)
{
    if (bytes <= c->capacity - c->bytes)
        return true;
    size_t capacity = (c->bytes + bytes) * 2;
    unsigned char *out = realloc(c->out, capacity);
    if (out == NULL) {
        c->is_bad = true;
        return false;
    }
    c->out = out;
    c->capacity = capacity;
    return true;
}

/* Writes bytes, or returns a pointer to them in the message that is read; NULL: there are none. */
static const unsigned char *code_span(struct codec *c, const void *data, size_t bytes)
{
    if (c->reads)
        c->is_bad = c->is_bad || bytes > c->left;
    if (c->is_bad || bytes == 0)
        return NULL;
    if (!c->reads) {
        if (!grow(c, bytes))
            return NULL;
        memcpy(c->out + c->bytes, data, bytes);
        c->bytes += bytes;
        return data;
    }
    c->at += bytes;
    c->left -= bytes;
    return c->at - bytes;
}

static void code_bytes(struct codec *c, void *data, size_t bytes)
{
    const unsigned char *from = code_span(c, data, bytes);
    if (c->reads && from != NULL)
        memcpy(data, from, bytes);
}

static uint64_t code_number(struct codec *c, uint64_t value, size_t bytes, uint64_t max)
{
    unsigned char b[8] = {0};
    for (size_t i = 0; i < bytes && !c->reads; i++)
        b[i] = (unsigned char)(value >> (8 * i) & 0xff);
    code_bytes(c, b, bytes);
    if (!c->reads)
        return value;
    value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)b[i] << (8 * i);
    c->is_bad = c->is_bad || value > max;
    return value;
}

static uint32_t code32(struct codec *c, uint32_t value)
{
    return (uint32_t)code_number(c, value, 4, UINT32_MAX);
}

static bool code_flag(struct codec *c, bool value)
{
    return code_number(c, value, 1, UINT8_MAX) != 0;
}

/* Writes or reads a number from 0 to max. */
static double code_real(struct codec *c, double value, double max)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = code_number(c, bits, 8, UINT64_MAX);
    memcpy(&value, &bits, sizeof value);
    if (c->reads)
        c->is_bad = c->is_bad || !isfinite(value) || value < 0 || value > max;
    return value;
}

/* Writes or reads a text; unprintable characters become '?'. */
static void code_text(struct codec *c, char *text, size_t room)
{
    size_t bytes = (size_t)code_number(c, c->reads ? 0 : strlen(text), 2, room - 1);
    const unsigned char *p = code_span(c, text, bytes);
    if (!c->reads)
        return;
    bytes = p == NULL ? 0 : bytes;
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(p[i] >= ' ' && p[i] < 127 ? p[i] : '?');
    text[bytes] = '\0';
}

/* Writes or reads the number of elements that follow, which need at least that many bytes each:
 * memory is never allocated for more elements than the message can contain. */
static size_t code_count(struct codec *c, size_t n, size_t max, size_t least_bytes)
{
    n = (size_t)code_number(c, n, 4, max);
    if (c->reads)
        c->is_bad = c->is_bad || n > c->left / least_bytes;
    return c->is_bad ? 0 : n;
}

/* Returns the list that is written, or allocates one for reading. */
static void *code_list(struct codec *c, void *list, size_t n, size_t size)
{
    if (c->reads)
        list = nt_arena_array(c->memory, n, size);
    c->is_bad = c->is_bad || (c->reads && list == NULL);
    return list;
}

static struct codec begin(enum nt_wire_kind kind, const void *data, size_t bytes,
                          struct nt_arena *memory)
{
    struct codec c = {.reads = memory != NULL, .at = data, .left = bytes, .memory = memory};
    c.is_bad = code_number(&c, (uint64_t)kind, 1, UINT8_MAX) != (uint64_t)kind || c.is_bad;
    return c;
}

static int end_writing(struct codec *c, struct nt_bytes *out, struct nt_err *err)
{
    if (c->is_bad) {
        free(c->out);
        return nt_err_memory(err);
    }
    *out = (struct nt_bytes){c->out, c->bytes};
    return 0;
}

/* Checks that the message was read completely; on failure frees the arena. */
static int end_reading(struct codec *c, const char *what, struct nt_err *err)
{
    if (!c->is_bad && c->left == 0)
        return 0;
    int rc = nt_arena_check(c->memory, err) != 0
                 ? -1
                 : nt_err_set(err, NT_ERR_INPUT, "a probe sent a malformed %s", what);
    nt_arena_fini(c->memory);
    return rc;
}

int nt_wire_kind(const void *data, size_t bytes)
{
    int kind = bytes > 0 ? *(const unsigned char *)data : 0;
    return kind != 0 && strchr("HTOYGRSE", kind) != NULL ? kind : 0;
}

/* ---- GREETING ---- */
static void code_greeting(struct codec *c, struct nt_greeting *g)
{
    code_text(c, g->host, sizeof g->host);
    code_bytes(c, g->machine, sizeof g->machine);
    g->cores = code32(c, g->cores);
    code_text(c, g->hardware, sizeof g->hardware);
    code_text(c, g->networks, sizeof g->networks);
    for (int k = 0; k < NT_BETWEEN_END; k++)
        g->core_us[k] = code_real(c, g->core_us[k], 1e6);
    code_text(c, g->reason, sizeof g->reason);
    g->sources = (size_t)code_number(c, g->sources, 1, NT_SOURCES_MAX);
    if (!c->is_bad)
        code_bytes(c, g->source, g->sources * sizeof g->source[0]);
    g->address_bytes = (size_t)code_number(c, g->address_bytes, 4, NT_WIRE_ADDRESS_MAX);
    g->address = code_span(c, g->address, g->address_bytes);
}

int nt_greeting_encode(const struct nt_greeting *greeting, struct nt_bytes *out, struct nt_err *err)
{
    if (greeting->address_bytes > NT_WIRE_ADDRESS_MAX)
        return nt_err_set(err, NT_ERR_SYSTEM, "a network address of %zu bytes, at most %d",
                          greeting->address_bytes, (int)NT_WIRE_ADDRESS_MAX);
    struct codec c = begin(NT_WIRE_GREETING, NULL, 0, NULL);
    struct nt_greeting g = *greeting;
    code_number(&c, NT_PROBE_VERSION, 2, UINT16_MAX);
    code_greeting(&c, &g);
    return end_writing(&c, out, err);
}

int nt_greeting_decode(const void *data, size_t bytes, struct nt_greeting *out, struct nt_err *err)
{
    struct nt_arena none = {0};
    struct codec c = begin(NT_WIRE_GREETING, data, bytes, &none);
    struct nt_greeting g = {0};
    unsigned version = (unsigned)code_number(&c, 0, 2, UINT16_MAX);
    if (!c.is_bad && version != NT_PROBE_VERSION)
        return nt_err_set(err, NT_ERR_INPUT, "a probe of another version (%u, expected %d)",
                          version, (int)NT_PROBE_VERSION);
    code_greeting(&c, &g);
    c.is_bad = c.is_bad || nt_host_name_check(g.host, NULL) != 0;
    if (end_reading(&c, "greeting", err) != 0)
        return -1;
    *out = g;
    return 0;
}

/* ---- TABLE ---- */
static void code_peer(struct codec *c, struct nt_peer *peer)
{
    bool own_core = code_flag(c, peer->own_core);
    size_t bytes = (size_t)code_number(c, peer->address == NULL ? 0 : peer->bytes, 2, UINT16_MAX);
    const unsigned char *address = code_span(c, peer->address, bytes);
    if (c->reads)
        *peer = (struct nt_peer){own_core, address, bytes};
}

static void code_table(struct codec *c, struct nt_peer_table *t)
{
    t->sources = code_count(c, t->sources, UINT32_MAX, sizeof *t->source);
    t->source = code_list(c, t->source, t->sources, sizeof *t->source);
    code_bytes(c, t->source, t->sources * sizeof *t->source);
    t->ranks = code_count(c, t->ranks, NT_WIRE_RANKS_MAX, 3);
    t->peer = code_list(c, t->peer, t->ranks, sizeof *t->peer);
    for (size_t i = 0; i < t->ranks && !c->is_bad; i++)
        code_peer(c, &t->peer[i]);
}

int nt_peer_table_encode(const struct nt_peer_table *table, struct nt_bytes *out,
                         struct nt_err *err)
{
    struct codec c = begin(NT_WIRE_TABLE, NULL, 0, NULL);
    struct nt_peer_table t = *table;
    code_table(&c, &t);
    return end_writing(&c, out, err);
}

int nt_peer_table_decode(const void *data, size_t bytes, struct nt_peer_table *out,
                         struct nt_err *err)
{
    struct nt_peer_table t = {0};
    struct codec c = begin(NT_WIRE_TABLE, data, bytes, &t.memory);
    code_table(&c, &t);
    if (end_reading(&c, "table of addresses", err) != 0)
        return -1;
    *out = t;
    return 0;
}

void nt_peer_table_fini(struct nt_peer_table *table)
{
    nt_arena_fini(&table->memory);
    *table = (struct nt_peer_table){0};
}

const struct nt_peer *nt_peer_find(const struct nt_round *round, const struct nt_peer_table *table,
                                   uint32_t rank)
{
    for (size_t k = 0; k < round->peers; k++)
        if (round->peer_rank[k] == rank)
            return &round->peer[k];
    return rank < table->ranks ? &table->peer[rank] : NULL;
}

/* ---- ROUND ---- */
static void code_order(struct codec *c, struct nt_round *n)
{
    struct nt_order *o = &n->order;
    n->number = code32(c, n->number);
    n->connect_s = code_real(c, n->connect_s, 3600);
    o->kind = (enum nt_order_kind)code_number(c, (uint64_t)o->kind, 1, NT_ORDER_KERNEL);
    code_text(c, o->phase, sizeof o->phase);
    code_text(c, o->kernel, sizeof o->kernel);
    o->message_bytes = code_real(c, o->message_bytes, NT_WIRE_MESSAGE_MAX);
    o->batches = (uint32_t)code_number(c, o->batches, 4, NT_WIRE_BATCHES_MAX);
    o->count = (uint32_t)code_number(c, o->count, 4, NT_WIRE_COUNT_MAX);
    o->window_s = code_real(c, o->window_s, 3600);
    o->delay_us = code_real(c, o->delay_us, 1e9);
    o->hold_us = code_real(c, o->hold_us, 1e9);
    code_text(c, o->rail, sizeof o->rail);
    n->turns =
        (uint32_t)code_number(c, n->turns, 4, o->kind == NT_ORDER_KERNEL ? 0 : NT_WIRE_TURNS_MAX);
    n->measure_s = code_real(c, n->measure_s, 3600);
    n->give_up_s = code_real(c, n->give_up_s, 3600);
    n->series_s = code_real(c, n->series_s, 3600);
}

static void code_pairs(struct codec *c, size_t ranks, struct nt_round *n)
{
    struct nt_order *o = &n->order;
    size_t most = (o->kind == NT_ORDER_KERNEL ? ranks : ranks / 2) * (n->turns > 0 ? n->turns : 1);
    o->pairs = code_count(c, o->pairs, most, 10);
    o->pair = code_list(c, o->pair, o->pairs, sizeof *o->pair);
    bool *kept = code_list(c, n->kept, o->pairs, sizeof *kept);
    uint32_t *turn = code_list(c, n->turn, o->pairs, sizeof *turn);
    for (size_t k = 0; k < o->pairs && !c->is_bad; k++) {
        uint32_t a = code32(c, o->pair[k][0]), b = code32(c, o->pair[k][1]);
        bool is_kept = code_flag(c, kept != NULL && kept[k]);
        uint32_t when = (uint32_t)code_number(c, n->turns > 0 ? turn[k] : 0, 1, UINT8_MAX);
        if (!c->reads)
            continue;
        o->pair[k][0] = a;
        o->pair[k][1] = b;
        kept[k] = is_kept;
        turn[k] = when;
    }
    n->kept = kept;
    n->turn = turn;
}

/* Writes or reads the round's pairs, the lost ranks, then the addresses. */
static void code_round(struct codec *c, size_t ranks, struct nt_round *n)
{
    code_order(c, n);
    code_pairs(c, ranks, n);
    n->lost = code_count(c, n->lost, UINT32_MAX, 4);
    n->lost_rank = code_list(c, n->lost_rank, n->lost, sizeof *n->lost_rank);
    for (size_t k = 0; k < n->lost && !c->is_bad; k++)
        n->lost_rank[k] = code32(c, n->lost_rank[k]);
    n->peers = code_count(c, n->peers, UINT32_MAX, 7);
    n->peer_rank = code_list(c, n->peer_rank, n->peers, sizeof *n->peer_rank);
    n->peer = code_list(c, n->peer, n->peers, sizeof *n->peer);
    for (size_t k = 0; k < n->peers && !c->is_bad; k++) {
        n->peer_rank[k] = code32(c, n->peer_rank[k]);
        code_peer(c, &n->peer[k]);
    }
}

/* Checks the pairs. A rank is in one pair of a turn; in the order of a kernel its pair is with
 * itself. busy: by rank, the last turn in which it has a pair, plus 1. */
static bool pairs_are_sane(const struct nt_round *n, size_t ranks, uint32_t *busy)
{
    bool alone = n->order.kind == NT_ORDER_KERNEL;
    for (size_t k = 0; k < n->order.pairs; k++) {
        const uint32_t *pair = n->order.pair[k];
        uint32_t turn = n->turn[k], before = k == 0 ? 0 : n->turn[k - 1];
        if (turn < before || turn >= (n->turns > 0 ? n->turns : 1))
            return false;
        for (int end = 0; end < 2; end++) {
            if (pair[end] >= ranks ||
                (alone && end == 1 ? pair[end] != pair[0] : busy[pair[end]] > turn))
                return false;
            busy[pair[end]] = turn + 1;
        }
    }
    return true;
}

int nt_round_encode(const struct nt_round *round, struct nt_bytes *out, struct nt_err *err)
{
    struct codec c = begin(NT_WIRE_ROUND, NULL, 0, NULL);
    struct nt_round n = *round;
    code_round(&c, 0, &n);
    return end_writing(&c, out, err);
}

int nt_round_decode(const void *data, size_t bytes, size_t ranks, struct nt_round *out,
                    struct nt_err *err)
{
    struct nt_round n = {0};
    struct codec c = begin(NT_WIRE_ROUND, data, bytes, &n.memory);
    c.is_bad = c.is_bad || ranks > NT_WIRE_RANKS_MAX;
    code_round(&c, ranks, &n);
    uint32_t *busy = code_list(&c, NULL, c.is_bad ? 0 : ranks, sizeof *busy);
    c.is_bad = c.is_bad || !pairs_are_sane(&n, ranks, busy);
    if (end_reading(&c, "order", err) != 0)
        return -1;
    *out = n;
    return 0;
}

/* ---- GO ---- */
static void code_go(struct codec *c, struct nt_go *go)
{
    go->measure_s = code_real(c, go->measure_s, 3600);
    go->give_up_s = code_real(c, go->give_up_s, 3600);
    go->skips = code_count(c, go->skips, NT_WIRE_RANKS_MAX, 4);
    go->skip = code_list(c, go->skip, go->skips, sizeof *go->skip);
    for (size_t k = 0; k < go->skips && !c->is_bad; k++)
        go->skip[k] = code32(c, go->skip[k]);
}

int nt_go_encode(const struct nt_go *go, struct nt_bytes *out, struct nt_err *err)
{
    struct codec c = begin(NT_WIRE_GO, NULL, 0, NULL);
    struct nt_go g = *go;
    code_go(&c, &g);
    return end_writing(&c, out, err);
}

int nt_go_decode(const void *data, size_t bytes, struct nt_go *out, struct nt_err *err)
{
    struct nt_go go = {0};
    struct codec c = begin(NT_WIRE_GO, data, bytes, &go.memory);
    code_go(&c, &go);
    if (end_reading(&c, "start of a round", err) != 0)
        return -1;
    *out = go;
    return 0;
}

/* ---- READY, RESULT and SERIES ---- */
static void code_report(struct codec *c, struct nt_report *p)
{
    struct nt_result *n = &p->result;
    p->idle = code_flag(c, p->idle);
    n->ok = p->ok = code_flag(c, p->ok);
    p->kept = code_flag(c, p->kept);
    code_text(c, p->reason, sizeof p->reason);
    p->seconds = code_real(c, p->seconds, 1e6);
    n->value_us = code_real(c, n->value_us, 1e12);
    n->se_us = code_real(c, n->se_us, 1e12);
    n->median_us = code_real(c, n->median_us, 1e12);
    n->count = code32(c, n->count);
    n->bytes = code_real(c, n->bytes, 1e15);
    code_text(c, p->used, sizeof p->used);
    n->sent[0].segments = code32(c, n->sent[0].segments);
    n->sent[0].again = code32(c, n->sent[0].again);
}

int nt_reports_encode(enum nt_wire_kind kind, const struct nt_report *report, size_t n,
                      struct nt_bytes *out, struct nt_err *err)
{
    struct codec c = begin(kind, NULL, 0, NULL);
    for (size_t k = 0; k < n; k++) {
        struct nt_report copy = report[k];
        code_report(&c, &copy);
    }
    return end_writing(&c, out, err);
}

int nt_reports_decode(enum nt_wire_kind kind, const void *data, size_t bytes,
                      struct nt_report *report, size_t n, struct nt_err *err)
{
    struct nt_arena none = {0};
    struct codec c = begin(kind, data, bytes, &none);
    for (size_t k = 0; k < n; k++) {
        report[k] = (struct nt_report){0};
        code_report(&c, &report[k]);
    }
    return end_reading(&c, "report", err);
}
