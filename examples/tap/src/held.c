#include "held.h"

#include <stdlib.h>

held_text held_keep(held *held, plumbline_text text) {
    /* Twice the size that counts as full, because the size is only checked between lines. */
    held->store.limit = 2 * HELD_BYTES;
    held_text kept = {held->store.len, 0};
    plumbline_append(&held->store, text);
    kept.len = held->store.len - kept.start;
    return kept;
}

size_t held_add(held *held, uint32_t depth, plumbline_text name, plumbline_status status) {
    if (held->count == held->capacity) {
        held->capacity = held->capacity * 2 + 64;
        held_item *grown = realloc(held->items, held->capacity * sizeof *grown);
        if (grown == NULL) abort();
        held->items = grown;
    }
    held->items[held->count] = (held_item){.depth = depth, .status = status, .name = held_keep(held, name)};
    return held->count++;
}

bool held_full(const held *held) { return held->count >= HELD_ITEMS || held->store.len >= HELD_BYTES; }

static plumbline_text text_of(const held *held, held_text text) {
    return (plumbline_text){held->store.ptr + text.start, text.len};
}

static void emit(const held *held, const held_item *item, bool parent, plumbline_output *out) {
    static const char *const directives[] = {"", "skip", "todo"};
    plumbline_text name = text_of(held, item->name);
    plumbline_item(out, item->depth, name.len > 0 ? name : PLUMBLINE_TEXT("subtest"));
    plumbline_set_status(out, parent ? PLUMBLINE_ROLLED_UP : item->status);
    if (item->number > 0) {
        plumbline_buffer digits = {.limit = 20};
        plumbline_append_number(&digits, item->number);
        plumbline_meta(out, "number", plumbline_buffer_text(&digits));
        plumbline_free(&digits);
    }
    if (item->directive != TAP_NONE) plumbline_meta(out, "directive", plumbline_text_of(directives[item->directive]));
    if (item->reason.len > 0) plumbline_meta(out, "reason", text_of(held, item->reason));
    if (item->error.len > 0) plumbline_meta(out, "error", text_of(held, item->error));
    if (item->cut) plumbline_meta(out, "cut", PLUMBLINE_TEXT("true"));
    const char *key = item->status == PLUMBLINE_FAILED ? "failure" : "diagnostics";
    if (item->failure.len > 0) plumbline_detail(out, key, text_of(held, item->failure));
    if (item->output.len > 0) plumbline_detail(out, "system-out", text_of(held, item->output));
}

void held_emit(held *held, plumbline_output *out) {
    for (size_t i = 0; i < held->count; i++) {
        bool parent = i + 1 < held->count && held->items[i + 1].depth > held->items[i].depth;
        emit(held, &held->items[i], parent, out);
    }
    held->count = 0;
    plumbline_clear(&held->store);
}

void held_free(held *held) {
    free(held->items);
    plumbline_free(&held->store);
    held->items = NULL;
    held->count = held->capacity = 0;
}
