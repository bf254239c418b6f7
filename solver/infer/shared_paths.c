/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_links.h"

#include <math.h>
#include <string.h>

#include "faults.h"
#include "memory.h"
#include "rooted_tree.h"

/* ---- the rates of links and switches in a round ------------------------------------------------
 *
 * Flows over a tree whose links' bandwidths are known: the rate of each link and switch, and how
 * many of its flows were slower than any link on their paths explains (odd flows). */

/* Share of the bandwidth of a link from which it may be full, with noise of a tenth, and so explain
 * the rates of its flows. */
#define NEARLY_FULL 0.8
#define ODD_SHARE 0.8 /* of the flows over a link or switch that are not explained */

struct carried {
    double MBps;
    uint32_t flows, odd;
};

struct tally {
    const struct nt_model *model; /* borrowed */
    struct nt_rooted_tree *rooted;
    struct carried *link;   /* by channel */
    struct carried *vertex; /* rates into it */
    uint32_t *path;
    uint32_t (*both)[2]; /* by channel: flows that also go over either of two */
    struct nt_arena memory;
};

/* The bandwidth of a channel; NaN: unknown. */
static double bandwidth_of(const struct tally *tally, uint32_t channel)
{
    const struct nt_link *l = &tally->model->link[channel / 2];
    return channel % 2 == 0 ? l->bandwidth_MBps : l->bandwidth_back_MBps;
}

static bool is_odd(const struct carried *carried)
{
    return carried->flows > 0 && (double)carried->odd >= ODD_SHARE * carried->flows;
}
#define NEARLY_ALL 0.9

static void tally_fini(struct tally *tally)
{
    nt_rooted_tree_destroy(tally->rooted);
    nt_arena_fini(&tally->memory);
    tally->rooted = NULL;
}

static int tally_init(struct tally *tally, const struct nt_model *model, struct nt_err *err)
{
    *tally = (struct tally){.model = model};
    if (nt_rooted_tree_create(model, &tally->rooted, err) != 0)
        return -1;
    size_t channels = 2 * model->links + 1, vertices = tally->rooted->vertices + 1;
    tally->link = nt_arena_array(&tally->memory, channels, sizeof *tally->link);
    tally->vertex = nt_arena_array(&tally->memory, vertices, sizeof *tally->vertex);
    tally->path =
        nt_arena_array(&tally->memory, nt_rooted_tree_room(tally->rooted), sizeof *tally->path);
    tally->both = nt_arena_array(&tally->memory, channels, sizeof *tally->both);
    if (nt_arena_check(&tally->memory, err) == 0)
        return 0;
    tally_fini(tally);
    return -1;
}

static size_t find_path(const struct tally *t, const struct nt_measured_flow *f)
{
    return f->rate_MBps > 0 && isfinite(f->rate_MBps) && t->rooted->tree
               ? nt_rooted_tree_path(t->rooted, f->from, f->to, t->path)
               : 0;
}

static struct carried *end_of(const struct tally *t, uint32_t channel)
{
    return &t->vertex[t->rooted->ends[channel / 2][channel % 2 == 0 ? 1 : 0]];
}

/* A link that is unknown, or known as a lower bound, may have been full. */
static bool is_explained(const struct tally *t, size_t hops)
{
    for (size_t i = 0; i < hops; i++) {
        double has = bandwidth_of(t, t->path[i]);
        if (!(t->link[t->path[i]].MBps < NEARLY_FULL * has))
            return true;
    }
    return false;
}

static void add_flow(const struct tally *t, size_t hops, double rate)
{
    for (size_t i = 0; i < hops; i++) {
        struct carried *at[] = {&t->link[t->path[i]], end_of(t, t->path[i])};
        for (int k = 0; k < 2; k++) {
            at[k]->MBps += rate;
            at[k]->flows++;
        }
    }
}

static void add_odd(const struct tally *t, size_t hops)
{
    for (size_t i = 0; i < hops; i++) {
        t->link[t->path[i]].odd++;
        end_of(t, t->path[i])->odd++;
    }
}

