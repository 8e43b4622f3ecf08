/* A native host for a check, for debuggers, sanitizers and tests. It prints a line `name: status`
 * for each item, indented by two spaces per level. Progress, the log, and the texts of items go to
 * standard error. README.md has the command that builds it.
 *
 * The first argument is a directory with the files of a node. The other arguments are directories
 * of the node that are granted, such as `/proc/sys`.
 *
 * PLUMBLINE_OPTIONS contains the options as JSON. PLUMBLINE_OBJECTS names a file with objects of
 * the cluster: a line `APIVERSION RESOURCE JSON` for each. PLUMBLINE_CHUNK is the most objects of a
 * batch.
 *
 * PLUMBLINE_NETWORK names a file with the hosts that the check reaches: a line `send METHOD URL`,
 * `resolve NAME` or `connect HOST PORT` for each, then the result. That is `ok` with `STATUS BODY`,
 * `ADDRESS…` or `ADDRESS:PORT`; or `refused`, `timeout` or another kind of failure, and its cause.
 * Everything else is denied. All files belong to root, with the permissions 0644 or 0755. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

static const char *node;
static char **grants;

/* Whether a path is a directory, or in it. */
static bool contains(const char *directory, const char *path) {
    size_t len = strlen(directory);
    return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Writes the place of a path without links. */
static plumbline_access resolve(const char *path, char real[PATH_MAX]) {
    char place[PATH_MAX];
    if (snprintf(place, sizeof place, "%s/%s", node, path) >= (int)sizeof place) return PLUMBLINE_UNREADABLE;
    if (realpath(place, real) != NULL) return PLUMBLINE_READABLE;
    return errno == ENOENT ? PLUMBLINE_NOT_FOUND : PLUMBLINE_NOT_PERMITTED;
}

plumbline_access plumbline_locate(const char *path, char disk[PLUMBLINE_MAX_PATH]) {
    char directory[PATH_MAX], target[PATH_MAX];
    for (char **grant = grants; *grant != NULL; grant++) {
        if (!contains(*grant, path)) continue;
        plumbline_access access = resolve(*grant, directory);
        /* As in the sandbox, a granted directory that does not exist is not granted. */
        if (access != PLUMBLINE_READABLE) return PLUMBLINE_NOT_GRANTED;
        access = resolve(path, target);
        if (access != PLUMBLINE_READABLE) return access;
        if (!contains(directory, target) || strlen(target) >= PLUMBLINE_MAX_PATH) return PLUMBLINE_NOT_PERMITTED;
        strcpy(disk, target);
        return PLUMBLINE_READABLE;
    }
    return PLUMBLINE_NOT_GRANTED;
}

static contract_string_t copy(plumbline_text text) {
    char *copied = plumbline_grow(NULL, text.len, 1);
    if (text.len > 0) memcpy(copied, text.ptr, text.len);
    return (contract_string_t){(uint8_t *)copied, text.len};
}

static contract_string_t copy_string(const char *text) { return copy(plumbline_text_of(text)); }

static bool same(plumbline_text a, plumbline_text b) { return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0); }

/* Whether a string of the object's metadata has this value. */
static bool metadata_is(plumbline_text object, const char *key, plumbline_text value) {
    plumbline_text metadata, found;
    if (!plumbline_member(object, "metadata", &metadata) || !plumbline_member(metadata, key, &found)) return false;
    return found.len >= 2 && same((plumbline_text){found.ptr + 1, found.len - 2}, value);
}

/* The lines of PLUMBLINE_OBJECTS, then those of PLUMBLINE_NETWORK. */
static plumbline_text lines[4096];
static size_t line_count, object_count;

/* A list that is open. */
typedef struct list {
    plumbline_text api_version, resource, namespace_;
    size_t next; /* the next line */
} list;

static list lists[64];
static size_t list_count;

/* Gets the next object of the list. */
static bool next_object(list *from, plumbline_text *object) {
    while (from->next < object_count) {
        plumbline_text rest, line = lines[from->next++];
        bool of_list = same(plumbline_cut(line, ' ', &rest), from->api_version) && same(plumbline_cut(rest, ' ', object), from->resource);
        if (of_list && (from->namespace_.len == 0 || metadata_is(*object, "namespace", from->namespace_))) return true;
    }
    return false;
}

static bool is_granted(list query) {
    plumbline_text object;
    query.namespace_.len = 0;
    return next_object(&query, &object);
}

/* The bindings call these functions instead of WebAssembly imports. A result has a word that is set
 * for an error, and then its data. */
