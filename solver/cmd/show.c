/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "hostlist_format.h"
#include "map_json.h"
#include "number.h"
#include "show.h"
#include "show_net.h"
#include "strbuf.h"
#include "switch_support.h"
#include "terminal.h"
#include "text_table.h"
#include "verbs.h"

enum { WIDE = 1000 }; /* columns that nothing here fills */

static const char help[] =
    "usage: nettopo show [--all] [--wide] [--plain] [--legend] [--json] [MAP]\n"
    "       nettopo show --trace [--wide] [--plain] [SAMPLES]\n"
    "\n"
    "Shows a map to people: what was found, the tree of switches with the latency and bandwidth\n"
    "of each link towards the top, how sure each switch is where that is under 99 %, what is\n"
    "suspect or missing, and the hint. In a large map hosts of one switch that are alike share a\n"
    "line. MAP defaults to $NETTOPO_MAP; - is standard input.\n"
    "\n"
    "  -t, --trace       the phases of the sweep with their times, rounds, pairs and failures, "
    "from\n"
    "                    its record; SAMPLES defaults to \"samples\" beside $NETTOPO_MAP\n"
    "  -a, --all         every host and link on its own line, and what each switch carried at the\n"
    "                    most\n"
    "  -l, --legend      what the words and signs mean, below the map; on a terminal always\n"
    "  -w, --wide        as wide as it takes, whatever the terminal is\n"
    "  -p, --plain       ASCII and no colours, whatever the terminal can\n"
    "  --json            the map as JSON (nettopo-map/1) instead, with the fields that nettopo "
    "knows\n"
    "  --store FILE      in place of fleet_store of nettopo.conf: what many jobs measured says "
    "since\n"
    "                    when a host is slow\n"
    "\n"
    "Example: nettopo show map.json\n";

struct arguments {
    bool all, wide, plain, trace, legend, json;
    const char *store;
};

/* ---- the head ---------------------------------------------------------------------------------
 */

static void put_number(struct nt_strbuf *d, const char *before, double value, const char *after)
{
    char text[NT_NUMBER_BYTES];
    if (!isfinite(value))
        return;
    nt_number_plain(value, 4, text);
    nt_strbuf_print(d, "%s%s%s", before, text, after);
}

static void put_status(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t)
{
    enum nt_style style = map->status == NT_STATUS_OK ? NT_STYLE_SWITCH : NT_STYLE_BAD;
    nt_strbuf_print(d, "%s%s%s", nt_style_begin(style, t), nt_status_name(map->status),
                    nt_style_end(t));
    if (map->job_id != 0)
        nt_strbuf_print(d, ", job %llu", (unsigned long long)map->job_id);
    if (map->cluster[0] != '\0') {
        nt_strbuf_puts(d, " on ");
        nt_strbuf_put_line(d, map->cluster);
    }
    const char *const words[] = {map->level, map->created};
    for (size_t k = 0; k < 2; k++) {
        if (words[k][0] == '\0')
            continue;
        nt_strbuf_puts(d, ", ");
        nt_strbuf_put_line(d, words[k]);
    }
    nt_strbuf_puts(d, "\n");
}

static void put_shape(struct nt_strbuf *d, const struct nt_model *m)
{
    nt_strbuf_print(d, "%zu host%s, %zu switch%s, %zu link%s: ", m->hosts, m->hosts == 1 ? "" : "s",
                    m->switches, m->switches == 1 ? "" : "es", m->links, m->links == 1 ? "" : "s");
    nt_strbuf_puts(d, nt_family_name(m->family));
    for (size_t k = 0; k < m->dimensions && k < NT_DIMENSIONS_MAX; k++)
        nt_strbuf_print(d, "%s%u", k == 0 ? " " : "x", m->dimension[k]);
    if (m->twist > 0)
        nt_strbuf_print(d, " twisted by %u", m->twist);
    if (m->switches > 0)
        nt_strbuf_print(d, ", %u tier%s", m->tiers, m->tiers == 1 ? "" : "s");
    put_number(d, ", confidence ", m->confidence, "");
    nt_strbuf_puts(d, "\n");
}

