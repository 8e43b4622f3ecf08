#include "document.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are kept of the diagnostics and of the output of one test. */
#define MAX_DIAGNOSTICS (256u << 10)
#define MAX_OUTPUT (64u << 10)
/* Bytes of a name or a reason. */
#define MAX_TEXT (16u << 10)

/* Items of a level are one deeper than the level, because the file is at depth 0. */
static uint32_t depth_of(size_t level) { return (uint32_t)level + 1; }

document *document_open(plumbline_output *out, bool strict) {
    document *opened = calloc(1, sizeof *opened);
    if (opened == NULL) abort();
    opened->out = out;
    opened->levels[0].strict = strict;
    opened->levels[0].parent = NO_ITEM;
    opened->current = NO_ITEM;
    opened->diagnostics.limit = MAX_DIAGNOSTICS;
    opened->output.limit = MAX_OUTPUT;
    return opened;
}

/* Adds the collected text to the item that it belongs to. Text before the first item waits for that item. */
static void settle(document *d) {
    if (d->current == NO_ITEM) return;
    held_item *item = &d->held.items[d->current];
    item->failure = held_keep(&d->held, plumbline_buffer_text(&d->diagnostics));
    item->output = held_keep(&d->held, plumbline_buffer_text(&d->output));
    item->cut |= d->diagnostics.cut || d->output.cut;
    plumbline_clear(&d->diagnostics);
    plumbline_clear(&d->output);
    d->current = NO_ITEM;
    d->in_yaml = false;
}

static void emit(document *d) {
    settle(d);
    held_emit(&d->held, d->out);
    for (size_t i = 0; i <= d->level; i++) d->levels[i].parent = NO_ITEM;
}

static size_t add(document *d, size_t level, plumbline_text name, plumbline_status status) {
    settle(d);
    /* Outside of subtests, later lines do not change earlier items. */
    if ((d->level == 0 && d->held.count > 0) || held_full(&d->held)) emit(d);
    d->anything = true;
    return held_add(&d->held, depth_of(level), name, status);
}

static void say(document *d, size_t level, const char *name, plumbline_status status, plumbline_text failure) {
    size_t item = add(d, level, plumbline_text_of(name), status);
    d->held.items[item].failure = held_keep(&d->held, failure);
}

static held_text unescaped(document *d, plumbline_text text) {
    plumbline_buffer plain = {.limit = MAX_TEXT};
    tap_unescape(text, &plain);
    held_text kept = held_keep(&d->held, plumbline_buffer_text(&plain));
    plumbline_free(&plain);
    return kept;
}

/* Checks a document when it is complete. */
static void judge(document *d, size_t number) {
    level *level = &d->levels[number];
    if (level->plan.given && level->plan.last == 0 && level->plan.points == 0) {
        size_t item = add(d, number, PLUMBLINE_TEXT("all tests"), PLUMBLINE_SKIPPED);
        d->held.items[item].directive = TAP_SKIP;
        d->held.items[item].reason = unescaped(d, plumbline_buffer_text(&level->reason));
        return;
    }
    plumbline_buffer wrong = {.limit = MAX_TEXT};
    plan_verdict(&level->plan, &wrong);
    if (wrong.len > 0) say(d, number, "plan", PLUMBLINE_FAILED, plumbline_buffer_text(&wrong));
    plumbline_free(&wrong);
}

static void reset(level *level) {
    plan_free(&level->plan);
    plumbline_free(&level->name);
    plumbline_free(&level->reason);
    *level = (struct level){.parent = NO_ITEM, .name.limit = MAX_TEXT, .reason.limit = MAX_TEXT};
}

/* Opens subtests down to level `to`. */
static void descend(document *d, size_t to) {
    while (d->level < to) {
        level *above = &d->levels[d->level];
        size_t item = add(d, d->level, plumbline_buffer_text(&above->name), PLUMBLINE_UNKNOWN);
        bool strict = above->strict;
        above->announced = false;
        plumbline_clear(&above->name);
        level *below = &d->levels[++d->level];
        reset(below);
        below->parent = item;
        below->strict = strict;
    }
}

/* Closes subtests up to level `to`. Returns the item of the last one closed: the next line may be its test point. */
static size_t ascend(document *d, size_t to, bool point) {
    size_t parent = NO_ITEM;
    while (d->level > to) {
        judge(d, d->level);
        parent = d->levels[d->level].parent;
        if (d->level - 1 > to || !point) {
            size_t item = add(d, d->level, PLUMBLINE_TEXT("end of the subtest"), PLUMBLINE_UNKNOWN);
            d->held.items[item].error = held_keep(&d->held, PLUMBLINE_TEXT("the subtest has no test point of its own"));
        }
        /* Adding may have emitted it. */
        parent = d->levels[d->level].parent;
        reset(&d->levels[d->level]);
        d->level--;
    }
    return parent;
}

