/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads write one cache line in turn. A batch is a fraction of a scheduler's time slice, so
 * that in the lowest batches both ran at once, whatever else is on these cores. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "clock.h"
#include "hardware.h"

enum { BATCH = 50, POLLS_PER_CLOCK = 256, LINE_BYTES = 128 };

/* Twice a cache line: the adjacent one is often fetched with it. */
struct shared_line {
    _Alignas(LINE_BYTES) atomic_uint turn; /* even: ours; odd: theirs */
    _Alignas(LINE_BYTES) double until_s;
    unsigned cpu;
};

static bool pin_to_cpu(unsigned cpu)
{
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    if (set == NULL)
        return false;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    bool kept = pthread_setaffinity_np(pthread_self(), bytes, set) == 0;
    CPU_FREE(set);
    return kept;
}

/* Until it is our turn; false: the time is over. */
static bool wait_for_turn(struct shared_line *line, unsigned turn)
{
    for (unsigned polls = 1;; polls++) {
        if (atomic_load_explicit(&line->turn, memory_order_acquire) == turn)
            return true;
        if (polls % POLLS_PER_CLOCK == 0 && nt_clock_s() > line->until_s)
            return false;
    }
}

static void *responder_main(void *argument)
{
    struct shared_line *line = argument;
    if (!pin_to_cpu(line->cpu))
        return NULL;
    for (unsigned turn = 1; wait_for_turn(line, turn); turn += 2)
        atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
    return NULL;
}

/* The time of a batch of round trips, from turn on; 0: the time is over. */
static double time_batch_s(struct shared_line *line, unsigned turn)
{
    double began = nt_clock_s();
    for (unsigned k = 0; k < BATCH; k++, turn += 2) {
        atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
        if (!wait_for_turn(line, turn + 2))
            return 0;
    }
    return nt_clock_s() - began;
}

struct initiator {
    struct shared_line *line;
    unsigned cpu;
    double lowest_s;
};

static void *initiator_main(void *argument)
{
    struct initiator *initiator = argument;
    double took;
    if (!pin_to_cpu(initiator->cpu))
        return NULL;
    for (unsigned turn = 0; nt_clock_s() < initiator->line->until_s; turn += 2 * BATCH) {
        took = time_batch_s(initiator->line, turn);
        if (took > 0 && (initiator->lowest_s == 0 || took < initiator->lowest_s))
            initiator->lowest_s = took;
    }
    return NULL;
}

double nt_hardware_core_latency_us(const struct nt_core_pair *pair, double seconds)
{
    struct shared_line line = {.until_s = nt_clock_s() + seconds, .cpu = pair->cpu[1]};
    struct initiator initiator = {.line = &line, .cpu = pair->cpu[0]};
    pthread_t here, there;
    if (!pair->there || pair->cpu[0] == pair->cpu[1])
        return 0;
    if (pthread_create(&there, NULL, responder_main, &line) != 0)
        return 0;
    if (pthread_create(&here, NULL, initiator_main, &initiator) == 0)
        pthread_join(here, NULL);
    pthread_join(there, NULL);
    return initiator.lowest_s / (2 * BATCH) * 1e6;
}
