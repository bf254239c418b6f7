/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fleet.h"
#include "host_match.h"
#include "hostlist.h"
#include "number.h"
#include "utc.h"

struct arguments {
    const char *store, *hosts, *age, *days;
    bool json;
};

static const struct nt_flag flags[] = {
    NT_FLAG_STORE,
    {"hosts", 0, "LIST", NT_AT(hosts), 1,
     "Hosts to check, a list in Slurm's notation (default: all in the store)"},
    {"max-age", 0, "SPAN", NT_AT(age), 1,
     "Age above which the data of a host count as unknown (default 30d)"},
    NT_FLAG_DAYS,
    {"json", 0, NULL, NT_AT(json), 1, "Print JSON, with the same exit status"},
    {0}};

static const struct nt_command_help help = {
    "nettopo fleet check [OPTION...]",
    "Report suspect hosts, for health checks. A host is suspect if, in jobs of two users, its link "
    "is worse than before, or every job finds it worse than comparable links. A host that only "
    "seems slow because it was moved is reported as moved, and is not suspect. Without --hosts, "
    "links between switches are also checked.\n"
    "\n"
    "Exit status: 0 no suspect, 1 one line per suspect, 2 usage, 3 no data for one of the hosts "
    "or, without --hosts, for any, 4 system error.\n",
    flags, "nettopo fleet check --store fleet.db --hosts n[1-8]"};

struct checking {
    struct nt_arena memory;
    struct nt_fleet_changes changes;
    struct nt_host_index known; /* index of the fleet's hosts */
    uint32_t *asked;            /* numbers of the requested hosts */
    size_t hosts, hosts_room, suspects, unknown;
    const char *unknown_name; /* name of the first unknown host */
    int64_t unknown_seen_s;   /* when its last job ended; 0: in no job */
    struct nt_json_writer w;  /* for text only its buffer is used */
    bool json;
};

static void put_suspect(struct checking *c, const char *name, const struct nt_fleet_change *f)
{
    c->suspects++;
    if (c->json) {
        nt_fleet_change_put_json(&c->w, f, name);
        return;
    }
    char since[NT_SINCE_BYTES], now[NT_NUMBER_BYTES], before[NT_NUMBER_BYTES];
    nt_fleet_since_text(f, since);
    nt_number_plain(f->to, 4, now);
    nt_number_plain(f->from, 4, before);
    nt_strbuf_print(&c->w.buf, "%s: %s %s instead of %s %s %s, in %u jobs of %u users\n", name,
                    nt_fleet_kind_name(f->kind), now, before, nt_fleet_kind_unit(f->kind), since,
                    f->jobs, f->users);
}

/* seen_s: its last job; 0: none. */
static void add_unknown(struct checking *c, const char *name, int64_t seen_s)
{
    if (c->unknown++ > 0)
        return;
    c->unknown_name = nt_arena_text(&c->memory, name, strlen(name));
    c->unknown_seen_s = seen_s;
}

static int fail_unknown(const struct checking *c, struct nt_err *err)
{
    char day[NT_UTC_BYTES], more[64] = "";
    if (c->unknown > 1)
        snprintf(more, sizeof more, " and %zu more host%s", c->unknown - 1,
                 c->unknown == 2 ? "" : "s");
    if (c->unknown_seen_s == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no data for %s%s within --days", c->unknown_name,
                          more);
    nt_utc_format_day(c->unknown_seen_s, day);
    return nt_err_set(err, NT_ERR_INPUT, "no data for %s%s within --max-age (last job on %s)",
                      c->unknown_name, more, day);
}

static void check_host(struct checking *c, uint32_t host, int64_t oldest_s)
{
    const struct nt_fleet_changes *changes = &c->changes;
    for (size_t k = 0; k < changes->count; k++) {
        if (nt_fleet_change_is_worse_for(&changes->change[k], host))
            put_suspect(c, changes->fleet.hosts.name[host], &changes->change[k]);
    }
    if (changes->fleet.seen_s[host] < oldest_s)
        add_unknown(c, changes->fleet.hosts.name[host], changes->fleet.seen_s[host]);
}

/* Checks links between switches, which the loaded changes may not contain. */
static int check_switches(struct checking *c, const char *store, int64_t days_s, struct nt_err *err)
{
    struct nt_fleet_changes all;
    if (nt_fleet_changes_load(store, days_s, true, &all, err) != 0)
        return -1;
    for (size_t k = 0; k < all.count; k++) {
        const struct nt_fleet_change *f = &all.change[k];
        char name[NT_PART_BYTES];
        if (f->tier == 0 || f->part == NT_CHANGE_CLASS || !f->worse || !f->current)
            continue;
        nt_fleet_part_name(&all, f, name);
        put_suspect(c, name, f);
    }
    nt_fleet_changes_fini(&all);
    return 0;
}

