/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "rng.h"

/* ---- the kernels ---- */

/* The parameter after the colon of a name, and the allowed numbers of tasks: powers of this. */
static const struct kind {
    const char *name;
    uint32_t most; /* of the number behind the colon; 0: there is none */
    unsigned power;
} kinds[NT_KERNELS] = {
    [NT_KERNEL_A2A] = {"a2a", 0, 0},
    [NT_KERNEL_O2A] = {"o2a", 0, 0},
    [NT_KERNEL_A2O] = {"a2o", 0, 0},
    [NT_KERNEL_SR] = {"sr", NT_WORKLOAD_MESSAGES_MAX, 0},
    [NT_KERNEL_GUPS] = {"gups", 0, 0},
    [NT_KERNEL_HOT] = {"hot", 100, 0},
    [NT_KERNEL_REGION] = {"region", 100, 0},
    [NT_KERNEL_TRANSPOSE] = {"transpose", 0, 4},
    [NT_KERNEL_COMPLEMENT] = {"complement", 0, 2},
    [NT_KERNEL_REVERSE] = {"reverse", 0, 2},
    [NT_KERNEL_SHUFFLE] = {"shuffle", 0, 2},
};

bool nt_workload_is_random(const struct nt_workload *w)
{
    return w->kernel >= NT_KERNEL_SR && w->kernel <= NT_KERNEL_REGION;
}

size_t nt_workload_tasks(const struct nt_workload *w, size_t hosts)
{
    size_t wanted = w->tasks > 0 ? w->tasks : hosts, power = kinds[w->kernel].power, tasks = wanted;
    if (power > 0 && wanted > 0)
        for (tasks = 1; tasks <= wanted / power;)
            tasks *= power;
    return tasks > hosts || (w->tasks > 0 && tasks != wanted) ? 0 : tasks;
}

/* ---- the text ---- */

static uint32_t *number_of(struct nt_workload *w)
{
    return w->kernel == NT_KERNEL_SR ? &w->wave : &w->percent;
}

/* A whole number from 1 on without leading zeros; sized: of bytes. */
static bool read_whole(const char *text, size_t bytes, uint64_t most, bool sized, uint64_t *value)
{
    return bytes > 0 && *text != '0' &&
           (sized ? nt_decimal_bytes : nt_decimal_whole)(text, bytes, most, value) == 0;
}

static int read_kernel(const char *text, size_t bytes, struct nt_workload *w, struct nt_err *err)
{
    const char *colon = memchr(text, ':', bytes);
    size_t name = colon != NULL ? (size_t)(colon - text) : bytes, k = 0;
    uint64_t number = 0;
    while (k < NT_KERNELS &&
           (strlen(kinds[k].name) != name || memcmp(kinds[k].name, text, name) != 0))
        k++;
    bool good = k < NT_KERNELS && (colon != NULL) == (kinds[k].most > 0);
    if (good && colon != NULL)
        good = read_whole(colon + 1, bytes - name - 1, kinds[k].most, false, &number);
    if (!good && colon != NULL && k < NT_KERNELS && kinds[k].most > 0)
        return nt_err_set(
            err, NT_ERR_USAGE, "workload %.*s: expected %s: and a number from 1 to %llu",
            (int)(bytes < 64 ? bytes : 64), text, kinds[k].name, (unsigned long long)kinds[k].most);
    if (!good)
        return nt_err_set(err, NT_ERR_USAGE,
                          "workload %.*s: expected a2a, o2a, a2o, sr:W, gups, hot:PERCENT, "
                          "region:PERCENT, transpose, complement, reverse or shuffle",
                          (int)(bytes < 64 ? bytes : 64), text);
    w->kernel = (enum nt_kernel)k;
    if (colon != NULL)
        *number_of(w) = (uint32_t)number;
    return 0;
}

