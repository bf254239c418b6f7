/* SPDX-License-Identifier: Apache-2.0 */
#include "declare.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 7, LINE_MAX_BYTES = 512 };

/* Where we are, for the error sentences. */
struct place {
    const char *file;
    size_t line;
    struct nt_err *err;
};

#define REFUSE(place, format, ...)                                                                 \
    nt_err_set((place)->err, NT_ERR_INPUT, "%s:%zu: " format, (place)->file,                       \
               (place)->line __VA_OPT__(, ) __VA_ARGS__)

static bool name_is_good(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789._-");
    return length > 0 && name[length] == '\0' && length < NT_FAB_NAME_BYTES &&
           strchr(".-", name[0]) == NULL;
}

bool nt_fab_read_number(const char *word, double min, double max, double *value)
{
    char *end;
    double number = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(number) || number < min || number > max)
        return false;
    *value = number;
    return true;
}

static int parse_number(const struct place *place, const char *what, const char *word, double min,
                        double max, double *value)
{
    if (!nt_fab_read_number(word, min, max, value))
        return REFUSE(place, "expected a %s from %g to %g, found \"%s\"", what, min, max, word);
    return 0;
}

static int find_host(const struct nt_fab *fab, const char *name)
{
    for (int h = 0; h < fab->host_count; h++)
        if (strcmp(fab->hosts[h].name, name) == 0)
            return h;
    return -1;
}

static int add_node(const struct place *place, struct nt_fab *fab, const char *name, int port)
{
    if (fab->node_count == NT_FAB_NODES_MAX)
        return REFUSE(place, "more than %d switches and host ports", NT_FAB_NODES_MAX);
    struct nt_fab_node *node = &fab->nodes[fab->node_count];
    snprintf(node->name, sizeof node->name, "%s", name);
    node->port = port;
    return fab->node_count++;
}

/* The switch of that name, made when it is new; -1 on error. */
static int get_switch(const struct place *place, struct nt_fab *fab, const char *name)
{
    if (!name_is_good(name))
        return REFUSE(place, "expected the name of a switch, found \"%s\"", name);
    if (find_host(fab, name) >= 0)
        return REFUSE(place, "\"%s\" is a host, expected a switch", name);
    for (int n = 0; n < fab->node_count; n++)
        if (fab->nodes[n].port < 0 && strcmp(fab->nodes[n].name, name) == 0)
            return n;
    return add_node(place, fab, name, -1);
}

/* The next port of that host, the host made when it is new; the port's node, or -1. */
static int get_port(const struct place *place, struct nt_fab *fab, const char *name)
{
    if (!name_is_good(name))
        return REFUSE(place, "expected the name of a host, found \"%s\"", name);
    for (int n = 0; n < fab->node_count; n++)
        if (fab->nodes[n].port < 0 && strcmp(fab->nodes[n].name, name) == 0)
            return REFUSE(place, "\"%s\" is a switch, expected a host", name);
    int host = find_host(fab, name);
    if (host < 0) {
        if (fab->host_count == NT_FAB_HOSTS_MAX)
            return REFUSE(place, "more than %d hosts", NT_FAB_HOSTS_MAX);
        host = fab->host_count++;
        snprintf(fab->hosts[host].name, NT_FAB_NAME_BYTES, "%s", name);
        for (int rail = 0; rail < NT_FAB_RAILS_MAX; rail++)
            fab->hosts[host].ports[rail] = -1;
    }
    int rail = 0;
    while (rail < NT_FAB_RAILS_MAX && fab->hosts[host].ports[rail] >= 0)
        rail++;
    if (rail == NT_FAB_RAILS_MAX)
        return REFUSE(place, "host \"%s\" has more than %d rails", name, NT_FAB_RAILS_MAX);
    int node = add_node(place, fab, name, fab->port_count);
    if (node < 0)
        return -1;
    fab->hosts[host].ports[rail] = fab->port_count;
    fab->ports[fab->port_count++] = (struct nt_fab_port){.node = node, .host = host, .rail = rail};
    return node;
}

static void add_link(struct nt_fab *fab, int from, int to, int64_t latency_ns, double rate_mbit)
{
    int l = fab->link_count++;
    fab->links[l] = (struct nt_fab_link){
        .from = from, .to = to, .latency_ns = latency_ns, .rate_mbit = rate_mbit, .queue = l};
}

/* host and link */
static int parse_link(const struct place *place, struct nt_fab *fab, char **words, int count)
{
    bool host = strcmp(words[0], "host") == 0;
    if (count < 5 || count > 6)
        return REFUSE(place, "expected %s LATENCY_US RATE_MBIT [BACK_RATE_MBIT], found %d words",
                      host ? "host NAME SWITCH" : "link SWITCH SWITCH", count);
    double latency_us = 0, rate = 0, back = 0;
    if (parse_number(place, "latency in us", words[3], 0, NT_FAB_LATENCY_MAX_US, &latency_us) !=
            0 ||
        parse_number(place, "rate in Mbit/s", words[4], NT_FAB_RATE_MIN_MBIT, NT_FAB_RATE_MAX_MBIT,
                     &rate) != 0 ||
        parse_number(place, "rate in Mbit/s", words[count - 1], NT_FAB_RATE_MIN_MBIT,
                     NT_FAB_RATE_MAX_MBIT, &back) != 0)
        return -1;
    if (strcmp(words[1], words[2]) == 0)
        return REFUSE(place, "\"%s\" is linked to itself", words[1]);
    int from = host ? get_port(place, fab, words[1]) : get_switch(place, fab, words[1]);
    if (from < 0)
        return -1;
    int to = get_switch(place, fab, words[2]);
    if (to < 0)
        return -1;
    if (fab->link_count + 2 > NT_FAB_LINKS_MAX)
        return REFUSE(place, "more than %d links", NT_FAB_LINKS_MAX / 2);
    int64_t latency_ns = (int64_t)(latency_us * 1e3 + 0.5);
    add_link(fab, from, to, latency_ns, rate);
    add_link(fab, to, from, latency_ns, back);
    return 0;
}

