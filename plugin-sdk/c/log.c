/* The log of the run. */
#include <stdlib.h>

#include "internal.h"

void plumbline_log(plumbline_level level, plumbline_text message) {
    if (plumbline_valid(message) == message.len) {
        contract_string_t line = {(uint8_t *)message.ptr, message.len};
        plumbline_plugin_log_write((plumbline_plugin_log_level_t)level, &line);
        return;
    }
    char *repaired = plumbline_grow(NULL, message.len, 3);
    contract_string_t line = {(uint8_t *)repaired, plumbline_repair(message, repaired)};
    plumbline_plugin_log_write((plumbline_plugin_log_level_t)level, &line);
    free(repaired);
}
