/* Reads XML piece by piece: the subset that test reports use. */
#ifndef SCANNER_H
#define SCANNER_H

#include <plumbline.h>

typedef enum event_kind { EVENT_END, EVENT_OPEN, EVENT_CLOSE, EVENT_TEXT, EVENT_CDATA, EVENT_ERROR } event_kind;

typedef struct event {
    event_kind kind;
    plumbline_text text; /* the name of an element; text, with its references; the reason of an error */
    plumbline_text attributes;
    bool empty; /* a self-closing element */
} event;

typedef struct scanner {
    plumbline_file *file;
    char *window;
    size_t start, end, capacity;
    bool all; /* the window has the rest of the file */
} scanner;

/* Returns the next event. Its pointers are valid until the next call. */
event scanner_next(scanner *scanner);
void scanner_free(scanner *scanner);
/* Returns the value of an attribute, with its references; false if there is none. */
bool attribute(plumbline_text attributes, const char *name, plumbline_text *value);
/* Appends text with its references resolved; unknown ones stay as they are. */
void unescape(plumbline_text text, plumbline_buffer *into);

#endif
