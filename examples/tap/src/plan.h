/* The plan of a document, and the numbers of its test points. */
#ifndef TAP_PLAN_H
#define TAP_PLAN_H

#include <plumbline.h>

/* Numbers up to this one are tracked, with one bit each; larger ones are only counted. */
#define PLAN_NUMBERS (1u << 20)

typedef struct plan {
    bool given;
    bool twice;   /* more than one plan was given */
    bool between; /* test points come before and after it */
    bool behind;  /* it came after a test point */
    uint64_t last;
    uint64_t points; /* test points so far */
    uint64_t number; /* of the latest */
    uint64_t largest;
    uint64_t repeated, first_repeated;
    uint8_t *seen;
    size_t seen_bytes;
} plan;

void plan_set(plan *plan, uint64_t last);
/* Counts a test point, and returns its number. `number` is 0 if the point has none. */
uint64_t plan_count(plan *plan, uint64_t number);
/* Appends what is wrong with a complete document; nothing if all is well. */
void plan_verdict(const plan *plan, plumbline_buffer *wrong);
void plan_free(plan *plan);

#endif
