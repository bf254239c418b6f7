/* SPDX-License-Identifier: Apache-2.0 */
#include "ucx_text.h"

#include <stdio.h>
#include <string.h>

/* Reads a text such as "tcp/fab0". */
static bool read_transport(const char *text, size_t bytes, struct nt_ucx_transport *out)
{
    const char *slash = memchr(text, '/', bytes);
    if (slash == NULL)
        return false;
    size_t name = (size_t)(slash - text), device = bytes - name - 1;
    if (name == 0 || device == 0 || name >= sizeof out->name || device >= sizeof out->device)
        return false;
    *out = (struct nt_ucx_transport){0};
    memcpy(out->name, text, name);
    memcpy(out->device, slash + 1, device);
    for (size_t k = 0; k < bytes; k++)
        if (text[k] <= ' ' || text[k] >= 0x7f || text[k] == ',' || text[k] == '+')
            return false;
    bool network = strcmp(out->name, "tcp") == 0 || strchr(out->device, ':') != NULL;
    return network && strcmp(out->device, "lo") != 0;
}

bool nt_ucx_text_resource(const char *line, struct nt_ucx_transport *out)
{
    const char *at = strstr(line, "resource");
    at = at == NULL ? NULL : strstr(at, "-- ");
    return at != NULL && read_transport(at + 3, strcspn(at + 3, " \n"), out);
}

bool nt_ucx_text_lane(const char *line, struct nt_ucx_transport *out)
{
    const char *at = strstr(line, "lane[");
    at = at == NULL ? NULL : strstr(at, "]:");
    if (at == NULL)
        return false;
    at += 2 + strspn(at + 2, " ");
    at += strspn(at, "0123456789");
    if (*at++ != ':')
        return false;
    size_t bytes = strcspn(at, " \n");
    /* the number after the last dot selects a path of the device */
    for (size_t k = bytes; k > 0; k--)
        if (at[k - 1] == '.')
            return read_transport(at, k - 1, out);
    return read_transport(at, bytes, out);
}

static bool contains(const char *list, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length == bytes && memcmp(at, word, bytes) == 0)
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

void nt_ucx_text_add(char *list, size_t capacity, const char *word)
{
    size_t used = strlen(list);
    if (contains(list, word) || used + (used > 0) + strlen(word) >= capacity)
        return;
    snprintf(list + used, capacity - used, "%s%s", used > 0 ? "," : "", word);
}