/* Replaces the tally. Does nothing if the network is not a tree. */
static void tally_load(struct tally *tally, const struct nt_flow_round *round)
{
    memset(tally->link, 0, 2 * tally->model->links * sizeof *tally->link);
    memset(tally->vertex, 0, tally->rooted->vertices * sizeof *tally->vertex);
    for (size_t k = 0; k < round->flows; k++)
        add_flow(tally, find_path(tally, &round->flow[k]), round->flow[k].rate_MBps);
    for (size_t k = 0; k < round->flows; k++) {
        size_t hops = find_path(tally, &round->flow[k]);
        if (!is_explained(tally, hops))
            add_odd(tally, hops);
    }
}

static void count_beside(const struct tally *t, size_t hops, uint32_t channel, int which)
{
    bool over = false;
    for (size_t i = 0; i < hops; i++)
        over = over || t->path[i] == channel;
    for (size_t i = 0; i < hops && over; i++)
        t->both[t->path[i]][which]++;
}

/* Whether the flows of the round just loaded that go over channels x and y go, nearly all of both,
 * over a third one too. */
static bool flows_meet(struct tally *tally, const struct nt_flow_round *round, uint32_t x,
                       uint32_t y)
{
    memset(tally->both, 0, 2 * tally->model->links * sizeof *tally->both);
    for (size_t k = 0; k < round->flows; k++) {
        size_t hops = find_path(tally, &round->flow[k]);
        count_beside(tally, hops, x, 0);
        count_beside(tally, hops, y, 1);
    }
    for (size_t c = 0; c < 2 * tally->model->links; c++)
        if (tally->both[c][0] >= NEARLY_ALL * tally->link[x].flows &&
            tally->both[c][1] >= NEARLY_ALL * tally->link[y].flows)
            return true;
    return false;
}

/* ---- links that share a path ---- */

#define IDLE 0.1      /* of the bandwidth of a link */
#define TOGETHER 0.75 /* of the sum that two have alone: less is well below it */
#define SAME_SUM 1.1  /* more than the usual sum by this factor shows that they do not share it */
#define ABOVE 1.25    /* a switch that carried more by this factor in another round was not full */
#define LEAST_SD 0.03 /* of a sum, relative */
enum { ROUNDS_MIN = 2, PAIRS_MAX = 256 };

enum { UP, DOWN, WAYS };

/* The rates of two links in one direction. */
struct evidence {
    bool alone[2]; /* each reached its value while the other was idle */
    bool beside;   /* another link below the same switch was full meanwhile */
    bool between;  /* flows from one to the other had less than is explained, too */
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
    struct tally tally;
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
        if (!is_odd(&s->tally.link[channel_of(s, h->child[i], way)]))
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
        tally_load(&s->tally, &round[r]);
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
            s->tally.link[channel].MBps >= NEARLY_FULL * bandwidth_of(&s->tally, channel))
            return true;
    }
    return false;
}

/* Whether the flows over one link of the pair go to the other, which is idle in this direction, and
 * have less than is explained: two of a full mesh have a cable of their own. */
static bool is_slow_between(struct shared *s, const struct pair *p, int way,
                            const struct nt_flow_round *round)
{
    for (int k = 0; k < 2; k++) {
        uint32_t one = channel_of(s, p->child[k], way), other = channel_of(s, p->child[1 - k], way);
        const struct carried *carried = &s->tally.link[one];
        if (is_odd(carried) && s->tally.link[other].flows == 0 &&
            flows_meet(&s->tally, round, one, one) &&
            s->tally.both[nt_channel_back(other)][0] >= NEARLY_ALL * carried->flows)
            return true;
    }
    return false;
}

