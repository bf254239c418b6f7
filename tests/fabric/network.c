/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"

/* ---- the declared network
 * ----------------------------------------------------------------------*/

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

/* ---- changes
 * -----------------------------------------------------------------------------------*/

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

/* ---- routes
 * ------------------------------------------------------------------------------------*/

/* Hops from every node to the port, -1 where there is no way. No way leads through a host: each of
 * its ports has one link only. */
static void count_hops(const struct nt_fab *fab, int port, int hops[NT_FAB_NODES_MAX])
{
    int queue[NT_FAB_NODES_MAX], head = 0, tail = 0;
    for (int n = 0; n < fab->node_count; n++)
        hops[n] = -1;
    hops[fab->ports[port].node] = 0;
    queue[tail++] = fab->ports[port].node;
    while (head < tail) {
        int node = queue[head++];
        for (int l = 0; l < fab->link_count; l++) {
            int from = fab->links[l].from;
            if (fab->links[l].to == node && hops[from] < 0) {
                hops[from] = hops[node] + 1;
                queue[tail++] = from;
            }
        }
    }
}

static bool is_step(const struct nt_fab *fab, int link, int node, const int *hops)
{
    return fab->links[link].from == node && hops[fab->links[link].to] == hops[node] - 1;
}

static int choose_link(const struct nt_fab *fab, int node, int port, const int *hops)
{
    int choices = 0;
    for (int l = 0; l < fab->link_count; l++)
        choices += is_step(fab, l, node, hops);
    if (choices == 0)
        return -1;
    int want = port % choices;
    for (int l = 0; l < fab->link_count; l++)
        if (is_step(fab, l, node, hops) && want-- == 0)
            return l;
    return -1;
}

int nt_fab_routes_find(const char *file, const struct nt_fab *fab, struct nt_fab_routes *routes,
                       struct nt_err *err)
{
    for (int port = 0; port < fab->port_count; port++) {
        int hops[NT_FAB_NODES_MAX];
        count_hops(fab, port, hops);
        for (int other = 0; other < fab->port_count; other++)
            if (fab->ports[other].rail == fab->ports[port].rail && hops[fab->ports[other].node] < 0)
                return nt_err_set(err, NT_ERR_INPUT, "%s: rail %d: no way from %s to %s", file,
                                  fab->ports[port].rail, fab->nodes[fab->ports[other].node].name,
                                  fab->nodes[fab->ports[port].node].name);
        for (int node = 0; node < fab->node_count; node++)
            routes->next[node][port] =
                (int16_t)(hops[node] > 0 ? choose_link(fab, node, port, hops) : -1);
    }
    return 0;
}

int64_t nt_fab_link_pass(const struct nt_fab_link *link, int64_t *free_ns, int64_t at_ns,
                         uint32_t bytes)
{
    int64_t start = *free_ns > at_ns ? *free_ns : at_ns;
    *free_ns = start + (int64_t)((double)bytes * 8e3 / link->rate_mbit + 0.5);
    return *free_ns + link->latency_ns;
}

int64_t nt_fab_path_ns(const struct nt_fab *fab, const struct nt_fab_routes *routes, int from_port,
                       int to_port, uint32_t bytes)
{
    int64_t at = 0;
    int node = fab->ports[from_port].node;
    for (int l = routes->next[node][to_port]; l >= 0; l = routes->next[node][to_port]) {
        int64_t idle = 0;
        at = nt_fab_link_pass(&fab->links[l], &idle, at, bytes);
        node = fab->links[l].to;
    }
    return at;
}

/* ---- its shape
 * ---------------------------------------------------------------------------------*/

struct tree {
    const struct nt_fab *fab;
    int nodes;
    bool here[NT_FAB_NODES_MAX];
    bool joined[NT_FAB_NODES_MAX][NT_FAB_NODES_MAX];
    int rank[NT_FAB_NODES_MAX]; /* of a host among the hosts, by natural order */
    char *text;
    size_t used;
};

static bool is_switch(const struct tree *tree, int node)
{
    return tree->fab->nodes[node].port < 0;
}

static int degree(const struct tree *tree, int node)
{
    int count = 0;
    for (int n = 0; n < tree->nodes; n++)
        count += tree->here[n] && tree->joined[node][n];
    return count;
}

static int neighbour(const struct tree *tree, int node, int after)
{
    for (int n = after + 1; n < tree->nodes; n++)
        if (tree->here[n] && tree->joined[node][n])
            return n;
    return -1;
}

static void join(struct tree *tree, int a, int b, bool joined)
{
    tree->joined[a][b] = tree->joined[b][a] = joined;
}

/* The rail's ports, every switch, and the links between them; parallel links count once. */
static int plant(struct tree *tree, int rail)
{
    const struct nt_fab *fab = tree->fab;
    int hosts = 0;
    tree->nodes = fab->node_count;
    for (int n = 0; n < fab->node_count; n++) {
        int port = fab->nodes[n].port;
        tree->here[n] = port < 0 || fab->ports[port].rail == rail;
        hosts += tree->here[n] && port >= 0;
        for (int m = 0; m < fab->node_count; m++)
            tree->rank[n] += nt_fab_name_compare(fab->nodes[m].name, fab->nodes[n].name) < 0;
    }
    for (int l = 0; l < fab->link_count; l++)
        join(tree, fab->links[l].from, fab->links[l].to, true);
    return hosts;
}

