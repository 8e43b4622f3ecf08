/* Converts items of the contract to items of this library. */
#include "internal.h"

#ifdef PLUMBLINE_READS_ITEMS

void plumbline_lift_item(plumbline_lifted *into, const plumbline_plugin_types_item_t *item, plumbline_entry *entry) {
    entry->depth = item->depth;
    entry->name = plumbline_lift(item->name);
    if (item->status.is_some) {
        entry->status = (plumbline_status)(item->status.val.tag + PLUMBLINE_PASSED);
        if (entry->status == PLUMBLINE_CUSTOM) entry->custom = plumbline_lift(item->status.val.val.custom);
    }
    into->meta = plumbline_grow(into->meta, item->meta.len, sizeof *into->meta);
    for (size_t i = 0; i < item->meta.len; i++) {
        into->meta[i] = (plumbline_pair){plumbline_lift(item->meta.ptr[i].f0), plumbline_lift(item->meta.ptr[i].f1)};
    }
    entry->meta = into->meta;
    entry->meta_count = item->meta.len;
    into->details = plumbline_grow(into->details, item->details.len, sizeof *into->details);
    for (size_t i = 0; i < item->details.len; i++) {
        bool json = item->details.ptr[i].f1.tag == PLUMBLINE_PLUGIN_TYPES_DETAIL_JSON;
        into->details[i] = (plumbline_entry_detail){plumbline_lift(item->details.ptr[i].f0),
                                                    plumbline_lift(item->details.ptr[i].f1.val.text), json};
    }
    entry->details = into->details;
    entry->detail_count = item->details.len;
}

#endif
