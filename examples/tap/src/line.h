/* Parses a line of TAP (Test Anything Protocol, version 14; versions 12 and 13 are read in the same way). */
#ifndef TAP_LINE_H
#define TAP_LINE_H

#include <plumbline.h>

typedef enum tap_kind {
    TAP_NOTHING, /* not TAP */
    TAP_VERSION,
    TAP_PLAN,
    TAP_POINT,
    TAP_BAIL_OUT,
    TAP_PRAGMA,
    TAP_SUBTEST, /* the comment `# Subtest: name` */
    TAP_COMMENT,
} tap_kind;

typedef enum tap_directive { TAP_NONE, TAP_SKIP, TAP_TODO } tap_directive;

typedef struct tap_line {
    tap_kind kind;
    uint64_t number;    /* of a version, a plan (its last test), a test point (0: none given) */
    bool ok;            /* test point: `ok`; pragma: `+` */
    tap_directive directive;
    plumbline_text text;   /* description, reason of a plan or a bail out, key of a pragma, name of a subtest, comment; still escaped */
    plumbline_text reason; /* of a directive; still escaped */
} tap_line;

/* Reads a line without its indentation. */
tap_line tap_read_line(plumbline_text line);

/* Appends the text with `\#` and `\\` unescaped. */
void tap_unescape(plumbline_text text, plumbline_buffer *into);

#endif
