/* Sends items to the host in batches. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#ifdef PLUMBLINE_EMITS

/* Items in a batch at most. */
#define BATCH_ITEMS 256
/* A batch is sent after so many bytes of texts. With the limit of one item, this bounds the memory
 * of a module. */
#define BATCH_BYTES (1u << 20)
/* Bytes of a name and of a custom status at most. The host ends the call at a longer one. */
#define MAX_NAME (64u << 10)
#define MAX_CUSTOM_STATUS 256u
/* Texts of a batch are in blocks that do not move, so that pointers to copied texts stay valid. */
#define BLOCK_BYTES (64u << 10)

typedef struct block {
    struct block *before;
    size_t used, size;
    char bytes[];
} block;

struct plumbline_output {
    plumbline_plugin_types_item_t items[BATCH_ITEMS];
    /* Where the facts and details of each item start. These are indexes, because the arrays may
     * still move. */
    size_t first_fact[BATCH_ITEMS], first_detail[BATCH_ITEMS];
    size_t count, bytes;
    contract_tuple2_string_string_t *facts;
    size_t fact_count, fact_capacity;
    plumbline_plugin_types_tuple2_string_detail_t *details;
    size_t detail_count, detail_capacity;
    block *blocks;
};

plumbline_output *plumbline_open(void) {
    plumbline_output *out = plumbline_grow(NULL, 1, sizeof *out);
    memset(out, 0, sizeof *out);
    return out;
}

static char *room(plumbline_output *out, size_t bytes) {
    block *last = out->blocks;
    if (last == NULL || last->size - last->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block *fresh = plumbline_grow(NULL, sizeof *fresh + size, 1);
        *fresh = (block){.before = last, .size = size};
        out->blocks = last = fresh;
    }
    return last->bytes + last->used;
}

static contract_string_t copy(plumbline_output *out, plumbline_text text) {
    bool valid = plumbline_valid(text) == text.len;
    char *into = room(out, valid ? text.len : 3 * text.len);
    size_t len = text.len;
    if (valid) {
        if (len > 0) memcpy(into, text.ptr, len);
    } else {
        len = plumbline_repair(text, into);
    }
    out->blocks->used += len;
    out->bytes += len;
    return (contract_string_t){(uint8_t *)into, len};
}

static void flush(plumbline_output *out) {
    for (size_t i = 0; i < out->count; i++) {
        bool last = i + 1 == out->count;
        size_t facts = (last ? out->fact_count : out->first_fact[i + 1]) - out->first_fact[i];
        size_t details = (last ? out->detail_count : out->first_detail[i + 1]) - out->first_detail[i];
        if (facts > 0) {
            out->items[i].meta = (contract_list_tuple2_string_string_t){out->facts + out->first_fact[i], facts};
        }
        if (details > 0) {
            out->items[i].details =
                (plumbline_plugin_types_list_tuple2_string_detail_t){out->details + out->first_detail[i], details};
        }
    }
    if (out->count > 0) {
        plumbline_plugin_output_list_item_t batch = {out->items, out->count};
        plumbline_plugin_output_emit(&batch);
    }
    /* Keep the first block for the next batch. */
    while (out->blocks != NULL && out->blocks->before != NULL) {
        block *before = out->blocks->before;
        free(out->blocks);
        out->blocks = before;
    }
    if (out->blocks != NULL) out->blocks->used = 0;
    out->count = out->bytes = out->fact_count = out->detail_count = 0;
}

void plumbline_close(plumbline_output *out) {
    flush(out);
    free(out->blocks);
    free(out->facts);
    free(out->details);
    free(out);
}

void plumbline_item(plumbline_output *out, uint32_t depth, plumbline_text name) {
    if (out->count == BATCH_ITEMS || out->bytes >= BATCH_BYTES) flush(out);
    size_t i = out->count++;
    out->first_fact[i] = out->fact_count;
    out->first_detail[i] = out->detail_count;
    out->items[i] = (plumbline_plugin_types_item_t){.depth = depth, .name = copy(out, plumbline_shorten(name, MAX_NAME))};
}

void plumbline_set_status(plumbline_output *out, plumbline_status status) {
    if (out->count == 0 || status == PLUMBLINE_CUSTOM) return;
    plumbline_plugin_types_item_t *item = &out->items[out->count - 1];
    item->status.is_some = status != PLUMBLINE_ROLLED_UP;
    /* The enum has the order of the contract. */
    item->status.val.tag = (uint8_t)(status - PLUMBLINE_PASSED);
}

void plumbline_set_custom_status(plumbline_output *out, plumbline_text status) {
    if (out->count == 0) return;
    plumbline_plugin_types_item_t *item = &out->items[out->count - 1];
    item->status.is_some = true;
    item->status.val.tag = PLUMBLINE_PLUGIN_TYPES_STATUS_CUSTOM;
    item->status.val.val.custom = copy(out, plumbline_shorten(status, MAX_CUSTOM_STATUS));
}

void plumbline_meta(plumbline_output *out, const char *key, plumbline_text value) {
    if (out->count == 0) return;
    if (out->fact_count == out->fact_capacity) {
        out->fact_capacity = out->fact_capacity * 2 + 64;
        out->facts = plumbline_grow(out->facts, out->fact_capacity, sizeof *out->facts);
    }
    contract_string_t copied = copy(out, plumbline_text_of(key));
    out->facts[out->fact_count++] = (contract_tuple2_string_string_t){copied, copy(out, value)};
}

static void detail(plumbline_output *out, const char *key, uint8_t tag, plumbline_text value) {
    if (out->count == 0) return;
    if (out->detail_count == out->detail_capacity) {
        out->detail_capacity = out->detail_capacity * 2 + 64;
        out->details = plumbline_grow(out->details, out->detail_capacity, sizeof *out->details);
    }
    plumbline_plugin_types_tuple2_string_detail_t *added = &out->details[out->detail_count++];
    added->f0 = copy(out, plumbline_text_of(key));
    added->f1.tag = tag;
    added->f1.val.text = copy(out, value);
}

void plumbline_detail(plumbline_output *out, const char *key, plumbline_text value) {
    detail(out, key, PLUMBLINE_PLUGIN_TYPES_DETAIL_TEXT, value);
}

void plumbline_json(plumbline_output *out, const char *key, plumbline_text json) {
    detail(out, key, PLUMBLINE_PLUGIN_TYPES_DETAIL_JSON, json);
}

#endif
