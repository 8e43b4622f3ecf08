/* Write a module for Plumbline in C (C11).
 *
 * A module interprets the results of a plugin. It has one role, for which it defines one function:
 *
 *     const char *plumbline_process(…)            a post-processor: turns files into items
 *     const char *plumbline_expected_results(…)   expectations: lists the results that must arrive
 *     const char *plumbline_summarize(…)          a summarizer: adds items about the items of all result sets
 *     const char *plumbline_judge(…)              a judge: decides what counts in the finished tree
 *
 * `world` in module.yaml selects the role, and `plumbline plugin build` compiles the bindings of
 * that world. The function returns NULL, or an error message if nothing can be done at all. There
 * is no file system, no clock, and no output except through this header. Each call has its own
 * instance, so nothing can be kept between two calls.
 *
 * A text has a length, may contain any byte, and does not end with NUL. The library copies what the
 * module emits, and repairs invalid UTF-8. It owns and frees the memory that it returns.
 */
#ifndef PLUMBLINE_H
#define PLUMBLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- texts ---- */

typedef struct plumbline_text {
    const char *ptr;
    size_t len;
} plumbline_text;

/* A string literal as a text. */
#define PLUMBLINE_TEXT(literal) ((plumbline_text){(literal), sizeof(literal) - 1})

/* A NUL-terminated string as a text. */
plumbline_text plumbline_text_of(const char *string);
bool plumbline_equal(plumbline_text text, const char *string);
bool plumbline_starts_with(plumbline_text text, const char *string);
/* The text without white space (space, tab, CR, LF) at both ends. */
plumbline_text plumbline_trim(plumbline_text text);
/* Returns the text before the first `separator`, and the text after it in *rest. Without a
 * separator, returns the whole text and an empty rest. */
plumbline_text plumbline_cut(plumbline_text text, char separator, plumbline_text *rest);
/* Parses a text that consists of decimal digits only. Returns false for any other text, and if the
 * number is too large. */
bool plumbline_number(plumbline_text text, uint64_t *number);

/* A text that grows up to `limit` bytes. The rest is dropped, and `cut` is set. Initialize with
 * {.limit = …}. */
typedef struct plumbline_buffer {
    char *ptr;
    size_t len, capacity, limit;
    bool cut;
} plumbline_buffer;

void plumbline_append(plumbline_buffer *buffer, plumbline_text text);
void plumbline_append_string(plumbline_buffer *buffer, const char *string);
void plumbline_append_number(plumbline_buffer *buffer, uint64_t number);
plumbline_text plumbline_buffer_text(const plumbline_buffer *buffer);
/* Empties the buffer and keeps its memory for the next text. */
void plumbline_clear(plumbline_buffer *buffer);
void plumbline_free(plumbline_buffer *buffer);

/* ---- the plugin ---- */

typedef struct plumbline_plugin {
    plumbline_text name;       /* a DNS-1123 subdomain */
    plumbline_text driver;     /* `Job`, `DaemonSet` or `Process`; treat an unknown driver like `Job` */
    plumbline_text format;     /* the `result-format` of the definition; empty if it has none */
    uint32_t expected_results; /* how many results the run expects of this plugin */
    plumbline_text options;    /* the options of the definition: a JSON object */
} plumbline_plugin;

/* Gets the next option: its key as written between the quotes, and its value as JSON (`true`,
 * `"text"`, `[1,2]`). Start with *rest = plugin->options. Returns false at the end. Return an error
 * for an unknown key, so that a misspelt one is reported. */
bool plumbline_next_option(plumbline_text *rest, plumbline_text *key, plumbline_text *value);

/* ---- files ---- */

typedef enum plumbline_got {
    PLUMBLINE_END,    /* there is no more data */
    PLUMBLINE_OK,     /* the call returned data */
    PLUMBLINE_CUT,    /* the call returned data; the rest of the line, above the limit, was dropped */
    PLUMBLINE_BROKEN, /* reading failed before the end: plumbline_error returns the reason */
} plumbline_got;

/* A file of the result set, or of a judge's evidence. It can be read once, from start to end. */
typedef struct plumbline_file plumbline_file;

/* The unique path relative to the plugin's directory in the archive, such as
 * `results/global/junit_01.xml`. */
