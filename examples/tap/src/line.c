#include "line.h"

static plumbline_text from(plumbline_text text, size_t start) {
    if (start > text.len) start = text.len;
    return (plumbline_text){text.ptr + start, text.len - start};
}

static bool blank(char byte) { return byte == ' ' || byte == '\t'; }

static bool digit(char byte) { return byte >= '0' && byte <= '9'; }

static char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte; }

/* Whether the text begins with `word`, ignoring case. `word` must be in lower case. */
static bool begins(plumbline_text text, const char *word) {
    size_t i = 0;
    for (; word[i] != '\0'; i++) {
        if (i >= text.len || lower(text.ptr[i]) != word[i]) return false;
    }
    return true;
}

/* Reads the digits at the start, and returns the rest in `rest`. A number that is too large becomes UINT64_MAX. */
static bool number(plumbline_text text, uint64_t *value, plumbline_text *rest) {
    size_t len = 0;
    while (len < text.len && digit(text.ptr[len])) len++;
    if (len == 0) return false;
    if (!plumbline_number((plumbline_text){text.ptr, len}, value)) *value = UINT64_MAX;
    *rest = from(text, len);
    return true;
}

/* A directive begins at the first unescaped `#` at the start, after a blank, or after an escaped backslash.
 * A `#` before a blank and an unknown word ends the search: it and the rest are part of the description. */
static plumbline_text take_directive(plumbline_text text, tap_line *line) {
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        bool escapes = byte == '\\' && i + 1 < text.len && (text.ptr[i + 1] == '\\' || text.ptr[i + 1] == '#');
        if (escapes) {
            i++;
            continue;
        }
        if (byte != '#' || (i > 0 && !blank(text.ptr[i - 1]) && text.ptr[i - 1] != '\\')) continue;
        plumbline_text word = plumbline_trim(from(text, i + 1));
        if (begins(word, "skip") || begins(word, "todo")) {
            line->directive = begins(word, "skip") ? TAP_SKIP : TAP_TODO;
            /* Characters up to the next blank belong to the word, as in `# Skipped: reason`. */
            plumbline_text reason;
            plumbline_cut(word, ' ', &reason);
            line->reason = plumbline_trim(reason);
            return plumbline_trim((plumbline_text){text.ptr, i});
        }
        if (i + 1 == text.len || blank(text.ptr[i + 1])) break;
    }
    return plumbline_trim(text);
}

static tap_line read_point(plumbline_text rest, bool ok) {
    tap_line line = {.kind = TAP_POINT, .ok = ok};
    rest = plumbline_trim(rest);
    plumbline_text behind;
    uint64_t value;
    /* `ok 2nd try` has no number. */
    if (number(rest, &value, &behind) && (behind.len == 0 || blank(behind.ptr[0]))) {
        line.number = value;
        rest = plumbline_trim(behind);
    }
    if (plumbline_equal(rest, "-") || plumbline_starts_with(rest, "- ")) rest = from(rest, 1);
    line.text = take_directive(rest, &line);
    return line;
}

static tap_line read_comment(plumbline_text text) {
    text = from(text, 1);
    plumbline_text inner = plumbline_trim(text);
    if (plumbline_equal(inner, "Subtest")) return (tap_line){.kind = TAP_SUBTEST};
    if (plumbline_starts_with(inner, "Subtest: ")) return (tap_line){.kind = TAP_SUBTEST, .text = plumbline_trim(from(inner, 9))};
    if (text.len > 0 && text.ptr[0] == ' ') text = from(text, 1);
    return (tap_line){.kind = TAP_COMMENT, .text = text};
}

static bool read_plan(plumbline_text text, tap_line *line) {
    uint64_t first;
    plumbline_text rest;
    if (!number(text, &first, &rest) || first != 1 || !plumbline_starts_with(rest, "..")) return false;
    if (!number(from(rest, 2), &line->number, &rest)) return false;
    rest = plumbline_trim(rest);
    if (rest.len > 0 && rest.ptr[0] != '#') return false;
    line->kind = TAP_PLAN;
    line->text = plumbline_trim(from(rest, 1));
    return true;
}

static bool read_pragma(plumbline_text text, tap_line *line) {
    text = plumbline_trim(from(text, 7));
    if (text.len < 2 || (text.ptr[0] != '+' && text.ptr[0] != '-')) return false;
    *line = (tap_line){.kind = TAP_PRAGMA, .ok = text.ptr[0] == '+', .text = from(text, 1)};
    return true;
}

tap_line tap_read_line(plumbline_text text) {
    tap_line line = {.kind = TAP_NOTHING};
    plumbline_text rest;
    if (text.len == 0) return line;
    if (text.ptr[0] == '#') return read_comment(text);
    if (plumbline_equal(text, "ok") || plumbline_starts_with(text, "ok ")) return read_point(from(text, 2), true);
    if (plumbline_equal(text, "not ok") || plumbline_starts_with(text, "not ok ")) return read_point(from(text, 6), false);
    if (begins(text, "bail out!")) return (tap_line){.kind = TAP_BAIL_OUT, .text = plumbline_trim(from(text, 9))};
    if (plumbline_starts_with(text, "TAP version ")) {
        if (number(from(text, 12), &line.number, &rest) && plumbline_trim(rest).len == 0) line.kind = TAP_VERSION;
        return line;
    }
    if (plumbline_starts_with(text, "pragma ") && read_pragma(text, &line)) return line;
    read_plan(text, &line);
    return line;
}

void tap_unescape(plumbline_text text, plumbline_buffer *into) {
    while (text.len > 0) {
        plumbline_text rest;
        plumbline_text plain = plumbline_cut(text, '\\', &rest);
        plumbline_append(into, plain);
        if (plain.len == text.len) return;
        bool escaped = rest.len > 0 && (rest.ptr[0] == '\\' || rest.ptr[0] == '#');
        plumbline_append(into, escaped ? (plumbline_text){rest.ptr, 1} : PLUMBLINE_TEXT("\\"));
        text = escaped ? from(rest, 1) : rest;
    }
}
