/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fleet.h"
#include "host_match.h"
#include "json_write.h"
#include "lines.h"
#include "strbuf.h"

/* The requested hosts and switches: none, one, or the two ends of a link. */
struct asked {
    const char *name[2];
    size_t names;
};

/* Finds a host of the store or a switch of the cluster's map; NULL: neither. */
static const char *find_name(const struct nt_fleet_cluster *fleet,
                             const struct nt_host_index *hosts, struct nt_word word)
{
    uint32_t host = nt_host_index_find(hosts, word.at, word.bytes);
    if (host != NT_NAMES_NONE)
        return fleet->hosts.name[host];
    for (size_t s = 0; fleet->map != NULL && s < fleet->map->model->switches; s++)
        if (nt_word_is(word, fleet->map->switch_name[s]))
            return fleet->map->switch_name[s];
    return NULL;
}

static int read_word(const struct nt_fleet_cluster *fleet, const struct nt_host_index *hosts,
                     struct nt_word word, const char **name, struct nt_err *err)
{
    *name = find_name(fleet, hosts, word);
    if (*name != NULL)
        return 0;
    bool several = nt_names_find(&hosts->bare, word.at, word.bytes) != NT_NAMES_NONE;
    return nt_err_set(err, NT_ERR_INPUT, "%.*s is %s", nt_line_shown(word.bytes), word.at,
                      several ? "in the store with several domains" : "not in the store");
}

static int read_operand(const struct nt_fleet_cluster *fleet, const char *operand,
                        struct asked *asked, struct nt_err *err)
{
    struct nt_text_line line = {.at = operand, .end = operand + strlen(operand)};
    struct nt_host_index hosts;
    struct nt_word word;
    int rc = 0;
    if (nt_host_index_init(&hosts, fleet->hosts.name, fleet->hosts.count, err) != 0)
        return -1;
    for (; rc == 0 && asked->names < 2 && nt_line_next_word(&line, &word); asked->names++)
        rc = read_word(fleet, &hosts, word, &asked->name[asked->names], err);
    nt_host_index_fini(&hosts);
    if (rc == 0 && (asked->names == 0 || nt_line_next_word(&line, &word)))
        rc = nt_err_set(err, NT_ERR_USAGE, "expected HOST, SWITCH or \"LINK\", found \"%.64s\"",
                        operand);
    return rc;
}

/* Returns whether each requested name is an end of the part, or the part itself. */
static bool is_asked_for(const char *part, const struct asked *asked)
{
    bool all = true;
    for (size_t k = 0; k < asked->names; k++) {
        struct nt_word rest = {part, strlen(part)}, first = nt_word_cut(&rest, ' ');
        all = all && (nt_word_is(first, asked->name[k]) || nt_word_is(rest, asked->name[k]));
    }
    return all;
}

struct arguments {
    const char *store, *days, *output, *operand;
    bool current, json;
    int64_t days_s;
};

static const struct nt_flag flags[] = {
    NT_FLAG_STORE,
    NT_FLAG_DAYS,
    {"current", 0, NULL, NT_AT(current), 1, "List only parts that are degraded now"},
    {"json", 0, NULL, NT_AT(json), 1, "Print the changes as JSON"},
    NT_FLAG_OUTPUT,
    NT_OPERANDS(operand, 1)};

static const struct nt_command_help help = {
    "nettopo fleet since [OPTION...] [HOST|SWITCH|\"LINK\"]",
    "List changes of the latency and bandwidth of links, and when they began. LINK is two names "
    "with a space between them. A change is reported if jobs of two users show it, as is a part "
    "that is degraded in all recent jobs. The exit status is 3 if the store does not contain the "
    "host or switch.\n",
    flags, "nettopo fleet since --store fleet.db n5"};

static void put_changes(struct nt_json_writer *w, const struct nt_fleet_changes *changes,
                        const struct asked *asked, const struct arguments *a)
{
    size_t shown = 0;
    if (a->json) {
        nt_json_begin(w, NULL, '{', true);
        nt_json_begin(w, "changes", '[', true);
    }
    for (size_t k = 0; k < changes->count; k++) {
        const struct nt_fleet_change *c = &changes->change[k];
        char part[NT_PART_BYTES];
        nt_fleet_part_name(changes, c, part);
        if (!is_asked_for(part, asked) || (a->current && !(c->current && c->worse)))
            continue;
        shown++;
        if (a->json)
            nt_fleet_change_put_json(w, c, part);
        else
            nt_fleet_change_put(&w->buf, changes, c);
    }
    if (a->json) {
        nt_json_end(w, ']');
    } else if (shown == 0) {
        nt_strbuf_print(&w->buf, "no changes in %llu job%s\n",
                        (unsigned long long)changes->fleet.sums.jobs,
                        changes->fleet.sums.jobs == 1 ? "" : "s");
    }
}

static int since(const struct arguments *a, struct nt_err *err)
{
    struct nt_fleet_changes changes;
    struct nt_json_writer w = {0};
    struct asked asked = {0};
    if (nt_fleet_changes_load(a->store, a->days_s, true, &changes, err) != 0)
        return -1;
    int rc = a->operand != NULL ? read_operand(&changes.fleet, a->operand, &asked, err) : 0;
    if (rc == 0)
        put_changes(&w, &changes, &asked, a);
    nt_fleet_changes_fini(&changes);
    if (rc != 0)
        return -1;
    return nt_file_write_json(a->output, &w, err);
}

static int since_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.days = "90d", .output = "-"};
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("days", a.days, &a.days_s, err) != 0)
        return -1;
    return since(&a, err);
}

const struct nt_verb nt_fleet_since = {"since", "list changes and their dates", &help, since_run};
