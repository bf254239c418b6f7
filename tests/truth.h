/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of hosts that are known of a measured machine: tests/data/measured/NAME.truth.
 *
 * Hosts are numbers from 0, in the matrix's order. A SET is ranges with blanks between: 0-3 16-19.
 *   group SET      these stand together
 *   runs N SET     so do the first N, the next N, ...
 *   pairs SET SET  so does each host of the first range with its like in the second
 *   open SET|all   which groups there are of the groups in this one is not known
 * Groups are nested or apart. What is in no open group has the groups that are told, and no other.
 * Header only, so that each program stays one file. */
#ifndef TRUTH_H
#define TRUTH_H

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRUTH_HOSTS_MAX = 128, TRUTH_GROUPS_MAX = 192 };

struct truth_set {
    uint64_t bits[2];
};

struct truth {
    size_t hosts;
    size_t groups;
    struct truth_set group[TRUTH_GROUPS_MAX]; /* each in one way: see truth_side */
    struct truth_set below[TRUTH_GROUPS_MAX]; /* as they were told */
    bool open[TRUTH_GROUPS_MAX];
    bool open_all;
};

enum truth_verdict { TRUTH_REAL, TRUTH_NOT, TRUTH_UNKNOWN };

/* ---- sets ---- */

static inline void truth_add(struct truth_set *s, size_t host)
{
    s->bits[host / 64] |= UINT64_C(1) << (host % 64);
}

static inline bool truth_has(const struct truth_set *s, size_t host)
{
    return s->bits[host / 64] >> (host % 64) & 1;
}

static inline size_t truth_count(const struct truth_set *s)
{
    return (size_t)__builtin_popcountll(s->bits[0]) + (size_t)__builtin_popcountll(s->bits[1]);
}

static inline bool truth_same(const struct truth_set *a, const struct truth_set *b)
{
    return a->bits[0] == b->bits[0] && a->bits[1] == b->bits[1];
}

static inline bool truth_within(const struct truth_set *a, const struct truth_set *b)
{
    return !(a->bits[0] & ~b->bits[0]) && !(a->bits[1] & ~b->bits[1]);
}

static inline bool truth_apart(const struct truth_set *a, const struct truth_set *b)
{
    return !(a->bits[0] & b->bits[0]) && !(a->bits[1] & b->bits[1]);
}

static inline struct truth_set truth_others(const struct truth_set *s, size_t hosts)
{
    struct truth_set all = {{0}};
    for (size_t h = 0; h < hosts; h++)
        truth_add(&all, h);
    return (struct truth_set){{all.bits[0] & ~s->bits[0], all.bits[1] & ~s->bits[1]}};
}

/* A group and all others part the hosts in the same way: the side without host 0 stands for both.
 */
static inline struct truth_set truth_side(struct truth_set s, size_t hosts)
{
    return truth_has(&s, 0) ? truth_others(&s, hosts) : s;
}

/* ---- the text ---- */

static inline void truth_refuse(const char *path, const char *line)
{
    fprintf(stderr, "%s: cannot be understood: %s\n", path, line);
    abort();
}

/* The ranges that text begins with, as numbers in their order; how many. */
static inline size_t truth_numbers(const char **text, size_t ranges, size_t hosts, size_t *number)
{
    size_t count = 0;
    for (; ranges > 0; ranges--) {
        char *end;
        size_t from = strtoul(*text, &end, 10), to = from;
        if (end == *text)
            break;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (from > to || to >= hosts || count + to - from >= TRUTH_HOSTS_MAX)
            return 0;
        for (size_t h = from; h <= to; h++)
            number[count++] = h;
        *text = end;
    }
    return count;
}

static inline void truth_group(struct truth *t, const size_t *number, size_t count)
{
    struct truth_set s = {{0}};
    for (size_t k = 0; k < count; k++)
        truth_add(&s, number[k]);
    if (t->groups == TRUTH_GROUPS_MAX)
        abort();
    t->group[t->groups] = truth_side(s, t->hosts);
    t->open[t->groups] = false;
    t->below[t->groups++] = s;
}

