/* SPDX-License-Identifier: Apache-2.0 */
#include "comparison_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "json_write.h"
#include "memory.h"
#include "number.h"
#include "strbuf.h"

enum { NAMES_SHOWN = 6 };

bool nt_comparison_report_differs(const struct nt_reference_match *a)
{
    return a->comparison->differences > 0 || a->unknown > 0 || a->missing > 0;
}

static const char *kind_name(enum nt_difference_kind kind)
{
    static const char *const names[] = {[NT_DIFFERENCE_HOST_MOVED] = "host-moved",
                                        [NT_DIFFERENCE_HOST_MISSING] = "host-missing",
                                        [NT_DIFFERENCE_SWITCH_MISSING] = "switch-missing",
                                        [NT_DIFFERENCE_LINK_SLOW] = "link-slow",
                                        [NT_DIFFERENCE_LINK_NARROW] = "link-narrow"};
    return names[kind];
}

/* Hosts that are marked, the first few by name. */
static void put_hosts(struct nt_strbuf *d, const struct nt_reference_match *a,
                      const struct nt_model *m, const bool *marked)
{
    size_t n = 0, shown = 0;
    for (size_t h = 0; h < m->hosts; h++) {
        n += marked[h];
        if (!marked[h] || shown >= NAMES_SHOWN)
            continue;
        nt_strbuf_print(d, "%s%s", shown == 0 ? "" : " ", a->host_name[h]);
        shown++;
    }
    if (n > shown)
        nt_strbuf_print(d, " and %zu more", n - shown);
}

/* The hosts on the smaller side of a link. */
static void put_side(struct nt_strbuf *d, const struct nt_reference_match *a,
                     const struct nt_model *m, uint32_t link, uint32_t without)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *side = nt_arena_array(&memory, m->hosts, sizeof *side);
    if (side == NULL || !nt_compare_side(m, link, side))
        return;
    if (without < m->hosts)
        side[without] = false;
    put_hosts(d, a, m, side);
}

/* A link by what is attached to it. */
static void put_link(struct nt_strbuf *d, const struct nt_reference_match *a, uint32_t link)
{
    const struct nt_model *m = a->found;
    const struct nt_link *l = &m->link[link];
    if (l->a < m->hosts && l->b < m->hosts) {
        nt_strbuf_print(d, "%s - %s", a->host_name[l->a], a->host_name[l->b]);
    } else if (l->a < m->hosts || l->b < m->hosts) {
        nt_strbuf_print(d, "link of %s", a->host_name[l->a < m->hosts ? l->a : l->b]);
    } else {
        nt_strbuf_puts(d, "uplink of ");
        put_side(d, a, m, link, UINT32_MAX);
    }
}

struct words {
    char *what, *expected, *found;
};

static void words_fini(struct words *w)
{
    free(w->what);
    free(w->expected);
    free(w->found);
}

static void put_figure(struct nt_strbuf *d, const struct nt_difference *x, bool found)
{
    double value = found ? x->is : x->was;
    char number[NT_NUMBER_BYTES];
    if (!isfinite(value)) {
        nt_strbuf_puts(d, "as the other links of its class");
        return;
    }
    nt_number_plain(value, 4, number);
    nt_strbuf_print(d, "%s %s", number, x->kind == NT_DIFFERENCE_LINK_SLOW ? "us" : "MB/s");
}

/* The hosts that share a switch with the host, or are linked with it. */
static bool mark_beside(const struct nt_model *m, uint32_t host, bool *marked)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *at = nt_arena_array(&memory, m->hosts + m->switches, sizeof *at), any = false;
    if (at == NULL)
        return false;
    at[host] = true;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if ((l->a == host && l->b >= m->hosts) || (l->b == host && l->a >= m->hosts))
            at[l->a == host ? l->b : l->a] = true;
    }
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->b < m->hosts && l->b != host && at[l->a])
            any = marked[l->b] = true;
        if (l->a < m->hosts && l->a != host && at[l->b])
            any = marked[l->a] = true;
    }
    return any;
}

/* Beside which hosts it was and is, where these are others; else, as of a whole leaf that has
 * moved, on which side of the link that tells the two networks apart. */
