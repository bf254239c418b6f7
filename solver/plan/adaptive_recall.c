/* The adaptive sweep from its record: the same evidence without a planner's rounds. */
#include <math.h>
#include <stdlib.h>

#include "adaptive.h"

/* Readings of one pair stand together, in the order in which they were taken. */
struct recalled {
    uint32_t a, b, turn;
    float ln;
};

static int compare(const void *x, const void *y)
{
    const struct recalled *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    if (p->b != q->b)
        return p->b < q->b ? -1 : 1;
    return p->turn < q->turn ? -1 : p->turn > q->turn;
}

/* Returns how many of the results are readings. */
static size_t take(const struct nt_adaptive *s, const struct nt_result *result, size_t n,
                   struct recalled *out)
{
    size_t taken = 0;
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &result[k];
        if (!r->ok || !(r->value_us > 0) || !isfinite(r->value_us) || r->a >= s->hosts ||
            r->b >= s->hosts || r->a == r->b || s->seat[r->a] == UINT32_MAX ||
            s->seat[r->b] == UINT32_MAX)
            continue;
        uint32_t a = s->seat[r->a], b = s->seat[r->b];
        out[taken++] =
            (struct recalled){a < b ? a : b, a < b ? b : a, (uint32_t)k, (float)log(r->value_us)};
    }
    qsort(out, taken, sizeof *out, compare);
    return taken;
}

/* A first round that was too noisy was taken again: how many readings to leave out. */
static size_t first_again(const struct nt_adaptive *s, const struct recalled *r, size_t n)
{
    size_t half = s->seats / 2, same = 0;
    for (size_t k = 0; k < n; k++)
        same += r[k].turn >= 2 * half && r[k].turn < 3 * half && r[k].b == r[k].a + 1 &&
                r[k].a % 2 == 0;
    return 2 * same > half ? half : 0;
}

/* The calibration's readings two by two, as it took them; the others straight to the ledger: they
 * are no fair sample of the classes. */
static int refill(struct nt_adaptive *s, const struct recalled *r, size_t n, struct nt_err *err)
{
    struct nt_calibration *c = &s->calibration;
    nt_calibration_fini(c);
    *c = (struct nt_calibration){.seats = s->seats, .batches = 1, .room = n};
    c->at = calloc(n + 1, sizeof *c->at);
    c->scratch = calloc(n + 1, sizeof *c->scratch);
    if (c->at == NULL || c->scratch == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", n);
    size_t from = first_again(s, r, n), till = from + nt_calibration_expected(s->seats);
    for (size_t k = 0; k < n; k++) {
        struct nt_twice *last = c->count > 0 ? &c->at[c->count - 1] : NULL;
        if (r[k].turn < from)
            continue;
        if (r[k].turn >= till) {
            if (nt_ledger_add(&s->ledger, r[k].a, r[k].b, (double)r[k].ln, err) < 0)
                return -1;
            continue;
        }
        if (last != NULL && last->a == r[k].a && last->b == r[k].b && isnan(last->second))
            last->second = r[k].ln;
        else
            c->at[c->count++] = (struct nt_twice){r[k].a, r[k].b, r[k].ln, NAN};
    }
    return 0;
}

static int recall(struct nt_adaptive *s, const struct nt_result *result, size_t n,
                  struct nt_err *err)
{
    struct recalled *r = malloc((n + 1) * sizeof *r);
    if (r == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", n);
    int rc = refill(s, r, take(s, result, n, r), err);
    free(r);
    if (rc < 0 || nt_calibration_finish(&s->calibration, &s->ledger, &s->classes, err) < 0)
        return -1;
    s->random_pairs = s->calibration.random_pairs;
    if (nt_merge_init(&s->merge, s->seats, &s->classes, &s->ledger, s->lost, err) < 0)
        return -1;
    s->merging = true;
    if (nt_merge_recall(&s->merge, err) < 0)
        return -1;
    s->phase = NT_ADAPTIVE_OVER;
    return 0;
}

int nt_sweep_adaptive_recall(size_t hosts, const bool *absent, const struct nt_result *result,
                             size_t n, struct nt_model **out, struct nt_err *err)
{
    struct nt_planner *planner;
    if (nt_sweep_adaptive_create(hosts, NULL, absent, 1, 1, &planner, err) < 0)
        return -1;
    struct nt_adaptive *s = (struct nt_adaptive *)planner;
    int rc = s->seats < 2 ? 0 : recall(s, result, n, err);
    if (rc == 0)
        rc = nt_sweep_adaptive_model(planner, out, err);
    nt_planner_destroy(planner);
    return rc;
}
