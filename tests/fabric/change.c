/* SPDX-License-Identifier: Apache-2.0 */
#include "change.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

enum { OUT = 1, IN = 2 }; /* ways */
enum { MTU_MIN = 68 };    /* RFC 791 */

struct change {
    bool rate_given, latency_given, loss_given, mtu_given, state_given, way_given;
    double rate_mbit, latency_us, loss_percent, mtu_bytes;
    bool down;
    int ways;
};

static int refuse_twice(const char *word, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "\"%s\": given already", word);
}

static int read_value(const char *what, const char *word, const char *value, double min, double max,
                      double *to, bool *given, struct nt_err *err)
{
    if (*given)
        return refuse_twice(word, err);
    if (!nt_fab_read_number(value, min, max, to))
        return nt_err_set(err, NT_ERR_INPUT, "expected a %s from %g to %g, found \"%s\"", what, min,
                          max, value);
    *given = true;
    return 0;
}

static int read_loss(const char *word, const char *value, struct change *change, struct nt_err *err)
{
    char number[NT_FAB_CHANGE_BYTES];
    size_t length = strlen(value);
    if (length > 0 && value[length - 1] == '%')
        length--;
    snprintf(number, sizeof number, "%.*s", (int)length, value);
    return read_value("loss in percent", word, number, 0, 100, &change->loss_percent,
                      &change->loss_given, err);
}

static int read_way(const char *word, const char *value, struct change *change, struct nt_err *err)
{
    if (change->way_given)
        return refuse_twice(word, err);
    if (strcmp(value, "out") == 0)
        change->ways = OUT;
    else if (strcmp(value, "in") == 0)
        change->ways = IN;
    else if (strcmp(value, "both") != 0)
        return nt_err_set(err, NT_ERR_INPUT, "expected way=out, in or both, found \"%s\"", word);
    change->way_given = true;
    return 0;
}

static int read_word(const char *word, struct change *change, struct nt_err *err)
{
    const char *sign = strchr(word, '='), *value = sign != NULL ? sign + 1 : "";
    size_t key = sign != NULL ? (size_t)(sign - word) : 0;
    if (key == 4 && strncmp(word, "rate", key) == 0)
        return read_value("rate in Mbit/s", word, value, NT_FAB_RATE_MIN_MBIT, NT_FAB_RATE_MAX_MBIT,
                          &change->rate_mbit, &change->rate_given, err);
    if (key == 7 && strncmp(word, "latency", key) == 0)
        return read_value("latency in us", word, value, 0, NT_FAB_LATENCY_MAX_US,
                          &change->latency_us, &change->latency_given, err);
    if (key == 4 && strncmp(word, "loss", key) == 0)
        return read_loss(word, value, change, err);
    if (key == 3 && strncmp(word, "mtu", key) == 0)
        return read_value("MTU in bytes", word, value, MTU_MIN, NT_FAB_MTU, &change->mtu_bytes,
                          &change->mtu_given, err);
    if (key == 3 && strncmp(word, "way", key) == 0)
        return read_way(word, value, change, err);
    bool down = strcmp(word, "down") == 0;
    if (!down && strcmp(word, "up") != 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "expected rate=, latency=, loss=, mtu=, way=, down or up, found \"%s\"",
                          word);
    if (change->state_given)
        return refuse_twice(word, err);
    change->state_given = true;
    change->down = down;
    return 0;
}

static void change_link(struct nt_fab_link *link, const struct change *change)
{
    if (change->rate_given)
        link->rate_mbit = change->rate_mbit;
    if (change->latency_given)
        link->latency_ns = (int64_t)(change->latency_us * 1e3 + 0.5);
    if (change->loss_given)
        link->loss = change->loss_percent / 100;
    if (change->mtu_given)
        link->mtu = (size_t)change->mtu_bytes;
    if (change->state_given)
        link->down = change->down;
}

/* a: a host's name, then b is NULL, or a switch's. The number of links that it is the name of. */
static int change_links(struct nt_fab *fab, const char *a, const char *b,
                        const struct change *change)
{
    int found = 0;
    for (int l = 0; l < fab->link_count; l++) {
        const struct nt_fab_node *from = &fab->nodes[fab->links[l].from],
                                 *to = &fab->nodes[fab->links[l].to];
        bool out, in;
        if (b == NULL) {
            out = from->port >= 0 && strcmp(from->name, a) == 0;
            in = to->port >= 0 && strcmp(to->name, a) == 0;
        } else {
            bool between = from->port < 0 && to->port < 0;
            out = between && strcmp(from->name, a) == 0 && strcmp(to->name, b) == 0;
            in = between && strcmp(from->name, b) == 0 && strcmp(to->name, a) == 0;
        }
        found += out || in;
        if (change != NULL && ((out && change->ways & OUT) || (in && change->ways & IN)))
            change_link(&fab->links[l], change);
    }
    return found;
}

int nt_fab_change(struct nt_fab *fab, const char *text, struct nt_err *err)
{
    char line[NT_FAB_CHANGE_BYTES], *rest = line;
    struct change change = {.ways = OUT | IN};
    if (strlen(text) >= sizeof line)
        return nt_err_set(err, NT_ERR_INPUT, "expected under %d bytes", NT_FAB_CHANGE_BYTES);
    memcpy(line, text, strlen(text) + 1);
    const char *kind = strtok_r(line, " ", &rest);
    bool host = kind != NULL && strcmp(kind, "host") == 0;
    if (kind == NULL || (!host && strcmp(kind, "link") != 0))
        return nt_err_set(err, NT_ERR_INPUT, "expected host or link, found \"%s\"",
                          kind != NULL ? kind : "");
    const char *a = strtok_r(NULL, " ", &rest), *b = host ? NULL : strtok_r(NULL, " ", &rest);
    if (a == NULL || (!host && b == NULL))
        return nt_err_set(err, NT_ERR_INPUT, "expected %s", host ? "host NAME" : "link A B");
    if (change_links(fab, a, b, NULL) == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no %s \"%s%s%s\"", kind, a, host ? "" : " ",
                          host ? "" : b);
    for (const char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;)
        if (read_word(word, &change, err) != 0)
            return -1;
    if (!change.rate_given && !change.latency_given && !change.loss_given && !change.mtu_given &&
        !change.state_given)
        return nt_err_set(err, NT_ERR_INPUT, "expected rate=, latency=, loss=, mtu=, down or up");
    change_links(fab, a, b, &change);
    return 0;
}