static void put_moved(struct checking *c)
{
    for (size_t k = 0; k < c->hosts; k++) {
        const struct nt_cluster_move *move = nt_fleet_changes_moved(&c->changes, c->asked[k]);
        if (move != NULL && c->json)
            nt_fleet_cluster_put_json_move(&c->w, &c->changes.fleet, move);
        else if (move != NULL)
            nt_fleet_cluster_put_move(&c->w.buf, &c->changes.fleet, move);
    }
}

/* JSON: ends the previous array and begins the one with this name. */
static void begin_list(struct checking *c, const char *name)
{
    if (!c->json)
        return;
    if (c->w.depth == 0)
        nt_json_begin(&c->w, NULL, '{', true);
    else
        nt_json_end(&c->w, ']');
    nt_json_begin(&c->w, name, '[', true);
}

static int print(struct checking *c, struct nt_err *err)
{
    if (c->json)
        nt_json_end(&c->w, ']');
    return nt_file_write_json("-", &c->w, err);
}

static int ask_for(struct checking *c, uint32_t host, struct nt_err *err)
{
    uint32_t *grown =
        nt_arena_grow(&c->memory, c->asked, &c->hosts_room, c->hosts + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(&c->memory, err);
    c->asked = grown;
    c->asked[c->hosts++] = host;
    return 0;
}

static int ask_for_name(void *context, const char *name, struct nt_err *err)
{
    struct checking *c = context;
    uint32_t host = nt_host_index_find(&c->known, name, strlen(name));
    if (host != NT_NAMES_NONE)
        return ask_for(c, host, err);
    add_unknown(c, name, 0);
    return 0;
}

static int ask_for_list(struct checking *c, const char *list, struct nt_err *err)
{
    if (list != NULL) {
        const struct nt_names *hosts = &c->changes.fleet.hosts;
        if (nt_host_index_init(&c->known, hosts->name, hosts->count, err) != 0)
            return -1;
        if (nt_hostlist_visit(list, strlen(list), ask_for_name, c, err) == 0)
            return 0;
        err->kind = NT_ERR_USAGE;
        return nt_err_prefix(err, "--hosts");
    }
    for (size_t h = 0; h < c->changes.fleet.hosts.count; h++)
        if (ask_for(c, (uint32_t)h, err) != 0)
            return -1;
    return 0;
}

static int check(struct checking *c, const char *store, const char *list, int64_t days_s,
                 int64_t oldest_s, struct nt_err *err)
{
    if (ask_for_list(c, list, err) != 0 ||
        nt_fleet_changes_place(&c->changes, store, days_s, c->asked, c->hosts, err) != 0)
        return -1;
    begin_list(c, "moved");
    put_moved(c);
    begin_list(c, "suspects");
    for (size_t k = 0; k < c->hosts; k++)
        check_host(c, c->asked[k], oldest_s);
    if (nt_arena_check(&c->memory, err) != 0 ||
        (list == NULL && check_switches(c, store, days_s, err) != 0))
        return -1;
    if (c->suspects > 0)
        return nt_err_set(err, NT_ERR_NO, "%s", "");
    if (list == NULL && c->unknown == c->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "no data for any host within --max-age");
    if (list == NULL || c->unknown == 0) /* the other hosts are in use, and one host may be away */
        return 0;
    return fail_unknown(c, err);
}

static int check_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.age = "30d", .days = "90d"};
    struct checking c = {0};
    int64_t age_s, days_s;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 ||
        nt_fleet_span("max-age", a.age, &age_s, err) != 0 ||
        nt_fleet_span("days", a.days, &days_s, err) != 0 ||
        nt_fleet_changes_load(a.store, days_s, false, &c.changes, err) != 0)
        return -1;
    c.json = a.json;
    int rc = check(&c, a.store, a.hosts, days_s, nt_fleet_now() - age_s, err);
    nt_host_index_fini(&c.known);
    nt_fleet_changes_fini(&c.changes);
    nt_arena_fini(&c.memory);
    if ((rc == 0 || err->kind == NT_ERR_NO) && print(&c, err) != 0)
        rc = -1;
    free(c.w.buf.text);
    return rc;
}

const struct nt_verb nt_fleet_check = {"check", "report suspect hosts, for health checks", &help,
                                       check_run};