/* Takes out dead ends and switches in the middle of nothing, until there are none. */
static void prune(struct tree *tree)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int n = 0; n < tree->nodes; n++) {
            if (!tree->here[n] || !is_switch(tree, n) || degree(tree, n) > 2)
                continue;
            int a = neighbour(tree, n, -1), b = a < 0 ? -1 : neighbour(tree, n, a);
            if (b >= 0 && !is_switch(tree, a) && !is_switch(tree, b))
                continue; /* two hosts on one switch: that is all there is */
            if (b >= 0 && tree->joined[a][b])
                continue; /* a triangle: the check for a tree will say so */
            tree->here[n] = false;
            if (b >= 0)
                join(tree, a, b, true);
            changed = true;
        }
    }
}

/* Counts what can be reached; edges counts each link there twice. */
static int reach(const struct tree *tree, int node, int *edges)
{
    bool seen[NT_FAB_NODES_MAX] = {false};
    int stack[NT_FAB_NODES_MAX], depth = 0, count = 0;
    seen[node] = true;
    stack[depth++] = node;
    while (depth > 0) {
        int at = stack[--depth];
        count++;
        for (int n = neighbour(tree, at, -1); n >= 0; n = neighbour(tree, at, n)) {
            ++*edges;
            if (!seen[n]) {
                seen[n] = true;
                stack[depth++] = n;
            }
        }
    }
    return count;
}

static bool is_tree(const struct tree *tree)
{
    int count = 0, first = -1, edges = 0;
    for (int n = tree->nodes - 1; n >= 0; n--)
        if (tree->here[n]) {
            count++;
            first = n;
        }
    return first >= 0 && reach(tree, first, &edges) == count && edges == 2 * (count - 1);
}

/* Peels the switches from outside until one or two are left: the middle. */
static void find_middle(const struct tree *tree, int middle[2])
{
    bool left[NT_FAB_NODES_MAX];
    int count = 0;
    for (int n = 0; n < tree->nodes; n++) {
        left[n] = tree->here[n] && is_switch(tree, n);
        count += left[n];
    }
    while (count > 2) {
        int outer[NT_FAB_NODES_MAX], outers = 0;
        for (int n = 0; n < tree->nodes; n++) {
            int inner = 0;
            for (int m = 0; m < tree->nodes; m++)
                inner += left[m] && tree->joined[n][m];
            if (left[n] && inner <= 1)
                outer[outers++] = n;
        }
        for (int k = 0; k < outers; k++)
            left[outer[k]] = false;
        count -= outers;
    }
    middle[0] = middle[1] = -1;
    for (int n = 0; n < tree->nodes; n++)
        if (left[n])
            middle[middle[0] >= 0] = n;
}

static void put(struct tree *tree, const char *text)
{
    size_t length = strlen(text);
    if (length >= NT_FAB_SHAPE_BYTES - tree->used)
        return; /* cannot be: the buffer holds every name and two brackets a node */
    memcpy(tree->text + tree->used, text, length + 1);
    tree->used += length;
}

static int first_rank(const struct tree *tree, int node, int parent)
{
    if (!is_switch(tree, node))
        return tree->rank[node];
    int first = INT_MAX;
    for (int n = neighbour(tree, node, -1); n >= 0; n = neighbour(tree, node, n)) {
        int rank = n == parent ? INT_MAX : first_rank(tree, n, node);
        first = rank < first ? rank : first;
    }
    return first;
}

static void put_node(struct tree *tree, int node, int parent, bool separate);

/* The children of one kind, in the order of their first hosts. */
static bool put_children(struct tree *tree, int node, int parent, bool switches, bool separate)
{
    for (int last = -1;;) {
        int best = -1, best_rank = INT_MAX;
        for (int n = neighbour(tree, node, -1); n >= 0; n = neighbour(tree, node, n)) {
            if (n == parent || is_switch(tree, n) != switches)
                continue;
            int rank = first_rank(tree, n, node);
            if (rank > last && rank < best_rank) {
                best = n;
                best_rank = rank;
            }
        }
        if (best < 0)
            return separate;
        put_node(tree, best, node, separate);
        separate = true;
        last = best_rank;
    }
}

static void put_node(struct tree *tree, int node, int parent, bool separate)
{
    if (separate)
        put(tree, " ");
    if (!is_switch(tree, node)) {
        put(tree, tree->fab->nodes[node].name);
        return;
    }
    put(tree, "[");
    separate = put_children(tree, node, parent, false, false);
    put_children(tree, node, parent, true, separate);
    put(tree, "]");
}

static void put_tree(struct tree *tree)
{
    int middle[2];
    find_middle(tree, middle);
    if (middle[1] < 0) {
        put_node(tree, middle[0], -1, false);
        return;
    }
    bool swapped = first_rank(tree, middle[1], middle[0]) < first_rank(tree, middle[0], middle[1]);
    int first = middle[swapped], second = middle[!swapped];
    put(tree, "[");
    put_node(tree, first, second, false);
    put_node(tree, second, first, true);
    put(tree, "]");
}

int nt_fab_shape(const char *file, const struct nt_fab *fab, int rail,
                 char text[NT_FAB_SHAPE_BYTES], struct nt_err *err)
{
    struct tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: no memory", file);
    tree->fab = fab;
    tree->text = text;
    text[0] = '\0';
    int status = 0;
    if (plant(tree, rail) < 2)
        status =
            nt_err_set(err, NT_ERR_INPUT, "%s: rail %d: expected two hosts or more", file, rail);
    prune(tree);
    if (status == 0 && !is_tree(tree))
        status = nt_err_set(err, NT_ERR_INPUT, "%s: rail %d: expected a tree", file, rail);
    if (status == 0)
        put_tree(tree);
    free(tree);
    return status;
}