static int read_item(const char *item, size_t bytes, struct nt_workload *w, struct nt_err *err)
{
    enum { BYTES_MAX = 1 << 30, COMPUTE_MAX_US = 1000000000, TASKS_MAX = 1 << 20, ITEMS = 4 };
    static const struct {
        const char *key;
        uint64_t most;
    } items[ITEMS] = {{"bytes=", BYTES_MAX},
                      {"messages=", NT_WORKLOAD_MESSAGES_MAX},
                      {"tasks=", TASKS_MAX},
                      {"compute=", COMPUTE_MAX_US}};
    uint64_t value[ITEMS] = {0};
    for (size_t k = 0; k < ITEMS; k++) {
        size_t key = strlen(items[k].key);
        if (bytes < key || memcmp(item, items[k].key, key) != 0)
            continue;
        if (!read_whole(item + key, bytes - key, items[k].most, k == 0, &value[k]))
            return nt_err_set(err, NT_ERR_USAGE, "workload: %.*s: expected 1 to %llu",
                              (int)(bytes < 64 ? bytes : 64), item,
                              (unsigned long long)items[k].most);
        w->bytes = k == 0 ? (double)value[0] : w->bytes;
        w->messages = k == 1 ? (uint32_t)value[1] : w->messages;
        w->tasks = k == 2 ? (uint32_t)value[2] : w->tasks;
        w->compute_us = k == 3 ? (double)value[3] : w->compute_us;
        return 0;
    }
    return nt_err_set(err, NT_ERR_USAGE,
                      "workload: expected bytes=, messages=, tasks= or compute=, found \"%.*s\"",
                      (int)(bytes < 64 ? bytes : 64), item);
}

int nt_workload_parse(const char *text, struct nt_workload *workload, struct nt_err *err)
{
    struct nt_workload w = *workload;
    size_t bytes = strcspn(text, ",");
    if (read_kernel(text, bytes, &w, err) != 0)
        return -1;
    for (const char *at = text + bytes; *at == ',';) {
        at++;
        bytes = strcspn(at, ",");
        if (read_item(at, bytes, &w, err) != 0)
            return -1;
        at += bytes;
    }
    *workload = w;
    return 0;
}

void nt_workload_name(const struct nt_workload *workload, char name[NT_WORKLOAD_NAME_BYTES])
{
    struct nt_workload w = *workload;
    const struct kind *kind = &kinds[w.kernel];
    int n = kind->most > 0
                ? snprintf(name, NT_WORKLOAD_NAME_BYTES, "%s:%u", kind->name, *number_of(&w))
                : snprintf(name, NT_WORKLOAD_NAME_BYTES, "%s", kind->name);
    if (w.compute_us > 0)
        snprintf(name + n, NT_WORKLOAD_NAME_BYTES - (size_t)n, ",compute=%.0f", w.compute_us);
}

/* ---- the algorithm of each task, run once to count and once to write ---- */

enum {
    MESSAGES_USUAL = 10000,
    COMPUTATIONS_MAX = 1 << 26,
};

/* first[] counts operations in the first run; then it is the position of each host's next
 * operation. */
struct play {
    struct nt_program *program;
    const struct nt_workload *load;
    size_t tasks;
    bool counting;
    uint32_t messages;
};

static void note_operation(struct play *p, size_t task, uint32_t op)
{
    size_t host = nt_workload_host(task, p->tasks, p->program->hosts);
    if (p->counting)
        p->program->first[host + 1]++;
    else
        p->program->op[p->program->first[host]++] = op;
}

static uint32_t emit_send(struct play *p, size_t from, size_t to)
{
    uint32_t m = p->messages++;
    if (!p->counting) {
        p->program->message[m].from = (uint32_t)nt_workload_host(from, p->tasks, p->program->hosts);
        p->program->message[m].to = (uint32_t)nt_workload_host(to, p->tasks, p->program->hosts);
    }
    note_operation(p, from, 2 * m);
    return m;
}

