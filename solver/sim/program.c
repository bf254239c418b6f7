/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithms of the kernels' figures 1 to 4, played once to count and once to write. */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { MESSAGES_MAX = 1 << 24, MESSAGES_USUAL = 10000 };

/* first[] counts in the first pass, then is where each host's next operation goes. */
struct play {
    struct nt_program *program;
    bool counting;
    uint32_t messages;
};

static void note_operation(struct play *p, uint32_t host, uint32_t op)
{
    if (p->counting)
        p->program->first[host + 1]++;
    else
        p->program->op[p->program->first[host]++] = op;
}

static uint32_t play_send(struct play *p, size_t from, size_t to)
{
    uint32_t m = p->messages++;
    if (!p->counting) {
        p->program->message[m].from = (uint32_t)from;
        p->program->message[m].to = (uint32_t)to;
    }
    note_operation(p, (uint32_t)from, 2 * m);
    return m;
}

static void play_wait(struct play *p, uint32_t message, size_t to)
{
    note_operation(p, (uint32_t)to, 2 * message + 1);
}

static void play_one(struct play *p, size_t n, bool from_one)
{
    for (size_t d = 1; d < n; d++)
        play_wait(p, from_one ? play_send(p, 0, d) : play_send(p, d, 0), from_one ? d : 0);
}

/* Host t waits for what t+1, t+2, ... sent to it, in that order. */
static void play_all(struct play *p, size_t n)
{
    for (size_t t = 0; t < n; t++)
        for (size_t u = 1; u < n; u++)
            play_send(p, t, (t + u) % n);
    for (size_t t = 0; t < n; t++)
        for (size_t u = 1; u < n; u++) {
            size_t from = (t + u) % n;
            play_wait(p, (uint32_t)(from * (n - 1) + (n - u) - 1), t);
        }
}

static void play_random(struct play *p, size_t n, uint32_t messages, uint32_t wave, uint64_t seed)
{
    struct nt_rng rng, again;
    nt_rng_init(&rng, seed);
    again = rng;
    for (uint32_t done = 0; done < messages;) {
        uint32_t count = messages - done < wave ? messages - done : wave, m = done;
        for (uint32_t k = 0; k < count; k++) {
            size_t from = nt_rng_below(&rng, n), to = nt_rng_below(&rng, n);
            play_send(p, from, to);
        }
        for (uint32_t k = 0; k < count; k++) { /* the same draws: who received */
            nt_rng_below(&again, n);
            play_wait(p, m++, nt_rng_below(&again, n));
        }
        done += count;
    }
}

static uint32_t messages_of(const struct nt_workload *w)
{
    return w->messages > 0 ? w->messages : MESSAGES_USUAL;
}

static void play_workload(struct play *p, const struct nt_workload *w)
{
    size_t n = p->program->hosts;
    p->messages = 0;
    switch (w->kernel) {
    case NT_KERNEL_A2A:
        play_all(p, n);
        return;
    case NT_KERNEL_O2A:
        play_one(p, n, true);
        return;
    case NT_KERNEL_A2O:
        play_one(p, n, false);
        return;
    case NT_KERNEL_SR:
        play_random(p, n, messages_of(w), w->wave, w->seed);
        return;
    case NT_KERNEL_GUPS:
        play_random(p, n, messages_of(w), messages_of(w), w->seed);
        return;
    }
}

static size_t count_messages(size_t n, const struct nt_workload *w)
{
    if (w->kernel == NT_KERNEL_A2A)
        return n > 0 ? n * (n - 1) : 0; /* n is at most 2^17 */
    if (w->kernel == NT_KERNEL_SR || w->kernel == NT_KERNEL_GUPS)
        return n > 0 ? messages_of(w) : 0;
    return n > 0 ? n - 1 : 0;
}

int nt_program_create(size_t hosts, const struct nt_workload *workload, struct nt_program *program,
                      struct nt_err *err)
{
    struct nt_program p = {.hosts = hosts, .messages = count_messages(hosts, workload)};
    struct play play_state = {.program = &p, .counting = true};
    if (p.messages > MESSAGES_MAX || (workload->kernel == NT_KERNEL_SR && workload->wave == 0))
        return nt_err_set(err, NT_ERR_USAGE, "a workload of %zu messages: expected 1 to %d",
                          p.messages, MESSAGES_MAX);
    p.ops = 2 * p.messages;
    p.message = calloc(p.messages + 1, sizeof *p.message);
    p.first = calloc(hosts + 2, sizeof *p.first);
    p.op = calloc(p.ops + 1, sizeof *p.op);
    if (p.message == NULL || p.first == NULL || p.op == NULL) {
        nt_program_fini(&p);
        return nt_err_memory(err);
    }
    if (p.messages > 0)
        play_workload(&play_state, workload);
    for (size_t h = 0; h < hosts; h++)
        p.first[h + 1] += p.first[h];
    play_state.counting = false;
    if (p.messages > 0)
        play_workload(&play_state, workload);
    memmove(p.first + 1, p.first, hosts * sizeof *p.first); /* each stands at its end by now */
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

int nt_workload_parse(const char *text, struct nt_workload *workload, struct nt_err *err)
{
    static const char *const name[] = {"a2a", "o2a", "a2o", "", "gups"};
    struct nt_workload w = *workload;
    uint32_t wave = 0;
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        if (k != NT_KERNEL_SR && strcmp(text, name[k]) == 0) {
            workload->kernel = (enum nt_kernel)k;
            return 0;
        }
    if (strncmp(text, "sr:", 3) == 0 && text[3] >= '1' && text[3] <= '9') {
        const char *at = text + 3;
        for (; *at >= '0' && *at <= '9' && wave <= MESSAGES_MAX; at++)
            wave = wave * 10 + (uint32_t)(*at - '0');
        if (*at == '\0' && wave <= MESSAGES_MAX) {
            w.kernel = NT_KERNEL_SR;
            w.wave = wave;
            *workload = w;
            return 0;
        }
    }
    return nt_err_set(err, NT_ERR_USAGE, "workload %s: expected a2a, o2a, a2o, sr:W or gups", text);
}
