/* A check that reaches hosts and reads owners. tests/run.sh says what it gets. */
#include <stdio.h>

#include <plumbline.h>

#define COUNT 1030

static void emit(plumbline_output *out, plumbline_reach reach, plumbline_text name) {
    plumbline_item(out, 0, name);
    plumbline_set_status(out, reach == PLUMBLINE_REACHED      ? PLUMBLINE_PASSED
                              : plumbline_is_of_target(reach) ? PLUMBLINE_FAILED
                                                              : PLUMBLINE_UNKNOWN);
}

static void send(plumbline_context *context, plumbline_output *out, plumbline_text url) {
    plumbline_pair header = {PLUMBLINE_TEXT("accept"), PLUMBLINE_TEXT("*/*")};
    plumbline_request request = {.url = url, .headers = &header, .header_count = 1, .body = PLUMBLINE_TEXT("body"),
                                 .trust = PLUMBLINE_TRUST_CERTIFICATES, .certificates = PLUMBLINE_TEXT("none")};
    plumbline_response response;
    plumbline_reach reach = plumbline_send(context, &request, &response);
    plumbline_buffer name = {.limit = 1000};
    if (reach == PLUMBLINE_REACHED) {
        plumbline_append_number(&name, response.status);
        plumbline_append_string(&name, " ");
        plumbline_append(&name, response.body);
    } else {
        plumbline_append(&name, plumbline_context_error(context));
    }
    emit(out, reach, plumbline_buffer_text(&name));
    plumbline_free(&name);
    plumbline_free_response(&response);
}

static void resolve(plumbline_context *context, plumbline_output *out, plumbline_text name) {
    plumbline_buffer addresses = {.limit = 1000};
    plumbline_reach reach = plumbline_resolve(context, name, &addresses);
    plumbline_text rest = plumbline_buffer_text(&addresses);
    if (reach != PLUMBLINE_REACHED) emit(out, reach, plumbline_context_error(context));
    while (rest.len > 0) emit(out, reach, plumbline_cut(rest, '\n', &rest));
    plumbline_free(&addresses);
}

/* More than the host takes at once. */
static void connect(plumbline_context *context, plumbline_output *out) {
    plumbline_target targets[COUNT];
    plumbline_connection results[COUNT];
    for (size_t i = 0; i < COUNT; i++) targets[i] = (plumbline_target){PLUMBLINE_TEXT("192.0.2.1"), (uint16_t)i};
    plumbline_connect(context, targets, COUNT, 0, 1000, results);
    for (size_t i = 21; i < 23; i++) emit(out, results[i].reach, results[i].text);
    emit(out, results[COUNT - 1].reach, results[COUNT - 1].text);
    plumbline_free_connections(results, COUNT);
}

static void owner(plumbline_context *context, plumbline_output *out, plumbline_text path) {
    plumbline_attributes found;
    char name[64];
    plumbline_access access = plumbline_read_attributes(context, path, &found);
    if (access == PLUMBLINE_READABLE) {
        int len = snprintf(name, sizeof name, "%o %u %u", (unsigned)found.mode, (unsigned)found.uid, (unsigned)found.gid);
        plumbline_item(out, 0, (plumbline_text){name, (size_t)len});
    } else {
        plumbline_item(out, 0, plumbline_context_error(context));
        plumbline_set_status(out, access == PLUMBLINE_NOT_FOUND ? PLUMBLINE_SKIPPED : PLUMBLINE_UNKNOWN);
    }
}

const char *plumbline_check_run(const plumbline_plugin *plugin, plumbline_context *context, plumbline_output *out) {
    (void)plugin;
    send(context, out, PLUMBLINE_TEXT("https://a.example/"));
    send(context, out, PLUMBLINE_TEXT("https://b.example/"));
    send(context, out, PLUMBLINE_TEXT("https://c.example/"));
    resolve(context, out, PLUMBLINE_TEXT("a.example"));
    resolve(context, out, PLUMBLINE_TEXT("b.example"));
    connect(context, out);
    owner(context, out, PLUMBLINE_TEXT("/etc"));
    owner(context, out, PLUMBLINE_TEXT("/etc/key"));
    owner(context, out, PLUMBLINE_TEXT("/etc/none"));
    owner(context, out, PLUMBLINE_TEXT("/var"));
    return NULL;
}
