/* Objects of the cluster, for checks. */
#include <stdlib.h>

#include "internal.h"

#ifdef CONTRACT_CHECK

struct plumbline_objects {
    plumbline_context *context;
    plumbline_plugin_cluster_own_objects_t handle;
    bool open; /* whether the host has the list */
    contract_list_string_t batch;
    size_t position;
    plumbline_got state; /* PLUMBLINE_OK until the end */
};

/* Passes on the error of the host. */
static plumbline_got broken(plumbline_context *context, contract_string_t *error) {
    plumbline_clear(&context->error);
    plumbline_append(&context->error, plumbline_lift(*error));
    contract_string_free(error);
    return PLUMBLINE_BROKEN;
}

plumbline_objects *plumbline_list(plumbline_context *context, const plumbline_query *query) {
    plumbline_objects *objects = plumbline_grow(NULL, 1, sizeof *objects);
    *objects = (plumbline_objects){.context = context, .state = PLUMBLINE_OK};
    plumbline_plugin_cluster_query_t lowered = {
        .api_version = plumbline_lower(query->api_version), .resource = plumbline_lower(query->resource),
        .namespace_ = {query->namespace_.len > 0, plumbline_lower(query->namespace_)}, .label_selector = plumbline_lower(query->labels),
        .field_selector = plumbline_lower(query->fields)};
    contract_string_t error = {NULL, 0};
    objects->open = plumbline_plugin_cluster_list(&lowered, &objects->handle, &error);
    if (!objects->open) objects->state = broken(context, &error);
    contract_string_free(&lowered.api_version);
    contract_string_free(&lowered.resource);
    contract_string_free(&lowered.namespace_.val);
    contract_string_free(&lowered.label_selector);
    contract_string_free(&lowered.field_selector);
    return objects;
}

plumbline_got plumbline_next_object(plumbline_objects *objects, plumbline_text *json) {
    if (objects->position == objects->batch.len) {
        if (objects->state != PLUMBLINE_OK) return objects->state;
        contract_list_string_free(&objects->batch);
        objects->batch = (contract_list_string_t){NULL, 0};
        objects->position = 0;
        contract_string_t error = {NULL, 0};
        plumbline_plugin_cluster_borrow_objects_t handle = plumbline_plugin_cluster_borrow_objects(objects->handle);
        if (!plumbline_plugin_cluster_method_objects_next(handle, &objects->batch, &error)) {
            objects->batch = (contract_list_string_t){NULL, 0};
            return objects->state = broken(objects->context, &error);
        }
        if (objects->batch.len == 0) return objects->state = PLUMBLINE_END;
    }
    *json = plumbline_lift(objects->batch.ptr[objects->position++]);
    return PLUMBLINE_OK;
}

void plumbline_close_objects(plumbline_objects *objects) {
    contract_list_string_free(&objects->batch);
    if (objects->open) plumbline_plugin_cluster_objects_drop_own(objects->handle);
    free(objects);
}

plumbline_got plumbline_get(plumbline_context *context, const plumbline_query *query, plumbline_text name, plumbline_buffer *json) {
    contract_string_t api_version = plumbline_lower(query->api_version), resource = plumbline_lower(query->resource);
    contract_string_t namespace_ = plumbline_lower(query->namespace_), lowered_name = plumbline_lower(name);
    contract_option_string_t found;
    contract_string_t error = {NULL, 0};
    plumbline_got got = PLUMBLINE_END;
    plumbline_clear(json);
    if (!plumbline_plugin_cluster_get(&api_version, &resource, namespace_.len > 0 ? &namespace_ : NULL, &lowered_name, &found, &error)) {
        got = broken(context, &error);
    } else if (found.is_some) {
        plumbline_append(json, plumbline_lift(found.val));
        got = json->cut ? PLUMBLINE_CUT : PLUMBLINE_OK;
        contract_string_free(&found.val);
    }
    contract_string_free(&api_version);
    contract_string_free(&resource);
    contract_string_free(&namespace_);
    contract_string_free(&lowered_name);
    return got;
}

#endif
