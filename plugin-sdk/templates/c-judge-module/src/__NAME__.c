/* A judge that excuses failures whose names match the option `pattern`. */
#include <plumbline.h>

/* Options of the definition. */
typedef struct options {
    plumbline_text pattern; /* matches the names of failures that do not count */
    plumbline_text reason;  /* why they do not count */
    plumbline_text source;  /* where the reason is recorded, such as a URL */
} options;

/* The content of a JSON string. Returns false for any other value, and for a string with an
 * escape. */
static bool text(plumbline_text json, plumbline_text *found) {
    if (json.len < 2 || json.ptr[0] != '"') return false;
    *found = (plumbline_text){json.ptr + 1, json.len - 2};
    for (size_t i = 0; i < found->len; i++) {
        if (found->ptr[i] == '\\') return false;
    }
    return true;
}

static const char *read_options(plumbline_text rest, options *options) {
    plumbline_text key, value;
    while (plumbline_next_option(&rest, &key, &value)) {
        plumbline_text *place = plumbline_equal(key, "pattern")  ? &options->pattern
                                : plumbline_equal(key, "reason") ? &options->reason
                                : plumbline_equal(key, "source") ? &options->source
                                                                 : NULL;
        if (place == NULL) return "unknown option: the options are `pattern`, `reason` and `source`";
        if (!text(value, place)) return "the options `pattern`, `reason` and `source` must be strings without quotes and backslashes";
    }
    return options->pattern.len > 0 ? NULL : "the option `pattern` is missing: it selects the failures that do not count";
}

/* Whether `pattern` matches all of `name`. `*` matches any characters, and every other character
 * matches itself. */
static bool matches(plumbline_text pattern, plumbline_text name) {
    size_t p = 0, n = 0, star = SIZE_MAX, from = 0;
    while (n < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = n;
        } else if (p < pattern.len && pattern.ptr[p] == name.ptr[n]) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            /* Let the last `*` match one more character. */
            p = star + 1;
            n = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') p++;
    return p == pattern.len;
}

const char *plumbline_judge(const plumbline_plugin *plugin, plumbline_tree *tree, plumbline_file **evidence, size_t count,
                            plumbline_rulings *out) {
    (void)evidence, (void)count;
    options options = {.reason = PLUMBLINE_TEXT("it is known to fail")};
    const char *wrong = read_options(plugin->options, &options);
    if (wrong != NULL) return wrong;
    plumbline_judged judged;
    plumbline_got got;
    while ((got = plumbline_next_judged(tree, &judged)) == PLUMBLINE_OK) {
        /* Keep the ruling of an earlier judge in the chain. */
        if (!plumbline_is_failure(&judged) || judged.ruled || !matches(options.pattern, judged.item.name)) continue;
        plumbline_rule(out, judged.index,
                       (plumbline_ruling){.word = PLUMBLINE_TEXT("excused"), .counts = false, .reason = options.reason,
                                          .source = options.source});
    }
    return got == PLUMBLINE_BROKEN ? "the tree cannot be read to its end" : NULL;
}
