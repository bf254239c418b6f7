/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: packets over FIFO resources. kernels.h describes the model.
 *
 * Outputs are numbered: an arc's number, then arcs + host for a host's consumption port. A queue
 * is where a packet waits: an arc's number for the buffer at the arc's far end, arcs + host for the
 * injection port of a host. */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "rng.h"

/* ---- the packets ---- */

enum { NONE = UINT32_MAX, PACKETS_MAX = 1 << 27, QUEUE_MAX = 1 << 20 };

enum happening {
    HEAD_ARRIVES, /* a packet's head at queue */
    TAIL_LEAVES,  /* a packet's tail has left queue through output */
    PORT_READY,   /* a host's injection port may send */
    TAIL_CONSUMED,
    MESSAGE_READY, /* the receiver's overhead is over */
    COMPUTED,      /* a host may continue its program */
};

struct event {
    double time_us;
    uint32_t lot; /* random order of simultaneous events */
    enum happening what;
    uint32_t x, y;
};

struct packet {
    struct nt_walk walk;
    uint32_t message, next; /* next in a list: a queue, the waiters of an output, or free packets */
    uint32_t queue, output;
    double bytes, tail_us; /* tail_us: when its last byte arrives where its head waits */
    uint8_t dimension;     /* grids: dimension of its movement; 255: none yet */
    bool enters;           /* it enters a ring */
};

struct list {
    uint32_t head, tail;
};

struct port {      /* the port of a host */
    uint32_t op;   /* next operation of the program */
    uint32_t sent; /* start of the search for the next send that is not injected yet */
    uint32_t left; /* remaining packets of the current message */
    bool busy;     /* it sends, or a packet or an overhead blocks it */
    bool ended;
};

struct event_heap {
    struct event *event;
    size_t used, room;
};

struct engine {
    const struct nt_network *net;
    struct nt_program program;
    uint32_t packets_each;
    double packet_bytes, last_bytes, compute_us;
    uint32_t capacity; /* capacity of a queue; QUEUE_MAX: not limited */
    bool bubble, adaptive, consume_all;
    struct nt_rng rng;
    double now_us;
    struct event_heap events;
    size_t finished;
    size_t packet_capacity;
    struct packet *packet;
    uint32_t free_packet;
    struct list *queue;  /* by arc: packets after the first */
    bool *blocked;       /* by arc: the first packet of the queue requests an output or leaves */
    uint32_t *held;      /* by arc: used places at its far end */
    struct list *waiter; /* by output: packets that need it, in the order of their requests */
    bool *busy;          /* outputs */
    double *rate;        /* by output: MB/s; 0: not limited */
    double *used_us;     /* arcs */
    struct port *port;
    uint32_t *to_come; /* by message: packets that have not been consumed */
    uint64_t packets, hops;
    struct nt_err *err;
    struct nt_arena memory; /* all arrays */
};

/* ---- events ------------------------------------------------------------------------------- */

static bool event_before(const struct event *a, const struct event *b)
{
    if (a->time_us != b->time_us)
        return a->time_us < b->time_us;
    return a->lot < b->lot;
}

static int event_push(struct engine *e, double time_us, enum happening what, uint32_t x, uint32_t y)
{
    e->events.event = nt_arena_grow(&e->memory, e->events.event, &e->events.room,
                                    e->events.used + 1, sizeof *e->events.event);
    if (nt_arena_check(&e->memory, e->err) != 0)
        return -1;
    struct event new = {time_us, (uint32_t)nt_rng_next(&e->rng), what, x, y};
    size_t k = e->events.used++;
    for (; k > 0 && event_before(&new, &e->events.event[(k - 1) / 2]); k = (k - 1) / 2)
        e->events.event[k] = e->events.event[(k - 1) / 2];
    e->events.event[k] = new;
    return 0;
}

static struct event event_pop(struct engine *e)
{
    struct event top = e->events.event[0], last = e->events.event[--e->events.used];
    size_t k = 0;
    for (size_t child; (child = 2 * k + 1) < e->events.used; k = child) {
        if (child + 1 < e->events.used &&
            event_before(&e->events.event[child + 1], &e->events.event[child]))
            child++;
        if (!event_before(&e->events.event[child], &last))
            break;
        e->events.event[k] = e->events.event[child];
    }
    e->events.event[k] = last;
    return top;
}

