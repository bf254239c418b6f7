#include "crew.h"

#include <stdlib.h>
#include <string.h>

enum { STRIKES_OUT = 3, STRIKES_MAX = 100 };

static int no_memory(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "list of hosts: out of memory");
}

/* ---- who shares the cores of a machine ---- */
struct tenant {
    unsigned char machine[NT_WIRE_MACHINE_BYTES];
    uint32_t rank, cores;
};

static int by_machine(const void *a, const void *b)
{
    const struct tenant *x = a, *y = b;
    return memcmp(x->machine, y->machine, sizeof x->machine);
}

static void share_cores(struct tenant *tenant, size_t n, struct nt_peer_table *table)
{
    qsort(tenant, n, sizeof *tenant, by_machine);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && by_machine(&tenant[i], &tenant[end]) == 0;)
            end++;
        for (size_t k = i; k < end; k++)
            table->seat[tenant[k].rank].own_core = tenant[k].cores >= end - i;
    }
}

/* ---- what hosts are inside ---- */
static int add_model(struct nt_crew *crew, const char *text, uint32_t *index, struct nt_err *err)
{
    *index = nt_names_find(&crew->models, text, strlen(text));
    if (*index != NT_NAMES_NONE)
        return 0;
    char *copy = strdup(text);
    if (copy == NULL || nt_names_add(&crew->models, copy, index, err) != 0) {
        free(copy);
        return no_memory(err);
    }
    crew->model[*index] = copy; /* there is room for one a host */
    return 0;
}

/* Nonsense costs only itself. */
static int keep_inside(struct nt_crew *crew, size_t host, const struct nt_greeting *greeting,
                       struct nt_err *err)
{
    struct nt_crew_inside *inside = &crew->inside[host];
    struct nt_machine machine;
    char text[NT_MACHINE_TEXT_BYTES];
    if (greeting->inside[0] == '\0' || nt_machine_parse(greeting->inside, &machine, NULL) != 0)
        return 0;
    nt_machine_write(&machine, text);
    for (int k = 0; k < NT_BETWEEN_END; k++)
        inside->core_us[k] = (float)greeting->core_us[k];
    return add_model(crew, text, &inside->model, err);
}

int nt_crew_record_inside(const struct nt_crew *crew, struct nt_samples *samples,
                          struct nt_err *err)
{
    uint32_t index;
    for (size_t k = 0; k < crew->models.count; k++)
        if (nt_samples_add_model(samples, crew->model[k], &index, err) != 0)
            return -1;
    for (size_t h = 0; h < crew->hosts; h++) {
        const struct nt_crew_inside *inside = &crew->inside[h];
        if (inside->model == NT_NOBODY)
            continue;
        if (nt_samples_set_model(samples, h, inside->model, err) != 0)
            return -1;
        for (int k = 0; k < NT_BETWEEN_END; k++)
            if (inside->core_us[k] > 0 &&
                nt_samples_set_cores(samples, h, (enum nt_between)k, (double)inside->core_us[k],
                                     err) != 0)
                return -1;
    }
    return 0;
}

/* ---- the crew ---- */
static int add_host(struct nt_crew *crew, size_t rank, bool came, const char *name,
                    const char *gone, struct nt_err *err)
{
    size_t host = crew->hosts;
    crew->name[host] = strdup(name);
    crew->gone[host] = gone == NULL ? NULL : strdup(gone);
    if (crew->name[host] == NULL || (gone != NULL && crew->gone[host] == NULL))
        return no_memory(err);
    crew->rank_of[host] = came ? (uint32_t)rank : NT_NOBODY;
    crew->host_of[rank] = (uint32_t)host;
    crew->inside[host].model = NT_NOBODY;
    crew->hosts++;
    return 0;
}

/* What the piece of a rank says, or why there is nothing. */
static bool hear(const struct nt_piece *piece, struct nt_greeting *greeting, struct nt_err *why)
{
    if (!piece->present) {
        nt_err_set(why, NT_ERR_SYSTEM, "did not answer");
        return false;
    }
    if (nt_greeting_decode(piece->data, piece->bytes, greeting, why) != 0)
        return false;
    if (greeting->address_bytes == 0) {
        nt_err_set(why, NT_ERR_SYSTEM, "%s",
                   greeting->reason[0] == '\0' ? "no network address" : greeting->reason);
        return false;
    }
    return true;
}

static int muster(struct nt_crew *crew, const struct nt_piece *pieces, const char *const *known,
                  struct nt_names *names, struct tenant *tenant, struct nt_peer_table *table,
                  struct nt_err *err)
{
    size_t tenants = 0;
    uint32_t host;
    for (size_t rank = 0; rank < crew->ranks; rank++) {
        struct nt_greeting greeting = {0};
        struct nt_err why = {0};
        bool well = hear(&pieces[rank], &greeting, &why);
        crew->host_of[rank] = NT_NOBODY;
        const char *name = known != NULL ? known[rank] : greeting.host;
        if (name[0] == '\0' || nt_names_find(names, name, strlen(name)) != NT_NAMES_NONE)
            continue;
        if (add_host(crew, rank, pieces[rank].present, name, well ? NULL : why.text, err) != 0 ||
            nt_names_add(names, crew->name[crew->hosts - 1], &host, err) != 0)
            return -1;
        if (!well)
            continue;
        if (keep_inside(crew, host, &greeting, err) != 0)
            return -1;
        table->seat[rank] = (struct nt_peer){false, greeting.address, greeting.address_bytes};
        tenant[tenants].rank = (uint32_t)rank;
        tenant[tenants].cores = greeting.cores;
        memcpy(tenant[tenants++].machine, greeting.machine, sizeof greeting.machine);
    }
    share_cores(tenant, tenants, table);
    return 0;
}

