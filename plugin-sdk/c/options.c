/* Iterates over the keys of a JSON object. The host wrote it, so it is valid JSON. Damaged text
 * only ends the iteration. */
#include "plumbline.h"

static char peek(plumbline_text text) { return text.len > 0 ? text.ptr[0] : '\0'; }

static void skip(plumbline_text *text, size_t bytes) {
    if (bytes > text->len) bytes = text->len;
    text->ptr += bytes;
    text->len -= bytes;
}

static void skip_blanks(plumbline_text *text) {
    while (peek(*text) == ' ' || peek(*text) == '\t' || peek(*text) == '\r' || peek(*text) == '\n') skip(text, 1);
}

/* The string at the start, with its quotes. Empty if there is none. */
static plumbline_text string(plumbline_text text) {
    if (peek(text) != '"') return (plumbline_text){text.ptr, 0};
    for (size_t i = 1; i < text.len; i++) {
        if (text.ptr[i] == '\\') {
            i++;
        } else if (text.ptr[i] == '"') {
            return (plumbline_text){text.ptr, i + 1};
        }
    }
    return (plumbline_text){text.ptr, 0};
}

/* The value at the start: up to the first comma or bracket outside of it. */
static plumbline_text value(plumbline_text text) {
    plumbline_text rest = text;
    size_t depth = 0;
    while (rest.len > 0) {
        char byte = peek(rest);
        if (byte == '"') {
            size_t len = string(rest).len;
            if (len == 0) break;
            skip(&rest, len);
            continue;
        }
        if (depth == 0 && (byte == ',' || byte == '}' || byte == ']')) break;
        if (byte == '{' || byte == '[') depth++;
        if (byte == '}' || byte == ']') depth--;
        skip(&rest, 1);
    }
    return plumbline_trim((plumbline_text){text.ptr, text.len - rest.len});
}

bool plumbline_next_option(plumbline_text *rest, plumbline_text *key, plumbline_text *found) {
    skip_blanks(rest);
    if (peek(*rest) == '{' || peek(*rest) == ',') skip(rest, 1);
    skip_blanks(rest);
    plumbline_text quoted = string(*rest);
    if (quoted.len < 2) return false;
    *key = (plumbline_text){quoted.ptr + 1, quoted.len - 2};
    skip(rest, quoted.len);
    skip_blanks(rest);
    if (peek(*rest) != ':') return false;
    skip(rest, 1);
    skip_blanks(rest);
    *found = value(*rest);
    skip(rest, found->len);
    return found->len > 0;
}

bool plumbline_member(plumbline_text object, const char *key, plumbline_text *found) {
    plumbline_text known;
    while (plumbline_next_option(&object, &known, found)) {
        if (plumbline_equal(known, key)) return true;
    }
    return false;
}
