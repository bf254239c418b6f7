/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { NAME_BYTES_MAX = 255, WARNING_BYTES = 512, WARNINGS_MAX = 10000 };

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int nt_host_name_check(const char *name, struct nt_err *err)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t bytes = strnlen(name, NAME_BYTES_MAX + 1);
    if (bytes == 0)
        return nt_err_set(err, NT_ERR_INPUT, "expected a host name, found nothing");
    if (bytes > NAME_BYTES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "host name %.32s...: expected at most %d characters",
                          name, NAME_BYTES_MAX);
    if (strspn(name, fine) != bytes)
        return nt_err_set(err, NT_ERR_INPUT,
                          "host name \"%s\": expected only letters, digits, '.', '-' and '_'",
                          name);
    return 0;
}

/* Compares two runs of digits by value, moving both behind them. */
static int compare_numbers(const char **a, const char **b)
{
    while (**a == '0' && is_digit((*a)[1]))
        (*a)++;
    while (**b == '0' && is_digit((*b)[1]))
        (*b)++;
    size_t a_digits = 0, b_digits = 0;
    while (is_digit((*a)[a_digits]))
        a_digits++;
    while (is_digit((*b)[b_digits]))
        b_digits++;
    if (a_digits != b_digits)
        return a_digits < b_digits ? -1 : 1;
    int order = memcmp(*a, *b, a_digits);
    *a += a_digits;
    *b += b_digits;
    return order;
}

int nt_name_compare(const char *a, const char *b)
{
    const char *a_all = a, *b_all = b;
    while (*a != '\0' && *b != '\0') {
        if (is_digit(*a) && is_digit(*b)) {
            int order = compare_numbers(&a, &b);
            if (order != 0)
                return order;
        } else {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
        }
    }
    if (*a != '\0' || *b != '\0')
        return *a == '\0' ? -1 : 1;
    return strcmp(a_all, b_all); /* n01 and n1 are different names all the same */
}

const char *const nt_between_names[NT_BETWEEN_END] = {"core", "cache", "numa", "package",
                                                      "machine"};

const char *const nt_status_names[] = {"ok", "partial", "failed"};

const char *nt_status_name(enum nt_status status)
{
    return nt_status_names[status];
}

/* ---- the map --------------------------------------------------------------------------------- */

static void free_all(char **strings, size_t n)
{
    for (size_t k = 0; strings != NULL && k < n; k++)
        free(strings[k]);
    free(strings);
}

void nt_map_destroy(struct nt_map *map)
{
    if (map == NULL)
        return;
    free(map->generator);
    free_all(map->warning, map->warnings);
    free(map->cluster);
    free(map->level);
    free(map->created);
    free(map->sweep.phase);
    if (map->model != NULL) {
        free_all(map->host_name, map->model->hosts);
        free_all(map->switch_name, map->model->switches);
    }
    nt_model_destroy(map->model);
    free(map->machine);
    free(map->machine_of);
    free(map->population_of);
    free(map->fault);
    free(map->loggp);
    free(map->stress);
    if (map->placement != NULL) {
        free(map->placement->order);
        free(map->placement->rank_host);
        free(map->placement->spare);
    }
    free(map->placement);
    free(map);
}

static bool name_all(struct nt_map *map, const struct nt_model *model, const char *const *hosts)
{
    map->generator = strdup("nettopo " NT_VERSION);
    map->cluster = strdup("");
    map->level = strdup("");
    map->created = strdup("");
    map->host_name = calloc(model->hosts + 1, sizeof *map->host_name);
    map->switch_name = calloc(model->switches + 1, sizeof *map->switch_name);
    if (!map->generator || !map->cluster || !map->level || !map->created || !map->host_name ||
        !map->switch_name)
        return false;
    for (size_t k = 0; k < model->hosts; k++) {
        map->host_name[k] = strdup(hosts[k]);
        if (map->host_name[k] == NULL)
            return false;
    }
    for (size_t k = 0; k < model->switches; k++) {
        char name[32];
        snprintf(name, sizeof name, "s%zu", k + 1);
        map->switch_name[k] = strdup(name);
        if (map->switch_name[k] == NULL)
            return false;
    }
    return true;
}

