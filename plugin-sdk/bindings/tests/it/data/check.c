/* A check that emits an item for each entry of a directory, each line of a file, and each pod. */
#include <plumbline.h>

#include <stdlib.h>

static void fail(plumbline_output *out, plumbline_text name, plumbline_text error) {
    plumbline_item(out, 0, name);
    plumbline_set_status(out, PLUMBLINE_UNKNOWN);
    plumbline_meta(out, "error", error);
}

static void pass(plumbline_output *out, plumbline_text name) {
    plumbline_item(out, 0, name);
    plumbline_set_status(out, PLUMBLINE_PASSED);
}

static void lines(plumbline_context *context, plumbline_text path, plumbline_output *out) {
    plumbline_file *file;
    if (plumbline_open_file(context, path, &file) != PLUMBLINE_READABLE) {
        fail(out, path, plumbline_context_error(context));
        return;
    }
    pass(out, plumbline_path(file));
    plumbline_text line;
    plumbline_got got;
    while ((got = plumbline_line(file, 64, &line)) == PLUMBLINE_OK) pass(out, line);
    if (got == PLUMBLINE_BROKEN) fail(out, plumbline_name(file), plumbline_error(file));
    plumbline_close_file(file);
}

static void entries(plumbline_context *context, plumbline_text path, plumbline_output *out) {
    plumbline_directory *directory;
    if (plumbline_open_directory(context, path, &directory) != PLUMBLINE_READABLE) {
        fail(out, path, plumbline_context_error(context));
        return;
    }
    plumbline_text name;
    while (plumbline_next_name(directory, &name) == PLUMBLINE_OK) pass(out, name);
    plumbline_close_directory(directory);
}

static void pods(plumbline_context *context, plumbline_output *out) {
    plumbline_query query = {.api_version = PLUMBLINE_TEXT("v1"), .resource = PLUMBLINE_TEXT("pods"),
                             .namespace_ = PLUMBLINE_TEXT("kube-system")};
    plumbline_objects *objects = plumbline_list(context, &query);
    plumbline_text pod, metadata, name;
    plumbline_got got;
    while ((got = plumbline_next_object(objects, &pod)) == PLUMBLINE_OK) {
        if (plumbline_member(pod, "metadata", &metadata) && plumbline_member(metadata, "name", &name)) pass(out, name);
    }
    if (got == PLUMBLINE_BROKEN) fail(out, PLUMBLINE_TEXT("pods"), plumbline_context_error(context));
    plumbline_close_objects(objects);
    plumbline_buffer found = {.limit = 1024};
    bool dns = plumbline_get(context, &query, PLUMBLINE_TEXT("dns"), &found) == PLUMBLINE_OK;
    bool nobody = plumbline_get(context, &query, PLUMBLINE_TEXT("nobody"), &found) == PLUMBLINE_END;
    if (dns && nobody) pass(out, PLUMBLINE_TEXT("found"));
    plumbline_free(&found);
}

const char *plumbline_check_run(const plumbline_plugin *plugin, plumbline_context *context, plumbline_output *out) {
    (void)plugin;
    plumbline_progress(context, 0, 2, PLUMBLINE_TEXT("files"));
    lines(context, PLUMBLINE_TEXT("/etc/app/file"), out);
    lines(context, PLUMBLINE_TEXT("/etc/app/none"), out);
    lines(context, PLUMBLINE_TEXT("/etc/app/link"), out);
    lines(context, PLUMBLINE_TEXT("/etc/app/pipe"), out);
    lines(context, PLUMBLINE_TEXT("/etc/app/sub"), out);
    lines(context, PLUMBLINE_TEXT("/etc/app-2/file"), out);
    entries(context, PLUMBLINE_TEXT("/etc/app/sub"), out);
    entries(context, PLUMBLINE_TEXT("/etc/app/file"), out);
    plumbline_buffer few = {.limit = 3};
    if (plumbline_read_file(context, PLUMBLINE_TEXT("/etc/app/file"), &few) == PLUMBLINE_TOO_LARGE) {
        fail(out, PLUMBLINE_TEXT("few"), plumbline_context_error(context));
    }
    plumbline_free(&few);
    pods(context, out);
    return getenv("FAIL") != NULL ? "it was asked to fail" : NULL;
}
