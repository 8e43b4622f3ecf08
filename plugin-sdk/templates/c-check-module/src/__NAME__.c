/* A check that compares settings of the kernel with the values that they should have. */
#include <plumbline.h>

#include <string.h>

/* The directory of the settings. The definition grants it. */
#define DIRECTORY "/proc/sys/"
/* Most bytes of a setting that are read. */
#define MAX_SETTING (64u << 10)

/* The settings without the option `settings`. */
#define DEFAULT "{\"fs/protected_hardlinks\": \"1\", \"kernel/panic_on_oops\": \"1\"}"

/* Gets the content of a JSON string. Returns false for any other value, and for a string with an
 * escape. */
static bool string(plumbline_text json, plumbline_text *found) {
    if (json.len < 2 || json.ptr[0] != '"') return false;
    *found = (plumbline_text){json.ptr + 1, json.len - 2};
    for (size_t i = 0; i < found->len; i++) {
        if (found->ptr[i] == '\\') return false;
    }
    return true;
}

static const char *read_options(plumbline_text rest, plumbline_text *settings) {
    plumbline_text key, value;
    while (plumbline_next_option(&rest, &key, &value)) {
        if (!plumbline_equal(key, "settings")) return "unknown option: the only one is `settings`";
        if (value.ptr[0] != '{') return "the option `settings` must be a mapping";
        *settings = value;
    }
    return NULL;
}

static bool same(plumbline_text a, plumbline_text b) { return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0; }

static void compare(plumbline_context *context, plumbline_text name, plumbline_text want, plumbline_output *out) {
    plumbline_buffer path = {.limit = 4096}, content = {.limit = MAX_SETTING}, failure = {.limit = 2 * MAX_SETTING};
    plumbline_append_string(&path, DIRECTORY);
    plumbline_append(&path, name);
    plumbline_access access = plumbline_read_file(context, plumbline_buffer_text(&path), &content);
    plumbline_text got = plumbline_trim(plumbline_buffer_text(&content));
    plumbline_item(out, 0, name);
    if (access == PLUMBLINE_NOT_FOUND) {
        plumbline_set_status(out, PLUMBLINE_SKIPPED);
        plumbline_detail(out, "reason", plumbline_context_error(context));
    } else if (access != PLUMBLINE_READABLE) {
        /* What cannot be read never passes. */
        plumbline_set_status(out, PLUMBLINE_UNKNOWN);
        plumbline_meta(out, "error", plumbline_context_error(context));
    } else if (same(got, want)) {
        plumbline_set_status(out, PLUMBLINE_PASSED);
    } else {
        plumbline_append_string(&failure, "want ");
        plumbline_append(&failure, want);
        plumbline_append_string(&failure, ", got ");
        plumbline_append(&failure, got);
        plumbline_set_status(out, PLUMBLINE_FAILED);
        plumbline_detail(out, "failure", plumbline_buffer_text(&failure));
    }
    plumbline_free(&path);
    plumbline_free(&content);
    plumbline_free(&failure);
}

const char *plumbline_check_run(const plumbline_plugin *plugin, plumbline_context *context, plumbline_output *out) {
    plumbline_text settings = PLUMBLINE_TEXT(DEFAULT), name, want;
    const char *wrong = read_options(plugin->options, &settings);
    if (wrong != NULL) return wrong;
    uint64_t total = 0, done = 0;
    for (plumbline_text rest = settings; plumbline_next_option(&rest, &name, &want);) total++;
    for (plumbline_text rest = settings; plumbline_next_option(&rest, &name, &want);) {
        plumbline_progress(context, done++, total, name);
        if (!string(want, &want)) return "the values of `settings` must be strings without backslashes";
        compare(context, name, want, out);
    }
    plumbline_progress(context, done, total, PLUMBLINE_TEXT("done"));
    return NULL;
}
