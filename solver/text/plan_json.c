/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "host_match.h"
#include "json.h"
#include "json_write.h"
#include "memory.h"

static void put_pair(struct nt_json_writer *w, const struct nt_plan *plan, size_t i,
                     const char *const *host_name)
{
    nt_json_begin(w, NULL, '[', false);
    nt_json_put_text(w, NULL, host_name[plan->pair[i][0]]);
    nt_json_put_text(w, NULL, host_name[plan->pair[i][1]]);
    nt_json_end(w, ']');
}

static void put_rounds(struct nt_json_writer *w, const struct nt_plan *plan,
                       const char *const *host_name)
{
    nt_json_begin(w, "rounds", '[', true);
    for (size_t i = 0; i < plan->pairs; i++) {
        if (i == 0 || plan->round[i] != plan->round[i - 1])
            nt_json_begin(w, NULL, '[', false);
        put_pair(w, plan, i, host_name);
        if (i + 1 == plan->pairs || plan->round[i] != plan->round[i + 1])
            nt_json_end(w, ']');
    }
    nt_json_end(w, ']');
}

int nt_plan_write(const struct nt_plan *plan, const char *const *host_name, char **text,
                  size_t *bytes, struct nt_err *err)
{
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_whole(&w, "rank", plan->rank);
    nt_json_begin(&w, "pairs", '[', true);
    for (size_t i = 0; i < plan->pairs; i++)
        put_pair(&w, plan, i, host_name);
    nt_json_end(&w, ']');
    put_rounds(&w, plan, host_name);
    nt_json_put_whole(&w, "lower_bound", plan->lower_bound);
    nt_json_put_figure(&w, "amplification_rms", plan->amplification_rms, 9);
    nt_json_put_figure(&w, "amplification_max", plan->amplification_max, 9);
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct read_pair {
    char *host[2]; /* owned */
};

struct read_round {
    struct read_pair *pair; /* owned */
    size_t pairs;
};

struct read_rounds {
    struct read_round *round; /* owned */
    size_t rounds;
};

/* clang-format off */
static const struct nt_json_field host_field = {.name = "", .type = NT_JSON_STRING, .must = true};
static const struct nt_json_field pair_field = {.name = "", .type = NT_JSON_LIST, .item = &host_field,
    .bytes = sizeof(char *), .items_max = 2, .within = true, .numbered = true};
static const struct nt_json_field round_field = {.name = "", .type = NT_JSON_LIST, .item = &pair_field,
    .bytes = sizeof(struct read_pair), .numbered = true,
    .count_at = offsetof(struct read_round, pairs), .count_bytes = sizeof(size_t)};
static const struct nt_json_field plan_fields[] = {
    {.name = "rounds", .type = NT_JSON_LIST, .must = true, .item = &round_field,
     .bytes = sizeof(struct read_round), .numbered = true,
     .count_at = offsetof(struct read_rounds, rounds), .count_bytes = sizeof(size_t)},
    {0}};
/* clang-format on */

static void rounds_fini(struct read_rounds *r)
{
    for (size_t k = 0; k < r->rounds; k++) {
        for (size_t i = 0; i < r->round[k].pairs; i++) {
            free(r->round[k].pair[i].host[0]);
            free(r->round[k].pair[i].host[1]);
        }
        free(r->round[k].pair);
    }
    free(r->round);
}

static int read_rounds(const char *file, struct json_object *root, struct read_rounds *rounds,
                       struct nt_err *err)
{
    struct nt_findings findings = {0};
    struct nt_json_reader r = {
        .findings = &findings, .err = err, .at = {.from = root, .row = rounds}};
    nt_json_read(&r, plan_fields, NULL, 0);
    int rc = r.no_memory ? -1 : 0;
    if (rc == 0 && findings.count > 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s: %s. Make the plan with \"nettopo plan\".", file,
                        findings.line[0]);
    nt_findings_fini(&findings);
    return rc;
}

/* Reads the pairs of one round. used[h]: 1 + the last round with the host. */
static int take_round(const struct read_rounds *rounds, size_t k, const struct nt_host_index *hosts,
                      size_t *used, struct nt_plan *plan)
{
    size_t before = plan->pairs;
    for (size_t i = 0; i < rounds->round[k].pairs; i++) {
        const struct read_pair *pair = &rounds->round[k].pair[i];
        uint32_t host[2];
        for (int end = 0; end < 2; end++)
            host[end] = nt_host_index_find(hosts, pair->host[end], strlen(pair->host[end]));
        if (host[0] == NT_NAMES_NONE || host[1] == NT_NAMES_NONE) {
            plan->absent++;
            continue;
        }
        if (host[0] == host[1] || used[host[0]] == k + 1 || used[host[1]] == k + 1)
            return -1;
        used[host[0]] = used[host[1]] = k + 1;
        memcpy(plan->pair[plan->pairs], host, sizeof host);
        plan->round[plan->pairs++] = (uint32_t)plan->rounds;
    }
    plan->rounds += plan->pairs > before;
    return 0;
}

static int take_rounds(const char *file, const struct read_rounds *rounds,
                       const struct nt_names *hosts, struct nt_plan *plan, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_host_index index;
    size_t *used = nt_arena_array(&memory, hosts->count, sizeof *used), k = 0;
    if (nt_arena_check(&memory, err) != 0 ||
        nt_host_index_init(&index, hosts->name, hosts->count, err) != 0)
        return -1;
    plan->pairs = 0;
    while (k < rounds->rounds && take_round(rounds, k, &index, used, plan) == 0)
        k++;
    nt_host_index_fini(&index);
    if (k < rounds->rounds)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: rounds[%zu]: expected each host once, found one twice", file, k);
    if (plan->pairs == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "%s: expected pairs of this job's hosts, found none. Give \"nettopo "
                          "plan\" routes with the names of the hosts.",
                          file);
    return 0;
}

int nt_plan_read(const char *file, const char *text, size_t bytes, const struct nt_names *hosts,
                 struct nt_plan **out, struct nt_err *err)
{
    struct json_object *root;
    struct read_rounds rounds = {0};
    struct nt_plan *plan = NULL;
    size_t pairs = 0;
    if (nt_json_parse(file, text, bytes, &root, err) != 0)
        return -1;
    int rc = read_rounds(file, root, &rounds, err);
    for (size_t k = 0; rc == 0 && k < rounds.rounds; k++)
        pairs += rounds.round[k].pairs;
    if (rc == 0)
        rc = nt_plan_create(pairs, &plan, err);
    if (rc == 0)
        rc = take_rounds(file, &rounds, hosts, plan, err);
    rounds_fini(&rounds);
    nt_json_free(root);
    if (rc == 0)
        *out = plan;
    else
        nt_plan_destroy(plan);
    return rc;
}
