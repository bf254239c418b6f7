/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "err.h"
#include "files.h"
#include "json.h"
#include "json_write.h"
#include "map_json.h"
#include "verbs.h"

static const char help[] =
    "usage: nettopo validate [--quiet] [--json] [MAP]\n"
    "\n"
    "Checks a map against the schema nettopo-map/1 and its own invariants: every name is known,\n"
    "hosts that answered are connected, a tree is one, tiers and counts agree, no switch has a\n"
    "support below 0.5, no measured host's link takes no time, and no link between switches\n"
    "takes less than fit.resolution_us.\n"
    "Says one line and exits 0 when it is valid; otherwise a line for each violation and exit 1.\n"
    "What is no JSON at all is bad input, exit 3.\n"
    "\n"
    "  -q, --quiet       the exit code only\n"
    "  --json            the answer as JSON: file, valid, errors\n"
    "\n"
    "Example: nettopo validate map.json\n";

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
    const char *path = NULL;
    bool quiet = false, json = false;
    char *text;
    size_t bytes;
    const struct nt_flag flags[] = {{"quiet", 'q', NULL, &quiet}, {"json", 0, NULL, &json}};
    if (nt_command_line_options(argc, argv, flags, 2, &path, 1, err) != 0)
        return -1;
    path = nt_file_map_path(path, err);
    if (path == NULL || nt_file_read(path, NT_JSON_TEXT_MAX, &text, &bytes, err) != 0)
        return -1;
    struct nt_findings found = {0};
    struct nt_map *map = NULL;
    int rc = inspect_map(nt_file_name(path), text, bytes, &found, &map, err);
    free(text);
    if (rc == 0 && json && !quiet)
        rc = write_json(nt_file_name(path), &found, map, err);
    else if (rc == 0 && !quiet)
        print_findings(nt_file_name(path), &found, map);
    if (rc == 0 && found.count > 0)
        rc = nt_err_set(err, NT_ERR_NO, "%s", "");
    nt_findings_fini(&found);
    nt_map_destroy(map);
    return rc;
}

const struct nt_verb nt_verb_validate = {"validate", "check a map", help, validate_run};