int nt_map_create(struct nt_model *model, const char *const *host_names, struct nt_map **out,
                  struct nt_err *err)
{
    for (size_t k = 0; k < model->hosts; k++)
        if (nt_host_name_check(host_names[k], err) != 0)
            return -1;
    struct nt_map *map = calloc(1, sizeof *map);
    if (map == NULL || !name_all(map, model, host_names)) {
        /* the caller still owns the model; without it the number of names is unknown */
        if (map != NULL) {
            free_all(map->host_name, map->host_name == NULL ? 0 : model->hosts);
            free_all(map->switch_name, map->switch_name == NULL ? 0 : model->switches);
        }
        nt_map_destroy(map);
        return nt_err_memory(err);
    }
    map->model = model;
    *out = map;
    return 0;
}

uint32_t nt_map_machine_hosts(const struct nt_map *map, size_t machine)
{
    uint32_t hosts = 0;
    for (size_t k = 0; map->machine_of != NULL && k < map->model->hosts; k++)
        hosts += map->machine_of[k] == machine;
    return hosts;
}

const char *nt_map_vertex_name(const struct nt_map *map, uint32_t vertex)
{
    size_t hosts = map->model->hosts;
    return vertex < hosts ? map->host_name[vertex] : map->switch_name[vertex - hosts];
}

int nt_map_set_text(char **of, const char *text, struct nt_err *err)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return nt_err_memory(err);
    free(*of);
    *of = copy;
    return 0;
}

