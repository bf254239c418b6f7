/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of the program: whose they are, and one of a process that is drawn for it fails.
 * --wrap gives them these names; the storm itself is compiled with the real ones, but for free. */
#include "allocated.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void __real_free(void *at);

/* Open addressing; full by at most a half. */
static struct {
    struct entry {
        void *at; /* NULL: free */
        struct process *owner;
    } * entry;
    size_t n, room; /* a power of two */
} table;

static size_t place_of(const void *at)
{
    return (size_t)(((uint64_t)(uintptr_t)at >> 4) * 0x9e3779b97f4a7c15 >> 20) & (table.room - 1);
}

static struct entry *find(const void *at)
{
    size_t k = place_of(at);
    while (table.entry[k].at != NULL && table.entry[k].at != at)
        k = (k + 1) & (table.room - 1);
    return &table.entry[k];
}

static void grow(void)
{
    struct entry *old = table.entry;
    size_t room = table.room;
    table.room = room == 0 ? 4096 : 2 * room;
    table.entry = calloc(table.room, sizeof *table.entry);
    if (table.entry == NULL)
        abort();
    for (size_t k = 0; k < room; k++)
        if (old[k].at != NULL)
            *find(old[k].at) = old[k];
    __real_free(old);
}

static void *note(void *at)
{
    struct process *p = world.running;
    if (at == NULL || p == NULL)
        return at;
    if (2 * (table.n + 1) > table.room)
        grow();
    *find(at) = (struct entry){at, p};
    table.n++;
    p->allocated++;
    return at;
}

/* Those behind it move up, so that they are found. */
static void forget(const void *at)
{
    if (at == NULL || table.n == 0)
        return;
    struct entry *gone = find(at);
    if (gone->at == NULL)
        return;
    gone->owner->allocated--;
    table.n--;
    size_t hole = (size_t)(gone - table.entry), k = hole;
    for (;;) {
        k = (k + 1) & (table.room - 1);
        if (table.entry[k].at == NULL)
            break;
        size_t home = place_of(table.entry[k].at);
        if (((k - home) & (table.room - 1)) >= ((k - hole) & (table.room - 1))) {
            table.entry[hole] = table.entry[k];
            hole = k;
        }
    }
    table.entry[hole].at = NULL;
}

static bool fails(void)
{
    struct process *p = world.running;
    if (p == NULL || p->allocations_left == 0 || --p->allocations_left > 0)
        return false;
    world_tell(p->host, "memory", "an allocation fails");
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : note(malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : note(calloc(n, bytes));
}

void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes)
{
    if (fails())
        return NULL;
    forget(old);
    return note(realloc(old, bytes));
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : note(strdup(text));
}

void __wrap_free(void *at);
void __wrap_free(void *at)
{
    forget(at);
    __real_free(at);
}

void allocated_end(void)
{
    for (size_t k = 0; k < table.room && table.n > 0; k++)
        if (table.entry[k].at != NULL) {
            __real_free(table.entry[k].at);
            table.entry[k].at = NULL;
            table.n--;
        }
}