static void fail(uint8_t *into) {
    contract_string_t error = copy_string("no line of PLUMBLINE_OBJECTS has this resource, so it is not granted");
    into[0] = 1;
    memcpy(into + sizeof(void *), &error, sizeof error);
}

static plumbline_text text(const uint8_t *ptr, size_t len) { return (plumbline_text){(const char *)ptr, len}; }

void __wasm_import_plumbline_plugin_cluster_list(uint8_t *api, size_t api_len, uint8_t *resource, size_t resource_len, int32_t in_namespace,
                                                 uint8_t *namespace_, size_t namespace_len, uint8_t *labels, size_t labels_len,
                                                 uint8_t *fields, size_t fields_len, uint8_t *into) {
    (void)labels, (void)labels_len, (void)fields, (void)fields_len;
    list query = {text(api, api_len), text(resource, resource_len), text(namespace_, in_namespace ? namespace_len : 0), 0};
    memset(into, 0, 3 * sizeof(void *));
    if (list_count == sizeof lists / sizeof *lists || !is_granted(query)) {
        fail(into);
        return;
    }
    /* The module frees its query. */
    contract_string_t copies[] = {copy(query.api_version), copy(query.resource), copy(query.namespace_)};
    lists[list_count] = (list){plumbline_lift(copies[0]), plumbline_lift(copies[1]), plumbline_lift(copies[2]), 0};
    int32_t handle = (int32_t)list_count++;
    memcpy(into + sizeof(void *), &handle, sizeof handle);
}

void __wasm_import_plumbline_plugin_cluster_method_objects_next(int32_t handle, uint8_t *into) {
    const char *chunk = getenv("PLUMBLINE_CHUNK");
    size_t most = chunk != NULL ? strtoul(chunk, NULL, 10) : 100, count = 0;
    if (most < 1 || most > 100) most = 100;
    contract_string_t *batch = plumbline_grow(NULL, most, sizeof *batch);
    plumbline_text object;
    while (count < most && next_object(&lists[handle], &object)) batch[count++] = copy(object);
    /* The bindings do not free an empty list. */
    if (count == 0) free(batch);
    memset(into, 0, sizeof(void *));
    memcpy(into + sizeof(void *), &batch, sizeof batch);
    memcpy(into + 2 * sizeof(void *), &count, sizeof count);
}

void __wasm_import_plumbline_plugin_cluster_objects_drop(int32_t handle) {
    list *dropped = &lists[handle];
    free((char *)dropped->api_version.ptr);
    free((char *)dropped->resource.ptr);
    free((char *)dropped->namespace_.ptr);
}

void __wasm_import_plumbline_plugin_cluster_get(uint8_t *api, size_t api_len, uint8_t *resource, size_t resource_len, int32_t in_namespace,
                                                uint8_t *namespace_, size_t namespace_len, uint8_t *name, size_t name_len, uint8_t *into) {
    list query = {text(api, api_len), text(resource, resource_len), text(namespace_, in_namespace ? namespace_len : 0), 0};
    memset(into, 0, 4 * sizeof(void *));
    if (!is_granted(query)) {
        fail(into);
        return;
    }
    plumbline_text object;
    while (next_object(&query, &object)) {
        if (!metadata_is(object, "name", text(name, name_len))) continue;
        contract_string_t found = copy(object);
        into[sizeof(void *)] = 1;
        memcpy(into + 2 * sizeof(void *), &found, sizeof found);
        return;
    }
}

void __wasm_import_plumbline_plugin_ownership_read(uint8_t *path, size_t len, uint8_t *into) {
    char disk[PLUMBLINE_MAX_PATH];
    contract_string_t name = copy(text(path, len));
    name.ptr = plumbline_grow(name.ptr, len + 1, 1);
    name.ptr[len] = '\0';
    struct stat about;
    bool exists = plumbline_locate((char *)name.ptr, disk) == PLUMBLINE_READABLE && stat(disk, &about) == 0;
    free(name.ptr);
    memset(into, 0, 16 + sizeof(void *));
    if (!exists) return;
    uint32_t attributes[] = {S_ISDIR(about.st_mode) ? 040755 : 0100644, 0, 0};
    into[sizeof(void *)] = 1;
    memcpy(into + sizeof(void *) + 4, attributes, sizeof attributes);
}

/* Gets the result of a line of PLUMBLINE_NETWORK that starts with `what`. Returns the tag of its
 * failure, or -1 without one. */
