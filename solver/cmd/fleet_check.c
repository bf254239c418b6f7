/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_changes.h"
#include "hostlist.h"

static const char help[] =
    "usage: nettopo fleet check [OPTION...]\n"
    "\n"
    "Whether hosts are suspect, for health checks: exit 0 when nothing is known against them, 1\n"
    "with a line for each suspect, 2 usage, 3 when nothing is known about one of them, 4 the\n"
    "system refused. A host is suspect when its link is worse than it was, or every job finds it\n"
    "worse than others', in jobs of at least two users.\n"
    "\n"
    "  --store FILE      default: fleet_store of nettopo.conf\n"
    "  --hosts LIST      of these, as Slurm writes them; default: all in the store\n"
    "  --max-age SPAN    what was seen last before that is not known; default 30d\n"
    "  --days SPAN       jobs of so long before the last one; default 90d\n";

struct checking {
    const struct nt_fleet_changes *changes;
    int64_t oldest_s;
    size_t suspects, unknown;
};

static void check_host(struct checking *c, uint32_t host)
{
    const struct nt_fleet_changes *changes = c->changes;
    for (size_t k = 0; k < changes->count; k++) {
        const struct nt_fleet_change *f = &changes->change[k];
        char since[NT_SINCE_BYTES];
        if (f->part != host || f->tier != 0 || !f->current || !f->worse)
            continue;
        nt_fleet_since_text(f, since);
        printf("%s: %s %.4g instead of %.4g %s %s, in %u jobs of %u users\n",
               changes->fleet.hosts.name[host], nt_fleet_kind_name(f->kind), f->to, f->from,
               nt_fleet_kind_unit(f->kind), since, f->jobs, f->users);
        c->suspects++;
    }
    if (changes->fleet.seen_s[host] < c->oldest_s)
        c->unknown++;
}

static int check_name(void *context, const char *name, struct nt_err *err)
{
    struct checking *c = context;
    uint32_t host = nt_names_find(&c->changes->fleet.hosts, name, strlen(name));
    (void)err;
    if (host == NT_NAMES_NONE)
        c->unknown++;
    else
        check_host(c, host);
    return 0;
}

static int check(const struct nt_fleet_changes *changes, const char *hosts, int64_t oldest_s,
                 struct nt_err *err)
{
    struct checking c = {.changes = changes, .oldest_s = oldest_s};
    if (hosts == NULL) {
        for (size_t h = 0; h < changes->fleet.hosts.count; h++)
            check_host(&c, (uint32_t)h);
        c.unknown = changes->fleet.hosts.count == 0; /* the others are at work, one may be away */
    } else if (nt_hostlist_visit(hosts, strlen(hosts), check_name, &c, err) != 0) {
        err->kind = NT_ERR_USAGE;
        return nt_err_prefix(err, "--hosts");
    }
    if (c.suspects > 0)
        return nt_err_set(err, NT_ERR_NO, "%s", "");
    if (c.unknown > 0)
        return nt_err_set(err, NT_ERR_INPUT, "of %zu host%s nothing is known", c.unknown,
                          c.unknown == 1 ? "" : "s");
    return 0;
}

static int check_run(int argc, char **argv, struct nt_err *err)
{
    const char *store = NULL, *hosts = NULL, *age = "30d", *days = "90d";
    struct nt_fleet_changes changes;
    int64_t age_s, days_s;
    const struct nt_flag flags[] = {{"store", 0, &store, NULL},
                                    {"hosts", 0, &hosts, NULL},
                                    {"max-age", 0, &age, NULL},
                                    {"days", 0, &days, NULL}};
    if (nt_command_line_options(argc, argv, flags, 4, NULL, 0, err) != 0 ||
        nt_fleet_span("max-age", age, &age_s, err) != 0 ||
        nt_fleet_span("days", days, &days_s, err) != 0 ||
        nt_fleet_changes_load(store, days_s, false, &changes, err) != 0)
        return -1;
    int rc = check(&changes, hosts, nt_fleet_now() - age_s, err);
    nt_fleet_changes_fini(&changes);
    return rc;
}

const struct nt_verb nt_fleet_check = {"check", "whether hosts are suspect", help, check_run};