static plumbline_status status_of(const tap_line *line) {
    if (line->directive == TAP_SKIP) return PLUMBLINE_SKIPPED;
    if (line->ok) return PLUMBLINE_PASSED;
    return line->directive == TAP_TODO ? PLUMBLINE_SKIPPED : PLUMBLINE_FAILED;
}

/* The tests of a subtest with `# SKIP` or `# TODO` must not fail the levels above it. */
static void excuse(document *d, size_t parent, tap_directive directive) {
    for (size_t i = parent + 1; i < d->held.count; i++) {
        held_item *item = &d->held.items[i];
        if (item->status != PLUMBLINE_FAILED && item->status != PLUMBLINE_UNKNOWN) continue;
        item->status = PLUMBLINE_SKIPPED;
        if (item->directive == TAP_NONE) item->directive = directive;
    }
}

static void point(document *d, size_t level, const tap_line *line) {
    size_t item = ascend(d, level, true);
    descend(d, level);
    plan *plan = &d->levels[level].plan;
    uint64_t number = plan_count(plan, line->number);
    bool subtest = item != NO_ITEM;
    if (!subtest) item = add(d, level, (plumbline_text){NULL, 0}, PLUMBLINE_UNKNOWN);
    if (subtest && line->directive != TAP_NONE) excuse(d, item, line->directive);
    plumbline_buffer name = {.limit = MAX_TEXT};
    tap_unescape(line->text, &name);
    if (name.len == 0 && d->held.items[item].name.len == 0) {
        plumbline_append_string(&name, "test ");
        plumbline_append_number(&name, number);
    }
    held_item *held = &d->held.items[item];
    if (name.len > 0) held->name = held_keep(&d->held, plumbline_buffer_text(&name));
    held->cut |= name.cut;
    plumbline_free(&name);
    held->status = status_of(line);
    held->number = number;
    held->directive = line->directive;
    held->reason = unescaped(d, line->reason);
    bool reported = false;
    for (size_t i = item + 1; subtest && i < d->held.count; i++) reported |= d->held.items[i].status == PLUMBLINE_FAILED;
    if (subtest && held->status == PLUMBLINE_FAILED && !reported) {
        /* All its tests passed. The host derives the status from them, so it would not see the failure. */
        held_add(&d->held, depth_of(level) + 1, PLUMBLINE_TEXT("not ok"), PLUMBLINE_FAILED);
    }
    d->current = item;
    d->current_level = level;
    /* A name that was announced but not used by a subtest is dropped. */
    plumbline_clear(&d->levels[level].name);
}

static void version(document *d, size_t level, const tap_line *line) {
    ascend(d, level, false);
    if (level == 0 && (d->levels[0].plan.given || d->levels[0].plan.points > 0)) {
        /* Several documents in one file, one after the other. */
        bool strict = d->levels[0].strict;
        judge(d, 0);
        reset(&d->levels[0]);
        d->levels[0].strict = strict;
    }
    descend(d, level);
    if (line->number < 12 || line->number > 14) {
        size_t item = add(d, level, PLUMBLINE_TEXT("version"), PLUMBLINE_UNKNOWN);
        d->held.items[item].error = held_keep(&d->held, PLUMBLINE_TEXT("unsupported TAP version, read as 14: use 12, 13 or 14"));
    }
}

static void foreign(document *d, plumbline_text line, bool cut) {
    if (d->levels[d->level].strict) {
        size_t item = add(d, d->level, PLUMBLINE_TEXT("not TAP"), PLUMBLINE_FAILED);
        d->held.items[item].failure = held_keep(&d->held, line);
        d->held.items[item].number = d->line;
        return;
    }
    plumbline_append(&d->output, line);
    plumbline_append_string(&d->output, "\n");
    d->output.cut |= cut;
}

static void comment(document *d, plumbline_text text) {
    if (d->current == NO_ITEM) return;
    /* After a test that did not fail, the comment may as well be about the next test. */
    const held_item *item = &d->held.items[d->current];
    if (item->status != PLUMBLINE_FAILED && (item->directive != TAP_TODO || item->status == PLUMBLINE_PASSED)) return;
    plumbline_append(&d->diagnostics, text);
    plumbline_append_string(&d->diagnostics, "\n");
}

