/* A file of TAP: one document or several in a row, with the documents in them (subtests). */
#ifndef TAP_DOCUMENT_H
#define TAP_DOCUMENT_H

#include <plumbline.h>

#include "held.h"
#include "line.h"
#include "plan.h"

/* Levels of subtests; what stands deeper is no TAP. The host allows 64 levels in a tree. */
#define MAX_LEVELS 32

/* No item. */
#define NO_ITEM SIZE_MAX

typedef struct level {
    plan plan;
    bool strict;            /* a line that is no TAP is a failure */
    bool announced;         /* a subtest was announced by a comment */
    plumbline_buffer name;  /* which it is */
    size_t parent;          /* the item of the subtest that this level is; NO_ITEM where it is emitted already */
    plumbline_buffer reason; /* of a plan of no tests */
} level;

typedef struct document {
    plumbline_output *out;
    held held;
    level levels[MAX_LEVELS];
    size_t level;            /* the deepest that is open */
    size_t current;          /* the item to which diagnostics belong */
    size_t current_level;
    plumbline_buffer diagnostics, output;
    bool in_yaml, bailed_out, anything;
    uint64_t line; /* the number of the latest line */
} document;

document *document_open(plumbline_output *out, bool strict);
/* The next line. Nothing is read behind `Bail out!`. */
void document_line(document *document, plumbline_text line, bool cut);
/* `error` is why the file could not be read to its end; empty where it could. */
void document_close(document *document, plumbline_text error);

#endif
