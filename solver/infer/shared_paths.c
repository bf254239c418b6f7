/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_paths.h"

#include <math.h>

#include "fault_odds.h"
#include "faults.h"
#include "flow_tally.h"

#define IDLE 0.1      /* of what a link has */
#define TOGETHER 0.75 /* of what two have alone: less is well below it */
#define SAME_SUM 1.1  /* more than the usual sum says that they do not share it */
#define ABOVE 1.25    /* a switch that carried so many times more was not full */
#define LEAST_SD 0.03 /* of a sum, relative */
enum { ROUNDS_MIN = 2, PAIRS_MAX = 256 };

enum { UP, DOWN, WAYS };

/* What two links did in one direction. */
struct evidence {
    bool alone[2]; /* each reached its value while the other was idle */
    bool beside;   /* another link below the same switch was full meanwhile */
    double sum, squares, most, through;
    size_t rounds;
};

struct pair {
    uint32_t parent, child[2];
    bool *held; /* rounds: in which both had less than is explained */
    struct evidence by[WAYS];
    double found, expected, confidence; /* 0: it is none */
    enum nt_fault_way way;
};

struct shared {
    struct nt_flow_tally tally;
    double *most; /* vertices: that came into it in any round */
    struct pair *pair;
    size_t pairs, rounds;
    struct nt_arena *memory;
};

static uint32_t channel_of(const struct shared *s, uint32_t child, int way)
{
    uint32_t up = s->tally.rooted->up[child];
    return way == UP ? up : nt_channel_back(up);
}

static double value_of(const struct shared *s, uint32_t channel)
{
    return nt_flow_tally_bandwidth(&s->tally, channel);
}

/* ---- candidates -------------------------------------------------------------------------------*/

static void add_pair(struct shared *s, uint32_t parent, const uint32_t *child)
{
    for (size_t k = 0; k < s->pairs; k++)
        if (s->pair[k].child[0] == child[0] && s->pair[k].child[1] == child[1])
            return;
    bool *held = s->pairs < PAIRS_MAX ? nt_arena_array(s->memory, s->rounds, sizeof *held) : NULL;
    if (held != NULL)
        s->pair[s->pairs++] =
            (struct pair){.parent = parent, .child = {child[0], child[1]}, .held = held};
}

/* The links below parent that are odd: two, of the same kind of thing. */
static void find_pair(struct shared *s, uint32_t parent, int way)
{
    const struct nt_rooted_tree *h = s->tally.rooted;
    uint32_t found[2] = {0};
    size_t n = 0;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++) {
        if (!nt_carried_is_odd(&s->tally.link[channel_of(s, h->child[i], way)]))
            continue;
        if (n == 2)
            return;
        found[n++] = h->child[i];
    }
    if (n == 2 && (found[0] < h->hosts) == (found[1] < h->hosts))
        add_pair(s, parent, found);
}

static void find_pairs(struct shared *s, const struct nt_flow_round *round)
{
    const struct nt_rooted_tree *h = s->tally.rooted;
    for (size_t r = 0; r < s->rounds; r++) {
        nt_flow_tally_load(&s->tally, &round[r]);
        for (size_t v = 0; v < h->vertices; v++)
            s->most[v] = fmax(s->most[v], s->tally.vertex[v].MBps);
        for (size_t k = 0; k < h->reached; k++)
            for (int way = 0; way < WAYS; way++)
                find_pair(s, h->order[k], way);
    }
}

/* ---- evidence ---------------------------------------------------------------------------------*/

static bool has_full_sibling(const struct shared *s, const struct pair *p, int way)
{
    const struct nt_rooted_tree *h = s->tally.rooted;
    for (uint32_t i = h->first[p->parent]; i < h->first[p->parent + 1]; i++) {
        uint32_t child = h->child[i], channel = channel_of(s, child, way);
        if (child != p->child[0] && child != p->child[1] && s->tally.link[channel].odd == 0 &&
            s->tally.link[channel].MBps >= NT_FLOW_NEARLY_FULL * value_of(s, channel))
            return true;
    }
    return false;
}

static void note_round(struct shared *s, struct pair *p, int way, size_t number,
                       const struct nt_flow_round *round)
{
    struct evidence *e = &p->by[way];
    const struct nt_carried *carried[2];
    uint32_t channel[2];
    double value[2];
    for (int k = 0; k < 2; k++) {
        channel[k] = channel_of(s, p->child[k], way);
        carried[k] = &s->tally.link[channel[k]];
        value[k] = value_of(s, channel[k]);
    }
    for (int k = 0; k < 2; k++)
        e->alone[k] = e->alone[k] || (carried[k]->MBps >= NT_FLOW_NEARLY_FULL * value[k] &&
                                      carried[1 - k]->MBps < IDLE * value[1 - k]);
    double sum = carried[0]->MBps + carried[1]->MBps;
    if (carried[0]->flows == 0 || carried[1]->flows == 0)
        return;
    if (!nt_carried_is_odd(carried[0]) || !nt_carried_is_odd(carried[1])) {
        e->most = fmax(e->most, sum);
        return;
    }
    if (nt_flow_tally_meet(&s->tally, round, channel[0], channel[1]))
        return; /* it is rather that link */
    e->sum += sum;
    e->squares += sum * sum;
    e->through = fmax(e->through, s->tally.vertex[p->parent].MBps);
    e->beside = e->beside || has_full_sibling(s, p, way);
    e->rounds++;
    p->held[number] = true;
}

