/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of hosts that are known of a measured machine: tests/data/measured/NAME.truth.
 *
 * Hosts are numbers from 0, in the matrix's order. A SET is ranges with blanks between: 0-3 16-19.
 *   group SET      these are a group
 *   runs N SET     so are the first N, the next N, ...
 *   pairs SET SET  so are the first hosts of both ranges, the second hosts, ...
 *   open SET|all   other groups in this one are unknown
 * Groups are nested or apart. Outside open groups there are no other groups.
 * Header only, so that each program stays one file. */
#ifndef MEASURED_H
#define MEASURED_H

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEASURED_HOSTS_MAX = 128, MEASURED_GROUPS_MAX = 192 };

struct host_set {
    uint64_t bits[2];
};

struct measured_groups {
    size_t hosts;
    size_t groups;
    struct host_set group[MEASURED_GROUPS_MAX]; /* each in one way: see set_side */
    struct host_set below[MEASURED_GROUPS_MAX]; /* as they were told */
    bool open[MEASURED_GROUPS_MAX];
    bool open_all;
};

enum verdict { MEASURED_REAL, MEASURED_NOT, MEASURED_UNKNOWN };

/* ---- sets ---- */

static inline void set_add(struct host_set *s, size_t host)
{
    s->bits[host / 64] |= UINT64_C(1) << (host % 64);
}

static inline bool set_has(const struct host_set *s, size_t host)
{
    return s->bits[host / 64] >> (host % 64) & 1;
}

static inline size_t set_count(const struct host_set *s)
{
    return (size_t)__builtin_popcountll(s->bits[0]) + (size_t)__builtin_popcountll(s->bits[1]);
}

static inline bool set_same(const struct host_set *a, const struct host_set *b)
{
    return a->bits[0] == b->bits[0] && a->bits[1] == b->bits[1];
}

static inline bool set_within(const struct host_set *a, const struct host_set *b)
{
    return !(a->bits[0] & ~b->bits[0]) && !(a->bits[1] & ~b->bits[1]);
}

static inline bool set_apart(const struct host_set *a, const struct host_set *b)
{
    return !(a->bits[0] & b->bits[0]) && !(a->bits[1] & b->bits[1]);
}

static inline struct host_set set_others(const struct host_set *s, size_t hosts)
{
    struct host_set all = {{0}};
    for (size_t h = 0; h < hosts; h++)
        set_add(&all, h);
    return (struct host_set){{all.bits[0] & ~s->bits[0], all.bits[1] & ~s->bits[1]}};
}

/* A group and all others part the hosts in the same way: the side without host 0 stands for both.
 */
static inline struct host_set set_side(struct host_set s, size_t hosts)
{
    return set_has(&s, 0) ? set_others(&s, hosts) : s;
}

/* ---- the text ---- */

static inline void measured_refuse(const char *path, const char *line)
{
    fprintf(stderr, "%s: cannot be understood: %s\n", path, line);
    abort();
}

/* The ranges that text begins with, as numbers in their order; how many. */
static inline size_t measured_numbers(const char **text, size_t ranges, size_t hosts,
                                      size_t *number)
{
    size_t count = 0;
    for (; ranges > 0; ranges--) {
        char *end;
        size_t from = strtoul(*text, &end, 10), to = from;
        if (end == *text)
            break;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (from > to || to >= hosts || count + to - from >= MEASURED_HOSTS_MAX)
            return 0;
        for (size_t h = from; h <= to; h++)
            number[count++] = h;
        *text = end;
    }
    return count;
}

static inline void measured_group(struct measured_groups *t, const size_t *number, size_t count)
{
    struct host_set s = {{0}};
    for (size_t k = 0; k < count; k++)
        set_add(&s, number[k]);
    if (t->groups == MEASURED_GROUPS_MAX)
        abort();
    t->group[t->groups] = set_side(s, t->hosts);
    t->open[t->groups] = false;
    t->below[t->groups++] = s;
}

static inline bool measured_line(struct measured_groups *t, const char *line, struct host_set *open,
                                 size_t *opens)
{
    size_t a[MEASURED_HOSTS_MAX], b[MEASURED_HOSTS_MAX], count, size = 0;
    char word[8] = "";
    int used = 0;
    sscanf(line, "%7s%n", word, &used);
    const char *at = line + used;
    if (strcmp(word, "open") == 0 && strcmp(at, " all\n") == 0) {
        t->open_all = true;
        return true;
    }
    if (strcmp(word, "runs") == 0)
        size = strtoul(at, (char **)&at, 10);
    count = measured_numbers(&at, strcmp(word, "pairs") == 0 ? 1 : SIZE_MAX, t->hosts, a);
    if (strcmp(word, "group") == 0 && count > 1) {
        measured_group(t, a, count);
    } else if (strcmp(word, "runs") == 0 && size > 1 && count > 0 && count % size == 0) {
        for (size_t k = 0; k < count; k += size)
            measured_group(t, a + k, size);
    } else if (strcmp(word, "pairs") == 0 && count > 0 &&
               measured_numbers(&at, 1, t->hosts, b) == count) {
        for (size_t k = 0; k < count; k++)
            measured_group(t, (size_t[]){a[k], b[k]}, 2);
    } else if (strcmp(word, "open") == 0 && count > 1) {
        open[*opens] = (struct host_set){{0}};
        for (size_t k = 0; k < count; k++)
            set_add(&open[*opens], a[k]);
        ++*opens;
    } else {
        return false;
    }
    return *opens < MEASURED_GROUPS_MAX;
}

