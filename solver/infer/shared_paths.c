/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_paths.h"

#include <math.h>
#include <string.h>

#include "fault_odds.h"
#include "faults.h"
#include "memory.h"
#include "rooted_tree.h"

#define NEARLY_FULL 0.9 /* a link that explains why a flow has no more */
#define ODD_SHARE 0.8   /* of its flows are not explained */
#define IDLE 0.1        /* of what a link has */
#define TOGETHER 0.85   /* of what two have alone: less is well below it */
#define SAME_SUM 1.1    /* more than the usual sum says that they do not share it */
#define ABOVE 1.25      /* a switch that carried so many times more was not full */
#define LEAST_SD 0.03   /* of a sum, relative */
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
    const struct nt_model *model;
    struct nt_rooted_tree *rooted;
    double *load;           /* channels */
    uint32_t *flows, *odd;  /* channels */
    double *through, *most; /* vertices: into it in this round, and the most in any */
    uint32_t *path;
    struct pair *pair;
    size_t pairs, rounds;
    struct nt_arena *memory;
};

/* ---- a round ----------------------------------------------------------------------------------*/

static double value_of(const struct shared *s, uint32_t channel)
{
    const struct nt_link *l = &s->model->link[channel / 2];
    return channel % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
}

/* A link that was never known, or only from below, may have been full. */
static bool is_explained(const struct shared *s, size_t hops)
{
    for (size_t i = 0; i < hops; i++)
        if (!(s->load[s->path[i]] < NEARLY_FULL * value_of(s, s->path[i])))
            return true;
    return false;
}

static uint32_t end_of(const struct shared *s, uint32_t channel)
{
    return s->rooted->ends[channel / 2][channel % 2 == 0 ? 1 : 0];
}

static void load_round(struct shared *s, const struct nt_flow_round *round)
{
    size_t channels = 2 * s->model->links;
    memset(s->load, 0, channels * sizeof *s->load);
    memset(s->flows, 0, channels * sizeof *s->flows);
    memset(s->odd, 0, channels * sizeof *s->odd);
    memset(s->through, 0, s->rooted->vertices * sizeof *s->through);
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < round->flows; k++) {
            const struct nt_flow_seen *f = &round->flow[k];
            size_t hops = f->rate_MBps > 0 && isfinite(f->rate_MBps)
                              ? nt_rooted_tree_path(s->rooted, f->from, f->to, s->path)
                              : 0;
            bool odd = pass == 1 && !is_explained(s, hops);
            for (size_t i = 0; i < hops; i++) {
                uint32_t c = s->path[i];
                s->odd[c] += odd;
                s->flows[c] += pass == 0;
                s->load[c] += pass == 0 ? f->rate_MBps : 0;
                s->through[end_of(s, c)] += pass == 0 ? f->rate_MBps : 0;
            }
        }
}

static uint32_t channel_of(const struct shared *s, uint32_t child, int way)
{
    uint32_t up = s->rooted->up[child];
    return way == UP ? up : nt_channel_back(up);
}

static bool is_odd(const struct shared *s, uint32_t channel)
{
    return s->flows[channel] > 0 && (double)s->odd[channel] >= ODD_SHARE * s->flows[channel];
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
    const struct nt_rooted_tree *h = s->rooted;
    uint32_t found[2] = {0};
    size_t n = 0;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++) {
        if (!is_odd(s, channel_of(s, h->child[i], way)))
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
    const struct nt_rooted_tree *h = s->rooted;
    for (size_t r = 0; r < s->rounds; r++) {
        load_round(s, &round[r]);
        for (size_t v = 0; v < h->vertices; v++)
            s->most[v] = fmax(s->most[v], s->through[v]);
        for (size_t k = 0; k < h->reached; k++)
            for (int way = 0; way < WAYS; way++)
                find_pair(s, h->order[k], way);
    }
}

/* ---- evidence ---------------------------------------------------------------------------------*/

static bool has_full_sibling(const struct shared *s, const struct pair *p, int way)
{
    const struct nt_rooted_tree *h = s->rooted;
    for (uint32_t i = h->first[p->parent]; i < h->first[p->parent + 1]; i++) {
        uint32_t child = h->child[i], channel = channel_of(s, child, way);
        if (child != p->child[0] && child != p->child[1] && s->odd[channel] == 0 &&
            s->load[channel] >= NEARLY_FULL * value_of(s, channel))
            return true;
    }
    return false;
}

static void note_round(const struct shared *s, struct pair *p, int way, size_t round)
{
    struct evidence *e = &p->by[way];
    uint32_t channel[2];
    double load[2], value[2];
    for (int k = 0; k < 2; k++) {
        channel[k] = channel_of(s, p->child[k], way);
        load[k] = s->load[channel[k]];
        value[k] = value_of(s, channel[k]);
    }
    for (int k = 0; k < 2; k++)
        e->alone[k] =
            e->alone[k] || (load[k] >= NEARLY_FULL * value[k] && load[1 - k] < IDLE * value[1 - k]);
    double sum = load[0] + load[1];
    if (s->flows[channel[0]] == 0 || s->flows[channel[1]] == 0)
        return;
    if (!is_odd(s, channel[0]) || !is_odd(s, channel[1])) {
        e->most = fmax(e->most, sum);
        return;
    }
    e->sum += sum;
    e->squares += sum * sum;
    e->through = fmax(e->through, s->through[p->parent]);
    e->beside = e->beside || has_full_sibling(s, p, way);
    e->rounds++;
    p->held[round] = true;
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
    uint32_t children = s->rooted->first[p->parent + 1] - s->rooted->first[p->parent];
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
    struct shared s = {.model = model, .rounds = rounds, .memory = &memory};
    size_t channels = 2 * model->links + 1, vertices = model->hosts + model->switches + 1;
    if (model->switches == 0 || rounds == 0)
        return 0;
    if (nt_rooted_tree_create(model, &s.rooted, err) != 0)
        return -1;
    s.load = nt_arena_array(&memory, channels, sizeof *s.load);
    s.flows = nt_arena_array(&memory, channels, sizeof *s.flows);
    s.odd = nt_arena_array(&memory, channels, sizeof *s.odd);
    s.through = nt_arena_array(&memory, vertices, sizeof *s.through);
    s.most = nt_arena_array(&memory, vertices, sizeof *s.most);
    s.path = nt_arena_array(&memory, nt_rooted_tree_room(s.rooted), sizeof *s.path);
    s.pair = nt_arena_array(&memory, PAIRS_MAX, sizeof *s.pair);
    int rc = nt_arena_check(&memory, err);
    if (rc == 0 && s.rooted->tree) {
        find_pairs(&s, round);
        for (size_t r = 0; r < rounds && s.pairs > 0; r++) {
            load_round(&s, &round[r]);
            for (size_t k = 0; k < s.pairs; k++)
                for (int way = 0; way < WAYS; way++)
                    note_round(&s, &s.pair[k], way, r);
        }
        rc = nt_arena_check(&memory, err);
        for (size_t k = 0; k < s.pairs; k++)
            judge_pair(&s, &s.pair[k]);
        for (size_t k = 0; k < s.pairs; k++)
            if (s.pair[k].confidence >= NT_FAULT_CONFIDENCE)
                add_finding(&s, k, fault, count);
    }
    nt_rooted_tree_destroy(s.rooted);
    return rc;
}
