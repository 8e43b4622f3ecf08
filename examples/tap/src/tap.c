/* A post-processor for the Test Anything Protocol: TAP files become items. */
#include <plumbline.h>

#include "document.h"

/* Bytes that are read of a line. The rest of a longer line is left out, and its item says so. */
#define MAX_LINE (64u << 10)

/* What a definition may set below `plumbline.options`. */
typedef struct options {
    bool strict; /* a line that is not TAP is a failure, as after `pragma +strict` */
} options;

static const char *read_options(plumbline_text rest, options *options) {
    plumbline_text key, value;
    while (plumbline_next_option(&rest, &key, &value)) {
        if (!plumbline_equal(key, "strict")) return "unknown option: the only option of `tap` is `strict`";
        if (!plumbline_equal(value, "true") && !plumbline_equal(value, "false")) return "the option `strict` must be `true` or `false`";
        options->strict = plumbline_equal(value, "true");
    }
    return NULL;
}

const char *plumbline_process(const plumbline_plugin *plugin, plumbline_file **files, size_t count, plumbline_output *out) {
    options options = {0};
    const char *wrong = read_options(plugin->options, &options);
    if (wrong != NULL) return wrong;
    for (size_t i = 0; i < count; i++) {
        plumbline_item(out, 0, plumbline_name(files[i]));
        plumbline_meta(out, "file", plumbline_path(files[i]));
        plumbline_meta(out, "type", PLUMBLINE_TEXT("file"));
        document *document = document_open(out, options.strict);
        plumbline_text line;
        plumbline_got got;
        while ((got = plumbline_line(files[i], MAX_LINE, &line)) == PLUMBLINE_OK || got == PLUMBLINE_CUT) {
            document_line(document, line, got == PLUMBLINE_CUT);
        }
        document_close(document, got == PLUMBLINE_BROKEN ? plumbline_error(files[i]) : (plumbline_text){NULL, 0});
    }
    return NULL;
}
