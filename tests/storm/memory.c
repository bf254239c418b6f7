/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of the program: one of a process that is drawn for it fails. --wrap gives them these
 * names; the storm itself is compiled with the real ones. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

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
    return fails() ? NULL : malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : realloc(old, bytes);
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : strdup(text);
}
