/* The role post-processor: the call of the module's function. */
#include "internal.h"

#ifdef CONTRACT_POST_PROCESSOR

bool exports_plumbline_plugin_post_processor_process(exports_plumbline_plugin_post_processor_plugin_info_t *info,
                                                     exports_plumbline_plugin_post_processor_list_own_file_t *given,
                                                     contract_string_t *error) {
    plumbline_plugin plugin = {plumbline_lift(info->name), plumbline_lift(info->driver), plumbline_lift(info->format),
                               info->expected_results, plumbline_lift(info->options)};
    plumbline_files files = plumbline_open_files(given->ptr, given->len);
    plumbline_output *out = plumbline_open();
    bool done = plumbline_outcome(plumbline_process(&plugin, files.pointers, files.count, out), error);
    plumbline_close(out);
    plumbline_close_files(&files);
    exports_plumbline_plugin_post_processor_list_own_file_free(given);
    exports_plumbline_plugin_post_processor_plugin_info_free(info);
    return done;
}

#endif
