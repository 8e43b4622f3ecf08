#include "scanner.h"

#include <stdlib.h>
#include <string.h>

/* The most bytes of one piece of markup. */
#define MAX_MARKUP (16u << 20)
/* Bytes of a reference, such as `&#x10FFFF;`. */
#define MAX_REFERENCE 16

static event wrong(const char *why) { return (event){.kind = EVENT_ERROR, .text = plumbline_text_of(why)}; }

/* Reads another piece after the unread rest. Returns what went wrong, or NULL. */
static const char *refill(scanner *s) {
    size_t left = s->end - s->start;
    if (left > MAX_MARKUP) return "one piece of markup has more than 16 MiB";
    if (left > 0) memmove(s->window, s->window + s->start, left);
    s->start = 0;
    s->end = left;
    plumbline_text piece;
    plumbline_got got = plumbline_read(s->file, &piece);
    if (got == PLUMBLINE_BROKEN) return "the file cannot be read to its end";
    if (got == PLUMBLINE_END) {
        s->all = true;
        return NULL;
    }
    if (left + piece.len > s->capacity) {
        s->capacity = 2 * (left + piece.len);
        char *grown = realloc(s->window, s->capacity);
        if (grown == NULL) abort();
        s->window = grown;
    }
    memcpy(s->window + left, piece.ptr, piece.len);
    s->end = left + piece.len;
    return NULL;
}

/* Returns in `before` the part of `rest` before `stop`; false if `stop` is not found. */
static bool until(plumbline_text rest, const char *stop, plumbline_text *before) {
    size_t len = strlen(stop);
    for (size_t at = 0; at + len <= rest.len;) {
        const char *found = memchr(rest.ptr + at, stop[0], rest.len - at);
        if (found == NULL) return false;
        at = (size_t)(found - rest.ptr);
        if (at + len <= rest.len && memcmp(found, stop, len) == 0) {
            *before = (plumbline_text){rest.ptr, at};
            return true;
        }
        at++;
    }
    return false;
}

/* The inside of a tag, with any characters in quotes. */
static bool until_tag_ends(plumbline_text rest, plumbline_text *inside) {
    char quote = '\0';
    for (size_t i = 0; i < rest.len; i++) {
        char byte = rest.ptr[i];
        if (quote != '\0') {
            if (byte == quote) quote = '\0';
        } else if (byte == '"' || byte == '\'') {
            quote = byte;
        } else if (byte == '>') {
            *inside = (plumbline_text){rest.ptr, i};
            return true;
        }
    }
    return false;
}

static bool blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

static event tag(plumbline_text inside) {
    if (inside.len > 0 && inside.ptr[0] == '/') {
        return (event){.kind = EVENT_CLOSE, .text = plumbline_trim((plumbline_text){inside.ptr + 1, inside.len - 1})};
    }
    event opened = {.kind = EVENT_OPEN};
    if (inside.len > 0 && inside.ptr[inside.len - 1] == '/') {
        opened.empty = true;
        inside.len--;
    }
    size_t name = 0;
    while (name < inside.len && !blank(inside.ptr[name])) name++;
    if (name == 0) return wrong("a tag has no name");
    opened.text = (plumbline_text){inside.ptr, name};
    opened.attributes = (plumbline_text){inside.ptr + name, inside.len - name};
    return opened;
}

static event text(scanner *s, plumbline_text rest) {
    const char *markup = memchr(rest.ptr, '<', rest.len);
    size_t len = markup == NULL ? rest.len : (size_t)(markup - rest.ptr);
    if (markup == NULL && !s->all) {
        /* A reference may be cut in two: wait for its end. */
        size_t from = len > MAX_REFERENCE ? len - MAX_REFERENCE : 0;
        for (size_t i = len; i > from; i--) {
            if (rest.ptr[i - 1] == ';') break;
            if (rest.ptr[i - 1] == '&') {
                len = i - 1;
                break;
            }
        }
    }
    s->start += len;
    return (event){.kind = EVENT_TEXT, .text = {rest.ptr, len}};
}

