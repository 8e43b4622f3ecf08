/* A TAP file: one document or several, with the documents inside them (subtests). */
#ifndef TAP_DOCUMENT_H
#define TAP_DOCUMENT_H

#include <plumbline.h>

#include "held.h"
#include "line.h"
#include "plan.h"

/* Levels of subtests; a deeper line is not TAP. The host allows 64 levels in a tree. */
#define MAX_LEVELS 32

/* No item. */
#define NO_ITEM SIZE_MAX

typedef struct level {
    plan plan;
    bool strict;            /* a line that is not TAP is a failure */
    bool announced;         /* a subtest was announced by a comment */
    plumbline_buffer name;  /* of the announced subtest */
    size_t parent;          /* the item of this level's subtest; NO_ITEM if it is emitted already */
    plumbline_buffer reason; /* of a plan without tests */
} level;

typedef struct document {
    plumbline_output *out;
    held held;
    level levels[MAX_LEVELS];
    size_t level;            /* the deepest open level */
    size_t current;          /* the item to which diagnostics belong */
    size_t current_level;
    plumbline_buffer diagnostics, output;
    bool in_yaml, bailed_out, anything;
    uint64_t line; /* the number of the latest line */
} document;

document *document_open(plumbline_output *out, bool strict);
/* Reads the next line. Nothing is read after `Bail out!`. */
void document_line(document *document, plumbline_text line, bool cut);
/* `error` says why the file could not be read to its end; empty if it could. */
void document_close(document *document, plumbline_text error);

#endif
