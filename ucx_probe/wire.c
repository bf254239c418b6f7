/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

/* ---- bytes out: grows; keeps that memory ran out, so that one check at the end is enough ----
 */
struct writer {
    unsigned char *data;
    size_t bytes, capacity;
    bool failed;
};

static void put(struct writer *w, const void *from, size_t bytes)
{
    if (w->failed || bytes == 0)
        return;
    if (bytes > w->capacity - w->bytes) {
        size_t capacity = (w->bytes + bytes) * 2;
        unsigned char *data = realloc(w->data, capacity);
        if (data == NULL) {
            w->failed = true;
            return;
        }
        w->data = data;
        w->capacity = capacity;
    }
    memcpy(w->data + w->bytes, from, bytes);
    w->bytes += bytes;
}

static void put_number(struct writer *w, uint64_t v, size_t bytes)
{
    unsigned char b[8];
    for (size_t i = 0; i < bytes; i++)
        b[i] = (unsigned char)(v >> (8 * i) & 0xff);
    put(w, b, bytes);
}

static void put_real(struct writer *w, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_number(w, bits, 8);
}

static void put_text(struct writer *w, const char *text)
{
    size_t bytes = strlen(text);
    put_number(w, bytes, 2);
    put(w, text, bytes);
}

static int put_end(struct writer *w, struct nt_bytes *out, struct nt_err *err)
{
    if (w->failed) {
        free(w->data);
        return nt_err_memory(err);
    }
    *out = (struct nt_bytes){w->data, w->bytes};
    return 0;
}

/* ---- bytes in: a read beyond the end gives zeros and marks the reader ---- */
struct reader {
    const unsigned char *at;
    size_t left;
    bool short_;
};

static const unsigned char *take(struct reader *r, size_t bytes)
{
    if (r->short_ || bytes > r->left) {
        r->short_ = true;
        return NULL;
    }
    const unsigned char *p = r->at;
    r->at += bytes;
    r->left -= bytes;
    return p;
}

