/* The role check: its progress, and the call of the module's function. */
#include <stdlib.h>

#include "internal.h"

#ifdef CONTRACT_CHECK

/* Most bytes of an error: a path, and a sentence of the host. */
#define MAX_ERROR (16u << 10)

contract_string_t plumbline_lower(plumbline_text text) {
    char *repaired = plumbline_grow(NULL, text.len, 3);
    size_t len = plumbline_repair(text, repaired);
    if (len == 0) {
        free(repaired);
        repaired = NULL;
    }
    return (contract_string_t){(uint8_t *)repaired, len};
}

plumbline_text plumbline_context_error(const plumbline_context *context) { return plumbline_buffer_text(&context->error); }

void plumbline_progress(plumbline_context *context, uint64_t completed, uint64_t total, plumbline_text message) {
    (void)context;
    char *repaired = plumbline_grow(NULL, message.len, 3);
    contract_string_t text = {(uint8_t *)repaired, plumbline_repair(message, repaired)};
    plumbline_plugin_progress_report(completed, total, &text);
    free(repaired);
}

bool exports_plumbline_plugin_check_run(exports_plumbline_plugin_check_plugin_info_t *info, contract_string_t *error) {
    plumbline_plugin plugin = {plumbline_lift(info->name), plumbline_lift(info->driver), plumbline_lift(info->format),
                               info->expected_results, plumbline_lift(info->options)};
    plumbline_context context = {.error = {.limit = MAX_ERROR}};
    plumbline_output *out = plumbline_open();
    bool done = plumbline_outcome(plumbline_check_run(&plugin, &context, out), error);
    plumbline_close(out);
    plumbline_free(&context.error);
    exports_plumbline_plugin_check_plugin_info_free(info);
    return done;
}

#endif