/* ---- packets and lists ---------------------------------------------------------------------- */

static void queue_append(struct engine *e, struct list *l, uint32_t p)
{
    e->packet[p].next = NONE;
    if (l->head == NONE)
        l->head = p;
    else
        e->packet[l->tail].next = p;
    l->tail = p;
}

static int take_packet(struct engine *e, uint32_t *out)
{
    if (e->free_packet == NONE) {
        size_t capacity = e->packet_capacity;
        if (capacity >= PACKETS_MAX)
            return nt_err_set(e->err, NT_ERR_SYSTEM, "%zu packets under way are too many",
                              capacity);
        e->packet = nt_arena_grow(&e->memory, e->packet, &e->packet_capacity, capacity + 1,
                                  sizeof *e->packet);
        if (nt_arena_check(&e->memory, e->err) != 0)
            return -1;
        for (size_t k = capacity; k < e->packet_capacity; k++)
            e->packet[k].next = k + 1 < e->packet_capacity ? (uint32_t)k + 1 : NONE;
        e->free_packet = (uint32_t)capacity;
    }
    *out = e->free_packet;
    e->free_packet = e->packet[*out].next;
    return 0;
}

static void give_packet(struct engine *e, uint32_t p)
{
    e->packet[p].next = e->free_packet;
    e->free_packet = p;
}

static bool is_port(const struct engine *e, uint32_t number)
{
    return number >= e->net->arcs;
}

static double serial_us(const struct engine *e, uint32_t output, double bytes)
{
    return e->rate[output] > 0 ? bytes / e->rate[output] : 0;
}

/* ---- moving a packet ------------------------------------------------------------------------ */

static bool has_room(const struct engine *e, uint32_t output, const struct packet *p)
{
    if (is_port(e, output) || e->capacity == QUEUE_MAX)
        return true;
    return e->held[output] + (e->bubble && p->enters ? 2 : 1) <= e->capacity;
}

/* Gives the output to the packet. */
static int grant_output(struct engine *e, uint32_t output, uint32_t p)
{
    struct packet *k = &e->packet[p];
    double done = fmax(e->now_us + serial_us(e, output, k->bytes), k->tail_us);
    uint32_t queue = k->queue;
    e->busy[output] = !(e->consume_all && is_port(e, output));
    if (is_port(e, queue)) { /* at its own rate; the queue is free after sending */
        uint32_t host = queue - (uint32_t)e->net->arcs;
        double sent = e->now_us + serial_us(e, queue, k->bytes);
        if (event_push(e, fmax(sent, done), PORT_READY, host, 0) < 0)
            return -1;
    }
    if (event_push(e, done, TAIL_LEAVES, output, queue) < 0)
        return -1;
    if (is_port(e, output))
        return event_push(e, done, TAIL_CONSUMED, p, 0);
    e->held[output]++;
    e->hops++;
    e->used_us[output] += done - e->now_us;
    k->queue = output;
    k->tail_us = done + e->net->arc[output].latency_us;
    return event_push(e, e->now_us + e->net->arc[output].latency_us, HEAD_ARRIVES, p, 0);
}

/* Serves the first waiting packet that may continue. */
static int serve_output(struct engine *e, uint32_t output)
{
    struct list *l = &e->waiter[output];
    if (e->busy[output])
        return 0;
    for (uint32_t p = l->head, last = NONE; p != NONE; last = p, p = e->packet[p].next) {
        if (!has_room(e, output, &e->packet[p]))
            continue;
        if (last == NONE)
            l->head = e->packet[p].next;
        else
            e->packet[last].next = e->packet[p].next;
        if (l->tail == p)
            l->tail = last;
        return grant_output(e, output, p);
    }
    return 0;
}

/* Returns the number of packets at the output: the served one and the waiting ones. */
static size_t asked_for(const struct engine *e, uint32_t output)
{
    size_t n = e->busy[output];
    for (uint32_t p = e->waiter[output].head; p != NONE; p = e->packet[p].next)
        n++;
    return n;
}

