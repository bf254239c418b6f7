/* The last part of the adaptive sweep: is the network that it found the right one? */
#include "adaptive.h"

enum { ROUNDS_A_TIER = 8, ROUNDS_MORE = 16, MOST = 20 };

int nt_adaptive_judge(struct nt_adaptive *s, struct nt_err *err)
{
    const struct nt_claim claim = {s->seats, s->lost, &s->classes, &s->merge.clusters, s->noise};
    struct nt_finding finding;
    nt_readings_sort(&s->readings);
    if (nt_verify_judge(&claim, &s->readings, &finding, err) < 0)
        return -1;
    nt_finding_fini(&s->finding);
    s->finding = finding;
    return 0;
}

/* Pairs that cannot be measured leave a few tests wanting. */
void nt_adaptive_decide(struct nt_adaptive *s)
{
    const struct nt_finding *f = &s->finding;
    if (f->against > 0)
        s->verdict = NT_ADAPTIVE_REFUTED;
    else if (f->suspects == 0 && MOST * f->wanted <= s->seats && s->merge.over &&
             s->merge.unsettled == 0)
        s->verdict = NT_ADAPTIVE_SOUND;
    else
        s->verdict = NT_ADAPTIVE_OPEN;
}

/* A network with tiers that stayed open has no answer to verify. */
int nt_adaptive_verify(struct nt_adaptive *s, struct nt_err *err)
{
    const struct nt_claim claim = {s->seats, s->lost, &s->classes, &s->merge.clusters, s->noise};
    s->draw.count = 0;
    if (nt_adaptive_judge(s, err) < 0)
        return -1;
    bool more = s->finding.against == 0 && s->merge.unsettled == 0 &&
                s->tests < ROUNDS_A_TIER * s->classes.count + ROUNDS_MORE;
    if (more && nt_verify_plan(&claim, &s->readings, &s->finding, &s->rng, &s->draw, err) < 0)
        return -1;
    if (s->draw.count > 0) {
        s->tests++;
        return 1;
    }
    nt_adaptive_decide(s);
    return 0;
}
