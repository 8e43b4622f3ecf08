/* Requests, name resolution and connection attempts, for checks. */
#include <stdlib.h>

#include "internal.h"

#ifdef CONTRACT_CHECK

/* The most targets that the host takes at once. */
#define MAX_TARGETS 1024u

bool plumbline_is_of_target(plumbline_reach reach) {
    return reach == PLUMBLINE_NO_ADDRESS || reach == PLUMBLINE_REFUSED || reach == PLUMBLINE_TIMED_OUT || reach == PLUMBLINE_TLS_FAILED;
}

static plumbline_reach reach_of(uint8_t tag) {
    switch (tag) {
    case PLUMBLINE_PLUGIN_NETWORK_FAILURE_DENIED:
        return PLUMBLINE_DENIED;
    case PLUMBLINE_PLUGIN_NETWORK_FAILURE_NOT_FOUND:
        return PLUMBLINE_NO_ADDRESS;
    case PLUMBLINE_PLUGIN_NETWORK_FAILURE_REFUSED:
        return PLUMBLINE_REFUSED;
    case PLUMBLINE_PLUGIN_NETWORK_FAILURE_TIMEOUT:
        return PLUMBLINE_TIMED_OUT;
    case PLUMBLINE_PLUGIN_NETWORK_FAILURE_TLS:
        return PLUMBLINE_TLS_FAILED;
    default:
        return PLUMBLINE_UNREACHABLE;
    }
}

/* Passes on the error of the host. All kinds of failures have a text in the same place. */
static plumbline_reach failed(plumbline_context *context, plumbline_plugin_network_failure_t *failure) {
    plumbline_reach reach = reach_of(failure->tag);
    plumbline_clear(&context->error);
    plumbline_append(&context->error, plumbline_lift(failure->val.other));
    plumbline_plugin_network_failure_free(failure);
    return reach;
}

/* What belongs to a response. */
typedef struct memory {
    plumbline_plugin_network_response_t response;
    plumbline_pair *headers;
} memory;

static plumbline_text bytes(contract_list_u8_t list) { return (plumbline_text){(const char *)list.ptr, list.len}; }

static plumbline_response lift(const plumbline_plugin_network_response_t *found) {
    memory *owned = plumbline_grow(NULL, 1, sizeof *owned);
    *owned = (memory){*found, plumbline_grow(NULL, found->headers.len, sizeof *owned->headers)};
    for (size_t i = 0; i < found->headers.len; i++) {
        const contract_tuple2_string_string_t *header = &found->headers.ptr[i];
        owned->headers[i] = (plumbline_pair){plumbline_lift(header->f0), plumbline_lift(header->f1)};
    }
    return (plumbline_response){
        .status = found->status, .headers = owned->headers, .header_count = found->headers.len, .body = bytes(found->body),
        .certificate = found->certificate.is_some ? bytes(found->certificate.val) : (plumbline_text){NULL, 0},
        .address = plumbline_lift(found->address), .memory = owned};
}

void plumbline_free_response(plumbline_response *response) {
    memory *owned = response->memory;
    if (owned == NULL) return;
    plumbline_plugin_network_response_free(&owned->response);
    free(owned->headers);
    free(owned);
    *response = (plumbline_response){0};
}

