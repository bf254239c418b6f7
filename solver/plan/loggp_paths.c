/* SPDX-License-Identifier: Apache-2.0 */
#include "loggp_paths.h"

#include <stdlib.h>

#include "reach.h"

enum { SOURCES_MAX = 32, PER_SOURCE_MAX = 2 };

static struct nt_path_class *class_of(struct nt_path_classes *c, uint32_t hops)
{
    for (size_t k = 0; k < c->classes; k++)
        if (c->class[k].hops == hops)
            return &c->class[k];
    return NULL;
}

static void add_candidate(struct nt_path_class *class, const struct nt_reach *reach, uint32_t to)
{
    if (class->candidates == NT_LOGGP_CANDIDATES_MAX || reach->hops[to] > NT_LOGGP_HOPS_MAX)
        return;
    struct nt_candidate *c = &class->candidate[class->candidates++];
    c->pair[0] = reach->source;
    c->pair[1] = to;
    c->links = 0;
    for (uint32_t v = to; v != reach->source; v = reach->from[v])
        c->link[c->links++] = reach->link[v];
}

/* ---- which classes there are ---- */
static void note_hops(const struct nt_model *m, const struct nt_reach *reach, bool *seen)
{
    for (uint32_t h = 0; h < m->hosts; h++)
        if (reach->hops[h] != NT_REACH_NONE && reach->hops[h] <= NT_LOGGP_HOPS_MAX &&
            !m->missing[h])
            seen[reach->hops[h]] = true;
}

static int make_classes(struct nt_path_classes *c, const bool *seen, struct nt_err *err)
{
    for (uint32_t hops = 1; hops <= NT_LOGGP_HOPS_MAX; hops++) {
        if (!seen[hops])
            continue;
        if (c->classes == NT_LOGGP_CLASSES_MAX) {
            c->class[NT_LOGGP_CLASSES_MAX - 1].hops = hops;
            continue;
        }
        struct nt_path_class *class = &c->class[c->classes++];
        class->hops = hops;
        class->candidate = calloc(NT_LOGGP_CANDIDATES_MAX, sizeof *class->candidate);
        if (class->candidate == NULL)
            return nt_err_memory(err);
    }
    return 0;
}

/* The nearest hosts above the source by number, so that the sources' pairs differ. */
static void note_candidates(struct nt_path_classes *c, const struct nt_model *m,
                            const struct nt_reach *reach)
{
    size_t taken[NT_LOGGP_CLASSES_MAX] = {0};
    for (uint32_t k = 1; k < m->hosts; k++) {
        uint32_t to = (uint32_t)((reach->source + (uint64_t)k) % m->hosts);
        if (m->missing[to] || reach->hops[to] == NT_REACH_NONE)
            continue;
        struct nt_path_class *class = class_of(c, reach->hops[to]);
        if (class != NULL && taken[class - c->class]++ < PER_SOURCE_MAX)
            add_candidate(class, reach, to);
    }
}

/* Looks from hosts spread over all that answer. */
struct search {
    struct nt_path_classes *classes;
    bool seen[NT_LOGGP_HOPS_MAX + 1];
};

static int search_from(const struct nt_model *m, struct search *s, bool candidates,
                       struct nt_err *err)
{
    size_t step = m->hosts / SOURCES_MAX + 1;
    for (size_t h = 0; h < m->hosts; h += step) {
        struct nt_reach *reach;
        if (m->missing[h])
            continue;
        if (nt_reach_create(m, (uint32_t)h, &reach, err) != 0)
            return -1;
        if (candidates)
            note_candidates(s->classes, m, reach);
        else
            note_hops(m, reach, s->seen);
        nt_reach_destroy(reach);
    }
    return 0;
}

/* ---- which go together ---- */
static bool paths_clash(const struct nt_candidate *a, const struct nt_candidate *b)
{
    for (int i = 0; i < 2; i++)
        if (a->pair[i] == b->pair[0] || a->pair[i] == b->pair[1])
            return true;
    for (size_t i = 0; i < a->links; i++)
        for (size_t j = 0; j < b->links; j++)
            if (a->link[i] == b->link[j])
                return true;
    return false;
}

static bool candidate_fits(const struct nt_path_classes *c, size_t k,
                           const struct nt_candidate *candidate, size_t classes)
{
    for (size_t j = 0; j < classes; j++)
        if (j != k && c->class[j].group == c->class[k].group &&
            paths_clash(&c->class[j].candidate[c->class[j].chosen], candidate))
            return false;
    return true;
}

static bool choose_candidates(struct nt_path_classes *c, size_t k, size_t classes, const bool *lost)
{
    struct nt_path_class *class = &c->class[k];
    for (size_t i = 0; i < class->candidates; i++) {
        const struct nt_candidate *candidate = &class->candidate[i];
        if (lost != NULL && (lost[candidate->pair[0]] || lost[candidate->pair[1]]))
            continue;
        if (!candidate_fits(c, k, candidate, classes))
            continue;
        class->chosen = i;
        return true;
    }
    return false;
}

static void make_groups(struct nt_path_classes *c)
{
    for (size_t k = 0; k < c->classes; k++) {
        bool placed = false;
        for (size_t g = 0; g < c->groups && !placed; g++) {
            c->class[k].group = g;
            placed = choose_candidates(c, k, k, NULL);
        }
        if (placed)
            continue;
        c->class[k].group = c->groups++;
        c->class[k].chosen = 0;
    }
}

bool nt_path_class_replace(struct nt_path_classes *classes, size_t k, const bool *lost)
{
    return choose_candidates(classes, k, classes->classes, lost);
}

int nt_path_classes_init(struct nt_path_classes *out, const struct nt_model *model,
                         struct nt_err *err)
{
    struct search s = {.classes = out};
    *out = (struct nt_path_classes){0};
    if (search_from(model, &s, false, err) != 0 || make_classes(out, s.seen, err) != 0 ||
        search_from(model, &s, true, err) != 0) {
        nt_path_classes_fini(out);
        return -1;
    }
    make_groups(out);
    return 0;
}

void nt_path_classes_fini(struct nt_path_classes *classes)
{
    for (size_t k = 0; k < classes->classes; k++)
        free(classes->class[k].candidate);
    *classes = (struct nt_path_classes){0};
}
