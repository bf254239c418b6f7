/* SPDX-License-Identifier: Apache-2.0 */
/* What is to happen when: a binary heap of frames by time, first in first out among equals. */
#ifndef NT_FAB_HEAP_H
#define NT_FAB_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct nt_fab_event {
    int64_t at_ns;
    uint64_t order; /* the heap's: breaks ties, so equal times keep their order */
    void *what;     /* the caller's */
};

struct nt_fab_heap {
    struct nt_fab_event *events;
    size_t count, capacity;
    uint64_t pushed;
};

/* All zero is an empty heap. Frees the events, not what they point to. */
void nt_fab_heap_fini(struct nt_fab_heap *heap);

/* -1: no memory, and nothing changed. */
int nt_fab_heap_push(struct nt_fab_heap *heap, int64_t at_ns, void *what);

/* The earliest; the heap must not be empty. */
struct nt_fab_event nt_fab_heap_pop(struct nt_fab_heap *heap);

#endif
