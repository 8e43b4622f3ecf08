/* The JUnit module of the language benchmark, in C. It emits items as soon as they are complete. */
#include <stdlib.h>
#include <string.h>

#include <plumbline.h>

#include "scanner.h"

/* Levels of suites: the host accepts 64 levels in total. */
#define MAX_DEPTH 48
/* Elements that may be open at once. */
#define MAX_OPEN 256
/* Bytes of one text, and of a name. */
#define MAX_TEXT (1u << 20)
#define MAX_NAME (64u << 10)

/* Elements of a test case whose text is kept; the last two have no message. */
static const char *const parts[] = {"skipped",      "failure",    "error",      "rerunFailure", "rerunError",
                                    "flakyFailure", "flakyError", "system-out", "system-err"};
enum { SKIPPED, FAILURE, ERROR, MESSAGES = 7, PARTS = 9 };

typedef struct suite {
    plumbline_buffer name;
    bool emitted;
    uint64_t suites, cases;
} suite;

typedef struct report {
    plumbline_output *out;
    char names[MAX_OPEN][16]; /* of open elements, cut to the length that matters */
    size_t open, suites;
    suite all[MAX_DEPTH + 1]; /* the first one means none */
    bool tested, in_case, skipped, failed;
    size_t case_depth, part_depth;
    int part; /* -1 for none */
    bool noted;
    plumbline_buffer name, text, message, texts[PARTS];
    bool some[PARTS];
} report;

static void keep(plumbline_buffer *into, size_t limit, plumbline_text value) {
    plumbline_clear(into);
    into->limit = limit;
    unescape(value, into);
}

/* `testsuite-007` */
static void number_name(plumbline_buffer *name, const char *kind, uint64_t number) {
    name->limit = MAX_NAME;
    plumbline_append_string(name, kind);
    if (number < 100) plumbline_append_string(name, "0");
    if (number < 10) plumbline_append_string(name, "0");
    plumbline_append_number(name, number);
}

static void release(report *r, plumbline_status status) {
    for (size_t i = 1; i <= r->suites; i++) {
        suite *suite = &r->all[i];
        if (suite->emitted) continue;
        suite->emitted = true;
        plumbline_item(r->out, (uint32_t)i, plumbline_buffer_text(&suite->name));
        if (i == r->suites) plumbline_set_status(r->out, status);
    }
}

static void break_off(report *r, const char *name, plumbline_text error) {
    release(r, PLUMBLINE_ROLLED_UP);
    plumbline_item(r->out, 1, plumbline_text_of(name));
    plumbline_set_status(r->out, PLUMBLINE_UNKNOWN);
    plumbline_meta(r->out, "error", error);
}

static const char *open_element(report *r, const event *e) {
    if (r->open == MAX_OPEN) return "elements are nested more than 256 deep";
    char *name = r->names[r->open++];
    size_t kept = e->text.len < 15 ? e->text.len : 15;
    memcpy(name, e->text.ptr, kept);
    name[kept] = '\0';
    bool is_suite = plumbline_equal(e->text, "testsuite");
    plumbline_text value;
    if (r->open == 1 && !is_suite && !plumbline_equal(e->text, "testsuites")) return "the root element is not `testsuites` or `testsuite`";
    if (r->part >= 0) return NULL;
    if (r->in_case) {
        if (r->open != r->case_depth + 1) return NULL;
        for (int i = 0; i < PARTS; i++) {
            if (!plumbline_equal(e->text, parts[i])) continue;
            r->part = i;
            r->part_depth = r->open;
            plumbline_clear(&r->text);
            plumbline_clear(&r->message);
            r->noted = i < MESSAGES && attribute(e->attributes, "message", &value);
            if (r->noted) keep(&r->message, MAX_TEXT, value);
            r->skipped |= i == SKIPPED;
            r->failed |= i == FAILURE || i == ERROR;
        }
    } else if (is_suite) {
        uint64_t number = ++r->all[r->suites].suites;
        if (r->suites == MAX_DEPTH) return "suites are nested more than 48 deep";
        suite *suite = &r->all[++r->suites];
        plumbline_clear(&suite->name);
        suite->emitted = false;
        suite->suites = suite->cases = 0;
        if (attribute(e->attributes, "name", &value)) keep(&suite->name, MAX_NAME, value);
        if (suite->name.len == 0) number_name(&suite->name, "testsuite-", number);
    } else if (plumbline_equal(e->text, "testcase")) {
        r->in_case = true;
        r->case_depth = r->open;
        r->skipped = r->failed = false;
        plumbline_clear(&r->name);
        if (attribute(e->attributes, "name", &value)) keep(&r->name, MAX_NAME, value);
        if (r->name.len == 0 && attribute(e->attributes, "classname", &value)) keep(&r->name, MAX_NAME, value);
    }
    return NULL;
}

