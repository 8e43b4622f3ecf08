/* Reads files as pieces and as lines, wherever they come from. */
#include <string.h>

#include "internal.h"

#ifdef PLUMBLINE_READS

plumbline_text plumbline_path(const plumbline_file *file) { return file->path; }

plumbline_text plumbline_name(const plumbline_file *file) {
    plumbline_text path = plumbline_path(file);
    size_t start = path.len;
    while (start > 0 && path.ptr[start - 1] != '/') start--;
    return (plumbline_text){path.ptr + start, path.len - start};
}

uint64_t plumbline_size(const plumbline_file *file) { return file->size; }

plumbline_text plumbline_error(const plumbline_file *file) { return file->error; }

/* Reads the next piece if none is left at the position. */
static plumbline_got fill(plumbline_file *file) {
    if (file->position < file->piece_len) return PLUMBLINE_OK;
    if (file->state != PLUMBLINE_OK) return file->state;
    file->piece_len = file->position = 0;
    file->state = file->next(file);
    return file->state;
}

plumbline_got plumbline_read(plumbline_file *file, plumbline_text *piece) {
    plumbline_got got = fill(file);
    *piece = (plumbline_text){file->piece + file->position, file->piece_len - file->position};
    file->position = file->piece_len;
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
        plumbline_text rest = {file->piece + file->position, file->piece_len - file->position};
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

#endif