/* What came of what earlier jobs said. */
static void put_prior(struct nt_strbuf *d, const struct nt_prior_use *use)
{
    if (!use->given)
        return;
    if (use->all_taken)
        nt_strbuf_print(
            d, "not measured, from a prior: last seen on %s or later, support %.2g or more",
            use->oldest, use->support);
    else if (use->used)
        nt_strbuf_print(d, "from a prior: %llu pairs verified, %llu taken",
                        (unsigned long long)use->pairs_verified,
                        (unsigned long long)use->pairs_taken);
    else
        nt_strbuf_puts(d, "the prior was not used: ");
    if (!use->used)
        nt_strbuf_put_line(d, use->reason);
    if (use->used && use->hosts_moved > 0)
        nt_strbuf_print(d, ", %llu host%s placed anew", (unsigned long long)use->hosts_moved,
                        use->hosts_moved == 1 ? "" : "s");
    nt_strbuf_puts(d, "\n");
}

static void put_sweep(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_sweep *s = &map->sweep;
    nt_strbuf_print(d, "%llu of %llu pairs", (unsigned long long)s->pairs_measured,
                    (unsigned long long)s->pairs_total);
    if (s->rounds > 0)
        nt_strbuf_print(d, " in %llu rounds", (unsigned long long)s->rounds);
    if (s->seconds > 0)
        put_number(d, ", ", s->seconds, " s");
    put_number(d, "; fit r2 ", map->model->r2, "");
    put_number(d, ", rms ", map->model->rms_us, " us");
    put_number(d, ", resolution ", map->model->resolution_us, " us");
    if (map->model->pairs_off > 0)
        nt_strbuf_print(d, ", %zu pair%s off", map->model->pairs_off,
                        map->model->pairs_off == 1 ? "" : "s");
    nt_strbuf_puts(d, "\n");
    put_prior(d, &s->prior);
    if (isfinite(map->model->bisection_MBps))
        put_number(d, "bisection ", map->model->bisection_MBps, " MB/s\n");
}

/* What of the map not to rely on, in a line. */
static int put_uncertain(struct nt_strbuf *d, const struct nt_model *m, const struct nt_terminal *t,
                         struct nt_err *err)
{
    double *support;
    size_t unsure = 0;
    if (nt_support_create(m, &support, err) != 0)
        return -1;
    for (size_t s = 0; s < m->switches; s++)
        unsure += support[s] < NT_SUPPORT_ACTED;
    free(support);
    if (unsure == 0 && !(m->confidence < NT_SUPPORT_ACTED))
        return 0;
    nt_strbuf_puts(d, nt_style_begin(NT_STYLE_BAD, t));
    if (unsure > 0)
        nt_strbuf_print(d, "not sure: %zu of %zu switches under 90 %%, which the hint does without",
                        unsure, m->switches);
    else
        nt_strbuf_print(d, "not sure: %s may have been missed",
                        m->switches > 0 ? "a group" : "links");
    nt_strbuf_print(d, "%s\n", nt_style_end(t));
    return 0;
}

static void put_warnings(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t)
{
    for (size_t k = 0; k < map->warnings; k++) {
        nt_strbuf_print(d, "%swarning: ", nt_style_begin(NT_STYLE_BAD, t));
        nt_strbuf_put_line(d, map->warning[k]);
        nt_strbuf_print(d, "%s\n", nt_style_end(t));
    }
}

/* ---- the foot ---------------------------------------------------------------------------------
 */

static bool same_path(const struct nt_loggp *a, const struct nt_loggp *b)
{
    return strcmp(a->class_name, b->class_name) == 0 && strcmp(a->rail, b->rail) == 0;
}