static uint64_t get_number(struct reader *r, size_t bytes)
{
    const unsigned char *p = take(r, bytes);
    uint64_t v = 0;
    for (size_t i = 0; p != NULL && i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint32_t get32(struct reader *r)
{
    return (uint32_t)get_number(r, 4);
}

static double get_real(struct reader *r)
{
    uint64_t bits = get_number(r, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Text for people or a name: what is not printable becomes '?'. */
static bool get_text(struct reader *r, char *text, size_t text_bytes)
{
    size_t bytes = (size_t)get_number(r, 2);
    const unsigned char *p = bytes < text_bytes ? take(r, bytes) : NULL;
    if (p == NULL)
        return false;
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(p[i] >= ' ' && p[i] < 127 ? p[i] : '?');
    text[bytes] = '\0';
    return true;
}

static bool known_kind(int kind)
{
    return kind != 0 && strchr("HTOYGRSE", kind) != NULL;
}

int nt_wire_kind(const void *data, size_t bytes)
{
    int kind = bytes > 0 ? *(const unsigned char *)data : 0;
    return known_kind(kind) ? kind : 0;
}

static struct reader begin(const void *data, size_t bytes, enum nt_wire_kind kind)
{
    struct reader r = {data, bytes, false};
    if (get_number(&r, 1) != (uint64_t)kind)
        r.short_ = true;
    return r;
}

static int malformed(struct nt_err *err, const char *what)
{
    return nt_err_set(err, NT_ERR_INPUT, "a probe sent a malformed %s", what);
}

static bool at_end(const struct reader *r)
{
    return !r->short_ && r->left == 0;
}

static bool in_range(double v, double max)
{
    return isfinite(v) && v >= 0 && v <= max;
}

/* ---- GREETING ---- */
int nt_greeting_encode(const struct nt_greeting *greeting, struct nt_bytes *out, struct nt_err *err)
{
    struct writer w = {0};
    if (greeting->address_bytes > NT_WIRE_ADDRESS_MAX)
        return nt_err_set(err, NT_ERR_SYSTEM, "a network address of %zu bytes, at most %d",
                          greeting->address_bytes, (int)NT_WIRE_ADDRESS_MAX);
    put_number(&w, NT_WIRE_GREETING, 1);
    put_number(&w, NT_PROBE_VERSION, 2);
    put_text(&w, greeting->host);
    put(&w, greeting->machine, sizeof greeting->machine);
    put_number(&w, greeting->cores, 4);
    put_text(&w, greeting->hardware);
    put_text(&w, greeting->networks);
    for (int k = 0; k < NT_BETWEEN_END; k++)
        put_real(&w, greeting->core_us[k]);
    put_text(&w, greeting->reason);
    put_number(&w, greeting->sources, 1);
    put(&w, greeting->source, greeting->sources * sizeof greeting->source[0]);
    put_number(&w, greeting->address_bytes, 4);
    put(&w, greeting->address, greeting->address_bytes);
    return put_end(&w, out, err);
}

int nt_greeting_decode(const void *data, size_t bytes, struct nt_greeting *out, struct nt_err *err)
{
    struct reader r = begin(data, bytes, NT_WIRE_GREETING);
    struct nt_greeting h = {0};
    uint64_t version = get_number(&r, 2);
    if (!r.short_ && version != NT_PROBE_VERSION)
        return nt_err_set(err, NT_ERR_INPUT, "a probe of another version (%u, expected %d)",
                          (unsigned)version, (int)NT_PROBE_VERSION);
    if (!get_text(&r, h.host, sizeof h.host) || nt_host_name_check(h.host, NULL) != 0)
        return malformed(err, "greeting");
    const unsigned char *machine = take(&r, sizeof h.machine);
    h.cores = get32(&r);
    if (machine == NULL || !get_text(&r, h.hardware, sizeof h.hardware) ||
        !get_text(&r, h.networks, sizeof h.networks))
        return malformed(err, "greeting");
    for (int k = 0; k < NT_BETWEEN_END; k++) {
        h.core_us[k] = get_real(&r);
        if (!in_range(h.core_us[k], 1e6))
            return malformed(err, "greeting");
    }
    if (!get_text(&r, h.reason, sizeof h.reason))
        return malformed(err, "greeting");
    memcpy(h.machine, machine, sizeof h.machine);
    h.sources = (size_t)get_number(&r, 1);
    const unsigned char *source = take(&r, h.sources * sizeof h.source[0]);
    if (h.sources > NT_SOURCES_MAX || source == NULL)
        return malformed(err, "greeting");
    memcpy(h.source, source, h.sources * sizeof h.source[0]);
    h.address_bytes = get32(&r);
    if (h.address_bytes > NT_WIRE_ADDRESS_MAX)
        return malformed(err, "greeting");
    h.address = take(&r, h.address_bytes);
    if (!at_end(&r))
        return malformed(err, "greeting");
    *out = h;
    return 0;
}

/* ---- TABLE ---- */
static void put_peer(struct writer *w, const struct nt_peer *peer)
{
    size_t bytes = peer->address == NULL ? 0 : peer->bytes;
    put_number(w, peer->own_core, 1);
    put_number(w, bytes, 2);
    put(w, peer->address, bytes);
}

static struct nt_peer get_peer(struct reader *r)
{
    bool own_core = get_number(r, 1) != 0;
    size_t bytes = (size_t)get_number(r, 2);
    const unsigned char *address = take(r, bytes);
    return (struct nt_peer){own_core, bytes > 0 ? address : NULL, bytes};
}

int nt_peer_table_encode(const struct nt_peer_table *table, struct nt_bytes *out,
                         struct nt_err *err)
{
    struct writer w = {0};
    put_number(&w, NT_WIRE_TABLE, 1);
    put_number(&w, table->sources, 4);
    put(&w, table->source, table->sources * sizeof *table->source);
    put_number(&w, table->ranks, 4);
    for (size_t i = 0; i < table->ranks; i++)
        put_peer(&w, &table->peer[i]);
    return put_end(&w, out, err);
}

int nt_peer_table_decode(const void *data, size_t bytes, struct nt_peer_table *out,
                         struct nt_err *err)
{
    struct reader r = begin(data, bytes, NT_WIRE_TABLE);
    size_t sources = get32(&r);
    if (r.short_ || sources > r.left / sizeof(struct nt_source))
        return malformed(err, "table of addresses");
    const unsigned char *source = take(&r, sources * sizeof(struct nt_source));
    size_t ranks = get32(&r);
    /* an entry has at least three bytes: no memory is taken for more than can be there */
    if (r.short_ || ranks > NT_WIRE_RANKS_MAX || ranks > r.left / 3)
        return malformed(err, "table of addresses");
    struct nt_peer_table t = {.ranks = ranks, .sources = sources};
    t.peer = calloc(ranks + 1, sizeof *t.peer);
    t.source = calloc(sources + 1, sizeof *t.source);
    if (t.peer == NULL || t.source == NULL) {
        nt_peer_table_fini(&t);
        return nt_err_memory(err);
    }
    memcpy(t.source, source, sources * sizeof *t.source);
    for (size_t i = 0; i < ranks; i++)
        t.peer[i] = get_peer(&r);
    if (!at_end(&r)) {
        nt_peer_table_fini(&t);
        return malformed(err, "table of addresses");
    }
    *out = t;
    return 0;
}

void nt_peer_table_fini(struct nt_peer_table *table)
{
    free(table->peer);
    free(table->source);
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
int nt_round_encode(const struct nt_round *round, struct nt_bytes *out, struct nt_err *err)
{
    const struct nt_order *o = &round->order;
    struct writer w = {0};
    put_number(&w, NT_WIRE_ROUND, 1);
    put_number(&w, round->number, 4);
    put_real(&w, round->connect_s);
    put_number(&w, (uint64_t)o->kind, 1);
    put_text(&w, o->phase);
    put_text(&w, o->kernel);
    put_real(&w, o->message_bytes);
    put_number(&w, o->batches, 4);
    put_number(&w, o->count, 4);
    put_real(&w, o->window_s);
    put_real(&w, o->delay_us);
    put_real(&w, o->hold_us);
    put_text(&w, o->rail);
    put_number(&w, round->turns, 4);
    put_real(&w, round->measure_s);
    put_real(&w, round->give_up_s);
    put_real(&w, round->series_s);
    put_number(&w, o->pairs, 4);
    for (size_t k = 0; k < o->pairs; k++) {
        put_number(&w, o->pair[k][0], 4);
        put_number(&w, o->pair[k][1], 4);
        put_number(&w, round->kept != NULL && round->kept[k], 1);
        put_number(&w, round->turns > 0 ? round->turn[k] : 0, 1);
    }
    put_number(&w, round->gone, 4);
    for (size_t k = 0; k < round->gone; k++)
        put_number(&w, round->gone_rank[k], 4);
    put_number(&w, round->peers, 4);
    for (size_t k = 0; k < round->peers; k++) {
        put_number(&w, round->peer_rank[k], 4);
        put_peer(&w, &round->peer[k]);
    }
    return put_end(&w, out, err);
}

static bool order_is_sane(const struct nt_round *n)
{
    const struct nt_order *o = &n->order;
    return in_range(n->connect_s, 3600) && in_range(o->message_bytes, NT_WIRE_MESSAGE_MAX) &&
           in_range(o->window_s, 3600) && in_range(o->delay_us, 1e9) && in_range(o->hold_us, 1e9) &&
           o->batches <= NT_WIRE_BATCHES_MAX && o->count <= NT_WIRE_COUNT_MAX &&
           o->kind <= NT_ORDER_KERNEL && n->turns <= NT_WIRE_TURNS_MAX &&
           (n->turns == 0 || o->kind != NT_ORDER_KERNEL) && in_range(n->measure_s, 3600) &&
           in_range(n->give_up_s, 3600) && in_range(n->series_s, 3600);
}

/* busy: of each rank the last turn in which it has a pair, + 1. A rank is in one pair; in a
 * kernel's order its pair is with itself. */
static bool get_pairs(struct reader *r, size_t ranks, struct nt_round *n, uint32_t *busy)
{
    struct nt_order *o = &n->order;
    bool alone = o->kind == NT_ORDER_KERNEL;
    for (size_t k = 0; k < o->pairs; k++) {
        uint32_t before = k == 0 ? 0 : n->turn[k - 1];
        o->pair[k][0] = get32(r);
        o->pair[k][1] = get32(r);
        n->kept[k] = get_number(r, 1) != 0;
        n->turn[k] = (uint32_t)get_number(r, 1);
        if (n->turn[k] < before || n->turn[k] >= (n->turns > 0 ? n->turns : 1))
            return false;
        for (int end = 0; end < 2; end++) {
            uint32_t rank = o->pair[k][end];
            if (rank >= ranks ||
                (alone && end == 1 ? rank != o->pair[k][0] : busy[rank] > n->turn[k]))
                return false;
            busy[rank] = n->turn[k] + 1;
        }
    }
    return !r->short_;
}

static int get_gone(struct reader *r, struct nt_round *n, struct nt_err *err)
{
    n->gone = get32(r);
    if (r->short_ || n->gone > r->left / 4)
        return malformed(err, "order");
    n->gone_rank = calloc(n->gone + 1, sizeof *n->gone_rank);
    if (n->gone_rank == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < n->gone; k++)
        n->gone_rank[k] = get32(r);
    return 0;
}

static bool get_peers(struct reader *r, struct nt_round *n)
{
    for (size_t k = 0; k < n->peers; k++) {
        n->peer_rank[k] = get32(r);
        n->peer[k] = get_peer(r);
    }
    return at_end(r);
}

/* The round's pairs, who is lost, then its addresses. */
static int get_pairs_and_peers(struct reader *r, size_t ranks, struct nt_round *n,
                               struct nt_err *err)
{
    uint32_t *busy = calloc(ranks + 1, sizeof *busy);
    n->order.pair = calloc(n->order.pairs + 1, sizeof *n->order.pair);
    n->kept = calloc(n->order.pairs + 1, sizeof *n->kept);
    n->turn = calloc(n->order.pairs + 1, sizeof *n->turn);
    if (n->order.pair == NULL || n->kept == NULL || n->turn == NULL || busy == NULL) {
        free(busy);
        return nt_err_memory(err);
    }
    bool good = get_pairs(r, ranks, n, busy);
    free(busy);
    if (!good)
        return malformed(err, "order");
    if (get_gone(r, n, err) != 0)
        return -1;
    n->peers = get32(r);
    /* an entry has at least seven bytes */
    if (r->short_ || n->peers > r->left / 7)
        return malformed(err, "order");
    n->peer_rank = calloc(n->peers + 1, sizeof *n->peer_rank);
    n->peer = calloc(n->peers + 1, sizeof *n->peer);
    if (n->peer_rank == NULL || n->peer == NULL)
        return nt_err_memory(err);
    return get_peers(r, n) ? 0 : malformed(err, "order");
}

static bool get_order(struct reader *r, struct nt_round *n)
{
    struct nt_order *o = &n->order;
    n->number = get32(r);
    n->connect_s = get_real(r);
    o->kind = (enum nt_order_kind)get_number(r, 1);
    if (!get_text(r, o->phase, sizeof o->phase) || !get_text(r, o->kernel, sizeof o->kernel))
        return false;
    o->message_bytes = get_real(r);
    o->batches = get32(r);
    o->count = get32(r);
    o->window_s = get_real(r);
    o->delay_us = get_real(r);
    o->hold_us = get_real(r);
    if (!get_text(r, o->rail, sizeof o->rail))
        return false;
    n->turns = get32(r);
    n->measure_s = get_real(r);
    n->give_up_s = get_real(r);
    n->series_s = get_real(r);
    o->pairs = get32(r);
    return !r->short_ && order_is_sane(n);
}

int nt_round_decode(const void *data, size_t bytes, size_t ranks, struct nt_round *out,
                    struct nt_err *err)
{
    struct reader r = begin(data, bytes, NT_WIRE_ROUND);
    struct nt_round n = {0};
    if (!get_order(&r, &n) || ranks > NT_WIRE_RANKS_MAX ||
        n.order.pairs >
            (n.order.kind == NT_ORDER_KERNEL ? ranks : ranks / 2) * (n.turns > 0 ? n.turns : 1) ||
        n.order.pairs > r.left / 10)
        return malformed(err, "order");
    if (get_pairs_and_peers(&r, ranks, &n, err) != 0) {
        nt_round_fini(&n);
        return -1;
    }
    *out = n;
    return 0;
}

void nt_round_fini(struct nt_round *round)
{
    free(round->order.pair);
    free(round->kept);
    free(round->turn);
    free(round->gone_rank);
    free(round->peer_rank);
    free(round->peer);
    *round = (struct nt_round){0};
}

/* ---- GO ---- */
int nt_go_encode(const struct nt_go *go, struct nt_bytes *out, struct nt_err *err)
{
    struct writer w = {0};
    put_number(&w, NT_WIRE_GO, 1);
    put_real(&w, go->measure_s);
    put_real(&w, go->give_up_s);
    put_number(&w, go->skips, 4);
    for (size_t k = 0; k < go->skips; k++)
        put_number(&w, go->skip[k], 4);
    return put_end(&w, out, err);
}

int nt_go_decode(const void *data, size_t bytes, struct nt_go *out, struct nt_err *err)
{
    struct reader r = begin(data, bytes, NT_WIRE_GO);
    double measure = get_real(&r), give_up = get_real(&r);
    size_t skips = get32(&r);
    if (r.short_ || !in_range(measure, 3600) || !in_range(give_up, 3600) ||
        skips > NT_WIRE_RANKS_MAX || skips * 4 != r.left)
        return malformed(err, "start of a round");
    uint32_t *skip = calloc(skips + 1, sizeof *skip);
    if (skip == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < skips; k++)
        skip[k] = get32(&r);
    *out = (struct nt_go){measure, give_up, skips, skip};
    return 0;
}

void nt_go_fini(struct nt_go *go)
{
    free(go->skip);
    *go = (struct nt_go){0};
}

/* ---- READY, RESULT and SERIES ---- */
static void put_report(struct writer *w, const struct nt_report *report)
{
    const struct nt_result *n = &report->result;
    put_number(w, report->idle, 1);
    put_number(w, report->ok, 1);
    put_number(w, report->kept, 1);
    put_text(w, report->reason);
    put_real(w, report->seconds);
    put_real(w, n->value_us);
    put_real(w, n->se_us);
    put_real(w, n->median_us);
    put_number(w, n->count, 4);
    put_real(w, n->bytes);
    put_text(w, report->used);
    put_number(w, n->sent[0].segments, 4);
    put_number(w, n->sent[0].again, 4);
}

static bool get_report(struct reader *r, struct nt_report *p)
{
    *p = (struct nt_report){0};
    p->idle = get_number(r, 1) != 0;
    p->ok = get_number(r, 1) != 0;
    p->kept = get_number(r, 1) != 0;
    if (!get_text(r, p->reason, sizeof p->reason))
        return false;
    p->seconds = get_real(r);
    p->result.ok = p->ok;
    p->result.value_us = get_real(r);
    p->result.se_us = get_real(r);
    p->result.median_us = get_real(r);
    p->result.count = get32(r);
    p->result.bytes = get_real(r);
    bool whole = get_text(r, p->used, sizeof p->used);
    p->result.sent[0].segments = get32(r);
    p->result.sent[0].again = get32(r);
    return whole && !r->short_ && in_range(p->seconds, 1e6) && in_range(p->result.value_us, 1e12) &&
           in_range(p->result.se_us, 1e12) && in_range(p->result.median_us, 1e12) &&
           in_range(p->result.bytes, 1e15);
}

int nt_report_encode(enum nt_wire_kind kind, const struct nt_report *report, struct nt_bytes *out,
                     struct nt_err *err)
{
    struct writer w = {0};
    put_number(&w, (uint64_t)kind, 1);
    put_report(&w, report);
    return put_end(&w, out, err);
}

int nt_report_decode(enum nt_wire_kind kind, const void *data, size_t bytes, struct nt_report *out,
                     struct nt_err *err)
{
    struct reader r = begin(data, bytes, kind);
    struct nt_report p;
    if (!get_report(&r, &p) || !at_end(&r))
        return malformed(err, "report");
    *out = p;
    return 0;
}

int nt_series_encode(const struct nt_report *report, size_t n, struct nt_bytes *out,
                     struct nt_err *err)
{
    struct writer w = {0};
    put_number(&w, NT_WIRE_SERIES, 1);
    for (size_t k = 0; k < n; k++)
        put_report(&w, &report[k]);
    return put_end(&w, out, err);
}

int nt_series_decode(const void *data, size_t bytes, struct nt_report *out, size_t n,
                     struct nt_err *err)
{
    struct reader r = begin(data, bytes, NT_WIRE_SERIES);
    for (size_t k = 0; k < n; k++)
        if (!get_report(&r, &out[k]))
            return malformed(err, "report");
    return at_end(&r) ? 0 : malformed(err, "report");
}