/* Reads a line of a YAML block. Returns false if the line is not part of the block. */
static bool yaml(document *d, plumbline_text line, size_t indentation) {
    size_t own = 4 * d->current_level + 2;
    bool blank = plumbline_trim(line).len == 0;
    if (!blank && indentation < own) {
        d->in_yaml = false;
        return false;
    }
    size_t dropped = line.len < own ? line.len : own;
    plumbline_text inner = {line.ptr + dropped, line.len - dropped};
    if (plumbline_equal(plumbline_trim(inner), "...") && indentation == own) {
        d->in_yaml = false;
        return true;
    }
    plumbline_append(&d->diagnostics, inner);
    plumbline_append_string(&d->diagnostics, "\n");
    return true;
}

void document_line(document *d, plumbline_text line, bool cut) {
    if (d->bailed_out) return;
    if (d->line++ == 0 && plumbline_starts_with(line, "\xEF\xBB\xBF")) line = (plumbline_text){line.ptr + 3, line.len - 3};
    size_t indentation = 0;
    while (indentation < line.len && line.ptr[indentation] == ' ') indentation++;
    if (d->in_yaml && yaml(d, line, indentation)) return;
    plumbline_text inner = plumbline_trim(line);
    if (inner.len == 0) return;
    if (plumbline_equal(inner, "---") && d->current != NO_ITEM && indentation == 4 * d->current_level + 2) {
        d->in_yaml = true;
        return;
    }
    /* Spaces at the end are ignored, those at the start are counted. */
    tap_line said = tap_read_line((plumbline_text){line.ptr + indentation, (size_t)(inner.ptr + inner.len - line.ptr) - indentation});
    size_t level = indentation / 4;
    bool tap = indentation % 4 == 0 && level < MAX_LEVELS;
    if (said.kind == TAP_COMMENT || (said.kind == TAP_SUBTEST && !tap)) {
        comment(d, said.text);
        return;
    }
    if (!tap || said.kind == TAP_NOTHING) {
        foreign(d, line, cut);
        return;
    }
    switch (said.kind) {
    case TAP_POINT:
        point(d, level, &said);
        if (cut && d->current != NO_ITEM) d->held.items[d->current].cut = true;
        break;
    case TAP_BAIL_OUT: {
        settle(d);
        d->bailed_out = true;
        size_t item = add(d, 0, PLUMBLINE_TEXT("Bail out!"), PLUMBLINE_FAILED);
        d->held.items[item].failure = unescaped(d, said.text);
        break;
    }
    case TAP_PLAN:
        ascend(d, level, false);
        descend(d, level);
        plan_set(&d->levels[level].plan, said.number);
        plumbline_clear(&d->levels[level].reason);
        d->levels[level].reason.limit = MAX_TEXT;
        plumbline_append(&d->levels[level].reason, said.text);
        break;
    case TAP_VERSION:
        version(d, level, &said);
        break;
    case TAP_PRAGMA:
        ascend(d, level, false);
        descend(d, level);
        if (plumbline_equal(said.text, "strict")) d->levels[level].strict = said.ok;
        break;
    default:
        ascend(d, level, false);
        descend(d, level);
        d->levels[level].announced = true;
        plumbline_clear(&d->levels[level].name);
        d->levels[level].name.limit = MAX_TEXT;
        tap_unescape(said.text, &d->levels[level].name);
        break;
    }
}

void document_close(document *d, plumbline_text error) {
    if (!d->bailed_out && error.len == 0) {
        bool tap = d->anything || d->levels[0].plan.given;
        if (tap) {
            ascend(d, 0, false);
            judge(d, 0);
        } else {
            size_t item = add(d, 0, PLUMBLINE_TEXT("no TAP"), PLUMBLINE_UNKNOWN);
            d->held.items[item].error = held_keep(&d->held, PLUMBLINE_TEXT("there is neither a plan nor a test point"));
            d->current = item;
        }
    }
    if (error.len > 0) {
        size_t item = add(d, 0, PLUMBLINE_TEXT("unreadable"), PLUMBLINE_UNKNOWN);
        d->held.items[item].error = held_keep(&d->held, error);
    }
    if (d->current == NO_ITEM && d->output.len > 0 && d->held.count > 0) {
        /* No item follows to which the output could be added. */
        d->held.items[d->held.count - 1].output = held_keep(&d->held, plumbline_buffer_text(&d->output));
    }
    emit(d);
    for (size_t i = 0; i < MAX_LEVELS; i++) reset(&d->levels[i]);
    held_free(&d->held);
    plumbline_free(&d->diagnostics);
    plumbline_free(&d->output);
    free(d);
}