int nt_map_warn(struct nt_map *map, struct nt_err *err, const char *format, ...)
{
    char text[WARNING_BYTES];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (used < 0)
        text[0] = '\0';
    for (char *c = text; *c != '\0'; c++) /* it may hold text of a peer; stays one ASCII line */
        if (*c < 0x20 || *c >= 0x7f)
            *c = '?';
    if (map->warnings >= WARNINGS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d warnings", WARNINGS_MAX);
    char **grown = realloc(map->warning, (map->warnings + 1) * sizeof *grown);
    if (grown == NULL)
        return nt_err_memory(err);
    map->warning = grown;
    grown[map->warnings] = strdup(text);
    if (grown[map->warnings] == NULL)
        return nt_err_memory(err);
    map->warnings++;
    return 0;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *names)
{
    char **name = names;
    return nt_name_compare(name[*(const uint32_t *)a], name[*(const uint32_t *)b]);
}

/* order[k] is the old index of the new index k; place is its inverse. */
struct renaming {
    uint32_t *order, *place;
};

static void renaming_fini(struct renaming *r)
{
    free(r->order);
    free(r->place);
}

static int renaming_init(struct renaming *r, char **names, size_t n, struct nt_err *err)
{
    r->order = malloc((n + 1) * sizeof *r->order);
    r->place = malloc((n + 1) * sizeof *r->place);
    if (r->order == NULL || r->place == NULL) {
        renaming_fini(r);
        return nt_err_memory(err);
    }
    for (size_t k = 0; k < n; k++)
        r->order[k] = (uint32_t)k;
    qsort_r(r->order, n, sizeof *r->order, by_name, names);
    for (size_t k = 0; k < n; k++)
        r->place[r->order[k]] = (uint32_t)k;
    return 0;
}

#define PERMUTE(array, saved, order, n)                                                            \
    do {                                                                                           \
        memcpy((saved), (array), (n) * sizeof *(array));                                           \
        for (size_t k_ = 0; k_ < (n); k_++)                                                        \
            memcpy(&(array)[k_], (char *)(saved) + (order)[k_] * sizeof *(array),                  \
                   sizeof *(array));                                                               \
    } while (0)

static int by_ends(const void *a, const void *b)
{
    const struct nt_link *x = a, *y = b;
    return NT_ORDER(x->a, y->a, NT_ORDER(x->b, y->b, 0));
}

static int by_pair(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return NT_ORDER(x[0], y[0], NT_ORDER(x[1], y[1], 0));
}

static uint32_t renamed_vertex(const struct nt_model *m, const struct renaming *host,
                               const struct renaming *sw, uint32_t v)
{
    return v < m->hosts ? host->place[v] : (uint32_t)m->hosts + sw->place[v - m->hosts];
}

static void rename_part(const struct nt_model *m, const struct renaming *host,
                        const struct renaming *sw, struct nt_fault_part *part)
{
    part->a = renamed_vertex(m, host, sw, part->a);
    part->b = renamed_vertex(m, host, sw, part->b);
}

static void rename_fault(const struct nt_model *m, const struct renaming *host,
                         const struct renaming *sw, struct nt_fault *fault)
{
    rename_part(m, host, sw, &fault->part);
    for (uint32_t k = 0; k < fault->others; k++)
        rename_part(m, host, sw, &fault->other[k]);
}

static void apply_renaming(struct nt_map *map, const struct renaming *host,
                           const struct renaming *sw, void *saved)
{
    struct nt_model *m = map->model;
    PERMUTE(map->host_name, saved, host->order, m->hosts);
    PERMUTE(m->overhead_us, saved, host->order, m->hosts);
    PERMUTE(m->missing, saved, host->order, m->hosts);
    PERMUTE(m->host_suspect, saved, host->order, m->hosts);
    if (map->machine_of != NULL)
        PERMUTE(map->machine_of, saved, host->order, m->hosts);
    if (map->population_of != NULL)
        PERMUTE(map->population_of, saved, host->order, m->hosts);
    PERMUTE(map->switch_name, saved, sw->order, m->switches);
    PERMUTE(m->tier, saved, sw->order, m->switches);
    PERMUTE(m->oversubscription, saved, sw->order, m->switches);
    PERMUTE(m->throughput, saved, sw->order, m->switches);
    for (size_t k = 0; k < m->links; k++) {
        m->link[k].a = renamed_vertex(m, host, sw, m->link[k].a);
        m->link[k].b = renamed_vertex(m, host, sw, m->link[k].b);
    }
    for (size_t k = 0; k < map->faults; k++)
        rename_fault(m, host, sw, &map->fault[k]);
    for (size_t k = 0; k < map->stresses; k++) {
        if (!map->stress[k].congested)
            continue;
        map->stress[k].from = renamed_vertex(m, host, sw, map->stress[k].from);
        map->stress[k].to = renamed_vertex(m, host, sw, map->stress[k].to);
    }
    qsort(m->link, m->links, sizeof *m->link, by_ends);
    for (size_t k = 0; k < m->pairs_off; k++) {
        m->pair_off[k][0] = host->place[m->pair_off[k][0]];
        m->pair_off[k][1] = host->place[m->pair_off[k][1]];
    }
    qsort(m->pair_off, m->pairs_off, sizeof *m->pair_off, by_pair);
    m->deciding = 0;
    for (size_t k = 0; map->placement != NULL && k < map->placement->hosts; k++)
        map->placement->order[k] = host->place[map->placement->order[k]];
    for (size_t k = 0; map->placement != NULL && k < map->placement->spares; k++)
        map->placement->spare[k] = host->place[map->placement->spare[k]];
    for (size_t k = 0; map->placement != NULL && k < map->placement->ntasks; k++)
        map->placement->rank_host[k] = host->place[map->placement->rank_host[k]];
}

int nt_map_sort(struct nt_map *map, struct nt_err *err)
{
    struct renaming host, sw;
    size_t most =
        map->model->hosts > map->model->switches ? map->model->hosts : map->model->switches;
    if (renaming_init(&host, map->host_name, map->model->hosts, err) != 0)
        return -1;
    if (renaming_init(&sw, map->switch_name, map->model->switches, err) != 0) {
        renaming_fini(&host);
        return -1;
    }
    void *saved = malloc((most + 1) * sizeof(struct nt_throughput)); /* the widest of them */
    if (saved == NULL) {
        renaming_fini(&host);
        renaming_fini(&sw);
        return nt_err_memory(err);
    }
    apply_renaming(map, &host, &sw, saved);
    free(saved);
    renaming_fini(&host);
    renaming_fini(&sw);
    return 0;
}