event scanner_next(scanner *s) {
    for (;;) {
        plumbline_text rest = {s->window + s->start, s->end - s->start};
        plumbline_text inside;
        if (rest.len > 0 && rest.ptr[0] != '<') {
            event found = text(s, rest);
            if (found.text.len > 0) return found;
        } else if (plumbline_starts_with(rest, "<!--")) {
            if (until((plumbline_text){rest.ptr + 4, rest.len - 4}, "-->", &inside)) {
                s->start += 4 + inside.len + 3;
                continue;
            }
        } else if (plumbline_starts_with(rest, "<![CDATA[")) {
            if (until((plumbline_text){rest.ptr + 9, rest.len - 9}, "]]>", &inside)) {
                s->start += 9 + inside.len + 3;
                return (event){.kind = EVENT_CDATA, .text = inside};
            }
        } else if (plumbline_starts_with(rest, "<?")) {
            if (until(rest, "?>", &inside)) {
                s->start += inside.len + 2;
                continue;
            }
        } else if (rest.len >= 9 || s->all) {
            /* Long enough to rule out the kinds above. */
            if (rest.len == 0) return (event){.kind = EVENT_END};
            if (until_tag_ends((plumbline_text){rest.ptr + 1, rest.len - 1}, &inside)) {
                s->start += inside.len + 2;
                if (inside.len > 0 && inside.ptr[0] == '!') continue;
                return tag(inside);
            }
        } else if (rest.len > 1 && rest.ptr[1] != '!' && until_tag_ends((plumbline_text){rest.ptr + 1, rest.len - 1}, &inside)) {
            s->start += inside.len + 2;
            return tag(inside);
        }
        if (s->all) return s->start == s->end ? (event){.kind = EVENT_END} : wrong("the file ends within markup");
        const char *why = refill(s);
        if (why != NULL) return wrong(why);
    }
}

void scanner_free(scanner *s) { free(s->window); }

bool attribute(plumbline_text rest, const char *name, plumbline_text *value) {
    for (;;) {
        rest = plumbline_trim(rest);
        plumbline_text behind;
        plumbline_text key = plumbline_trim(plumbline_cut(rest, '=', &behind));
        behind = plumbline_trim(behind);
        if (behind.len == 0 || (behind.ptr[0] != '"' && behind.ptr[0] != '\'')) return false;
        plumbline_text found = plumbline_cut((plumbline_text){behind.ptr + 1, behind.len - 1}, behind.ptr[0], &rest);
        if (plumbline_equal(key, name)) {
            *value = found;
            return true;
        }
    }
}

static void append_character(uint32_t code, plumbline_buffer *into) {
    char bytes[4];
    size_t len;
    if (code < 0x80) {
        bytes[0] = (char)code;
        len = 1;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xC0 | code >> 6);
        len = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xE0 | code >> 12);
        len = 3;
    } else {
        bytes[0] = (char)(0xF0 | code >> 18);
        len = 4;
    }
    for (size_t i = 1; i < len; i++) bytes[i] = (char)(0x80 | (code >> 6 * (len - 1 - i) & 0x3F));
    plumbline_append(into, (plumbline_text){bytes, len});
}

static bool resolve(plumbline_text name, uint32_t *code) {
    static const struct {
        const char *name;
        char is;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (plumbline_equal(name, known[i].name)) {
            *code = (uint32_t)known[i].is;
            return true;
        }
    }
    if (name.len < 2 || name.ptr[0] != '#') return false;
    bool hex = name.ptr[1] == 'x';
    uint32_t sum = 0;
    for (size_t i = hex ? 2 : 1; i < name.len; i++) {
        char byte = name.ptr[i];
        uint32_t digit = byte >= '0' && byte <= '9'          ? (uint32_t)(byte - '0')
                         : hex && byte >= 'a' && byte <= 'f' ? (uint32_t)(byte - 'a' + 10)
                         : hex && byte >= 'A' && byte <= 'F' ? (uint32_t)(byte - 'A' + 10)
                                                             : 99;
        if (digit == 99) return false;
        sum = sum * (hex ? 16 : 10) + digit;
        if (sum > 0x10FFFF) return false;
    }
    *code = sum;
    return sum > 0;
}

void unescape(plumbline_text rest, plumbline_buffer *into) {
    while (rest.len > 0) {
        plumbline_text behind;
        plumbline_text plain = plumbline_cut(rest, '&', &behind);
        plumbline_append(into, plain);
        if (plain.len == rest.len) return;
        plumbline_text after;
        plumbline_text name = plumbline_cut(behind, ';', &after);
        uint32_t code;
        if (name.len < behind.len && name.len < MAX_REFERENCE && resolve(name, &code)) {
            append_character(code, into);
            rest = after;
        } else {
            plumbline_append_string(into, "&");
            rest = behind;
        }
    }
}
