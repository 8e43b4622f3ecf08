/* A native host for a judge, for debuggers and sanitizers. It reads a tree from a file, and prints
 * a line `INDEX CLASS counts|excused REASON (SOURCE)` for each ruling, and a line
 * `ID OUTCOME WANT GOT REASON` for each check.
 *
 * The first argument is the file with the tree: a line `SET DEPTH STATUS NAME` for each item, with
 * `-` for the empty set. The other arguments are the evidence. PLUMBLINE_OPTIONS contains the
 * options as JSON. PLUMBLINE_CHUNK is the most bytes of a read, and the most items of a batch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

static char **paths;
static FILE *opened[4096];
static FILE *tree;
static uint64_t given;

static contract_string_t copy(const char *text) {
    contract_string_t copied;
    contract_string_dup(&copied, text);
    return copied;
}

static size_t chunk(size_t max) {
    const char *asked = getenv("PLUMBLINE_CHUNK");
    size_t most = asked != NULL ? strtoul(asked, NULL, 10) : max;
    return most < max ? most : max;
}

/* The bindings call these functions instead of WebAssembly imports. A list or text is returned as
 * address and length, after a word that is set for an error. */
void __wasm_import_plumbline_plugin_input_method_file_path(int32_t file, uint8_t *into) {
    contract_string_t path = copy(paths[file]);
    memcpy(into, &path, sizeof path);
}

int64_t __wasm_import_plumbline_plugin_input_method_file_size(int32_t file) {
    FILE *from = fopen(paths[file], "rb");
    if (from == NULL || fseek(from, 0, SEEK_END) != 0) return 0;
    int64_t size = ftell(from);
    fclose(from);
    return size;
}

void __wasm_import_plumbline_plugin_input_method_file_read(int32_t file, int32_t max, uint8_t *into) {
    if (opened[file] == NULL) opened[file] = fopen(paths[file], "rb");
    memset(into, 0, 3 * sizeof(void *));
    contract_string_t piece = {NULL, 0};
    if (opened[file] == NULL) {
        into[0] = 1;
        piece = copy("cannot be opened");
    } else {
        size_t bytes = chunk((size_t)max);
        piece.ptr = malloc(bytes);
        piece.len = fread(piece.ptr, 1, bytes, opened[file]);
        /* The bindings do not free an empty text. */
        if (piece.len == 0) free(piece.ptr);
    }
    memcpy(into + sizeof(void *), &piece, sizeof piece);
}

void __wasm_import_plumbline_plugin_input_file_drop(int32_t file) {
    if (opened[file] != NULL) fclose(opened[file]);
    opened[file] = NULL;
}

static uint8_t status(const char *word) {
    static const char *const words[] = {"passed", "failed", "skipped", "timeout"};
    for (uint8_t i = 0; i < 4; i++) {
        if (strcmp(words[i], word) == 0) return i;
    }
    return PLUMBLINE_PLUGIN_TYPES_STATUS_UNKNOWN;
}

/* Whether an item has children is known only once the next one is read, so look ahead in the
 * file. */
static bool has_children(const char *set, unsigned depth) {
    long at = ftell(tree);
    char other[65], word[17], name[257];
    unsigned below = 0;
    bool found = fscanf(tree, "%64s %u %16s %256[^\n]", other, &below, word, name) == 4 && strcmp(set, other) == 0 && below > depth;
    clearerr(tree);
    fseek(tree, at, SEEK_SET);
    return found;
}

