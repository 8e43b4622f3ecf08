/* Files of a result set, or of the evidence. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#ifdef PLUMBLINE_READS

/* Bytes requested from the host at once: half of its maximum. Larger pieces are not faster, and do
 * not fit the processor's cache. */
#define READ_BYTES (512u << 10)

struct plumbline_file {
    plumbline_plugin_input_own_file_t handle;
    contract_string_t path, error;
    contract_list_u8_t piece;
    size_t position;
    plumbline_got state; /* PLUMBLINE_OK until the end */
    plumbline_buffer line;
};

plumbline_text plumbline_path(const plumbline_file *file) { return plumbline_lift(file->path); }

plumbline_text plumbline_name(const plumbline_file *file) {
    plumbline_text path = plumbline_path(file);
    size_t start = path.len;
    while (start > 0 && path.ptr[start - 1] != '/') start--;
    return (plumbline_text){path.ptr + start, path.len - start};
}

uint64_t plumbline_size(const plumbline_file *file) {
    return plumbline_plugin_input_method_file_size(plumbline_plugin_input_borrow_file(file->handle));
}

plumbline_text plumbline_error(const plumbline_file *file) { return plumbline_lift(file->error); }

/* Reads the next piece if none is left at the position. */
static plumbline_got fill(plumbline_file *file) {
    if (file->position < file->piece.len) return PLUMBLINE_OK;
    if (file->state != PLUMBLINE_OK) return file->state;
    contract_list_u8_free(&file->piece);
    file->piece = (contract_list_u8_t){NULL, 0};
    file->position = 0;
    plumbline_plugin_input_borrow_file_t handle = plumbline_plugin_input_borrow_file(file->handle);
    if (!plumbline_plugin_input_method_file_read(handle, READ_BYTES, &file->piece, &file->error)) {
        file->piece = (contract_list_u8_t){NULL, 0};
        file->state = PLUMBLINE_BROKEN;
    } else if (file->piece.len == 0) {
        file->state = PLUMBLINE_END;
    }
    return file->state;
}

plumbline_got plumbline_read(plumbline_file *file, plumbline_text *piece) {
    plumbline_got got = fill(file);
    *piece = (plumbline_text){(const char *)file->piece.ptr + file->position, file->piece.len - file->position};
    file->position = file->piece.len;
    return got;
}

static plumbline_got without_end(plumbline_text *line, size_t max, bool cut) {
    if (line->len > 0 && line->ptr[line->len - 1] == '\r' && !cut) line->len--;
    cut |= line->len > max;
    if (line->len > max) line->len = max;
    return cut ? PLUMBLINE_CUT : PLUMBLINE_OK;
}

plumbline_got plumbline_line(plumbline_file *file, size_t max, plumbline_text *line) {
    plumbline_clear(&file->line);
    /* One more than requested, so that a CR at the very end does not count. */
    file->line.limit = max < SIZE_MAX ? max + 1 : max;
    bool begun = false;
    for (;;) {
        plumbline_got got = fill(file);
        if (got != PLUMBLINE_OK) {
            if (!begun || got == PLUMBLINE_BROKEN) return got;
            *line = plumbline_buffer_text(&file->line);
            return without_end(line, max, file->line.cut);
        }
        plumbline_text rest = {(const char *)file->piece.ptr + file->position, file->piece.len - file->position};
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t taken = end == NULL ? rest.len : (size_t)(end - rest.ptr);
        file->position += taken + (end != NULL);
        plumbline_text part = {rest.ptr, taken};
        if (end != NULL && !begun) {
            /* The line is in one piece, as nearly always, so it needs no copy. */
            *line = part;
            return without_end(line, max, false);
        }
        begun = true;
        plumbline_append(&file->line, part);
        if (end != NULL) {
            *line = plumbline_buffer_text(&file->line);
            return without_end(line, max, file->line.cut);
        }
    }
}

static void close_file(plumbline_file *file) {
    contract_list_u8_free(&file->piece);
    contract_string_free(&file->path);
    contract_string_free(&file->error);
    plumbline_free(&file->line);
    plumbline_plugin_input_file_drop_own(file->handle);
}

plumbline_files plumbline_open_files(const plumbline_plugin_input_own_file_t *given, size_t count) {
    plumbline_files files = {plumbline_grow(NULL, count, sizeof *files.files), plumbline_grow(NULL, count, sizeof *files.pointers), count};
    for (size_t i = 0; i < count; i++) {
        files.files[i] = (plumbline_file){.handle = given[i], .state = PLUMBLINE_OK};
        plumbline_plugin_input_method_file_path(plumbline_plugin_input_borrow_file(given[i]), &files.files[i].path);
        files.pointers[i] = &files.files[i];
    }
    return files;
}

void plumbline_close_files(plumbline_files *files) {
    for (size_t i = 0; i < files->count; i++) close_file(&files->files[i]);
    free(files->pointers);
    free(files->files);
}

#endif