plumbline_text plumbline_path(const plumbline_file *file);
/* The last part of the path. */
plumbline_text plumbline_name(const plumbline_file *file);
/* The size in bytes when the call started. */
uint64_t plumbline_size(const plumbline_file *file);
/* Gets the next piece of the file, of any length. It is valid until the next call on this file. */
plumbline_got plumbline_read(plumbline_file *file, plumbline_text *piece);
/* Gets the next line without its end (LF or CR LF), at most `max` bytes of it. It is valid until
 * the next call on this file. */
plumbline_got plumbline_line(plumbline_file *file, size_t max, plumbline_text *line);
/* Why the file could not be read. Emit it under the meta key `error` of an `unknown` item, then
 * continue with the next file. */
plumbline_text plumbline_error(const plumbline_file *file);

/* ---- items ---- */

typedef enum plumbline_status {
    PLUMBLINE_ROLLED_UP, /* the host rolls it up from the children; `unknown` without children */
    PLUMBLINE_PASSED,
    PLUMBLINE_FAILED,
    PLUMBLINE_SKIPPED,
    PLUMBLINE_TIMEOUT,
    PLUMBLINE_UNKNOWN,
    PLUMBLINE_CUSTOM,
} plumbline_status;

/* Receives the items of the tree, and sends them in batches. */
typedef struct plumbline_output plumbline_output;

/* Starts an item, which completes the one before. Depth 0 is a root of the result set. A depth is
 * at most one more than the one before. The name must not be empty. It is cut at 64 KiB. */
void plumbline_item(plumbline_output *out, uint32_t depth, plumbline_text name);
/* Sets the status of the item. The default is PLUMBLINE_ROLLED_UP. */
void plumbline_set_status(plumbline_output *out, plumbline_status status);
/* Sets a status of the format's own, such as `warning`: 1 to 256 bytes. If one occurs anywhere in
 * the tree, the host reports counts. */
void plumbline_set_custom_status(plumbline_output *out, plumbline_text status);
/* Adds a short fact: `file` (the path of the file that the item describes), `type` (`file`),
 * `error`, or keys of your own. */
void plumbline_meta(plumbline_output *out, const char *key, plumbline_text value);
/* Adds a text for people: `failure`, `error`, `system-out`, … */
void plumbline_detail(plumbline_output *out, const char *key, plumbline_text value);
/* Adds a structure. The host rejects invalid JSON. */
void plumbline_json(plumbline_output *out, const char *key, plumbline_text json);

/* ---- the log of the run ---- */

typedef enum plumbline_level { PLUMBLINE_DEBUG, PLUMBLINE_INFO, PLUMBLINE_WARNING, PLUMBLINE_ERROR } plumbline_level;

/* Writes a line to the log. The host limits the log, so do not log per item. */
void plumbline_log(plumbline_level level, plumbline_text message);

/* ---- nodes, for expectations ---- */

typedef struct plumbline_pair {
    plumbline_text key, value;
} plumbline_pair;

typedef struct plumbline_taint {
    plumbline_text key, value, effect;
} plumbline_taint;

typedef struct plumbline_node {
    plumbline_text name;
    const plumbline_pair *labels;
    size_t label_count;
    const plumbline_taint *taints;
    size_t taint_count;
    bool ready;              /* the condition Ready is True */
    bool unschedulable;      /* cordoned */
    plumbline_text os, arch; /* empty if unknown */
} plumbline_node;

/* Gets the value of a label. Returns false if the node has no label with that key. */
bool plumbline_label(const plumbline_node *node, const char *key, plumbline_text *value);

typedef struct plumbline_expected plumbline_expected;

/* Expects the one result of the whole cluster. */
void plumbline_expect_global(plumbline_expected *expected);
/* Expects the result of a node. It must be one of the given nodes, and each at most once. */
void plumbline_expect_node(plumbline_expected *expected, plumbline_text name);

/* ---- results, for summarizers ---- */

typedef struct plumbline_entry_detail {
    plumbline_text key, value;
    bool json;
} plumbline_entry_detail;