/* Chooses the dimension whose output has the fewest requests; random among equals. */
static void choose_dimension(struct engine *e, struct nt_walk *walk)
{
    size_t least = SIZE_MAX, equals = 0;
    for (uint32_t k = 0; k < NT_DIMENSIONS_MAX; k++) {
        struct nt_walk on = *walk;
        uint32_t arc;
        on.prefer = k;
        if (walk->rest[k] == 0 || !nt_walk_next(&on, &arc))
            continue;
        size_t n = asked_for(e, arc);
        equals = n < least ? 1 : equals + (n == least);
        if (n < least || (n == least && nt_rng_below(&e->rng, equals) == 0))
            walk->prefer = k;
        least = n < least ? n : least;
    }
}

static uint8_t moving_in(const struct nt_walk *walk)
{
    if (walk->rest[walk->prefer] != 0)
        return (uint8_t)walk->prefer;
    for (size_t k = 0; k < NT_DIMENSIONS_MAX; k++)
        if (walk->rest[k] != 0)
            return (uint8_t)k;
    return UINT8_MAX;
}

/* The first packet of a queue requests the output that it needs next. */
static int ask_output(struct engine *e, uint32_t p)
{
    struct packet *k = &e->packet[p];
    if (e->adaptive)
        choose_dimension(e, &k->walk);
    uint8_t dimension = moving_in(&k->walk);
    uint32_t arc;
    if (nt_walk_next(&k->walk, &arc)) {
        k->output = arc;
        k->enters = dimension != k->dimension;
        k->dimension = dimension;
    } else if (nt_walk_arrived(&k->walk)) {
        k->output = (uint32_t)e->net->arcs + k->walk.at;
    } else {
        return nt_err_set(e->err, NT_ERR_INPUT, "no path from host %u to host %u",
                          e->program.message[k->message].from, k->walk.to);
    }
    queue_append(e, &e->waiter[k->output], p);
    return serve_output(e, k->output);
}

static int head_arrives(struct engine *e, uint32_t p)
{
    uint32_t queue = e->packet[p].queue;
    if (e->capacity < QUEUE_MAX && e->blocked[queue]) {
        queue_append(e, &e->queue[queue], p);
        return 0;
    }
    e->blocked[queue] = true; /* has no effect if queues are not limited */
    return ask_output(e, p);
}

/* Continues with the next packet in the queue, with packets that wait for room in it, and with
 * those that wait for the output. */
static int tail_leaves(struct engine *e, uint32_t output, uint32_t queue)
{
    e->busy[output] = false;
    if (!is_port(e, queue)) {
        uint32_t p = e->queue[queue].head;
        e->held[queue]--;
        e->blocked[queue] = p != NONE;
        if (p != NONE) {
            e->queue[queue].head = e->packet[p].next;
            if (ask_output(e, p) < 0)
                return -1;
        }
        if (serve_output(e, queue) < 0)
            return -1;
    }
    return serve_output(e, output);
}

/* ---- programs ------------------------------------------------------------------------------- */

/* Returns the next message to inject if its send was posted; otherwise NONE. */
static uint32_t next_message(const struct engine *e, struct port *port)
{
    for (; port->sent < port->op; port->sent++) {
        uint32_t op = e->program.op[port->sent], m = op / 2;
        if (op % 2 == 0 && e->program.message[m].from != e->program.message[m].to)
            return m;
    }
    return NONE;
}

static int inject_packet(struct engine *e, uint32_t host)
{
    struct port *port = &e->port[host];
    uint32_t m = port->busy ? NONE : next_message(e, port), p = NONE;
    if (m == NONE)
        return 0;
    const struct nt_message *message = &e->program.message[m];
    if (port->left == 0) {
        double ready = message->sent_us + e->net->overhead_us[host];
        port->left = e->packets_each;
        if (ready > e->now_us) {
            port->busy = true;
            return event_push(e, ready, PORT_READY, host, 0);
        }
    }
    if (take_packet(e, &p) < 0)
        return -1;
    struct packet *k = &e->packet[p];
    port->busy = true;
    port->sent += --port->left == 0;
    *k = (struct packet){.message = m, .queue = (uint32_t)e->net->arcs + host};
    k->bytes = port->left == 0 ? e->last_bytes : e->packet_bytes;
    k->dimension = UINT8_MAX;
    nt_walk_begin(e->net, host, message->to, &k->walk);
    e->packets++;
    return ask_output(e, p);
}

