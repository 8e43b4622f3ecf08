/* Texts and their memory. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void *plumbline_grow(void *array, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) abort();
    void *grown = realloc(array, count * size + (count * size == 0));
    if (grown == NULL) abort();
    return grown;
}

plumbline_text plumbline_text_of(const char *string) { return (plumbline_text){string, strlen(string)}; }

bool plumbline_equal(plumbline_text text, const char *string) {
    size_t len = strlen(string);
    return text.len == len && (len == 0 || memcmp(text.ptr, string, len) == 0);
}

bool plumbline_starts_with(plumbline_text text, const char *string) {
    size_t len = strlen(string);
    return text.len >= len && (len == 0 || memcmp(text.ptr, string, len) == 0);
}

static bool blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

plumbline_text plumbline_trim(plumbline_text text) {
    while (text.len > 0 && blank(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && blank(text.ptr[text.len - 1])) text.len--;
    return text;
}

plumbline_text plumbline_cut(plumbline_text text, char separator, plumbline_text *rest) {
    const char *found = text.len == 0 ? NULL : memchr(text.ptr, separator, text.len);
    if (found == NULL) {
        *rest = (plumbline_text){text.ptr + text.len, 0};
        return text;
    }
    size_t before = (size_t)(found - text.ptr);
    *rest = (plumbline_text){found + 1, text.len - before - 1};
    return (plumbline_text){text.ptr, before};
}

bool plumbline_number(plumbline_text text, uint64_t *number) {
    uint64_t sum = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *number = sum;
    return text.len > 0;
}

void plumbline_append(plumbline_buffer *buffer, plumbline_text text) {
    size_t room = buffer->limit > buffer->len ? buffer->limit - buffer->len : 0;
    if (text.len > room) {
        text.len = room;
        buffer->cut = true;
    }
    if (text.len == 0) return;
    if (buffer->len + text.len > buffer->capacity) {
        buffer->capacity = buffer->capacity * 2 + text.len;
        buffer->ptr = plumbline_grow(buffer->ptr, buffer->capacity, 1);
    }
    memcpy(buffer->ptr + buffer->len, text.ptr, text.len);
    buffer->len += text.len;
}

void plumbline_append_string(plumbline_buffer *buffer, const char *string) { plumbline_append(buffer, plumbline_text_of(string)); }

void plumbline_append_number(plumbline_buffer *buffer, uint64_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    plumbline_append(buffer, (plumbline_text){digits + first, sizeof digits - first});
}

plumbline_text plumbline_buffer_text(const plumbline_buffer *buffer) { return (plumbline_text){buffer->ptr, buffer->len}; }

void plumbline_clear(plumbline_buffer *buffer) {
    buffer->len = 0;
    buffer->cut = false;
}

void plumbline_free(plumbline_buffer *buffer) {
    free(buffer->ptr);
    *buffer = (plumbline_buffer){.limit = buffer->limit};
}

bool plumbline_outcome(const char *sentence, contract_string_t *error) {
    if (sentence == NULL) return true;
    plumbline_text text = plumbline_text_of(sentence);
    char *copy = plumbline_grow(NULL, text.len, 3);
    size_t len = plumbline_repair(text, copy);
    /* The bindings free it after the host has read it. An empty text must not be a null pointer,
     * which means no memory. */
    *error = (contract_string_t){(uint8_t *)copy, len};
    return false;
}
