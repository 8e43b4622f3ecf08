/* The role expectations: nodes, and the call of the module's function. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#ifdef CONTRACT_EXPECTATIONS

bool plumbline_label(const plumbline_node *node, const char *key, plumbline_text *value) {
    for (size_t i = 0; i < node->label_count; i++) {
        if (plumbline_equal(node->labels[i].key, key)) {
            *value = node->labels[i].value;
            return true;
        }
    }
    return false;
}

struct plumbline_expected {
    exports_plumbline_plugin_expectations_expected_result_t *results;
    size_t count, capacity;
};

static exports_plumbline_plugin_expectations_expected_result_t *add(plumbline_expected *expected, uint8_t tag) {
    if (expected->count == expected->capacity) {
        expected->capacity = expected->capacity * 2 + 16;
        expected->results = plumbline_grow(expected->results, expected->capacity, sizeof *expected->results);
    }
    exports_plumbline_plugin_expectations_expected_result_t *added = &expected->results[expected->count++];
    memset(added, 0, sizeof *added);
    added->tag = tag;
    return added;
}

void plumbline_expect_global(plumbline_expected *expected) {
    add(expected, EXPORTS_PLUMBLINE_PLUGIN_EXPECTATIONS_EXPECTED_RESULT_GLOBAL);
}

void plumbline_expect_node(plumbline_expected *expected, plumbline_text name) {
    exports_plumbline_plugin_expectations_expected_result_t *added =
        add(expected, EXPORTS_PLUMBLINE_PLUGIN_EXPECTATIONS_EXPECTED_RESULT_NODE);
    char *copy = plumbline_grow(NULL, name.len, 3);
    added->val.node = (contract_string_t){(uint8_t *)copy, plumbline_repair(name, copy)};
}

static plumbline_node lift(const exports_plumbline_plugin_expectations_node_t *given) {
    plumbline_pair *labels = plumbline_grow(NULL, given->labels.len, sizeof *labels);
    for (size_t i = 0; i < given->labels.len; i++) {
        labels[i] = (plumbline_pair){plumbline_lift(given->labels.ptr[i].f0), plumbline_lift(given->labels.ptr[i].f1)};
    }
    plumbline_taint *taints = plumbline_grow(NULL, given->taints.len, sizeof *taints);
    for (size_t i = 0; i < given->taints.len; i++) {
        taints[i] = (plumbline_taint){plumbline_lift(given->taints.ptr[i].key), plumbline_lift(given->taints.ptr[i].value),
                                      plumbline_lift(given->taints.ptr[i].effect)};
    }
    return (plumbline_node){plumbline_lift(given->name), labels, given->labels.len, taints, given->taints.len, given->ready,
                            given->unschedulable, plumbline_lift(given->os), plumbline_lift(given->arch)};
}

bool exports_plumbline_plugin_expectations_expected_results(exports_plumbline_plugin_expectations_plugin_info_t *info,
                                                            contract_string_t *maybe_pod_spec,
                                                            exports_plumbline_plugin_expectations_list_node_t *given,
                                                            exports_plumbline_plugin_expectations_list_expected_result_t *results,
                                                            contract_string_t *error) {
    plumbline_plugin plugin = {plumbline_lift(info->name), plumbline_lift(info->driver), plumbline_lift(info->format),
                               info->expected_results, plumbline_lift(info->options)};
    plumbline_text pod_spec = {NULL, 0};
    if (maybe_pod_spec != NULL) pod_spec = plumbline_lift(*maybe_pod_spec);
    plumbline_node *nodes = plumbline_grow(NULL, given->len, sizeof *nodes);
    for (size_t i = 0; i < given->len; i++) nodes[i] = lift(&given->ptr[i]);
    plumbline_expected expected = {NULL, 0, 0};
    const char *sentence =
        plumbline_expected_results(&plugin, maybe_pod_spec == NULL ? NULL : &pod_spec, nodes, given->len, &expected);
    bool done = plumbline_outcome(sentence, error);
    *results = (exports_plumbline_plugin_expectations_list_expected_result_t){expected.results, expected.count};
    /* An instance serves one call, so the remaining memory need not be freed. */
    free(nodes);
    return done;
}

#endif