/* A host continues its program until it has to wait or computes. */
static int run_host(struct engine *e, uint32_t host)
{
    struct port *port = &e->port[host];
    uint32_t end = e->program.first[host + 1];
    for (; port->op < end; port->op++) {
        uint32_t op = e->program.op[port->op];
        if (op == NT_PROGRAM_COMPUTE) {
            if (event_push(e, e->now_us + e->compute_us, COMPUTED, host, 0) < 0)
                return -1;
            break;
        }
        struct nt_message *m = &e->program.message[op / 2];
        if (op % 2 == 1 && isnan(m->received_us))
            break;
        if (op % 2 == 1)
            continue;
        m->sent_us = e->now_us;
        if (m->from == m->to)
            m->received_us = e->now_us;
    }
    if (port->op == end && !port->ended) {
        port->ended = true;
        e->finished++;
    }
    return inject_packet(e, host);
}

static int receive_message(struct engine *e, uint32_t m)
{
    uint32_t host = e->program.message[m].to;
    const struct port *port = &e->port[host];
    e->program.message[m].received_us = e->now_us;
    if (port->op < e->program.first[host + 1] && e->program.op[port->op] == 2 * m + 1)
        return run_host(e, host);
    return 0;
}

static int tail_consumed(struct engine *e, uint32_t p)
{
    uint32_t m = e->packet[p].message;
    give_packet(e, p);
    if (--e->to_come[m] > 0)
        return 0;
    return event_push(e, e->now_us + e->net->overhead_us[e->program.message[m].to], MESSAGE_READY,
                      m, 0);
}