static void put_loggp(struct nt_strbuf *d, const struct nt_map *map)
{
    for (size_t k = 0; k < map->loggps; k++) {
        const struct nt_loggp *g = &map->loggp[k];
        nt_strbuf_puts(d, k == 0 ? "\nLogGP  " : "       ");
        nt_strbuf_put_line(d, g->class_name);
        if (g->rail[0] != '\0') {
            nt_strbuf_puts(d, " by ");
            nt_strbuf_put_line(d, g->rail);
        }
        if ((k > 0 && same_path(g - 1, g)) || (k + 1 < map->loggps && same_path(g, g + 1)))
            put_number(d, " to ", g->max_bytes, " bytes");
        put_number(d, ": L ", g->L_us, " us");
        put_number(d, ", o ", (g->o_send_us + g->o_recv_us) / 2, " us");
        put_number(d, ", g ", g->g_us, " us");
        put_number(d, ", G ", g->G_us_per_byte, " us/byte");
        nt_strbuf_puts(d, "\n");
    }
}

static void put_gain(struct nt_strbuf *d, const struct nt_map *map)
{
    const struct nt_placement *p = map->placement;
    nt_strbuf_puts(d, "\nhint   ");
    nt_strbuf_put_line(d, p->pattern);
    if (p->gain > 1)
        put_number(d, ": gain ", p->gain, "\n");
    else
        nt_strbuf_puts(d, isnan(p->cost)
                              ? ": the scheduler's order, as the network is not determined\n"
                              : ": the scheduler's order is as good, no change\n");
    if (p->first_percent > 0)
        put_number(d, "       rank 0 on the first host costs ", p->first_percent,
                   " % more than the best order (nettopo hint --any-first)\n");
    for (size_t k = 0; k < p->spares; k++)
        nt_strbuf_print(d, "%s%s%s", k == 0 ? "       left out: " : " ",
                        map->host_name[p->spare[k]], k + 1 == p->spares ? "\n" : "");
}

/* The order on one line of the terminal; the map has all of it. */
static int put_order(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t,
                     struct nt_err *err)
{
    const struct nt_placement *p = map->placement;
    const char **names = malloc((p->hosts + 1) * sizeof *names);
    struct nt_strbuf folded = {0};
    char *text;
    size_t bytes;
    if (names == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < p->hosts; k++)
        names[k] = map->host_name[p->order[k]];
    nt_hostlist_format(&folded, names, p->hosts);
    free(names);
    if (nt_strbuf_finish(&folded, &text, &bytes, err) != 0)
        return -1;
    bool cut = bytes + 7 > t->width;
    nt_strbuf_puts(d, "order  ");
    nt_strbuf_put(d, text, cut ? t->width - 9 : bytes);
    nt_strbuf_puts(d, cut ? "..\n" : "\n");
    free(text);
    return 0;
}

static int put_head(struct nt_strbuf *d, const struct nt_map *map, const struct nt_terminal *t,
                    struct nt_err *err)
{
    struct nt_strbuf head = {0};
    char *text;
    put_status(&head, map, t);
    put_shape(&head, map->model);
    put_sweep(&head, map);
    int rc = put_uncertain(&head, map->model, t, err);
    put_warnings(&head, map, t);
    if (nt_strbuf_finish(&head, &text, NULL, rc == 0 ? err : NULL) != 0)
        return -1;
    if (rc != 0) {
        free(text);
        return -1;
    }
    nt_text_put_wrapped(d, text, t->width, 2);
    free(text);
    nt_strbuf_puts(d, "\n");
    return 0;
}