/* ---- judging ----------------------------------------------------------------------------------*/

static double judge_way(const struct shared *s, struct pair *p, int way)
{
    const struct evidence *e = &p->by[way];
    if (e->rounds == 0 || !e->alone[0] || !e->alone[1])
        return 0;
    double n = (double)e->rounds, mean = e->sum / n;
    double alone =
        value_of(s, channel_of(s, p->child[0], way)) + value_of(s, channel_of(s, p->child[1], way));
    double sd = fmax(sqrt(fmax(e->squares / n - mean * mean, 0)) / mean, LEAST_SD);
    if (!(mean < TOGETHER * alone) || e->most > SAME_SUM * mean ||
        (s->most[p->parent] < ABOVE * e->through && !e->beside))
        return 0;
    uint32_t children = s->tally.rooted->first[p->parent + 1] - s->tally.rooted->first[p->parent];
    double fault = nt_fault_probability(log(alone / mean), sd, NT_FAULT_PRIOR_MEMBERS + n);
    if (p->found == 0 || mean / alone < p->found / p->expected) {
        p->found = mean;
        p->expected = alone;
    }
    return fault / (fault + (1 - fault) * (double)children);
}

static void judge_pair(const struct shared *s, struct pair *p)
{
    double by[WAYS];
    size_t rounds = 0;
    for (int way = 0; way < WAYS; way++) {
        by[way] = judge_way(s, p, way);
        rounds += by[way] > 0 ? p->by[way].rounds : 0;
    }
    p->confidence = rounds < ROUNDS_MIN ? 0 : fmax(by[UP], by[DOWN]);
    p->way = by[UP] > 0 && by[DOWN] > 0 ? NT_FAULT_BOTH : by[UP] > 0 ? NT_FAULT_UP : NT_FAULT_DOWN;
}

static size_t rounds_of(const struct pair *p)
{
    return p->by[UP].rounds + p->by[DOWN].rounds;
}

static struct nt_fault_part part_of(const struct pair *p)
{
    return (struct nt_fault_part){NT_FAULT_PATH_SHARED, p->child[0], p->child[1]};
}

static bool overlap(const struct shared *s, const struct pair *a, const struct pair *b)
{
    for (size_t r = 0; r < s->rounds; r++)
        if (a->held[r] && b->held[r])
            return true;
    return false;
}

/* Of pairs that were held back in the same round the one that more rounds show explains it. */
static void add_finding(const struct shared *s, size_t number, struct nt_fault *fault,
                        size_t *count)
{
    const struct pair *p = &s->pair[number];
    struct nt_fault f = {.part = part_of(p),
                         .found = p->found,
                         .expected = p->expected,
                         .confidence = p->confidence,
                         .way = p->way};
    for (size_t k = 0; k < s->pairs; k++) {
        const struct pair *o = &s->pair[k];
        if (k == number || !(o->confidence >= NT_FAULT_CONFIDENCE) || !overlap(s, p, o))
            continue;
        if (rounds_of(o) > rounds_of(p) || (rounds_of(o) == rounds_of(p) && k < number))
            return;
        if (rounds_of(o) == rounds_of(p) && f.others < NT_FAULT_OTHERS_MAX)
            f.other[f.others++] = part_of(o);
    }
    if (*count < NT_FAULTS_MAX)
        fault[(*count)++] = f;
}

int nt_shared_paths_find(const struct nt_model *model, const struct nt_flow_round *round,
                         size_t rounds, struct nt_fault *fault, size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct shared s = {.rounds = rounds, .memory = &memory};
    if (model->switches == 0 || rounds == 0)
        return 0;
    s.most = nt_arena_array(&memory, model->hosts + model->switches + 1, sizeof *s.most);
    s.pair = nt_arena_array(&memory, PAIRS_MAX, sizeof *s.pair);
    if (nt_arena_check(&memory, err) != 0 || nt_flow_tally_init(&s.tally, model, err) != 0)
        return -1;
    find_pairs(&s, round);
    for (size_t r = 0; r < rounds && s.pairs > 0; r++) {
        nt_flow_tally_load(&s.tally, &round[r]);
        for (size_t k = 0; k < s.pairs; k++)
            for (int way = 0; way < WAYS; way++)
                note_round(&s, &s.pair[k], way, r, &round[r]);
    }
    for (size_t k = 0; k < s.pairs; k++)
        judge_pair(&s, &s.pair[k]);
    for (size_t k = 0; k < s.pairs; k++)
        if (s.pair[k].confidence >= NT_FAULT_CONFIDENCE)
            add_finding(&s, k, fault, count);
    nt_flow_tally_fini(&s.tally);
    return nt_arena_check(&memory, err);
}
