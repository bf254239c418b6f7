/* The last part of the adaptive sweep: is the network that it found the right one? */
#include <string.h>

#include "adaptive.h"

enum { ROUNDS_A_TIER = 8, ROUNDS_MORE = 16, MOST = 20 };

static struct nt_found_tree claim_of(const struct nt_adaptive *s)
{
    return (struct nt_found_tree){s->seats,           s->lost,  &s->classes,
                                  &s->merge.clusters, &s->slow, s->noise};
}

int nt_adaptive_judge(struct nt_adaptive *s, struct nt_err *err)
{
    const struct nt_found_tree claim = claim_of(s);
    struct nt_finding finding;
    nt_readings_sort(&s->readings);
    if (nt_verify_judge(&claim, &s->readings, &finding, err) < 0)
        return -1;
    nt_finding_fini(&s->finding);
    s->finding = finding;
    s->judged = s->readings.count;
    return 0;
}

/* Pairs that cannot be measured leave a few tests wanting. */
void nt_adaptive_decide(struct nt_adaptive *s)
{
    const struct nt_finding *f = &s->finding;
    if (f->against > 0)
        s->verdict = NT_ADAPTIVE_REFUTED;
    else if (f->suspects == 0 && MOST * f->wanted <= s->seats && s->merge.over &&
             s->merge.unsettled == 0 && nt_slow_all_placed(&s->slow))
        s->verdict = NT_ADAPTIVE_SOUND;
    else
        s->verdict = NT_ADAPTIVE_OPEN;
}

/* Where slow hosts hang, and who is one, is up to all readings. */
static int judge_anew(struct nt_adaptive *s, struct nt_err *err)
{
    if (s->judged == s->readings.count)
        return 0;
    if (s->slow.count == 0 && nt_adaptive_judge(s, err) < 0)
        return -1;
    return s->slow.count > 0 || s->finding.against > 0 ? nt_adaptive_recall(s, err) : 0;
}

bool nt_adaptive_is_placing(const struct nt_adaptive *s)
{
    return (s->phase == NT_ADAPTIVE_VERIFY || s->placing) && !nt_slow_all_placed(&s->slow);
}

static int plan(struct nt_adaptive *s, struct nt_err *err)
{
    const struct nt_found_tree claim = claim_of(s);
    struct nt_places places = nt_adaptive_places(s);
    if (nt_slow_all_placed(&s->slow))
        return nt_verify_plan(&claim, &s->readings, &s->finding, &s->rng, &s->draw, err);
    if (s->late >= NT_ADAPTIVE_LATE_MAX)
        return 0;
    memset(s->draw.busy, 0, s->seats * sizeof *s->draw.busy);
    int late = nt_slow_plan(&places, &s->slow, &s->draw, err);
    s->late += late > 0;
    return late;
}

/* A record without rounds that verify is taken for one that was cut short: where all that could be
 * tested was read before, one of them reads some of it again. */
static void draw_any(struct nt_adaptive *s)
{
    uint32_t waiting = UINT32_MAX;
    for (uint32_t i = 0; i < s->seats; i++) {
        if (s->lost[i])
            continue;
        if (waiting == UINT32_MAX) {
            waiting = i;
            continue;
        }
        s->draw.seat[s->draw.count][0] = waiting;
        s->draw.seat[s->draw.count++][1] = i;
        waiting = UINT32_MAX;
    }
}

static size_t most_rounds(const struct nt_adaptive *s)
{
    const struct nt_found_tree claim = claim_of(s);
    return ROUNDS_A_TIER * s->classes.count + ROUNDS_MORE +
           (nt_verify_asks_all(&claim) ? 2 * s->seats : 0);
}

/* A network with tiers that stayed open has no answer to verify. */
int nt_adaptive_verify(struct nt_adaptive *s, struct nt_err *err)
{
    s->draw.count = 0;
    if (judge_anew(s, err) < 0)
        return -1;
    bool more = s->finding.against == 0 && s->merge.unsettled == 0 && s->tests < most_rounds(s);
    if (more && plan(s, err) < 0)
        return -1;
    if (more && s->tests == 0 && s->draw.count == 0)
        draw_any(s);
    if (s->draw.count > 0) {
        s->tests++;
        return 1;
    }
    nt_adaptive_decide(s);
    return 0;
}
