/* The plan of a document, and the numbers of its test points. */
#ifndef TAP_PLAN_H
#define TAP_PLAN_H

#include <plumbline.h>

/* Numbers up to this one are kept track of, a bit each; of larger ones only how many there are. */
#define PLAN_NUMBERS (1u << 20)

typedef struct plan {
    bool given;
    bool twice;   /* there is more than one */
    bool between; /* test points stand on both sides of it */
    bool behind;  /* it came behind a test point */
    uint64_t last;
    uint64_t points; /* test points so far */
    uint64_t number; /* of the latest */
    uint64_t largest;
    uint64_t repeated, first_repeated;
    uint8_t *seen;
    size_t seen_bytes;
} plan;

void plan_set(plan *plan, uint64_t last);
/* Counts a test point; `number` is 0 where it has none. The number that it has then. */
uint64_t plan_count(plan *plan, uint64_t number);
/* What is wrong, when the document is over; empty when nothing is. */
void plan_verdict(const plan *plan, plumbline_buffer *wrong);
void plan_free(plan *plan);

#endif