/* Switches that were full; with all, what the others carried at the most. */
static void put_throughput(struct nt_strbuf *d, const struct nt_map *map, bool all)
{
    static const char *const head[] = {"full   ", "carried at least "};
    for (int bound = 0; bound < (all ? 2 : 1); bound++) {
        bool any = false;
        for (size_t s = 0; s < map->model->switches; s++) {
            const struct nt_throughput *most = &map->model->throughput[s];
            if (!(most->MBps > 0) || most->at_least != (bound == 1))
                continue;
            nt_strbuf_print(d, "%s%s", any ? ", " : head[bound], map->switch_name[s]);
            put_number(d, " ", most->MBps, "");
            any = true;
        }
        nt_strbuf_puts(d, any ? " MB/s\n" : "");
    }
}

/* What stands below the network. */
static int put_foot(struct nt_strbuf *d, const struct nt_map *map, const struct arguments *a,
                    const struct nt_terminal *t, struct nt_err *err)
{
    struct nt_strbuf foot = {0};
    char *text;
    nt_show_since(&foot, map, a->store);
    put_throughput(&foot, map, a->all);
    put_loggp(&foot, map);
    int rc = nt_show_rails(&foot, map, err);
    nt_show_stress(&foot, map, t->width);
    nt_show_machines(&foot, map);
    if (map->placement != NULL)
        put_gain(&foot, map);
    if (nt_strbuf_finish(&foot, &text, NULL, rc == 0 ? err : NULL) != 0)
        return -1;
    nt_text_put_wrapped(d, text, t->width, 7);
    free(text);
    if (rc == 0 && map->placement != NULL)
        rc = put_order(d, map, t, err);
    if (rc == 0 && (a->legend || t->interactive))
        nt_show_legend(d, map, t);
    return rc;
}

static int show_map(const char *path, const struct arguments *a, const struct nt_terminal *t,
                    struct nt_strbuf *d, struct nt_err *err)
{
    struct nt_map *map;
    if (nt_file_read_map(path, &map, err) != 0)
        return -1;
    int rc = put_head(d, map, t, err);
    if (rc == 0)
        rc = nt_show_net(map, a->all, t, d, err);
    if (rc == 0)
        rc = put_foot(d, map, a, t, err);
    nt_map_destroy(map);
    return rc;
}

static int write_json(const char *path, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_map *map;
    if (nt_file_read_map(path, &map, err) != 0)
        return -1;
    int rc = nt_map_write(map, false, text, bytes, err);
    nt_map_destroy(map);
    return rc;
}

static int show_file(const char *path, const struct arguments *arguments, char **text,
                     size_t *bytes, struct nt_err *err)
{
    struct nt_terminal terminal;
    struct nt_strbuf d = {0};
    if (arguments->json && arguments->trace)
        return nt_err_set(err, NT_ERR_USAGE, "--json: goes with a map, not with --trace");
    if (arguments->json)
        return write_json(path, text, bytes, err);
    nt_terminal_look(&terminal);
    if (arguments->wide)
        terminal.width = WIDE;
    if (arguments->plain)
        terminal.colour = terminal.unicode = false;
    int rc = arguments->trace ? nt_show_trace(path, &terminal, &d, err)
                              : show_map(path, arguments, &terminal, &d, err);
    if (rc == 0)
        return nt_strbuf_finish(&d, text, bytes, err);
    free(d.text);
    return -1;
}

static int show_run(int argc, char **argv, struct nt_err *err)
{
    const char *path = NULL;
    struct arguments arguments = {0};
    char *text;
    size_t bytes;
    const struct nt_flag flags[] = {
        {"all", 'a', NULL, &arguments.all},     {"wide", 'w', NULL, &arguments.wide},
        {"plain", 'p', NULL, &arguments.plain}, {"legend", 'l', NULL, &arguments.legend},
        {"store", 0, &arguments.store, NULL},   {"trace", 't', NULL, &arguments.trace},
        {"json", 0, NULL, &arguments.json}};
    if (nt_command_line_options(argc, argv, flags, sizeof flags / sizeof *flags, &path, 1, err) !=
            0 ||
        show_file(path, &arguments, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text("-", text, bytes, err);
}

const struct nt_verb nt_verb_show = {"show", "the tree and its links for people", help, show_run};
