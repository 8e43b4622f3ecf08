/* A native host for a post-processor, for debuggers and sanitizers. It reads files from disk, and
 * prints a line `name: status` for each item, indented by two spaces per level. README.md has the
 * command that builds it.
 *
 * PLUMBLINE_OPTIONS contains the options as JSON. PLUMBLINE_CHUNK is the most bytes of a read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

static char **paths;

static contract_string_t copy(const char *text) {
    contract_string_t copied;
    contract_string_dup(&copied, text);
    return copied;
}

/* The bindings call these functions instead of WebAssembly imports. A list or text is returned as
 * address and length, after a word that is set for an error. */
void __wasm_import_plumbline_plugin_input_method_file_path(int32_t file, uint8_t *into) {
    contract_string_t path = copy(paths[file]);
    memcpy(into, &path, sizeof path);
}

static FILE *opened[4096];

int64_t __wasm_import_plumbline_plugin_input_method_file_size(int32_t file) {
    FILE *from = fopen(paths[file], "rb");
    if (from == NULL || fseek(from, 0, SEEK_END) != 0) return 0;
    int64_t size = ftell(from);
    fclose(from);
    return size;
}

void __wasm_import_plumbline_plugin_input_method_file_read(int32_t file, int32_t max, uint8_t *into) {
    const char *chunk = getenv("PLUMBLINE_CHUNK");
    size_t bytes = chunk != NULL ? strtoul(chunk, NULL, 10) : (size_t)max;
    if (opened[file] == NULL) opened[file] = fopen(paths[file], "rb");
    memset(into, 0, 3 * sizeof(void *));
    contract_string_t piece = {NULL, 0};
    if (opened[file] == NULL) {
        into[0] = 1;
        piece = copy("cannot be opened");
    } else {
        piece.ptr = malloc(bytes);
        piece.len = fread(piece.ptr, 1, bytes, opened[file]);
        /* The bindings do not free an empty text. */
        if (piece.len == 0) free(piece.ptr);
    }
    memcpy(into + sizeof(void *), &piece, sizeof piece);
}

void __wasm_import_plumbline_plugin_input_file_drop(int32_t file) {
    if (opened[file] != NULL) fclose(opened[file]);
    opened[file] = NULL;
}

void __wasm_import_plumbline_plugin_output_emit(uint8_t *list, size_t len) {
    static const char *const statuses[] = {"passed", "failed", "skipped", "timeout", "unknown"};
    const plumbline_plugin_types_item_t *items = (const plumbline_plugin_types_item_t *)list;
    for (size_t i = 0; i < len; i++) {
        const plumbline_plugin_types_status_t *status = &items[i].status.val;
        printf("%*s%.*s: ", (int)items[i].depth * 2, "", (int)items[i].name.len, (const char *)items[i].name.ptr);
        if (!items[i].status.is_some) {
            puts("-");
        } else if (status->tag == PLUMBLINE_PLUGIN_TYPES_STATUS_CUSTOM) {
            printf("%.*s\n", (int)status->val.custom.len, (const char *)status->val.custom.ptr);
        } else {
            puts(statuses[status->tag]);
        }
    }
}

void __wasm_import_plumbline_plugin_log_write(int32_t level, uint8_t *message, size_t len) {
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    fprintf(stderr, "%s: %.*s\n", levels[level & 3], (int)len, (const char *)message);
}

int main(int count, char **arguments) {
    if (count < 2 || (size_t)count > sizeof opened / sizeof *opened) {
        fprintf(stderr, "usage: %s FILE...\n", arguments[0]);
        return 2;
    }
    paths = arguments + 1;
    const char *options = getenv("PLUMBLINE_OPTIONS");
    exports_plumbline_plugin_post_processor_plugin_info_t plugin = {
        .name = copy("test"), .driver = copy("Job"), .format = copy("test"), .expected_results = 1,
        .options = copy(options != NULL ? options : "{}")};
    exports_plumbline_plugin_post_processor_list_own_file_t files = {malloc((size_t)(count - 1) * sizeof *files.ptr), (size_t)(count - 1)};
    for (int i = 0; i < count - 1; i++) files.ptr[i].__handle = i;
    contract_string_t error = {NULL, 0};
    if (exports_plumbline_plugin_post_processor_process(&plugin, &files, &error)) return 0;
    fprintf(stderr, "error: %.*s\n", (int)error.len, (const char *)error.ptr);
    contract_string_free(&error);
    return 1;
}
