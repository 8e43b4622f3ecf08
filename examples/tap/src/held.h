/* Items that cannot be emitted yet: the test point of a subtest comes after its tests, but before them in the tree. */
#ifndef TAP_HELD_H
#define TAP_HELD_H

#include <plumbline.h>

#include "line.h"

/* A text in the store of the items, as offsets, because the store may move. */
typedef struct held_text {
    size_t start, len;
} held_text;

typedef struct held_item {
    uint32_t depth;
    plumbline_status status;
    tap_directive directive;
    uint64_t number;
    held_text name, reason, failure, output, error;
    bool cut; /* one of its texts was cut */
} held_item;

typedef struct held {
    held_item *items;
    size_t count, capacity;
    plumbline_buffer store;
} held;

/* The most items, and bytes of their texts, that are held. A larger subtest is emitted before its own test point is known. */
#define HELD_ITEMS 50000u
#define HELD_BYTES (16u << 20)

/* Adds an item, and returns its index. */
size_t held_add(held *held, uint32_t depth, plumbline_text name, plumbline_status status);
/* Keeps a text, unless the store is full. */
held_text held_keep(held *held, plumbline_text text);
bool held_full(const held *held);
/* Emits all items, and empties the store. */
void held_emit(held *held, plumbline_output *out);
void held_free(held *held);

#endif