plumbline_reach plumbline_send(plumbline_context *context, const plumbline_request *request, plumbline_response *response) {
    plumbline_text method = request->method.len > 0 ? request->method : PLUMBLINE_TEXT("GET");
    plumbline_plugin_network_request_t lowered = {
        .method = plumbline_lower(method), .url = plumbline_lower(request->url),
        .headers = {plumbline_grow(NULL, request->header_count, sizeof *lowered.headers.ptr), request->header_count},
        .body = {(uint8_t *)request->body.ptr, request->body.len}, .timeout_ms = request->timeout_ms};
    for (size_t i = 0; i < request->header_count; i++) {
        const plumbline_pair *header = &request->headers[i];
        lowered.headers.ptr[i] = (contract_tuple2_string_string_t){plumbline_lower(header->key), plumbline_lower(header->value)};
    }
    lowered.trust.tag = PLUMBLINE_PLUGIN_NETWORK_TRUST_SYSTEM;
    if (request->trust == PLUMBLINE_TRUST_ANY) lowered.trust.tag = PLUMBLINE_PLUGIN_NETWORK_TRUST_ANY;
    if (request->trust == PLUMBLINE_TRUST_CERTIFICATES) {
        lowered.trust.tag = PLUMBLINE_PLUGIN_NETWORK_TRUST_CERTIFICATES;
        lowered.trust.val.certificates = plumbline_lower(request->certificates);
    }
    plumbline_plugin_network_response_t found;
    plumbline_plugin_network_failure_t failure;
    bool sent = plumbline_plugin_network_send(&lowered, &found, &failure);
    /* The body belongs to the caller, and the bindings do not free an empty list. */
    lowered.body = (contract_list_u8_t){NULL, 0};
    if (request->header_count == 0) free(lowered.headers.ptr);
    plumbline_plugin_network_request_free(&lowered);
    *response = sent ? lift(&found) : (plumbline_response){0};
    return sent ? PLUMBLINE_REACHED : failed(context, &failure);
}

bool plumbline_header(const plumbline_response *response, const char *name, plumbline_text *value) {
    for (size_t i = 0; i < response->header_count; i++) {
        if (!plumbline_equal(response->headers[i].key, name)) continue;
        *value = response->headers[i].value;
        return true;
    }
    return false;
}

plumbline_reach plumbline_resolve(plumbline_context *context, plumbline_text name, plumbline_buffer *addresses) {
    contract_string_t lowered = plumbline_lower(name);
    contract_list_string_t found;
    plumbline_plugin_network_failure_t failure;
    plumbline_clear(addresses);
    bool resolved = plumbline_plugin_network_resolve(&lowered, &found, &failure);
    contract_string_free(&lowered);
    if (!resolved) return failed(context, &failure);
    for (size_t i = 0; i < found.len; i++) {
        plumbline_append(addresses, plumbline_lift(found.ptr[i]));
        plumbline_append_string(addresses, "\n");
    }
    contract_list_string_free(&found);
    return PLUMBLINE_REACHED;
}

/* Fills in the results of at most MAX_TARGETS targets. */
static void connect_some(const plumbline_target *targets, size_t count, uint32_t attempt_ms, uint32_t wait_ms, plumbline_connection *results) {
    plumbline_plugin_network_list_target_t lowered = {plumbline_grow(NULL, count, sizeof *lowered.ptr), count};
    for (size_t i = 0; i < count; i++) {
        lowered.ptr[i] = (plumbline_plugin_network_target_t){plumbline_lower(targets[i].host), targets[i].port};
    }
    plumbline_plugin_network_list_result_connection_failure_t found;
    plumbline_plugin_network_connect(&lowered, attempt_ms, wait_ms, &found);
    for (size_t i = 0; i < count; i++) {
        results[i] = (plumbline_connection){.reach = PLUMBLINE_UNREACHABLE};
        if (i >= found.len) continue;
        plumbline_plugin_network_result_connection_failure_t *result = &found.ptr[i];
        /* The result takes over the text. */
        if (result->is_err) {
            results[i] = (plumbline_connection){reach_of(result->val.err.tag), plumbline_lift(result->val.err.val.other), 0};
        } else {
            results[i] = (plumbline_connection){PLUMBLINE_REACHED, plumbline_lift(result->val.ok.address), result->val.ok.microseconds};
        }
    }
    if (found.len > 0) free(found.ptr);
    plumbline_plugin_network_list_target_free(&lowered);
}

void plumbline_connect(plumbline_context *context, const plumbline_target *targets, size_t count, uint32_t attempt_ms, uint32_t wait_ms,
                       plumbline_connection *results) {
    (void)context;
    for (size_t at = 0; at < count; at += MAX_TARGETS) {
        size_t some = count - at < MAX_TARGETS ? count - at : MAX_TARGETS;
        connect_some(targets + at, some, attempt_ms, wait_ms, results + at);
    }
}

void plumbline_free_connections(plumbline_connection *results, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (results[i].text.len > 0) free((char *)results[i].text.ptr);
        results[i].text = (plumbline_text){NULL, 0};
    }
}

#endif