static void note_round(struct shared *s, struct pair *p, int way, size_t number,
                       const struct nt_flow_round *round)
{
    struct evidence *e = &p->by[way];
    const struct carried *carried[2];
    uint32_t channel[2];
    double value[2];
    for (int k = 0; k < 2; k++) {
        channel[k] = channel_of(s, p->child[k], way);
        carried[k] = &s->tally.link[channel[k]];
        value[k] = bandwidth_of(&s->tally, channel[k]);
    }
    for (int k = 0; k < 2; k++)
        e->alone[k] = e->alone[k] || (carried[k]->MBps >= NEARLY_FULL * value[k] &&
                                      carried[1 - k]->MBps < IDLE * value[1 - k]);
    double sum = carried[0]->MBps + carried[1]->MBps;
    e->between = e->between || is_slow_between(s, p, way, round);
    if (carried[0]->flows == 0 || carried[1]->flows == 0)
        return;
    if (!is_odd(carried[0]) || !is_odd(carried[1])) {
        e->most = fmax(e->most, sum);
        return;
    }
    if (flows_meet(&s->tally, round, channel[0], channel[1]))
        return; /* it is rather that link */
    e->sum += sum;
    e->squares += sum * sum;
    e->through = fmax(e->through, s->tally.vertex[p->parent].MBps);
    e->beside = e->beside || has_full_sibling(s, p, way);
    e->rounds++;
    p->held[number] = true;
}

/* ---- judging ----------------------------------------------------------------------------------*/

static double judge_direction(const struct shared *s, struct pair *p, int way)
{
    const struct evidence *e = &p->by[way];
    if (e->rounds == 0 || e->between || !e->alone[0] || !e->alone[1])
        return 0;
    double n = (double)e->rounds, mean = e->sum / n;
    double alone = bandwidth_of(&s->tally, channel_of(s, p->child[0], way)) +
                   bandwidth_of(&s->tally, channel_of(s, p->child[1], way));
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
        by[way] = judge_direction(s, p, way);
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

/* Among pairs that were slowed down in the same round, the pair that more rounds show explains
 * it. */
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
    if (nt_arena_check(&memory, err) != 0 || tally_init(&s.tally, model, err) != 0)
        return -1;
    find_pairs(&s, round);
    for (size_t r = 0; r < rounds && s.pairs > 0; r++) {
        tally_load(&s.tally, &round[r]);
        for (size_t k = 0; k < s.pairs; k++)
            for (int way = 0; way < WAYS; way++)
                note_round(&s, &s.pair[k], way, r, &round[r]);
    }
    for (size_t k = 0; k < s.pairs; k++)
        judge_pair(&s, &s.pair[k]);
    for (size_t k = 0; k < s.pairs; k++)
        if (s.pair[k].confidence >= NT_FAULT_CONFIDENCE)
            add_finding(&s, k, fault, count);
    tally_fini(&s.tally);
    return nt_arena_check(&memory, err);
}

/* ---- the most that a switch carried ---- */

#define PLATEAU 0.95
#define MORE_FLOWS 1.25
enum { FLOWS_MIN = 2 };

/* The results of a switch in rounds of several flows. */
struct seen {
    double most;
    uint32_t few, many; /* flows in rounds near the most that no link explains; 0: there are none */
};

static void keep_most(const struct carried *carried, struct seen *seen)
{
    if (carried->flows >= FLOWS_MIN)
        seen->most = fmax(seen->most, carried->MBps);
}

static void count_full(const struct carried *carried, struct seen *seen)
{
    if (carried->odd < FLOWS_MIN || carried->MBps < PLATEAU * seen->most)
        return;
    seen->few = seen->few == 0 || carried->flows < seen->few ? carried->flows : seen->few;
    seen->many = carried->flows > seen->many ? carried->flows : seen->many;
}

int nt_switch_throughput_find(struct nt_model *model, const struct nt_flow_round *round,
                              size_t rounds, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct tally tally;
    struct seen *seen = nt_arena_array(&memory, model->switches + 1, sizeof *seen);
    if (nt_arena_check(&memory, err) != 0 || tally_init(&tally, model, err) != 0)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t r = 0; r < rounds; r++) {
            tally_load(&tally, &round[r]);
            for (size_t s = 0; s < model->switches; s++)
                (pass == 0 ? keep_most : count_full)(&tally.vertex[model->hosts + s], &seen[s]);
        }
    for (size_t s = 0; s < model->switches; s++)
        model->throughput[s] =
            (struct nt_throughput){.MBps = seen[s].most > 0 ? seen[s].most : (double)NAN,
                                   .at_least = (double)seen[s].many <= MORE_FLOWS * seen[s].few};
    tally_fini(&tally);
    return 0;
}