static int look_up(plumbline_text what, plumbline_text *result) {
    static const char *const kinds[] = {"denied", "not-found", "refused", "timeout", "tls", "other"};
    *result = PLUMBLINE_TEXT("no line of PLUMBLINE_NETWORK has this host, so it is not granted");
    for (size_t i = object_count; i < line_count; i++) {
        plumbline_text line = lines[i], rest;
        if (line.len <= what.len || line.ptr[what.len] != ' ' || !same((plumbline_text){line.ptr, what.len}, what)) continue;
        plumbline_text kind = plumbline_cut((plumbline_text){line.ptr + what.len + 1, line.len - what.len - 1}, ' ', &rest);
        for (int tag = 0; tag < (int)(sizeof kinds / sizeof *kinds); tag++) {
            if (!plumbline_equal(kind, kinds[tag])) continue;
            *result = rest.len > 0 ? rest : kind;
            return tag;
        }
        if (!plumbline_equal(kind, "ok")) break;
        *result = rest;
        return -1;
    }
    return PLUMBLINE_PLUGIN_NETWORK_FAILURE_DENIED;
}

/* A copy as the bindings free it. */
static contract_string_t give(plumbline_text value) { return value.len > 0 ? copy(value) : (contract_string_t){NULL, 0}; }

/* Looks up a line, and writes its failure, if any, as the error of a function. */
static bool reached(plumbline_buffer *what, plumbline_text *result, uint8_t *into) {
    int tag = look_up(plumbline_buffer_text(what), result);
    plumbline_free(what);
    if (tag < 0) return true;
    contract_string_t error = give(*result);
    into[0] = 1;
    into[sizeof(void *)] = (uint8_t)tag;
    memcpy(into + 2 * sizeof(void *), &error, sizeof error);
    return false;
}

void __wasm_import_plumbline_plugin_network_send(uint8_t *method, size_t method_len, uint8_t *url, size_t url_len, uint8_t *headers,
                                                 size_t header_count, uint8_t *body, size_t body_len, int32_t trust, uint8_t *pem,
                                                 size_t pem_len, int32_t timeout, uint8_t *into) {
    (void)headers, (void)header_count, (void)body, (void)body_len, (void)trust, (void)pem, (void)pem_len, (void)timeout;
    plumbline_buffer what = {.limit = 64u << 10};
    plumbline_text result, rest;
    plumbline_append_string(&what, "send ");
    plumbline_append(&what, text(method, method_len));
    plumbline_append_string(&what, " ");
    plumbline_append(&what, text(url, url_len));
    memset(into, 0, 11 * sizeof(void *));
    if (!reached(&what, &result, into)) return;
    uint64_t number = 0;
    plumbline_number(plumbline_cut(result, ' ', &rest), &number);
    uint16_t status = (uint16_t)number;
    contract_string_t content = give(rest);
    memcpy(into + sizeof(void *), &status, sizeof status);
    memcpy(into + 4 * sizeof(void *), &content, sizeof content);
}

void __wasm_import_plumbline_plugin_network_resolve(uint8_t *name, size_t len, uint8_t *into) {
    plumbline_buffer what = {.limit = 64u << 10};
    plumbline_text rest;
    plumbline_append_string(&what, "resolve ");
    plumbline_append(&what, text(name, len));
    memset(into, 0, 4 * sizeof(void *));
    if (!reached(&what, &rest, into)) return;
    contract_list_string_t addresses = {NULL, 0};
    while (rest.len > 0) {
        addresses.ptr = plumbline_grow(addresses.ptr, addresses.len + 1, sizeof *addresses.ptr);
        addresses.ptr[addresses.len++] = give(plumbline_cut(rest, ' ', &rest));
    }
    memcpy(into + sizeof(void *), &addresses, sizeof addresses);
}

void __wasm_import_plumbline_plugin_network_connect(uint8_t *targets, size_t count, int32_t attempt, int32_t wait, uint8_t *into) {
    (void)attempt, (void)wait;
    const plumbline_plugin_network_target_t *target = (const plumbline_plugin_network_target_t *)targets;
    plumbline_plugin_network_list_result_connection_failure_t results = {NULL, count};
    if (count > 0) results.ptr = plumbline_grow(NULL, count, sizeof *results.ptr);
    for (size_t i = 0; i < count; i++) {
        plumbline_buffer what = {.limit = 64u << 10};
        plumbline_text result;
        plumbline_append_string(&what, "connect ");
        plumbline_append(&what, plumbline_lift(target[i].host));
        plumbline_append_string(&what, " ");
        plumbline_append_number(&what, target[i].port);
        int tag = look_up(plumbline_buffer_text(&what), &result);
        plumbline_free(&what);
        results.ptr[i].is_err = tag >= 0;
        if (tag >= 0) {
            results.ptr[i].val.err.tag = (uint8_t)tag;
            results.ptr[i].val.err.val.other = give(result);
        } else {
            results.ptr[i].val.ok = (plumbline_plugin_network_connection_t){give(result), 0};
        }
    }
    memcpy(into, &results, sizeof results);
}