static void put_moved(const struct nt_reference_match *a, const struct nt_difference *x,
                      struct nt_strbuf part[3])
{
    NT_SCOPED struct nt_arena memory = {0};
    const struct nt_model *model[] = {a->reference, a->found};
    const int64_t link[] = {x->expected, x->found};
    bool *beside[2], *side = nt_arena_array(&memory, a->found->hosts, sizeof *side);
    for (int s = 0; s < 2; s++)
        beside[s] = nt_arena_array(&memory, model[s]->hosts, sizeof *beside[s]);
    if (memory.failed != 0)
        return;
    bool any[2];
    for (int s = 0; s < 2; s++)
        any[s] = mark_beside(model[s], x->host, beside[s]);
    bool told = memcmp(beside[0], beside[1], a->found->hosts) != 0;
    for (int s = 0; s < 2; s++) {
        struct nt_strbuf *d = &part[s + 1];
        if (told) {
            nt_strbuf_puts(d, any[s] ? "with " : "alone on its switch");
            put_hosts(d, a, model[s], beside[s]);
            continue;
        }
        bool on =
            link[s] >= 0 && nt_compare_side(model[s], (uint32_t)link[s], side) && side[x->host];
        nt_strbuf_puts(d, link[s] < 0 ? "other neighbours" : on ? "with " : "apart from ");
        if (link[s] >= 0)
            put_side(d, a, model[s], (uint32_t)link[s], x->host);
    }
}

static void put_words(const struct nt_reference_match *a, const struct nt_difference *x,
                      struct nt_strbuf part[3])
{
    switch (x->kind) {
    case NT_DIFFERENCE_HOST_MISSING:
        nt_strbuf_puts(&part[0], a->host_name[x->host]);
        nt_strbuf_puts(&part[1], "present");
        nt_strbuf_puts(&part[2], "no answer");
        return;
    case NT_DIFFERENCE_HOST_MOVED:
        nt_strbuf_puts(&part[0], a->host_name[x->host]);
        put_moved(a, x, part);
        return;
    case NT_DIFFERENCE_SWITCH_MISSING:
        if (x->expected < 0 && x->found < 0) {
            nt_strbuf_puts(&part[0], "switches");
            nt_strbuf_print(&part[1], "%zu", a->reference->switches);
            nt_strbuf_print(&part[2], "%zu", a->found->switches);
            return;
        }
        nt_strbuf_puts(&part[0], "switch over ");
        if (x->expected >= 0)
            put_side(&part[0], a, a->reference, (uint32_t)x->expected, UINT32_MAX);
        else
            put_side(&part[0], a, a->found, (uint32_t)x->found, UINT32_MAX);
        nt_strbuf_puts(&part[1], x->expected >= 0 ? "there" : "none");
        nt_strbuf_puts(&part[2], x->expected >= 0 ? "none" : "there");
        return;
    case NT_DIFFERENCE_LINK_SLOW:
    case NT_DIFFERENCE_LINK_NARROW:
        put_link(&part[0], a, (uint32_t)x->found);
        if (x->kind == NT_DIFFERENCE_LINK_NARROW && x->back)
            nt_strbuf_puts(&part[0], ", back");
        put_figure(&part[1], x, false);
        put_figure(&part[2], x, true);
        return;
    }
}

static int put_difference(const struct nt_reference_match *a, const struct nt_difference *x,
                          struct words *w, struct nt_err *err)
{
    struct nt_strbuf part[3] = {{0}, {0}, {0}};
    char **to[3] = {&w->what, &w->expected, &w->found};
    int rc = 0;
    *w = (struct words){NULL, NULL, NULL};
    put_words(a, x, part);
    for (int k = 0; k < 3; k++)
        if (nt_strbuf_finish(&part[k], to[k], NULL, err) != 0)
            rc = -1;
    if (rc != 0)
        words_fini(w);
    return rc;
}

static void put_json(struct nt_json_writer *w, const char *kind, const struct words *words,
                     double confidence)
{
    nt_json_begin(w, NULL, '{', false);
    nt_json_put_text(w, "kind", kind);
    nt_json_put_text(w, "what", words->what);
    nt_json_put_text(w, "expected", words->expected);
    nt_json_put_text(w, "found", words->found);
    nt_json_put_figure(w, "confidence", confidence, 4);
    nt_json_end(w, '}');
}

int nt_comparison_report_json(const struct nt_reference_match *a, char **text, size_t *bytes,
                              struct nt_err *err)
{
    const struct nt_comparison *c = a->comparison;
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_figure(&w, "similarity_percent", c->similarity_percent, 6);
    nt_json_put_figure(&w, "common_percent", c->common_percent, 6);
    nt_json_put_figure(&w, "figures_percent", c->figures_percent, 6);
    nt_json_put_whole(&w, "hosts", a->found->hosts);
    nt_json_begin(&w, "differences", '[', true);
    for (size_t k = 0; k < c->differences; k++) {
        struct words words;
        if (put_difference(a, &c->difference[k], &words, err) != 0) {
            free(w.buf.text);
            return -1;
        }
        put_json(&w, kind_name(c->difference[k].kind), &words, c->difference[k].confidence);
        words_fini(&words);
    }
    for (size_t k = 0; k < a->missing; k++)
        put_json(
            &w, "host-missing",
            &(struct words){(char *)a->missing_name[k], (char *)"present", (char *)"no answer"}, 1);
    for (size_t k = 0; k < a->unknown; k++)
        put_json(&w, "host-missing",
                 &(struct words){(char *)a->unknown_name[k], (char *)"in the reference",
                                 (char *)"only in the map"},
                 1);
    nt_json_end(&w, ']');
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}

