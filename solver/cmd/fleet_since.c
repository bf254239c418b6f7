/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fleet.h"
#include "json_write.h"
#include "strbuf.h"

static const char help[] =
    "usage: nettopo fleet since [OPTION...] [HOST|SWITCH|\"LINK\"]\n"
    "\n"
    "What has changed, since when: of each link its latency and bandwidth in all jobs that "
    "crossed\n"
    "it. A change is stated when jobs of at least two users say so, as is what all jobs find "
    "worse\n"
    "than its like since some day, or from the first one on. Without an operand all of them; LINK\n"
    "is two names with a blank between them. Exits with 3 if no host or switch has the name.\n"
    "\n"
    "  --store FILE       default: fleet_store of nettopo.conf\n"
    "  --days SPAN        jobs of so long before the last one; default 90d\n"
    "  --current          only what is worse now\n"
    "  --json             as JSON\n"
    "  -o, --output FILE  written whole or not at all; default -\n"
    "\n"
    "Example: nettopo fleet since --store fleet.db n5\n";

/* The operand is one of the two names, or both. */
static bool is_asked_for(const char *part, const char *operand)
{
    size_t n = operand != NULL ? strlen(operand) : 0;
    const char *blank = strchr(part, ' ');
    size_t first = blank != NULL ? (size_t)(blank - part) : strlen(part);
    return operand == NULL || strcmp(part, operand) == 0 ||
           (n == first && memcmp(part, operand, n) == 0) ||
           (blank != NULL && strcmp(blank + 1, operand) == 0);
}

/* A host of the store, or a switch of the cluster's map. */
static bool is_known(const struct nt_fleet_cluster *fleet, const char *name, size_t bytes)
{
    bool known = nt_names_find(&fleet->hosts, name, bytes) != NT_NAMES_NONE;
    for (size_t s = 0; fleet->map != NULL && !known && s < fleet->map->model->switches; s++)
        known = strlen(fleet->map->switch_name[s]) == bytes &&
                memcmp(fleet->map->switch_name[s], name, bytes) == 0;
    return known;
}

static int check_operand(const struct nt_fleet_cluster *fleet, const char *operand,
                         struct nt_err *err)
{
    for (const char *at = operand; at != NULL && *at != '\0';) {
        size_t bytes = strcspn(at, " ");
        if (!is_known(fleet, at, bytes))
            return nt_err_set(err, NT_ERR_INPUT,
                              "nothing is known of %.*s: no host or switch has this name",
                              (int)bytes, at);
        at += bytes + strspn(at + bytes, " ");
    }
    return 0;
}

struct arguments {
    const char *store, *output, *operand;
    bool current, json;
    int64_t days_s;
};

static void put_changes(struct nt_json_writer *w, const struct nt_fleet_changes *changes,
                        const struct arguments *a)
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
        if (!is_asked_for(part, a->operand) || (a->current && !(c->current && c->worse)))
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
        nt_strbuf_print(&w->buf, "no changes in %llu jobs\n",
                        (unsigned long long)changes->fleet.sums.jobs);
    }
}

static int since(const struct arguments *a, struct nt_err *err)
{
    struct nt_fleet_changes changes;
    struct nt_json_writer w = {0};
    if (nt_fleet_changes_load(a->store, a->days_s, true, &changes, err) != 0)
        return -1;
    int rc = check_operand(&changes.fleet, a->operand, err);
    if (rc == 0)
        put_changes(&w, &changes, a);
    nt_fleet_changes_fini(&changes);
    if (rc != 0)
        return -1;
    return nt_file_write_json(a->output, &w, err);
}

static int since_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.output = "-"};
    const char *days = "90d";
    const struct nt_flag flags[] = {{"store", 0, &a.store, NULL},
                                    {"days", 0, &days, NULL},
                                    {"current", 0, NULL, &a.current},
                                    {"json", 0, NULL, &a.json},
                                    {"output", 'o', &a.output, NULL}};
    if (nt_command_line_options(argc, argv, flags, 5, &a.operand, 1, err) != 0 ||
        nt_fleet_span("days", days, &a.days_s, err) != 0)
        return -1;
    return since(&a, err);
}

const struct nt_verb nt_fleet_since = {"since", "list changes and their dates", help, since_run};
