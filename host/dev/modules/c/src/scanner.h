/* XML, piece by piece: as much of it as reports of tests have. */
#ifndef SCANNER_H
#define SCANNER_H

#include <plumbline.h>

typedef enum event_kind { EVENT_END, EVENT_OPEN, EVENT_CLOSE, EVENT_TEXT, EVENT_CDATA, EVENT_ERROR } event_kind;

typedef struct event {
    event_kind kind;
    plumbline_text text; /* the name of an element; text, with its references; why there is an error */
    plumbline_text attributes;
    bool empty; /* an element that closes at once */
} event;

typedef struct scanner {
    plumbline_file *file;
    char *window;
    size_t start, end, capacity;
    bool all; /* the window holds the rest of the file */
} scanner;

/* The next event. What it points to stays until the next call. */
event scanner_next(scanner *scanner);
void scanner_free(scanner *scanner);
/* The value of an attribute, with its references; false where there is none. */
bool attribute(plumbline_text attributes, const char *name, plumbline_text *value);
/* Appends text with its references resolved; those that are not known stay as they are. */
void unescape(plumbline_text text, plumbline_buffer *into);

#endif