int nt_comparison_report_sentence(const struct nt_reference_match *a, size_t k,
                                  struct nt_strbuf *to, struct nt_err *err)
{
    struct words w;
    if (put_difference(a, &a->comparison->difference[k], &w, err) != 0)
        return -1;
    nt_strbuf_puts(to, w.what);
    nt_strbuf_puts(to, ": expected ");
    nt_strbuf_puts(to, w.expected);
    nt_strbuf_puts(to, ", found ");
    nt_strbuf_puts(to, w.found);
    nt_strbuf_print(to, " (%.2g)", a->comparison->difference[k].confidence);
    words_fini(&w);
    return 0;
}

void nt_comparison_report_summary(const struct nt_reference_match *a, char *text, size_t bytes)
{
    const struct nt_comparison *c = a->comparison;
    snprintf(text, bytes,
             "%zu hosts in common; similarity %.1f %%: shape in common %.1f %%, figures in common "
             "%.1f %%",
             a->found->hosts, c->similarity_percent, c->common_percent, c->figures_percent);
}

int nt_comparison_report_text(const struct nt_reference_match *a, size_t width, char **text,
                              size_t *bytes, struct nt_err *err)
{
    const struct nt_comparison *c = a->comparison;
    struct nt_strbuf d = {0};
    int rc = 0;
    (void)width;
    char summary[160];
    nt_comparison_report_summary(a, summary, sizeof summary);
    nt_strbuf_print(&d, "%s\n", summary);
    for (size_t k = 0; k < a->missing; k++)
        nt_strbuf_print(&d, "%-15s %s: no answer\n", "host-missing", a->missing_name[k]);
    for (size_t k = 0; k < a->unknown; k++)
        nt_strbuf_print(&d, "%-15s %s: not in the reference\n", "host-missing", a->unknown_name[k]);
    for (size_t k = 0; k < c->differences && rc == 0; k++) {
        nt_strbuf_print(&d, "%-15s ", kind_name(c->difference[k].kind));
        rc = nt_comparison_report_sentence(a, k, &d, err);
        nt_strbuf_puts(&d, "\n");
    }
    if (!nt_comparison_report_differs(a))
        nt_strbuf_puts(&d, "no differences\n");
    char *made;
    if (nt_strbuf_finish(&d, &made, bytes, rc == 0 ? err : NULL) != 0)
        return -1;
    if (rc == 0)
        *text = made;
    else
        free(made);
    return rc;
}

static const double WELL = 0.1; /* off the ideal by less: no deviation */

/* Red or blue on white by the share of the largest deviation; grey is as it should be. */
static void colour_of(double laid, double ideal, double most, char text[8])
{
    if (fabs(laid - ideal) <= WELL * ideal) {
        snprintf(text, 8, "#808080");
        return;
    }
    double off = most > 0 ? fmin(fabs(laid - ideal) / most, 1) : 0;
    unsigned pale = (unsigned)(220 * (1 - off));
    if (laid <= ideal)
        snprintf(text, 8, "#ff%02x%02x", pale & 0xff, pale & 0xff);
    else
        snprintf(text, 8, "#%02x%02xff", pale & 0xff, pale & 0xff);
}

int nt_comparison_report_dot(const struct nt_reference_match *a, const double *laid_us,
                             const double *ideal_us, char **text, size_t *bytes, struct nt_err *err)
{
    size_t links = a->whole->model->links;
    NT_SCOPED struct nt_arena memory = {0};
    char(*colour)[8] = nt_arena_array(&memory, links, sizeof *colour);
    const char **each = nt_arena_array(&memory, links, sizeof *each);
    double most = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < links; k++)
        if (isfinite(laid_us[k]) && isfinite(ideal_us[k]))
            most = fmax(most, fabs(laid_us[k] - ideal_us[k]));
    for (size_t k = 0; k < links; k++) {
        each[k] = colour[k];
        if (isfinite(laid_us[k]) && isfinite(ideal_us[k]))
            colour_of(laid_us[k], ideal_us[k], most, colour[k]);
    }
    return nt_export_dot(a->whole, each, text, bytes, err);
}