void __wasm_import_plumbline_plugin_judgement_method_tree_next(int32_t handle, int32_t max, uint8_t *into) {
    (void)handle;
    size_t most = chunk((size_t)max);
    plumbline_plugin_judgement_list_judged_item_t batch = {calloc(most, sizeof *batch.ptr), 0};
    char set[65], word[17], name[257];
    unsigned depth = 0;
    while (batch.len < most && fscanf(tree, "%64s %u %16s %256[^\n]", set, &depth, word, name) == 4) {
        plumbline_plugin_judgement_judged_item_t *judged = &batch.ptr[batch.len++];
        judged->index = given++;
        judged->set = copy(strcmp(set, "-") == 0 ? "" : set);
        judged->item.depth = depth;
        judged->item.name = copy(name);
        judged->item.status.is_some = true;
        judged->item.status.val.tag = status(word);
        judged->leaf = !has_children(set, depth);
    }
    if (batch.len == 0) free(batch.ptr);
    memset(into, 0, 3 * sizeof(void *));
    memcpy(into + sizeof(void *), &batch, sizeof batch);
}

void __wasm_import_plumbline_plugin_judgement_tree_drop(int32_t handle) { (void)handle; }

static void print(contract_string_t text) { printf(" %.*s", (int)text.len, (const char *)text.ptr); }

void __wasm_import_plumbline_plugin_judgement_rule(uint8_t *list, size_t len) {
    const plumbline_plugin_judgement_tuple2_u64_ruling_t *rulings = (const plumbline_plugin_judgement_tuple2_u64_ruling_t *)list;
    for (size_t i = 0; i < len; i++) {
        if (rulings[i].f0 >= given) {
            fprintf(stderr, "the host would end the call: item %llu was not given\n", (unsigned long long)rulings[i].f0);
            exit(1);
        }
        printf("%llu", (unsigned long long)rulings[i].f0);
        print(rulings[i].f1.class_);
        printf(rulings[i].f1.counts ? " counts" : " excused");
        print(rulings[i].f1.reason);
        printf(" (%.*s)\n", (int)rulings[i].f1.source.len, (const char *)rulings[i].f1.source.ptr);
    }
}

void __wasm_import_plumbline_plugin_judgement_report(uint8_t *list, size_t len) {
    static const char *const outcomes[] = {" passed", " failed", " unknown"};
    const plumbline_plugin_judgement_check_t *checks = (const plumbline_plugin_judgement_check_t *)list;
    for (size_t i = 0; i < len; i++) {
        printf("%.*s%s", (int)checks[i].id.len, (const char *)checks[i].id.ptr, outcomes[checks[i].outcome]);
        print(checks[i].name);
        print(checks[i].want);
        print(checks[i].got);
        print(checks[i].reason);
        putchar('\n');
    }
}

void __wasm_import_plumbline_plugin_log_write(int32_t level, uint8_t *message, size_t len) {
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    fprintf(stderr, "%s: %.*s\n", levels[level & 3], (int)len, (const char *)message);
}

int main(int count, char **arguments) {
    tree = count < 2 || (size_t)count > sizeof opened / sizeof *opened ? NULL : fopen(arguments[1], "rb");
    if (tree == NULL) {
        fprintf(stderr, "usage: %s TREE [EVIDENCE...]\n", arguments[0]);
        return 2;
    }
    paths = arguments + 2;
    size_t files = (size_t)count - 2;
    const char *options = getenv("PLUMBLINE_OPTIONS");
    exports_plumbline_plugin_judge_plugin_info_t plugin = {
        .name = copy("test"), .driver = copy("Job"), .format = copy("test"), .expected_results = 1,
        .options = copy(options != NULL ? options : "{}")};
    exports_plumbline_plugin_judge_list_own_file_t evidence = {files > 0 ? malloc(files * sizeof *evidence.ptr) : NULL, files};
    for (size_t i = 0; i < files; i++) evidence.ptr[i].__handle = (int32_t)i;
    contract_string_t error = {NULL, 0};
    bool done = exports_plumbline_plugin_judge_judge(&plugin, (exports_plumbline_plugin_judge_own_tree_t){0}, &evidence, &error);
    fclose(tree);
    if (done) return 0;
    fprintf(stderr, "error: %.*s\n", (int)error.len, (const char *)error.ptr);
    contract_string_free(&error);
    return 1;
}