void __wasm_import_plumbline_plugin_progress_report(int64_t completed, int64_t total, uint8_t *message, size_t len) {
    fprintf(stderr, "progress: %lld of %lld: %.*s\n", (long long)completed, (long long)total, (int)len, (const char *)message);
}

void __wasm_import_plumbline_plugin_output_emit(uint8_t *list, size_t len) {
    static const char *const statuses[] = {"passed", "failed", "skipped", "timeout", "unknown"};
    const plumbline_plugin_types_item_t *items = (const plumbline_plugin_types_item_t *)list;
    for (size_t i = 0; i < len; i++) {
        const plumbline_plugin_types_status_t *status = &items[i].status.val;
        printf("%*s%.*s: ", (int)items[i].depth * 2, "", (int)items[i].name.len, (const char *)items[i].name.ptr);
        if (!items[i].status.is_some) {
            puts("-");
        } else if (status->tag == PLUMBLINE_PLUGIN_TYPES_STATUS_CUSTOM) {
            printf("%.*s\n", (int)status->val.custom.len, (const char *)status->val.custom.ptr);
        } else {
            puts(statuses[status->tag]);
        }
        for (size_t m = 0; m < items[i].meta.len; m++) {
            const contract_tuple2_string_string_t *fact = &items[i].meta.ptr[m];
            fprintf(stderr, "%.*s: %.*s\n", (int)fact->f0.len, (const char *)fact->f0.ptr, (int)fact->f1.len, (const char *)fact->f1.ptr);
        }
        for (size_t d = 0; d < items[i].details.len; d++) {
            const plumbline_plugin_types_tuple2_string_detail_t *detail = &items[i].details.ptr[d];
            const contract_string_t *value = &detail->f1.val.text;
            fprintf(stderr, "%.*s: %.*s\n", (int)detail->f0.len, (const char *)detail->f0.ptr, (int)value->len, (const char *)value->ptr);
        }
    }
}

void __wasm_import_plumbline_plugin_log_write(int32_t level, uint8_t *message, size_t len) {
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    fprintf(stderr, "%s: %.*s\n", levels[level & 3], (int)len, (const char *)message);
}

/* Reads a file with lines. The returned memory holds them. */
static char *read_lines(const char *path) {
    FILE *from = path == NULL ? NULL : fopen(path, "rb");
    if (from == NULL) return NULL;
    plumbline_buffer content = {.limit = 64u << 20};
    char piece[4096];
    for (size_t len; (len = fread(piece, 1, sizeof piece, from)) > 0;) plumbline_append(&content, (plumbline_text){piece, len});
    fclose(from);
    plumbline_text rest = plumbline_buffer_text(&content);
    while (rest.len > 0 && line_count < sizeof lines / sizeof *lines) {
        plumbline_text line = plumbline_cut(rest, '\n', &rest);
        if (line.len > 0) lines[line_count++] = line;
    }
    return content.ptr;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s NODE [GRANTED]...\n", arguments[0]);
        return 2;
    }
    node = arguments[1];
    grants = arguments + 2;
    char *objects = read_lines(getenv("PLUMBLINE_OBJECTS"));
    object_count = line_count;
    char *network = read_lines(getenv("PLUMBLINE_NETWORK"));
    const char *options = getenv("PLUMBLINE_OPTIONS");
    exports_plumbline_plugin_check_plugin_info_t plugin = {
        .name = copy_string("test"), .driver = copy_string("Process"), .format = copy_string("items"), .expected_results = 1,
        .options = copy_string(options != NULL ? options : "{}")};
    contract_string_t error = {NULL, 0};
    bool done = exports_plumbline_plugin_check_run(&plugin, &error);
    fflush(stdout);
    if (!done) {
        fprintf(stderr, "error: %.*s\n", (int)error.len, (const char *)error.ptr);
        contract_string_free(&error);
    }
    free(objects);
    free(network);
    return done ? 0 : 1;
}
