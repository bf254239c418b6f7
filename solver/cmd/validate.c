/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "err.h"
#include "files.h"
#include "json.h"
#include "json_write.h"
#include "map_json.h"
#include "verbs.h"

struct arguments {
    bool quiet, json;
    const char *map;
};

static const struct nt_flag flags[] = {
    {"quiet", 'q', NULL, NT_AT(quiet), 1, "Print nothing, only set the exit status"},
    {"json", 0, NULL, NT_AT(json), 1, "Print the result as JSON: file, valid, errors"},
    NT_OPERANDS(map, 1)};

static const struct nt_command_help help = {
    "nettopo validate [OPTION...] [MAP]",
    "Check a map against the schema nettopo-map/1 and its own invariants: names are known, hosts "
    "that answered are connected, a tree has no loop, tiers and counts agree, no switch has a "
    "support below 0.5, and no link between switches has a latency below fit.resolution_us. MAP "
    "defaults to $NETTOPO_MAP.\n"
    "\n"
    "Print one line and exit with 0 if the map is valid. Otherwise print one line per violation "
    "and exit with 1. A text that is not JSON exits with 3.\n",
    flags, "nettopo validate map.json"};

static int inspect_map(const char *name, const char *text, size_t bytes, struct nt_findings *found,
                       struct nt_map **map, struct nt_err *err)
{
    if (nt_map_inspect(name, text, bytes, found, map, err) != 0)
        return -1;
    if (found->count > 0)
        return 0;
    return nt_map_check(*map, found, err);
}

static void print_findings(const char *path, const struct nt_findings *findings,
                           const struct nt_map *map)
{
    char name[4096]; /* the longest path */
    snprintf(name, sizeof name, "%s", path);
    nt_text_clean(name);
    for (size_t k = 0; k < findings->count; k++)
        printf("%s: %s\n", name, findings->line[k]);
    if (findings->more)
        printf("%s: and more\n", name);
    if (findings->count == 0)
        printf("%s: valid, %zu host%s, %zu switch%s, %zu link%s\n", name, map->model->hosts,
               map->model->hosts == 1 ? "" : "s", map->model->switches,
               map->model->switches == 1 ? "" : "es", map->model->links,
               map->model->links == 1 ? "" : "s");
}

static int write_json(const char *path, const struct nt_findings *findings,
                      const struct nt_map *map, struct nt_err *err)
{
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_text(&w, "file", path);
    nt_json_put_flag(&w, "valid", findings->count == 0);
    if (findings->count == 0) {
        nt_json_put_whole(&w, "hosts", map->model->hosts);
        nt_json_put_whole(&w, "switches", map->model->switches);
        nt_json_put_whole(&w, "links", map->model->links);
    }
    nt_json_begin(&w, "errors", '[', true);
    for (size_t k = 0; k < findings->count; k++) {
        nt_json_begin(&w, NULL, '{', false);
        nt_json_put_text(&w, "what", findings->line[k]);
        nt_json_end(&w, '}');
    }
    nt_json_end(&w, ']');
    if (findings->more)
        nt_json_put_flag(&w, "more", true);
    return nt_file_write_json("-", &w, err);
}

static int validate_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {0};
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0)
        return -1;
    const char *path = nt_file_map_path(a.map, err);
    if (path == NULL || nt_file_read(path, NT_JSON_TEXT_MAX, &text, &bytes, err) != 0)
        return -1;
    struct nt_findings found = {0};
    struct nt_map *map = NULL;
    int rc = inspect_map(nt_file_name(path), text, bytes, &found, &map, err);
    free(text);
    if (rc == 0 && a.json && !a.quiet)
        rc = write_json(nt_file_name(path), &found, map, err);
    else if (rc == 0 && !a.quiet)
        print_findings(nt_file_name(path), &found, map);
    if (rc == 0 && found.count > 0)
        rc = nt_err_set(err, NT_ERR_NO, "%s", "");
    nt_findings_fini(&found);
    nt_map_destroy(map);
    return rc;
}

const struct nt_verb nt_verb_validate = {"validate", "check a map", &help, validate_run};
