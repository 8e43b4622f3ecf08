/* The role summarizer: the items of all result sets, and the call of the module's function. */
#include <stdlib.h>

#include "internal.h"

#ifdef CONTRACT_SUMMARIZER

/* Entries requested from the host at once. */
#define BATCH_ENTRIES 256u

struct plumbline_results {
    plumbline_plugin_results_own_items_t handle;
    plumbline_plugin_results_list_entry_t batch;
    size_t position;
    plumbline_got state; /* PLUMBLINE_OK until the end */
    contract_string_t error;
    plumbline_lifted lifted;
};

plumbline_text plumbline_results_error(const plumbline_results *results) { return plumbline_lift(results->error); }

static plumbline_got fill(plumbline_results *results) {
    if (results->position < results->batch.len) return PLUMBLINE_OK;
    if (results->state != PLUMBLINE_OK) return results->state;
    plumbline_plugin_results_list_entry_free(&results->batch);
    results->batch = (plumbline_plugin_results_list_entry_t){NULL, 0};
    results->position = 0;
    plumbline_plugin_results_borrow_items_t handle = plumbline_plugin_results_borrow_items(results->handle);
    if (!plumbline_plugin_results_method_items_next(handle, BATCH_ENTRIES, &results->batch, &results->error)) {
        results->batch = (plumbline_plugin_results_list_entry_t){NULL, 0};
        results->state = PLUMBLINE_BROKEN;
    } else if (results->batch.len == 0) {
        results->state = PLUMBLINE_END;
    }
    return results->state;
}

plumbline_got plumbline_next(plumbline_results *results, plumbline_entry *entry) {
    plumbline_got got = fill(results);
    if (got != PLUMBLINE_OK) return got;
    const plumbline_plugin_results_entry_t *given = &results->batch.ptr[results->position++];
    *entry = (plumbline_entry){.set = plumbline_lift(given->set)};
    plumbline_lift_item(&results->lifted, &given->item, entry);
    return PLUMBLINE_OK;
}

bool exports_plumbline_plugin_summarizer_summarize(exports_plumbline_plugin_summarizer_plugin_info_t *info,
                                                   exports_plumbline_plugin_summarizer_own_items_t given, contract_string_t *error) {
    plumbline_plugin plugin = {plumbline_lift(info->name), plumbline_lift(info->driver), plumbline_lift(info->format),
                               info->expected_results, plumbline_lift(info->options)};
    plumbline_results results = {.handle = given, .state = PLUMBLINE_OK};
    plumbline_output *out = plumbline_open();
    bool done = plumbline_outcome(plumbline_summarize(&plugin, &results, out), error);
    plumbline_close(out);
    plumbline_plugin_results_list_entry_free(&results.batch);
    contract_string_free(&results.error);
    free(results.lifted.meta);
    free(results.lifted.details);
    plumbline_plugin_results_items_drop_own(results.handle);
    exports_plumbline_plugin_summarizer_plugin_info_free(info);
    return done;
}

#endif
