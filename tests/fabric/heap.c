/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_before(const struct nt_fab_event *a, const struct nt_fab_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void nt_fab_heap_fini(struct nt_fab_heap *heap)
{
    free(heap->events);
    *heap = (struct nt_fab_heap){0};
}

int nt_fab_heap_push(struct nt_fab_heap *heap, int64_t at_ns, void *what)
{
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity == 0 ? 1024 : heap->capacity * 2;
        if (capacity > SIZE_MAX / sizeof *heap->events)
            return -1;
        struct nt_fab_event *events = realloc(heap->events, capacity * sizeof *events);
        if (events == NULL)
            return -1;
        heap->events = events;
        heap->capacity = capacity;
    }
    struct nt_fab_event event = {.at_ns = at_ns, .order = heap->pushed++, .what = what};
    size_t hole = heap->count++;
    while (hole > 0 && is_before(&event, &heap->events[(hole - 1) / 2])) {
        heap->events[hole] = heap->events[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->events[hole] = event;
    return 0;
}

struct nt_fab_event nt_fab_heap_pop(struct nt_fab_heap *heap)
{
    struct nt_fab_event first = heap->events[0], last = heap->events[--heap->count];
    size_t hole = 0;
    for (size_t child = 1; child < heap->count; child = 2 * hole + 1) {
        if (child + 1 < heap->count && is_before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!is_before(&heap->events[child], &last))
            break;
        heap->events[hole] = heap->events[child];
        hole = child;
    }
    heap->events[hole] = last;
    return first;
}
