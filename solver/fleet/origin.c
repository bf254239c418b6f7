/* SPDX-License-Identifier: Apache-2.0 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "hostlist.h"
#include "memory.h"

static const char HEAD[] = "nettopo-archive/1";

enum { TIME_MAX_S = 1 << 30 };

void nt_origin_fini(struct nt_origin *origin)
{
    nt_names_fini(&origin->hosts);
    *origin = NT_ORIGIN_NONE;
}

static int add_host(void *context, const char *name, struct nt_err *err)
{
    struct nt_names *hosts = context;
    uint32_t index;
    return nt_names_add_copy(hosts, name, strlen(name), &index, err) < 0 ? -1 : 0;
}

static int word_error(const char *word, size_t bytes, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "the archive's head: unexpected \"%.*s\"",
                      (int)(bytes < 64 ? bytes : 64), word);
}

static bool starts(const char *word, size_t bytes, const char *key, const char **value,
                   size_t *value_bytes)
{
    size_t n = strlen(key);
    if (bytes <= n || memcmp(word, key, n) != 0)
        return false;
    *value = word + n;
    *value_bytes = bytes - n;
    return true;
}

static int read_cluster(const char *value, size_t bytes, struct nt_origin *o)
{
    if (bytes >= sizeof o->cluster)
        return -1;
    memcpy(o->cluster, value, bytes);
    o->cluster[bytes] = '\0';
    return 0;
}

static int read_word(const char *word, size_t bytes, struct nt_origin *o, struct nt_err *err)
{
    const char *value;
    size_t n;
    uint64_t number = 0;
    int rc = -1;
    if (starts(word, bytes, "cluster=", &value, &n)) {
        rc = read_cluster(value, n, o);
    } else if (starts(word, bytes, "job=", &value, &n)) {
        rc = nt_decimal_whole(value, n, UINT32_MAX, &o->job);
        o->has_job = true;
    } else if (starts(word, bytes, "restart=", &value, &n)) {
        rc = nt_decimal_whole(value, n, UINT32_MAX, &number);
        o->restart = (uint32_t)number;
        o->has_restart = true;
    } else if (starts(word, bytes, "uid=", &value, &n)) {
        rc = nt_decimal_whole(value, n, NT_NO_USER - 1, &number);
        o->user = (uint32_t)number;
    } else if (starts(word, bytes, "time=", &value, &n)) {
        rc = nt_decimal_whole(value, n, (uint64_t)TIME_MAX_S * 8, &number);
        o->time_s = (int64_t)number;
    } else if (starts(word, bytes, "hosts=", &value, &n)) {
        return nt_hostlist_visit(value, n, add_host, &o->hosts, err);
    }
    return rc == 0 ? 0 : word_error(word, bytes, err);
}

int nt_origin_parse(const char *text, size_t bytes, struct nt_origin *out, struct nt_err *err)
{
    struct nt_origin o = NT_ORIGIN_NONE;
    size_t at = sizeof HEAD - 1;
    int rc = 0;
    if (bytes < at || memcmp(text, HEAD, at) != 0 || (bytes > at && text[at] != ' '))
        return word_error(text, bytes, err);
    while (rc == 0 && at < bytes) {
        const char *word = text + at + 1, *end = memchr(word, ' ', bytes - at - 1);
        size_t n = end != NULL ? (size_t)(end - word) : bytes - at - 1;
        rc = read_word(word, n, &o, err);
        at += n + 1;
    }
    if (rc == 0 && !o.has_job)
        rc = nt_err_set(err, NT_ERR_INPUT, "the archive's head: no job");
    if (rc != 0) {
        nt_origin_fini(&o);
        return -1;
    }
    *out = o;
    return 0;
}