static void close_part(report *r) {
    int part = r->part;
    r->part = -1;
    plumbline_buffer *into = &r->texts[part];
    plumbline_text text = plumbline_buffer_text(&r->text);
    if (part < MESSAGES) {
        r->message.limit = 2 * MAX_TEXT + 1;
        plumbline_append_string(&r->message, " ");
        plumbline_append(&r->message, text);
        text = plumbline_trim(plumbline_buffer_text(&r->message));
    }
    if (text.len == 0 && (!r->noted || part == SKIPPED)) return;
    if (part == SKIPPED && (plumbline_equal(text, "skipped") || plumbline_equal(text, "Skipped") || plumbline_equal(text, "SKIPPED"))) return;
    into->limit = 4 * MAX_TEXT;
    if (into->len > 0) plumbline_append_string(into, "\n");
    plumbline_append(into, text);
    r->some[part] = true;
}

static void close_case(report *r) {
    r->in_case = false;
    r->tested = true;
    if (r->suites > 0 && !r->all[r->suites].emitted) release(r, PLUMBLINE_ROLLED_UP);
    uint64_t number = r->suites > 0 ? ++r->all[r->suites].cases : 1;
    if (r->name.len == 0) number_name(&r->name, "testcase-", number);
    plumbline_item(r->out, (uint32_t)r->suites + 1, plumbline_buffer_text(&r->name));
    plumbline_set_status(r->out, r->skipped ? PLUMBLINE_SKIPPED : r->failed ? PLUMBLINE_FAILED : PLUMBLINE_PASSED);
    for (int i = 0; i < PARTS; i++) {
        if (!r->some[i]) continue;
        plumbline_detail(r->out, parts[i], plumbline_buffer_text(&r->texts[i]));
        plumbline_clear(&r->texts[i]);
        r->some[i] = false;
    }
}

static const char *close_element(report *r, plumbline_text name) {
    if (r->open == 0) return "an element is closed that is not open";
    const char *open = r->names[r->open - 1];
    if (name.len < 15 ? !plumbline_equal(name, open) : memcmp(name.ptr, open, 15) != 0) return "an element is closed that is not open";
    size_t depth = r->open--;
    if (r->part >= 0) {
        if (depth == r->part_depth) close_part(r);
    } else if (r->in_case) {
        if (depth == r->case_depth) close_case(r);
    } else if (plumbline_equal(name, "testsuite")) {
        /* An empty suite counts as one passed test. */
        if (!r->all[r->suites].emitted) release(r, PLUMBLINE_PASSED);
        r->suites--;
    }
    return NULL;
}

static void read_file(report *r, plumbline_file *file) {
    scanner scanner = {.file = file};
    const char *why = NULL;
    while (why == NULL) {
        event e = scanner_next(&scanner);
        if (e.kind == EVENT_END) break;
        if (e.kind == EVENT_ERROR) why = e.text.ptr;
        if (e.kind == EVENT_OPEN) {
            why = open_element(r, &e);
            if (why == NULL && e.empty) why = close_element(r, e.text);
        }
        if (e.kind == EVENT_CLOSE) why = close_element(r, e.text);
        r->text.limit = MAX_TEXT;
        if (e.kind == EVENT_TEXT && r->part >= 0) unescape(e.text, &r->text);
        if (e.kind == EVENT_CDATA && r->part >= 0) plumbline_append(&r->text, e.text);
    }
    if (why == NULL && r->open > 0) why = "the file ends within an element";
    if (why != NULL) {
        plumbline_text error = plumbline_error(file);
        break_off(r, "unreadable", error.len > 0 ? error : plumbline_text_of(why));
    } else if (!r->tested) {
        break_off(r, "no test case", PLUMBLINE_TEXT("the report has no test case: nothing was tested"));
    }
    scanner_free(&scanner);
}

const char *plumbline_process(const plumbline_plugin *plugin, plumbline_file **files, size_t count, plumbline_output *out) {
    (void)plugin;
    report *r = calloc(1, sizeof *r);
    if (r == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        plumbline_item(out, 0, plumbline_name(files[i]));
        plumbline_meta(out, "file", plumbline_path(files[i]));
        plumbline_meta(out, "type", PLUMBLINE_TEXT("file"));
        r->out = out;
        r->open = r->suites = 0;
        r->all[0] = (suite){.emitted = true};
        r->tested = r->in_case = false;
        r->part = -1;
        for (int part = 0; part < PARTS; part++) {
            plumbline_clear(&r->texts[part]);
            r->some[part] = false;
        }
        read_file(r, files[i]);
    }
    for (size_t i = 0; i <= MAX_DEPTH; i++) plumbline_free(&r->all[i].name);
    for (int part = 0; part < PARTS; part++) plumbline_free(&r->texts[part]);
    plumbline_free(&r->name);
    plumbline_free(&r->text);
    plumbline_free(&r->message);
    free(r);
    return NULL;
}