typedef struct plumbline_entry {
    plumbline_text set; /* the node's name, or `global` */
    uint32_t depth;     /* 0 is a root of the result set */
    plumbline_text name;
    plumbline_status status;
    plumbline_text custom; /* the word of the status, if it is PLUMBLINE_CUSTOM */
    const plumbline_pair *meta;
    size_t meta_count;
    const plumbline_entry_detail *details;
    size_t detail_count;
} plumbline_entry;

typedef struct plumbline_results plumbline_results;

/* Gets the next item, result set by result set. It is valid until the next call. */
plumbline_got plumbline_next(plumbline_results *results, plumbline_entry *entry);
/* Why reading the results failed before their end. */
plumbline_text plumbline_results_error(const plumbline_results *results);

/* ---- the finished tree, for judges ---- */

/* What a judge decides about one leaf. Without a ruling, leaves that failed or timed out count. */
typedef struct plumbline_ruling {
    plumbline_text word;   /* the class, such as `known-failure`, `flaky`: 1 to 64 of the characters a-z, 0-9 and `-` */
    bool counts;           /* whether the leaf counts as a failure */
    plumbline_text reason; /* why, as a sentence for people */
    plumbline_text source; /* where it comes from: a list, an archive, the URL of an issue; may be empty */
} plumbline_ruling;

/* An item of the tree, with the ruling of an earlier judge. */
typedef struct plumbline_judged {
    uint64_t index;          /* its number in the tree, which a ruling refers to */
    plumbline_entry item;    /* its set is empty if a summarizer added it */
    bool leaf;               /* whether it has no children; a ruling needs a leaf */
    bool ruled;              /* whether an earlier judge of the chain ruled on it */
    plumbline_ruling ruling; /* that ruling */
} plumbline_judged;

typedef struct plumbline_tree plumbline_tree;

/* Gets the next item, result set by result set, then those of the summarizer. It is valid until the
 * next call. */
plumbline_got plumbline_next_judged(plumbline_tree *tree, plumbline_judged *judged);
/* Why reading the tree failed before its end. */
plumbline_text plumbline_tree_error(const plumbline_tree *tree);
/* Whether it is a leaf that failed or timed out. Such leaves count unless a ruling excuses them. */
bool plumbline_is_failure(const plumbline_judged *judged);

/* A requirement on the results as a whole. Set `outcome` to another status if it could not be
 * evaluated, with the `reason`. */
typedef struct plumbline_check {
    plumbline_text id;        /* such as `PODS-001`: 1 to 64 characters, unique within one call */
    plumbline_text name;      /* what is required, in a few words */
    plumbline_status outcome; /* PLUMBLINE_PASSED or PLUMBLINE_FAILED; with any other, the plugin does not pass */
    plumbline_text want;      /* what was wanted, such as `>= 98 %` */
    plumbline_text got;       /* what was found, such as `96.4 % (27 of 28)` */
    plumbline_text reason;    /* an explanation for people */
} plumbline_check;

/* Receives rulings and checks, and sends them in batches. Texts are cut at 4 KiB. */
typedef struct plumbline_rulings plumbline_rulings;

/* Rules on the item with that number, also after the end of the tree. It replaces an earlier
 * ruling, also one of an earlier judge. The item must be a leaf that was read. Any other ruling
 * ends the call. */
void plumbline_rule(plumbline_rulings *out, uint64_t index, plumbline_ruling ruling);
/* Reports a check. Checks are shown in this order. */
void plumbline_report(plumbline_rulings *out, plumbline_check check);

/* ---- functions that a module defines: the one of its role ---- */

const char *plumbline_process(const plumbline_plugin *plugin, plumbline_file **files, size_t count, plumbline_output *out);
/* `pod_spec` is the `podSpec` of the definition as JSON; NULL if it has none. */
const char *plumbline_expected_results(const plumbline_plugin *plugin, const plumbline_text *pod_spec, const plumbline_node *nodes,
                                       size_t count, plumbline_expected *expected);
const char *plumbline_summarize(const plumbline_plugin *plugin, plumbline_results *results, plumbline_output *out);
/* `evidence` is the files that the definition lists: those of its `data` as `data/NAME`, then those
 * of the archive. */
const char *plumbline_judge(const plumbline_plugin *plugin, plumbline_tree *tree, plumbline_file **evidence, size_t count,
                            plumbline_rulings *out);

#endif
