/* SPDX-License-Identifier: Apache-2.0 */
#include "remarks.h"

#include <stdlib.h>
#include <string.h>

#include "comparison_report.h"
#include "graph.h"
#include "names.h"
#include "rooted_tree.h"

/* One of the two networks as it was given; a match has it reduced to the hosts in common. */
struct network {
    const struct nt_map *map;
    const struct nt_model *reduced;
    struct nt_names names;        /* hosts, then switches */
    struct nt_rooted_tree *whole; /* of the map's model */
    uint32_t *count;              /* scratch, a number a vertex */
    bool *side;                   /* scratch, a flag a host of reduced */
};

static int network_init(struct network *n, const struct nt_map *map, const struct nt_model *reduced,
                        struct nt_err *err)
{
    size_t vertices = map->model->hosts + map->model->switches;
    uint32_t index;
    int rc = 0;
    n->map = map;
    n->reduced = reduced;
    for (size_t h = 0; h < map->model->hosts && rc >= 0; h++)
        rc = nt_names_add(&n->names, map->host_name[h], &index, err);
    if (rc < 0)
        return -1;
    n->count = calloc(vertices + 1, sizeof *n->count);
    n->side = calloc(reduced->hosts + 1, sizeof *n->side);
    if (n->count == NULL || n->side == NULL)
        return nt_err_memory(err);
    return nt_rooted_tree_create(map->model, &n->whole, err);
}

static void network_fini(struct network *n)
{
    nt_names_fini(&n->names);
    nt_rooted_tree_destroy(n->whole);
    free(n->count);
    free(n->side);
}

static uint32_t find_host(const struct network *n, const char *name)
{
    uint32_t index = nt_names_find(&n->names, name, strlen(name));
    return index == NT_NAMES_NONE ? NT_NO_VERTEX : index;
}

/* The lowest vertex above all hosts whose flag is that; NT_NO_VERTEX: the top, or none. */
static uint32_t lowest_above(struct network *n, const struct nt_reference_match *match, bool flag)
{
    const struct nt_rooted_tree *t = n->whole;
    uint32_t all = 0, lowest = NT_NO_VERTEX;
    memset(n->count, 0, t->vertices * sizeof *n->count);
    for (size_t h = 0; h < n->reduced->hosts; h++) {
        uint32_t v = find_host(n, match->host_name[h]);
        if (n->side[h] != flag || v == NT_NO_VERTEX)
            continue;
        n->count[v] = 1;
        all++;
    }
    for (size_t k = t->reached; k-- > 0;) { /* children before parents */
        uint32_t v = t->order[k];
        if (lowest == NT_NO_VERTEX && n->count[v] == all && all > 0)
            lowest = v;
        if (t->parent[v] != NT_NO_VERTEX)
            n->count[t->parent[v]] += n->count[v];
    }
    return lowest == t->top ? NT_NO_VERTEX : lowest;
}

/* Where a link of the reduced network is in the whole one. */
static void place_link(struct network *n, const struct nt_reference_match *match, int64_t link,
                       uint32_t at[2])
{
    if (link < 0)
        return;
    const struct nt_link *l = &n->reduced->link[link];
    if (l->a < n->reduced->hosts && l->b < n->reduced->hosts) {
        at[0] = find_host(n, match->host_name[l->a]);
        at[1] = find_host(n, match->host_name[l->b]);
        return;
    }
    if (!n->whole->tree || !nt_compare_side(n->reduced, (uint32_t)link, n->side))
        return;
    uint32_t v = lowest_above(n, match, true);
    v = v == NT_NO_VERTEX ? lowest_above(n, match, false) : v;
    if (v == NT_NO_VERTEX)
        return;
    at[0] = v;
    at[1] = n->whole->parent[v];
}

static void place_host(const struct network *n, const char *name, uint32_t at[2])
{
    at[0] = at[1] = find_host(n, name);
}

static struct nt_remark *add_remark(struct nt_remarks *to, struct nt_strbuf *text,
                                    struct nt_err *err)
{
    struct nt_remark *r = &to->remark[to->count];
    *r = (struct nt_remark){.in_map = {NT_NO_VERTEX, NT_NO_VERTEX},
                            .in_reference = {NT_NO_VERTEX, NT_NO_VERTEX}};
    if (nt_strbuf_finish(text, &r->text, NULL, err) != 0)
        return NULL;
    to->count++;
    return r;
}

static int add_difference(struct nt_remarks *to, const struct nt_reference_match *match, size_t k,
                          struct network n[2], struct nt_err *err)
{
    const struct nt_difference *x = &match->comparison->difference[k];
    struct nt_strbuf text = {0};
    if (nt_comparison_report_sentence(match, k, &text, err) != 0) {
        free(text.text);
        return -1;
    }
    struct nt_remark *r = add_remark(to, &text, err);
    if (r == NULL)
        return -1;
    if (x->kind == NT_DIFFERENCE_HOST_MOVED || x->kind == NT_DIFFERENCE_HOST_MISSING) {
        place_host(&n[0], match->host_name[x->host], r->in_map);
        place_host(&n[1], match->host_name[x->host], r->in_reference);
        return 0;
    }
    place_link(&n[0], match, x->found, r->in_map);
    place_link(&n[1], match, x->expected, r->in_reference);
    if (x->kind == NT_DIFFERENCE_SWITCH_MISSING) { /* the switch itself, not its uplink */
        r->in_map[1] = r->in_map[0];
        r->in_reference[1] = r->in_reference[0];
    }
    return 0;
}

static int add_names(struct nt_remarks *to, const char *const *names, size_t count,
                     const char *what, struct network n[2], struct nt_err *err)
{
    for (size_t k = 0; k < count && to->count < NT_REMARKS_MAX; k++) {
        struct nt_strbuf text = {0};
        nt_strbuf_puts(&text, names[k]);
        nt_strbuf_puts(&text, what);
        struct nt_remark *r = add_remark(to, &text, err);
        if (r == NULL)
            return -1;
        place_host(&n[0], names[k], r->in_map);
        place_host(&n[1], names[k], r->in_reference);
    }
    return 0;
}

int nt_remarks_create(const struct nt_reference_match *match, const struct nt_map *map,
                      const struct nt_map *reference, struct nt_remarks *out, struct nt_err *err)
{
    struct network n[2] = {0};
    struct nt_remarks made = {.remark = calloc(NT_REMARKS_MAX, sizeof *made.remark)};
    int rc = made.remark == NULL ? nt_err_memory(err) : 0;
    if (rc == 0)
        rc = network_init(&n[0], map, match->found, err);
    if (rc == 0)
        rc = network_init(&n[1], reference, match->reference, err);
    for (size_t k = 0; rc == 0 && k < match->comparison->differences && made.count < NT_REMARKS_MAX;
         k++)
        rc = add_difference(&made, match, k, n, err);
    if (rc == 0)
        rc = add_names(&made, match->missing_name, match->missing, ": no answer", n, err);
    if (rc == 0)
        rc =
            add_names(&made, match->unknown_name, match->unknown, ": not in the reference", n, err);
    network_fini(&n[0]);
    network_fini(&n[1]);
    if (rc != 0) {
        nt_remarks_fini(&made);
        return -1;
    }
    *out = made;
    return 0;
}

void nt_remarks_fini(struct nt_remarks *remarks)
{
    for (size_t k = 0; k < remarks->count; k++)
        free(remarks->remark[k].text);
    free(remarks->remark);
    *remarks = (struct nt_remarks){0};
}
