#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* Ranges of missing numbers that are printed. */
#define SHOWN_RANGES 10

void plan_set(plan *plan, uint64_t last) {
    plan->twice |= plan->given;
    if (!plan->given) {
        plan->given = true;
        plan->last = last;
        plan->behind = plan->points > 0;
    }
}

static bool seen(const plan *plan, uint64_t number) {
    return number / 8 < plan->seen_bytes && (plan->seen[number / 8] >> (number % 8) & 1) != 0;
}

uint64_t plan_count(plan *plan, uint64_t number) {
    /* A test point without a number has the number after that of the point before it. */
    if (number == 0) number = plan->number < UINT64_MAX ? plan->number + 1 : plan->number;
    plan->number = number;
    plan->points++;
    plan->between |= plan->behind;
    if (number > plan->largest) plan->largest = number;
    if (number > PLAN_NUMBERS) return number;
    if (number / 8 >= plan->seen_bytes) {
        size_t bytes = 2 * (size_t)(number / 8) + 64;
        uint8_t *grown = realloc(plan->seen, bytes);
        if (grown == NULL) abort();
        memset(grown + plan->seen_bytes, 0, bytes - plan->seen_bytes);
        plan->seen = grown;
        plan->seen_bytes = bytes;
    }
    if (seen(plan, number)) {
        if (plan->repeated++ == 0) plan->first_repeated = number;
    }
    plan->seen[number / 8] |= (uint8_t)(1u << (number % 8));
    return number;
}

static void sentence(plumbline_buffer *wrong) {
    if (wrong->len > 0) plumbline_append_string(wrong, "\n");
}

/* The numbers that no test point had, as `2, 4-7`. */
static void missing(const plan *plan, plumbline_buffer *wrong) {
    uint64_t end = plan->last < PLAN_NUMBERS ? plan->last : PLAN_NUMBERS;
    int ranges = 0;
    for (uint64_t number = 1; number <= end; number++) {
        if (seen(plan, number)) continue;
        uint64_t first = number;
        while (number < end && !seen(plan, number + 1)) number++;
        if (ranges == 0) {
            sentence(wrong);
            plumbline_append_string(wrong, "planned 1..");
            plumbline_append_number(wrong, plan->last);
            plumbline_append_string(wrong, ", ran ");
            plumbline_append_number(wrong, plan->points);
            plumbline_append_string(wrong, plan->points == 1 ? " test; missing: " : " tests; missing: ");
        }
        if (ranges == SHOWN_RANGES) {
            plumbline_append_string(wrong, ", ...");
            return;
        }
        if (ranges++ > 0) plumbline_append_string(wrong, ", ");
        plumbline_append_number(wrong, first);
        if (number > first) {
            plumbline_append_string(wrong, "-");
            plumbline_append_number(wrong, number == end ? plan->last : number);
        }
    }
}

void plan_verdict(const plan *plan, plumbline_buffer *wrong) {
    if (!plan->given) {
        plumbline_append_string(wrong, "no plan found: it is unknown whether all tests ran");
    } else {
        missing(plan, wrong);
        if (plan->largest > plan->last) {
            sentence(wrong);
            plumbline_append_string(wrong, "test number ");
            plumbline_append_number(wrong, plan->largest);
            plumbline_append_string(wrong, " is outside the plan 1..");
            plumbline_append_number(wrong, plan->last);
        }
        if (plan->twice) {
            sentence(wrong);
            plumbline_append_string(wrong, "there is more than one plan");
        }
        if (plan->between) {
            sentence(wrong);
            plumbline_append_string(wrong, "the plan is between tests: it must come before or after all of them");
        }
    }
    if (plan->repeated > 0) {
        sentence(wrong);
        plumbline_append_number(wrong, plan->repeated);
        plumbline_append_string(wrong, plan->repeated == 1 ? " repeated test number: " : " repeated test numbers, first ");
        plumbline_append_number(wrong, plan->first_repeated);
    }
}

void plan_free(plan *plan) {
    free(plan->seen);
    memset(plan, 0, sizeof *plan);
}
