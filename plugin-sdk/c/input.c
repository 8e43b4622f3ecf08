/* The files of a result set, or of the evidence. */
#include <stdlib.h>

#include "internal.h"

#ifdef PLUMBLINE_READS_INPUT

/* Bytes requested from the host at once: half of its maximum. Larger pieces are not faster, and do
 * not fit the processor's cache. */
#define READ_BYTES (512u << 10)

static plumbline_plugin_input_own_file_t own(const plumbline_file *file) {
    return (plumbline_plugin_input_own_file_t){file->handle};
}

static plumbline_got next(plumbline_file *file) {
    /* Free the piece before, so that a module holds one piece of a file at a time. */
    free(file->piece);
    file->piece = NULL;
    contract_list_u8_t piece = {NULL, 0};
    contract_string_t error = {NULL, 0};
    if (!plumbline_plugin_input_method_file_read(plumbline_plugin_input_borrow_file(own(file)), READ_BYTES, &piece, &error)) {
        file->error = plumbline_lift(error);
        return PLUMBLINE_BROKEN;
    }
    /* The bindings allocate nothing for an empty list. */
    if (piece.len == 0) return PLUMBLINE_END;
    file->piece = (char *)piece.ptr;
    file->piece_len = piece.len;
    return PLUMBLINE_OK;
}

plumbline_files plumbline_open_files(const plumbline_plugin_input_own_file_t *given, size_t count) {
    plumbline_files files = {plumbline_grow(NULL, count, sizeof *files.files), plumbline_grow(NULL, count, sizeof *files.pointers), count};
    for (size_t i = 0; i < count; i++) {
        plumbline_plugin_input_borrow_file_t file = plumbline_plugin_input_borrow_file(given[i]);
        contract_string_t path = {NULL, 0};
        plumbline_plugin_input_method_file_path(file, &path);
        files.files[i] = (plumbline_file){.next = next, .handle = given[i].__handle, .state = PLUMBLINE_OK,
                                          .size = plumbline_plugin_input_method_file_size(file),
                                          .path = plumbline_lift(path)};
        files.pointers[i] = &files.files[i];
    }
    return files;
}

/* Frees a text of the host. The bindings allocate nothing for an empty one. */
static void free_text(plumbline_text text) {
    if (text.len > 0) free((char *)text.ptr);
}

void plumbline_close_files(plumbline_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        plumbline_file *file = &files->files[i];
        free(file->piece);
        free_text(file->path);
        free_text(file->error);
        plumbline_free(&file->line);
        plumbline_plugin_input_file_drop_own(own(file));
    }
    free(files->pointers);
    free(files->files);
}

#endif
