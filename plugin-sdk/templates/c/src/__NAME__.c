/* Reads `*.verdicts` files. Each line is the result of a check: `ok NAME` or `bad NAME: reason`. */
#include <plumbline.h>

/* Bytes kept of a line. The rest is dropped, so that a hostile file cannot fill the memory. */
#define MAX_LINE (64u << 10)

/* Options that a definition can set under `plumbline.options`. */
typedef struct options {
    bool strict; /* whether a line that cannot be parsed is a failure */
} options;

static const char *read_options(plumbline_text rest, options *options) {
    plumbline_text key, value;
    while (plumbline_next_option(&rest, &key, &value)) {
        if (!plumbline_equal(key, "strict")) return "the module has no such option: it knows `strict`";
        if (!plumbline_equal(value, "true") && !plumbline_equal(value, "false")) return "the option `strict` is `true` or `false`";
        options->strict = plumbline_equal(value, "true");
    }
    return NULL;
}

/* Emits the item of one line. */
static void check(plumbline_text line, options options, plumbline_output *out) {
    plumbline_text rest, reason;
    plumbline_text verdict = plumbline_cut(line, ' ', &rest);
    plumbline_text name = plumbline_trim(plumbline_cut(rest, ':', &reason));
    plumbline_item(out, 1, name.len > 0 ? name : line);
    if (name.len > 0 && plumbline_equal(verdict, "ok")) {
        plumbline_set_status(out, PLUMBLINE_PASSED);
    } else if ((name.len > 0 && plumbline_equal(verdict, "bad")) || options.strict) {
        plumbline_set_status(out, PLUMBLINE_FAILED);
    } else {
        plumbline_set_status(out, PLUMBLINE_UNKNOWN);
    }
    reason = plumbline_trim(reason);
    if (reason.len > 0) plumbline_detail(out, "failure", reason);
}

const char *plumbline_process(const plumbline_plugin *plugin, plumbline_file **files, size_t count, plumbline_output *out) {
    options options = {0};
    const char *wrong = read_options(plugin->options, &options);
    if (wrong != NULL) return wrong;
    for (size_t i = 0; i < count; i++) {
        /* No status: the host rolls it up from the children. */
        plumbline_item(out, 0, plumbline_name(files[i]));
        plumbline_meta(out, "file", plumbline_path(files[i]));
        plumbline_meta(out, "type", PLUMBLINE_TEXT("file"));
        plumbline_text line;
        plumbline_got got;
        while ((got = plumbline_line(files[i], MAX_LINE, &line)) == PLUMBLINE_OK || got == PLUMBLINE_CUT) {
            line = plumbline_trim(line);
            if (line.len > 0) check(line, options, out);
        }
        if (got == PLUMBLINE_BROKEN) {
            /* Continue with the next file, but never let an unreadable one pass. */
            plumbline_item(out, 1, PLUMBLINE_TEXT("unreadable"));
            plumbline_set_status(out, PLUMBLINE_UNKNOWN);
            plumbline_meta(out, "error", plumbline_error(files[i]));
        }
    }
    return NULL;
}
