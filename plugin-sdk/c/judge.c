/* The role judge: the finished tree, rulings and checks in batches, and the call of the module's
 * function. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#ifdef CONTRACT_JUDGE

/* Items requested from the host at once, and rulings or checks sent at once. */
#define BATCH 256u
/* Bytes of a text at most, except class and ID. The host ends the call at a longer one. */
#define MAX_TEXT (4u << 10)

struct plumbline_tree {
    plumbline_plugin_judgement_own_tree_t handle;
    plumbline_plugin_judgement_list_judged_item_t batch;
    size_t position;
    plumbline_got state; /* PLUMBLINE_OK until the end */
    contract_string_t error;
    plumbline_lifted lifted;
};

plumbline_text plumbline_tree_error(const plumbline_tree *tree) { return plumbline_lift(tree->error); }

static plumbline_got fill(plumbline_tree *tree) {
    if (tree->position < tree->batch.len) return PLUMBLINE_OK;
    if (tree->state != PLUMBLINE_OK) return tree->state;
    plumbline_plugin_judgement_list_judged_item_free(&tree->batch);
    tree->batch = (plumbline_plugin_judgement_list_judged_item_t){NULL, 0};
    tree->position = 0;
    plumbline_plugin_judgement_borrow_tree_t handle = plumbline_plugin_judgement_borrow_tree(tree->handle);
    if (!plumbline_plugin_judgement_method_tree_next(handle, BATCH, &tree->batch, &tree->error)) {
        tree->batch = (plumbline_plugin_judgement_list_judged_item_t){NULL, 0};
        tree->state = PLUMBLINE_BROKEN;
    } else if (tree->batch.len == 0) {
        tree->state = PLUMBLINE_END;
    }
    return tree->state;
}

plumbline_got plumbline_next_judged(plumbline_tree *tree, plumbline_judged *judged) {
    plumbline_got got = fill(tree);
    if (got != PLUMBLINE_OK) return got;
    const plumbline_plugin_judgement_judged_item_t *given = &tree->batch.ptr[tree->position++];
    *judged = (plumbline_judged){.index = given->index, .leaf = given->leaf, .ruled = given->ruling.is_some};
    judged->item.set = plumbline_lift(given->set);
    plumbline_lift_item(&tree->lifted, &given->item, &judged->item);
    if (judged->ruled) {
        const plumbline_plugin_judgement_ruling_t *ruling = &given->ruling.val;
        judged->ruling = (plumbline_ruling){plumbline_lift(ruling->class_), ruling->counts, plumbline_lift(ruling->reason),
                                            plumbline_lift(ruling->source)};
    }
    return PLUMBLINE_OK;
}

bool plumbline_is_failure(const plumbline_judged *judged) {
    return judged->leaf && (judged->item.status == PLUMBLINE_FAILED || judged->item.status == PLUMBLINE_TIMEOUT);
}

struct plumbline_rulings {
    plumbline_plugin_judgement_tuple2_u64_ruling_t rulings[BATCH];
    plumbline_plugin_judgement_check_t checks[BATCH];
    size_t ruling_count, check_count;
};

/* A copy for the host, cut at so many bytes. */
static contract_string_t copy(plumbline_text text, size_t max) {
    char *into = plumbline_grow(NULL, text.len, 3);
    plumbline_text repaired = plumbline_shorten((plumbline_text){into, plumbline_repair(text, into)}, max);
    return (contract_string_t){(uint8_t *)into, repaired.len};
}

static void flush(plumbline_rulings *out) {
    if (out->ruling_count > 0) {
        plumbline_plugin_judgement_list_tuple2_u64_ruling_t batch = {out->rulings, out->ruling_count};
        plumbline_plugin_judgement_rule(&batch);
    }
    if (out->check_count > 0) {
        plumbline_plugin_judgement_list_check_t batch = {out->checks, out->check_count};
        plumbline_plugin_judgement_report(&batch);
    }
    for (size_t i = 0; i < out->ruling_count; i++) {
        free(out->rulings[i].f1.class_.ptr);
        free(out->rulings[i].f1.reason.ptr);
        free(out->rulings[i].f1.source.ptr);
    }
    for (size_t i = 0; i < out->check_count; i++) {
        free(out->checks[i].id.ptr);
        free(out->checks[i].name.ptr);
        free(out->checks[i].want.ptr);
        free(out->checks[i].got.ptr);
        free(out->checks[i].reason.ptr);
    }
    out->ruling_count = out->check_count = 0;
}

void plumbline_rule(plumbline_rulings *out, uint64_t index, plumbline_ruling ruling) {
    if (out->ruling_count == BATCH) flush(out);
    out->rulings[out->ruling_count++] = (plumbline_plugin_judgement_tuple2_u64_ruling_t){
        index,
        {copy(ruling.word, SIZE_MAX), ruling.counts, copy(ruling.reason, MAX_TEXT), copy(ruling.source, MAX_TEXT)},
    };
}

void plumbline_report(plumbline_rulings *out, plumbline_check check) {
    if (out->check_count == BATCH) flush(out);
    uint8_t outcome = PLUMBLINE_PLUGIN_JUDGEMENT_OUTCOME_UNKNOWN;
    if (check.outcome == PLUMBLINE_PASSED) outcome = PLUMBLINE_PLUGIN_JUDGEMENT_OUTCOME_PASSED;
    if (check.outcome == PLUMBLINE_FAILED) outcome = PLUMBLINE_PLUGIN_JUDGEMENT_OUTCOME_FAILED;
    out->checks[out->check_count++] = (plumbline_plugin_judgement_check_t){
        copy(check.id, SIZE_MAX),   copy(check.name, MAX_TEXT), outcome,
        copy(check.want, MAX_TEXT), copy(check.got, MAX_TEXT),  copy(check.reason, MAX_TEXT),
    };
}

bool exports_plumbline_plugin_judge_judge(exports_plumbline_plugin_judge_plugin_info_t *info,
                                          exports_plumbline_plugin_judge_own_tree_t given,
                                          exports_plumbline_plugin_judge_list_own_file_t *evidence, contract_string_t *error) {
    plumbline_plugin plugin = {plumbline_lift(info->name), plumbline_lift(info->driver), plumbline_lift(info->format),
                               info->expected_results, plumbline_lift(info->options)};
    plumbline_tree tree = {.handle = given, .state = PLUMBLINE_OK};
    plumbline_files files = plumbline_open_files(evidence->ptr, evidence->len);
    plumbline_rulings *out = plumbline_grow(NULL, 1, sizeof *out);
    out->ruling_count = out->check_count = 0;
    bool done = plumbline_outcome(plumbline_judge(&plugin, &tree, files.pointers, files.count, out), error);
    flush(out);
    free(out);
    plumbline_close_files(&files);
    plumbline_plugin_judgement_list_judged_item_free(&tree.batch);
    contract_string_free(&tree.error);
    free(tree.lifted.meta);
    free(tree.lifted.details);
    plumbline_plugin_judgement_tree_drop_own(tree.handle);
    exports_plumbline_plugin_judge_list_own_file_free(evidence);
    exports_plumbline_plugin_judge_plugin_info_free(info);
    return done;
}

#endif