static int handle_event(struct engine *e, const struct event *event)
{
    switch (event->what) {
    case HEAD_ARRIVES:
        return head_arrives(e, event->x);
    case TAIL_LEAVES:
        return tail_leaves(e, event->x, event->y);
    case PORT_READY:
        e->port[event->x].busy = false;
        return inject_packet(e, event->x);
    case TAIL_CONSUMED:
        return tail_consumed(e, event->x);
    case MESSAGE_READY:
        return receive_message(e, event->x);
    case COMPUTED:
        e->port[event->x].op++;
        return run_host(e, event->x);
    }
    return -1;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int allocate_engine(struct engine *e)
{
    size_t arcs = e->net->arcs, hosts = e->net->hosts;
    e->queue = nt_arena_array(&e->memory, arcs + 1, sizeof *e->queue);
    e->blocked = nt_arena_array(&e->memory, arcs + 1, sizeof *e->blocked);
    e->held = nt_arena_array(&e->memory, arcs + 1, sizeof *e->held);
    e->waiter = nt_arena_array(&e->memory, arcs + hosts + 1, sizeof *e->waiter);
    e->busy = nt_arena_array(&e->memory, arcs + hosts + 1, sizeof *e->busy);
    e->rate = nt_arena_array(&e->memory, arcs + hosts + 1, sizeof *e->rate);
    e->used_us = nt_arena_array(&e->memory, arcs + 1, sizeof *e->used_us);
    e->port = nt_arena_array(&e->memory, hosts + 1, sizeof *e->port);
    e->to_come = nt_arena_array(&e->memory, e->program.messages + 1, sizeof *e->to_come);
    return nt_arena_check(&e->memory, e->err);
}

static void engine_fini(struct engine *e)
{
    nt_program_fini(&e->program);
    nt_arena_fini(&e->memory);
}

static void engine_init(struct engine *e, double port_MBps)
{
    size_t arcs = e->net->arcs;
    for (size_t k = 0; k < arcs; k++) {
        double rate = e->net->arc[k].rate_MBps;
        e->rate[k] = rate > 0 ? rate : 0; /* NaN is no limit */
        e->queue[k] = (struct list){NONE, NONE};
    }
    for (size_t k = 0; k < arcs + e->net->hosts; k++)
        e->waiter[k] = (struct list){NONE, NONE};
    for (uint32_t h = 0; h < e->net->hosts; h++) {
        double *rate = &e->rate[arcs + h];
        *rate = port_MBps;
        for (uint32_t k = e->net->first[h]; port_MBps <= 0 && k < e->net->first[h + 1]; k++)
            *rate = fmax(*rate, e->rate[e->net->out[k]]);
        e->port[h].op = e->port[h].sent = e->program.first[h];
    }
    for (size_t m = 0; m < e->program.messages; m++) {
        e->program.message[m].sent_us = e->program.message[m].received_us = NAN;
        e->to_come[m] = e->packets_each;
    }
}

/* Limits queues only if the routes cannot deadlock: up and down, dimension order (with the bubble
 * on rings), one hop. */
static void choose_queues(struct engine *e, uint32_t buffer_packets)
{
    enum nt_routing routing = e->net->routing;
    bool may_lock = routing == NT_ROUTING_TABLE || routing == NT_ROUTING_DRAGONFLY || e->adaptive ||
                    e->net->spec.hosts_each > 0;
    e->bubble = routing == NT_ROUTING_GRID && e->net->spec.topology != NT_TOPOLOGY_MESH;
    e->capacity = buffer_packets == 0 || may_lock ? QUEUE_MAX : buffer_packets;
    if (e->bubble && e->capacity < 2)
        e->capacity = 2;
}

static int check_workload(const struct nt_workload *w, double packet_bytes,
                          const struct nt_program *p, struct nt_err *err)
{
    if (!(w->bytes > 0 && w->bytes <= 1e12) || !(packet_bytes > 0) || w->port_MBps < 0 ||
        w->buffer_packets >= QUEUE_MAX)
        return nt_err_set(err, NT_ERR_USAGE, "messages of %g bytes in packets of %g", w->bytes,
                          packet_bytes);
    if (ceil(w->bytes / packet_bytes) * (double)p->messages > PACKETS_MAX)
        return nt_err_set(err, NT_ERR_USAGE, "%zu messages of %g bytes: more than %d packets",
                          p->messages, w->bytes, PACKETS_MAX);
    return 0;
}

static int run_events(struct engine *e)
{
    for (uint32_t h = 0; h < e->net->hosts; h++)
        if (run_host(e, h) < 0)
            return -1;
    while (e->events.used > 0) {
        struct event event = event_pop(e);
        e->now_us = event.time_us;
        if (handle_event(e, &event) < 0)
            return -1;
    }
    if (e->finished < e->net->hosts)
        return nt_err_set(e->err, NT_ERR_SYSTEM, "deadlock at %g us: %zu hosts have not finished",
                          e->now_us, e->net->hosts - e->finished);
    return 0;
}

int nt_kernel_run(const struct nt_network *network, const struct nt_workload *workload,
                  struct nt_kernel_result *result, struct nt_err *err)
{
    struct engine e = {.net = network, .free_packet = NONE, .err = err};
    int rc = -1;
    e.packet_bytes = workload->packet_bytes > 0 ? workload->packet_bytes : workload->bytes;
    e.consume_all = workload->consume_all;
    e.compute_us = workload->compute_us;
    e.adaptive = workload->adaptive && network->routing == NT_ROUTING_GRID;
    nt_rng_init(&e.rng, ~workload->seed);
    choose_queues(&e, workload->buffer_packets);
    if (nt_program_create(network->hosts, workload, &e.program, err) < 0)
        return -1;
    if (check_workload(workload, e.packet_bytes, &e.program, err) < 0)
        goto fini;
    e.packets_each = (uint32_t)ceil(workload->bytes / e.packet_bytes);
    e.last_bytes = workload->bytes - (e.packets_each - 1) * e.packet_bytes;
    if (allocate_engine(&e) != 0)
        goto fini;
    engine_init(&e, workload->port_MBps);
    if (run_events(&e) < 0)
        goto fini;
    rc = 0;
    *result = (struct nt_kernel_result){.time_us = e.now_us,
                                        .messages = e.program.messages,
                                        .message = e.program.message,
                                        .packets = e.packets,
                                        .packet_hops = e.hops};
    for (size_t k = 0; k < network->arcs && e.now_us > 0; k++)
        result->busiest = fmax(result->busiest, e.used_us[k] / e.now_us);
    e.program.message = NULL;
fini:
    engine_fini(&e);
    return rc;
}

void nt_kernel_result_fini(struct nt_kernel_result *result)
{
    free(result->message);
    result->message = NULL;
}