static inline bool truth_line(struct truth *t, const char *line, struct truth_set *open,
                              size_t *opens)
{
    size_t a[TRUTH_HOSTS_MAX], b[TRUTH_HOSTS_MAX], count, size = 0;
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
    count = truth_numbers(&at, strcmp(word, "pairs") == 0 ? 1 : SIZE_MAX, t->hosts, a);
    if (strcmp(word, "group") == 0 && count > 1) {
        truth_group(t, a, count);
    } else if (strcmp(word, "runs") == 0 && size > 1 && count > 0 && count % size == 0) {
        for (size_t k = 0; k < count; k += size)
            truth_group(t, a + k, size);
    } else if (strcmp(word, "pairs") == 0 && count > 0 &&
               truth_numbers(&at, 1, t->hosts, b) == count) {
        for (size_t k = 0; k < count; k++)
            truth_group(t, (size_t[]){a[k], b[k]}, 2);
    } else if (strcmp(word, "open") == 0 && count > 1) {
        open[*opens] = (struct truth_set){{0}};
        for (size_t k = 0; k < count; k++)
            truth_add(&open[*opens], a[k]);
        ++*opens;
    } else {
        return false;
    }
    return *opens < TRUTH_GROUPS_MAX;
}

/* Aborts on any trouble: the files are ours. */
static inline void truth_read(const char *path, size_t hosts, struct truth *t)
{
    static struct truth_set open[TRUTH_GROUPS_MAX];
    char line[1024];
    size_t opens = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL || hosts > TRUTH_HOSTS_MAX)
        truth_refuse(path, "no such file, or too many hosts");
    *t = (struct truth){.hosts = hosts};
    while (fgets(line, sizeof line, file) != NULL)
        if (line[0] != '#' && line[0] != '\n' && !truth_line(t, line, open, &opens))
            truth_refuse(path, line);
    fclose(file);
    for (size_t k = 0; k < opens; k++) {
        bool known = false;
        for (size_t g = 0; g < t->groups; g++)
            if (truth_same(&t->below[g], &open[k]))
                known = t->open[g] = true;
        if (!known)
            truth_refuse(path, "open: not a group that is told");
    }
}

/* As it is for some of the hosts only; host[k] was the number of the new host k. Of groups that are
 * now the same the smallest one is kept with what is known in it. */
static inline void truth_restrict(const struct truth *t, const uint32_t *host, size_t hosts,
                                  struct truth *out)
{
    size_t was[TRUTH_GROUPS_MAX], all_was = t->hosts;
    *out = (struct truth){.hosts = hosts, .open_all = t->open_all};
    for (size_t g = 0; g < t->groups; g++) {
        size_t number[TRUTH_HOSTS_MAX], count = 0, size = truth_count(&t->below[g]), same = 0;
        for (size_t k = 0; k < hosts; k++)
            if (truth_has(&t->below[g], host[k]))
                number[count++] = k;
        if (count == hosts && size < all_was) {
            out->open_all = t->open[g];
            all_was = size;
        }
        if (count < 2 || count == hosts)
            continue;
        truth_group(out, number, count);
        size_t now = out->groups - 1;
        while (!truth_same(&out->below[same], &out->below[now]))
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
static inline bool truth_is_said(const struct truth *t, size_t group)
{
    size_t others = t->hosts - truth_count(&t->group[group]);
    for (size_t g = 0; g < group; g++)
        if (truth_same(&t->group[g], &t->group[group]))
            return true;
    return others < 2 || truth_count(&t->group[group]) < 2;
}

/* The least group that holds s and more; groups for all hosts. */
static inline size_t truth_around(const struct truth *t, const struct truth_set *s)
{
    size_t best = t->groups, size = t->hosts;
    for (size_t g = 0; g < t->groups; g++) {
        size_t count = truth_count(&t->below[g]);
        if (count < size && truth_within(s, &t->below[g]) && !truth_same(s, &t->below[g])) {
            best = g;
            size = count;
        }
    }
    return best;
}

/* The verdict on a stated group. */
static inline enum truth_verdict truth_judge(const struct truth *t, const struct truth_set *stated)
{
    struct truth_set side = truth_side(*stated, t->hosts), other = truth_others(&side, t->hosts);
    bool open = t->open_all;
    for (size_t g = 0; g < t->groups; g++)
        if (truth_same(&side, &t->group[g]))
            return TRUTH_REAL;
    for (size_t g = 0; g < t->groups; g++) {
        const struct truth_set *b = &t->below[g];
        if (!truth_within(&side, b) && !truth_within(b, &side) && !truth_apart(b, &side) &&
            !truth_within(&other, b))
            return TRUTH_NOT;
    }
    size_t a = truth_around(t, &side), b = truth_around(t, &other);
    if (a != t->groups || b != t->groups)
        open = t->open[a != t->groups ? a : b];
    return open ? TRUTH_UNKNOWN : TRUTH_NOT;
}

#endif