/* Aborts on any trouble: the files are ours. */
static inline void measured_read(const char *path, size_t hosts, struct measured_groups *t)
{
    static struct host_set open[MEASURED_GROUPS_MAX];
    char line[1024];
    size_t opens = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL || hosts > MEASURED_HOSTS_MAX)
        measured_refuse(path, "no such file, or too many hosts");
    *t = (struct measured_groups){.hosts = hosts};
    while (fgets(line, sizeof line, file) != NULL)
        if (line[0] != '#' && line[0] != '\n' && !measured_line(t, line, open, &opens))
            measured_refuse(path, line);
    fclose(file);
    for (size_t k = 0; k < opens; k++) {
        bool known = false;
        for (size_t g = 0; g < t->groups; g++)
            if (set_same(&t->below[g], &open[k]))
                known = t->open[g] = true;
        if (!known)
            measured_refuse(path, "open: not a group that is told");
    }
}

/* As it is for some of the hosts only; host[k] was the number of the new host k. Of groups that are
 * now the same the smallest one is kept with what is known in it. */
static inline void measured_restrict(const struct measured_groups *t, const uint32_t *host,
                                     size_t hosts, struct measured_groups *out)
{
    size_t was[MEASURED_GROUPS_MAX], all_was = t->hosts;
    *out = (struct measured_groups){.hosts = hosts, .open_all = t->open_all};
    for (size_t g = 0; g < t->groups; g++) {
        size_t number[MEASURED_HOSTS_MAX], count = 0, size = set_count(&t->below[g]), same = 0;
        for (size_t k = 0; k < hosts; k++)
            if (set_has(&t->below[g], host[k]))
                number[count++] = k;
        if (count == hosts && size < all_was) {
            out->open_all = t->open[g];
            all_was = size;
        }
        if (count < 2 || count == hosts)
            continue;
        measured_group(out, number, count);
        size_t now = out->groups - 1;
        while (!set_same(&out->below[same], &out->below[now]))
            same++;
        if (same < now)
            out->groups = now;
        if (same == now || size < was[same]) {
            out->open[same] = t->open[g];
            was[same] = size;
        }
    }
}

/* ---- verdicts ---- */

/* Whether the group parts the hosts as an earlier one does, or parts none from the rest: all but
 * one are together as soon as that one is not. */
static inline bool measured_is_said(const struct measured_groups *t, size_t group)
{
    size_t others = t->hosts - set_count(&t->group[group]);
    for (size_t g = 0; g < group; g++)
        if (set_same(&t->group[g], &t->group[group]))
            return true;
    return others < 2 || set_count(&t->group[group]) < 2;
}

/* The least group that holds s and more; groups for all hosts. */
static inline size_t measured_around(const struct measured_groups *t, const struct host_set *s)
{
    size_t best = t->groups, size = t->hosts;
    for (size_t g = 0; g < t->groups; g++) {
        size_t count = set_count(&t->below[g]);
        if (count < size && set_within(s, &t->below[g]) && !set_same(s, &t->below[g])) {
            best = g;
            size = count;
        }
    }
    return best;
}

/* The verdict on a stated group. */
static inline enum verdict measured_judge(const struct measured_groups *t,
                                          const struct host_set *stated)
{
    struct host_set side = set_side(*stated, t->hosts), other = set_others(&side, t->hosts);
    bool open = t->open_all;
    for (size_t g = 0; g < t->groups; g++)
        if (set_same(&side, &t->group[g]))
            return MEASURED_REAL;
    for (size_t g = 0; g < t->groups; g++) {
        const struct host_set *b = &t->below[g];
        if (!set_within(&side, b) && !set_within(b, &side) && !set_apart(b, &side) &&
            !set_within(&other, b))
            return MEASURED_NOT;
    }
    size_t a = measured_around(t, &side), b = measured_around(t, &other);
    if (a != t->groups || b != t->groups)
        open = t->open[a != t->groups ? a : b];
    return open ? MEASURED_UNKNOWN : MEASURED_NOT;
}

#endif