/* The first link declared between the two switches, from a to b; -1: none. */
static int find_link(const struct nt_fab *fab, const char *a, const char *b)
{
    for (int l = 0; l < fab->link_count; l++)
        if (strcmp(fab->nodes[fab->links[l].from].name, a) == 0 &&
            strcmp(fab->nodes[fab->links[l].to].name, b) == 0)
            return l;
    return -1;
}

static int parse_share(const struct place *place, struct nt_fab *fab, char **words, int count)
{
    if (count != 4)
        return REFUSE(place, "expected share SWITCH SWITCH SWITCH, found %d words", count);
    for (int k = 1; k < 3; k++)
        if (find_link(fab, words[k], words[3]) < 0)
            return REFUSE(place, "expected a link from \"%s\" to \"%s\" above", words[k], words[3]);
    int one = find_link(fab, words[1], words[3]), two = find_link(fab, words[2], words[3]);
    fab->links[two].queue = fab->links[one].queue;
    fab->links[two ^ 1].queue = fab->links[one ^ 1].queue; /* the way back */
    return 0;
}

static int parse_line(const struct place *place, struct nt_fab *fab, char **words, int count)
{
    if (strcmp(words[0], "share") == 0)
        return parse_share(place, fab, words, count);
    if (strcmp(words[0], "host") != 0 && strcmp(words[0], "link") != 0)
        return REFUSE(place, "expected host, link or share, found \"%s\"", words[0]);
    return parse_link(place, fab, words, count);
}

/* Cuts the line into words in place; a word too many counts, so that the caller sees it. */
static int split(char *line, char **words)
{
    int count = 0;
    for (char *at = line; count < WORDS_MAX;) {
        at += strspn(at, " \t\r");
        if (*at == '\0' || *at == '#')
            break;
        words[count++] = at;
        at += strcspn(at, " \t\r#");
        if (*at == '#')
            *at = '\0';
        else if (*at != '\0')
            *at++ = '\0';
    }
    return count;
}

static int parse_lines(const char *file, const char *text, size_t bytes, struct nt_fab *fab,
                       struct nt_err *err)
{
    struct place place = {.file = file, .err = err};
    for (size_t at = 0; at < bytes;) {
        place.line++;
        const char *newline = memchr(text + at, '\n', bytes - at);
        size_t length = newline != NULL ? (size_t)(newline - (text + at)) : bytes - at;
        char line[LINE_MAX_BYTES];
        if (length >= sizeof line || memchr(text + at, '\0', length) != NULL)
            return REFUSE(&place, "expected a line of text under %d bytes", LINE_MAX_BYTES);
        memcpy(line, text + at, length);
        line[length] = '\0';
        at += length + 1;
        char *words[WORDS_MAX];
        int count = split(line, words);
        if (count > 0 && parse_line(&place, fab, words, count) != 0)
            return -1;
    }
    if (fab->host_count == 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected at least one host, found none", file);
    return 0;
}

int nt_fab_parse(const char *file, const char *text, size_t bytes, struct nt_fab *fab,
                 struct nt_err *err)
{
    struct nt_fab *read = calloc(1, sizeof *read);
    if (read == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: no memory", file);
    int status = parse_lines(file, text, bytes, read, err);
    if (status == 0)
        *fab = *read;
    free(read);
    return status;
}

int nt_fab_read(const char *file, struct nt_fab *fab, struct nt_err *err)
{
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    if (in == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "%s: %s", file, strerror(errno));
    int status = -1;
    char *text = malloc(NT_FAB_TEXT_MAX);
    if (text == NULL) {
        nt_err_set(err, NT_ERR_SYSTEM, "%s: no memory", file);
        goto close_in;
    }
    size_t bytes = fread(text, 1, NT_FAB_TEXT_MAX, in);
    if (ferror(in))
        nt_err_set(err, NT_ERR_INPUT, "%s: cannot be read", file);
    else if (bytes == NT_FAB_TEXT_MAX)
        nt_err_set(err, NT_ERR_INPUT, "%s: longer than %d bytes", file, NT_FAB_TEXT_MAX - 1);
    else
        status = nt_fab_parse(file, text, bytes, fab, err);
    free(text);
close_in:
    if (in != stdin)
        fclose(in);
    return status;
}

int nt_fab_name_compare(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    while (*a != '\0' && *b != '\0') {
        size_t in_a = strspn(a, digits), in_b = strspn(b, digits);
        if (in_a > 0 && in_b > 0) {
            unsigned long long x = strtoull(a, NULL, 10), y = strtoull(b, NULL, 10);
            if (x != y)
                return x < y ? -1 : 1;
            if (in_a != in_b)
                return in_a < in_b ? -1 : 1;
            a += in_a;
            b += in_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a != '\0' ? 1 : *b != '\0' ? -1 : 0;
}