static bool make_room(struct nt_crew *crew, struct nt_peer_table *table, struct tenant **tenant)
{
    size_t n = crew->ranks + 1;
    crew->host_of = calloc(n, sizeof *crew->host_of);
    crew->rank_of = calloc(n, sizeof *crew->rank_of);
    crew->name = calloc(n, sizeof *crew->name);
    crew->gone = calloc(n, sizeof *crew->gone);
    crew->strikes = calloc(n, sizeof *crew->strikes);
    crew->inside = calloc(n, sizeof *crew->inside);
    crew->model = calloc(n, sizeof *crew->model);
    table->seat = calloc(n, sizeof *table->seat);
    *tenant = calloc(n, sizeof **tenant);
    return crew->host_of != NULL && crew->rank_of != NULL && crew->name != NULL &&
           crew->gone != NULL && crew->strikes != NULL && crew->inside != NULL &&
           crew->model != NULL && table->seat != NULL && *tenant != NULL;
}

int nt_crew_create(const struct nt_piece *pieces, size_t ranks, const char *const *known,
                   struct nt_crew **out, struct nt_peer_table *table, struct nt_err *err)
{
    if (ranks > NT_WIRE_RANKS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu ranks: at most %d", ranks,
                          (int)NT_WIRE_RANKS_MAX);
    struct nt_peer_table made = {.ranks = ranks};
    struct nt_names names = {0};
    struct tenant *tenant = NULL;
    struct nt_crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL)
        return no_memory(err);
    crew->ranks = ranks;
    int rc = make_room(crew, &made, &tenant)
                 ? muster(crew, pieces, known, &names, tenant, &made, err)
                 : no_memory(err);
    nt_names_fini(&names);
    free(tenant);
    if (rc != 0) {
        nt_peer_table_fini(&made);
        nt_crew_destroy(crew);
        return -1;
    }
    *out = crew;
    *table = made;
    return 0;
}

void nt_crew_destroy(struct nt_crew *crew)
{
    if (crew == NULL)
        return;
    for (size_t i = 0; i < crew->hosts; i++) {
        free(crew->name[i]);
        free(crew->gone[i]);
    }
    free(crew->host_of);
    free(crew->rank_of);
    free(crew->name);
    free(crew->gone);
    free(crew->strikes);
    for (size_t k = 0; k < crew->models.count; k++)
        free(crew->model[k]);
    free(crew->model);
    nt_names_fini(&crew->models);
    free(crew->inside);
    free(crew);
}

size_t nt_crew_present(const struct nt_crew *crew)
{
    size_t n = 0;
    for (size_t i = 0; i < crew->hosts; i++)
        n += crew->gone[i] == NULL;
    return n;
}

int nt_crew_lose(struct nt_crew *crew, uint32_t host, const char *reason, struct nt_err *err)
{
    if (crew->gone[host] != NULL)
        return 0;
    crew->gone[host] = strdup(reason);
    return crew->gone[host] == NULL ? no_memory(err) : 0;
}

void nt_crew_suspect(struct nt_crew *crew, uint32_t host)
{
    if (crew->strikes[host] < STRIKES_MAX)
        crew->strikes[host]++;
}

void nt_crew_judge(struct nt_crew *crew, uint32_t a, uint32_t b, bool ok, uint32_t *lost)
{
    unsigned char *x = &crew->strikes[a], *y = &crew->strikes[b];
    *lost = NT_NOBODY;
    if (ok) {
        *x = *y = 0;
        return;
    }
    if ((*x == 0) != (*y == 0)) {
        *lost = *x > 0 ? a : b;
        return; /* explained: nothing against the other */
    }
    nt_crew_suspect(crew, a);
    nt_crew_suspect(crew, b);
    if (*x != *y && (*x >= STRIKES_OUT || *y >= STRIKES_OUT))
        *lost = *x > *y ? a : b;
}

bool nt_crew_in_doubt(const struct nt_crew *crew, uint32_t a, uint32_t b, unsigned strikes)
{
    return crew->gone[a] == NULL && crew->gone[b] == NULL && crew->strikes[a] >= strikes &&
           crew->strikes[b] >= strikes;
}

uint32_t nt_crew_witness(const struct nt_crew *crew)
{
    for (uint32_t h = 0; h < crew->hosts; h++)
        if (crew->gone[h] == NULL && crew->strikes[h] == 0)
            return h;
    return NT_NOBODY;
}