static void emit_wait(struct play *p, uint32_t message, size_t to)
{
    note_operation(p, to, 2 * message + 1);
}

/* For each task, after its waits. */
static void emit_compute(struct play *p)
{
    for (size_t t = 0; t < p->tasks && p->load->compute_us > 0; t++)
        note_operation(p, t, NT_PROGRAM_COMPUTE);
}

static void emit_one(struct play *p, bool from_one)
{
    for (size_t d = 1; d < p->tasks; d++)
        emit_wait(p, from_one ? emit_send(p, 0, d) : emit_send(p, d, 0), from_one ? d : 0);
}

/* Task t waits for the messages of t+1, t+2, ... in this order. */
static void emit_all(struct play *p)
{
    size_t n = p->tasks;
    for (size_t t = 0; t < n; t++)
        for (size_t u = 1; u < n; u++)
            emit_send(p, t, (t + u) % n);
    for (size_t t = 0; t < n; t++)
        for (size_t u = 1; u < n; u++) {
            size_t from = (t + u) % n;
            emit_wait(p, (uint32_t)(from * (n - 1) + (n - u) - 1), t);
        }
}

static size_t draw_target(const struct play *p, struct nt_rng *rng)
{
    const struct nt_workload *w = p->load;
    bool hot = w->kernel == NT_KERNEL_HOT, region = w->kernel == NT_KERNEL_REGION;
    if ((hot || region) && nt_rng_below(rng, 100) < w->percent)
        return hot ? 0
                   : nt_rng_below(rng, (p->tasks + NT_WORKLOAD_REGION - 1) / NT_WORKLOAD_REGION);
    return nt_rng_below(rng, p->tasks);
}

static void emit_random(struct play *p, uint32_t messages, uint32_t wave)
{
    struct nt_rng rng, again;
    nt_rng_init(&rng, p->load->seed);
    again = rng;
    for (uint32_t done = 0; done < messages;) {
        uint32_t count = messages - done < wave ? messages - done : wave, m = done;
        for (uint32_t k = 0; k < count; k++) {
            size_t from = nt_rng_below(&rng, p->tasks), to = draw_target(p, &rng);
            emit_send(p, from, to);
        }
        for (uint32_t k = 0; k < count; k++) { /* the same draws: who received */
            nt_rng_below(&again, p->tasks);
            emit_wait(p, m++, draw_target(p, &again));
        }
        done += count;
        if (done < messages)
            emit_compute(p);
    }
}

static size_t permuted(enum nt_kernel kernel, size_t t, unsigned bits)
{
    size_t all = ((size_t)1 << bits) - 1, reversed = 0;
    for (unsigned k = 0; k < bits; k++)
        reversed |= (t >> k & 1) << (bits - 1 - k);
    switch (kernel) {
    case NT_KERNEL_TRANSPOSE:
        return (t << bits / 2 | t >> bits / 2) & all;
    case NT_KERNEL_COMPLEMENT:
        return ~t & all;
    case NT_KERNEL_REVERSE:
        return reversed;
    default: /* shuffle */
        return bits == 0 ? t : (t << 1 | t >> (bits - 1)) & all;
    }
}

/* Each task sends the same number of messages, in one wave. */
static void emit_permutation(struct play *p, size_t each)
{
    unsigned bits = 0;
    uint32_t m = 0;
    while ((size_t)1 << bits < p->tasks)
        bits++;
    for (size_t k = 0; k < each; k++)
        for (size_t t = 0; t < p->tasks; t++)
            emit_send(p, t, permuted(p->load->kernel, t, bits));
    for (size_t k = 0; k < each; k++)
        for (size_t t = 0; t < p->tasks; t++)
            emit_wait(p, m++, permuted(p->load->kernel, t, bits));
}

