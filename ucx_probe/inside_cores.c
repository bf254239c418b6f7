/* Two threads hand one cache line to and fro. A batch is a fraction of a scheduler's slice, so that
 * the lowest batches saw both run at once, whatever else is on these cores. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "clock.h"
#include "inside.h"

enum { BATCH = 50, LOOKS = 256, LINE_BYTES = 128 };

/* The line alone with itself: also its neighbour is often fetched. */
struct ball {
    _Alignas(LINE_BYTES) atomic_uint turn; /* even: ours; odd: theirs */
    _Alignas(LINE_BYTES) double until_s;
    unsigned cpu;
};

static bool keep_to(unsigned cpu)
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
static bool await(struct ball *ball, unsigned turn)
{
    for (unsigned looks = 1;; looks++) {
        if (atomic_load_explicit(&ball->turn, memory_order_acquire) == turn)
            return true;
        if (looks % LOOKS == 0 && nt_clock_s() > ball->until_s)
            return false;
    }
}

static void *throw_back(void *argument)
{
    struct ball *ball = argument;
    if (!keep_to(ball->cpu))
        return NULL;
    for (unsigned turn = 1; await(ball, turn); turn += 2)
        atomic_store_explicit(&ball->turn, turn + 1, memory_order_release);
    return NULL;
}

/* The time of a batch of round trips, from turn on; 0: the time is over. */
static double play(struct ball *ball, unsigned turn)
{
    double began = nt_clock_s();
    for (unsigned k = 0; k < BATCH; k++, turn += 2) {
        atomic_store_explicit(&ball->turn, turn + 1, memory_order_release);
        if (!await(ball, turn + 2))
            return 0;
    }
    return nt_clock_s() - began;
}

struct player {
    struct ball *ball;
    unsigned cpu;
    double lowest_s;
};

static void *play_all(void *argument)
{
    struct player *player = argument;
    double took;
    if (!keep_to(player->cpu))
        return NULL;
    for (unsigned turn = 0; nt_clock_s() < player->ball->until_s; turn += 2 * BATCH) {
        took = play(player->ball, turn);
        if (took > 0 && (player->lowest_s == 0 || took < player->lowest_s))
            player->lowest_s = took;
    }
    return NULL;
}

double nt_inside_ping(const struct nt_core_pair *pair, double seconds)
{
    struct ball ball = {.until_s = nt_clock_s() + seconds, .cpu = pair->cpu[1]};
    struct player player = {.ball = &ball, .cpu = pair->cpu[0]};
    pthread_t here, there;
    if (!pair->there || pair->cpu[0] == pair->cpu[1])
        return 0;
    if (pthread_create(&there, NULL, throw_back, &ball) != 0)
        return 0;
    if (pthread_create(&here, NULL, play_all, &player) == 0)
        pthread_join(here, NULL);
    pthread_join(there, NULL);
    return player.lowest_s / (2 * BATCH) * 1e6;
}
