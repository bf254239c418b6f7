/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "files.h"
#include "import.h"
#include "import_dot.h"
#include "json.h"
#include "map_json.h"

enum { REFERENCE_MAX = NT_JSON_TEXT_MAX };

typedef int reader(const char *, const char *, size_t, struct nt_map **, struct nt_err *);

/* The first word that is no comment, blank or line end. */
static const char *first_word(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (*text == '#' || strncmp(text, "//", 2) == 0)
            text += strcspn(text, "\n");
        else if (strncmp(text, "/*", 2) == 0 && strstr(text + 2, "*/") != NULL)
            text = strstr(text + 2, "*/") + 2;
        else
            return text;
    }
}

static bool begins_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

static reader *choose_reader(const char *text)
{
    const char *word = first_word(text);
    if (*word == '{')
        return nt_map_read;
    if (begins_with(word, "graph") || begins_with(word, "digraph") || begins_with(word, "strict"))
        return nt_import_dot;
    if (begins_with(word, "- ") || begins_with(word, "---") || begins_with(word, "["))
        return nt_import_topology_yaml;
    if (begins_with(word, "vendid=") || begins_with(word, "DR path") ||
        strstr(text, "\nvendid=") != NULL)
        return nt_import_ibnetdiscover;
    return nt_import_topology_conf;
}

int nt_reference_read(const char *path, struct nt_map **out, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (nt_file_read(path, REFERENCE_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = choose_reader(text)(nt_file_name(path), text, bytes, out, err);
    free(text);
    return rc;
}

int nt_reference_read_whole(const char *path, struct nt_assumed *assumed, struct nt_map **out,
                            struct nt_err *err)
{
    if (nt_reference_read(path, out, err) != 0)
        return -1;
    const struct nt_model *m = (*out)->model;
    assumed->links = 0;
    for (size_t k = 0; k < m->links; k++)
        assumed->links += isnan(m->link[k].latency_us) ? 1 : 0;
    nt_import_assume_latency(*out, assumed->host_link_us, assumed->switch_link_us);
    return 0;
}