static size_t count_messages(size_t n, const struct nt_workload *w)
{
    if (n == 0)
        return 0;
    if (w->kernel == NT_KERNEL_A2A)
        return n * (n - 1); /* n is at most 2^20 */
    if (nt_workload_is_random(w))
        return w->messages > 0 ? w->messages : MESSAGES_USUAL;
    if (kinds[w->kernel].power > 0)
        return w->messages > n ? w->messages / n * n : n;
    return n - 1;
}

static void emit_workload(struct play *p, size_t messages)
{
    p->messages = 0;
    if (p->load->kernel == NT_KERNEL_A2A)
        emit_all(p);
    else if (kinds[p->load->kernel].power > 0)
        emit_permutation(p, messages / p->tasks);
    else if (nt_workload_is_random(p->load))
        emit_random(p, (uint32_t)messages,
                    p->load->kernel == NT_KERNEL_SR ? p->load->wave : (uint32_t)messages);
    else
        emit_one(p, p->load->kernel == NT_KERNEL_O2A);
    emit_compute(p);
}

/* Waves after which each task computes. */
static size_t count_waves(const struct nt_workload *w, size_t messages)
{
    bool waves = w->kernel == NT_KERNEL_SR && w->wave > 0;
    return waves ? (messages + w->wave - 1) / w->wave : 1;
}

static int refuse(const struct nt_workload *w, size_t hosts, size_t tasks, size_t messages,
                  struct nt_err *err)
{
    if (hosts > 0 && tasks == 0)
        return nt_err_set(err, NT_ERR_USAGE, "%s with %u tasks on %zu hosts: expected %s",
                          kinds[w->kernel].name, w->tasks, hosts,
                          kinds[w->kernel].power == 4   ? "4, 16, 64, ..., at most one per host"
                          : kinds[w->kernel].power == 2 ? "2, 4, 8, ..., at most one per host"
                                                        : "at most one per host");
    if (messages > NT_WORKLOAD_MESSAGES_MAX || (w->kernel == NT_KERNEL_SR && w->wave == 0))
        return nt_err_set(err, NT_ERR_USAGE, "a workload of %zu messages: expected 1 to %d",
                          messages, (int)NT_WORKLOAD_MESSAGES_MAX);
    if (w->compute_us > 0 && count_waves(w, messages) > COMPUTATIONS_MAX / (tasks + 1))
        return nt_err_set(err, NT_ERR_USAGE,
                          "%zu tasks that compute after each of %zu waves: expected at most %d "
                          "computations",
                          tasks, count_waves(w, messages), (int)COMPUTATIONS_MAX);
    return 0;
}

int nt_program_create(size_t hosts, const struct nt_workload *workload, struct nt_program *program,
                      struct nt_err *err)
{
    size_t tasks = nt_workload_tasks(workload, hosts);
    struct nt_program p = {.hosts = hosts, .messages = count_messages(tasks, workload)};
    struct play play = {.program = &p, .load = workload, .tasks = tasks, .counting = true};
    if (refuse(workload, hosts, tasks, p.messages, err) != 0)
        return -1;
    p.first = calloc(hosts + 2, sizeof *p.first);
    if (p.first != NULL && p.messages > 0)
        emit_workload(&play, p.messages);
    for (size_t h = 0; p.first != NULL && h < hosts; h++)
        p.first[h + 1] += p.first[h];
    p.ops = p.first != NULL ? p.first[hosts] : 0;
    p.message = calloc(p.messages + 1, sizeof *p.message);
    p.op = calloc(p.ops + 1, sizeof *p.op);
    if (p.message == NULL || p.first == NULL || p.op == NULL) {
        nt_program_fini(&p);
        return nt_err_memory(err);
    }
    play.counting = false;
    if (p.messages > 0)
        emit_workload(&play, p.messages);
    memmove(p.first + 1, p.first, hosts * sizeof *p.first); /* each is at its end now */
    p.first[0] = 0;
    *program = p;
    return 0;
}

void nt_program_fini(struct nt_program *program)
{
    free(program->message);
    free(program->first);
    free(program->op);
}
