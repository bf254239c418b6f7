/* SPDX-License-Identifier: Apache-2.0 */
#include "plugstack.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm_conf.h"

enum { DEPTH_MAX = 4, FILES_MAX = 256 };

struct search {
    struct nt_plugstack_entry *entry;
    unsigned files;
};

static int search_file(struct search *s, const char *path, unsigned depth);

/* A relative pattern is relative to the file that includes. */
static int search_included(struct search *s, const char *from, const char *pattern, unsigned depth)
{
    char whole[NT_PLUGSTACK_PATH_BYTES];
    const char *slash = strrchr(from, '/');
    glob_t found;
    int dir = pattern[0] == '/' || slash == NULL ? 0 : (int)(slash - from) + 1;
    if (snprintf(whole, sizeof whole, "%.*s%s", dir, from, pattern) >= (int)sizeof whole ||
        glob(whole, GLOB_NOSORT, NULL, &found) != 0)
        return 0;
    int got = 0;
    for (size_t k = 0; k < found.gl_pathc && got <= 0 && s->files < FILES_MAX; k++)
        got = search_file(s, found.gl_pathv[k], depth + 1);
    globfree(&found);
    return got > 0;
}

static bool is_ours(const char *plugin)
{
    const char *slash = strrchr(plugin, '/');
    return strcmp(slash != NULL ? slash + 1 : plugin, "spank_nettopo.so") == 0;
}

/* "optional|required PLUGIN [ARGUMENT...]" or "include PATTERN" */
static int search_line(struct search *s, const char *path, char *line, unsigned depth)
{
    char *rest = line, *word[8];
    size_t words = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *at; words < 8 && (at = strsep(&rest, " \t\r")) != NULL;)
        if (at[0] != '\0')
            word[words++] = at;
    if (words < 2)
        return 0;
    if (strcmp(word[0], "include") == 0)
        return depth < DEPTH_MAX ? search_included(s, path, word[1], depth) : 0;
    if (!is_ours(word[1]))
        return 0;
    struct nt_plugstack_entry *e = s->entry;
    *e = (struct nt_plugstack_entry){.required = strcmp(word[0], "required") == 0};
    snprintf(e->file, sizeof e->file, "%s", path);
    snprintf(e->plugin, sizeof e->plugin, "%s", word[1]);
    for (size_t k = 2; k < words; k++)
        if (strncmp(word[k], "conf=", 5) == 0)
            snprintf(e->conf, sizeof e->conf, "%s", word[k] + 5);
    return 1;
}

static int search_file(struct search *s, const char *path, unsigned depth)
{
    size_t bytes;
    char *text = nt_slurm_conf_load(path, &bytes);
    if (text == NULL)
        return -1;
    s->files++;
    int got = 0;
    for (size_t at = 0; at < bytes && got == 0;) {
        char line[2 * NT_PLUGSTACK_PATH_BYTES];
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : bytes - at;
        size_t kept = n < sizeof line ? n : sizeof line - 1;
        memcpy(line, text + at, kept);
        line[kept] = '\0';
        got = search_line(s, path, line, depth);
        at += n + 1;
    }
    free(text);
    return got;
}

int nt_plugstack_find(const char *path, struct nt_plugstack_entry *entry, struct nt_err *err)
{
    struct search s = {.entry = entry};
    int got = search_file(&s, path, 0);
    return got >= 0 ? got : nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
}
