/* UTF-8 (RFC 3629). The host ends a call that passes anything else. */
#include <string.h>

#include "internal.h"

/* The length of the character at `at` in bytes; 0 if it is not valid. */
static size_t character(const unsigned char *at, size_t left) {
    unsigned char first = at[0];
    if (first < 0x80) return 1;
    size_t len;
    unsigned char lowest = 0x80, highest = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) {
        len = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
        len = 3;
        /* Neither an overlong form nor a surrogate. */
        if (first == 0xE0) lowest = 0xA0;
        if (first == 0xED) highest = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        len = 4;
        if (first == 0xF0) lowest = 0x90;
        if (first == 0xF4) highest = 0x8F;
    } else {
        return 0;
    }
    if (left < len || at[1] < lowest || at[1] > highest) return 0;
    for (size_t i = 2; i < len; i++) {
        if (at[i] < 0x80 || at[i] > 0xBF) return 0;
    }
    return len;
}

size_t plumbline_valid(plumbline_text text) {
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t at = 0;
    while (at < text.len) {
        /* Nearly everything is ASCII, so check eight bytes at once. */
        uint64_t eight;
        while (at + sizeof eight <= text.len) {
            memcpy(&eight, bytes + at, sizeof eight);
            if ((eight & 0x8080808080808080u) != 0) break;
            at += sizeof eight;
        }
        if (at == text.len) break;
        size_t len = character(bytes + at, text.len - at);
        if (len == 0) return at;
        at += len;
    }
    return at;
}

size_t plumbline_repair(plumbline_text text, char *into) {
    size_t written = 0;
    while (text.len > 0) {
        size_t good = plumbline_valid(text);
        memcpy(into + written, text.ptr, good);
        written += good;
        text.ptr += good;
        text.len -= good;
        if (text.len > 0) {
            memcpy(into + written, "\xEF\xBF\xBD", 3);
            written += 3;
            text.ptr++;
            text.len--;
        }
    }
    return written;
}

plumbline_text plumbline_shorten(plumbline_text text, size_t max) {
    if (text.len <= max) return text;
    /* Go back to the start of a character, which has at most three bytes after its first. */
    for (size_t back = 0; back < 4 && back < max; back++) {
        if (((unsigned char)text.ptr[max - back] & 0xC0) != 0x80) return (plumbline_text){text.ptr, max - back};
    }
    return (plumbline_text){text.ptr, max};
}
