/* Write a module for Plumbline in C (C11).
 *
 * A module says what the results of a plugin mean. It plays one role, for which it defines one function:
 *
 *     const char *plumbline_process(…)            a post-processor: files become items
 *     const char *plumbline_expected_results(…)   an expectation: nodes become the results that must arrive
 *     const char *plumbline_summarize(…)          a summarizer: the items of all result sets become further items
 *     const char *plumbline_judge(…)              a judge: it says what of the finished tree counts
 *
 * Which role it is, module.yaml says (`world`); `plumbline plugin build` then compiles the bindings of that world. The function returns
 * NULL, or a sentence that says why nothing can be done at all. There is no file system, no clock and no output but this header: a
 * module is a function of its arguments, and each call has an instance of its own, so nothing can be kept between two calls.
 *
 * Texts have a length and may hold any byte; they end with no NUL. What is emitted is copied, and repaired where it is not UTF-8. Memory
 * that the library hands out is the library's.
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

/* The text of a string literal. */
#define PLUMBLINE_TEXT(literal) ((plumbline_text){(literal), sizeof(literal) - 1})

/* The text of a string that ends with NUL. */
plumbline_text plumbline_text_of(const char *string);
bool plumbline_equal(plumbline_text text, const char *string);
bool plumbline_starts_with(plumbline_text text, const char *string);
/* Without blanks (space, tab, CR, LF) at both ends. */
plumbline_text plumbline_trim(plumbline_text text);
/* What comes before the first `separator`, and in *rest what comes behind it; all of it and an empty rest where there is none. */
plumbline_text plumbline_cut(plumbline_text text, char separator, plumbline_text *rest);
/* The number that the text is, in decimal digits and nothing else; false where it is none or too large. */
bool plumbline_number(plumbline_text text, uint64_t *number);

/* A text that grows, up to `limit` bytes; what does not fit is left out, and `cut` says so. Start with {.limit = …}. */
typedef struct plumbline_buffer {
    char *ptr;
    size_t len, capacity, limit;
    bool cut;
} plumbline_buffer;

void plumbline_append(plumbline_buffer *buffer, plumbline_text text);
void plumbline_append_string(plumbline_buffer *buffer, const char *string);
void plumbline_append_number(plumbline_buffer *buffer, uint64_t number);
plumbline_text plumbline_buffer_text(const plumbline_buffer *buffer);
/* Empties it; the memory stays for the next text. */
void plumbline_clear(plumbline_buffer *buffer);
void plumbline_free(plumbline_buffer *buffer);

/* ---- the plugin ---- */

typedef struct plumbline_plugin {
    plumbline_text name;       /* a DNS-1123 subdomain */
    plumbline_text driver;     /* `Job`, `DaemonSet` or `Process`; treat any other like `Job` */
    plumbline_text format;     /* the `result-format` of the definition; empty when it names none */
    uint32_t expected_results; /* how many results the run expects */
    plumbline_text options;    /* the free options of the definition: a JSON object */
} plumbline_plugin;

/* The next option: its key as it stands between the quotes, and its value as JSON (`true`, `"text"`, `[1,2]`). Start with *rest =
 * plugin->options; false at the end. Return a sentence for a key that you do not know, so that a misspelt one is named. */
bool plumbline_next_option(plumbline_text *rest, plumbline_text *key, plumbline_text *value);

/* ---- files ---- */

typedef enum plumbline_got {
    PLUMBLINE_END,    /* there is nothing more */
    PLUMBLINE_OK,     /* there is */
    PLUMBLINE_CUT,    /* there is, and it was longer than asked for: the rest of the line is left out */
    PLUMBLINE_BROKEN, /* it could not be read to its end: plumbline_error says why */
} plumbline_got;

/* A file of the result set, or of a judge's evidence: read-only, from start to end, once. */
typedef struct plumbline_file plumbline_file;

/* Relative to the plugin's directory in the archive, such as `results/global/junit_01.xml`; unique. */
plumbline_text plumbline_path(const plumbline_file *file);
/* The last part of the path. */
plumbline_text plumbline_name(const plumbline_file *file);
/* Bytes at the moment the call began. */
uint64_t plumbline_size(const plumbline_file *file);
/* The next piece of the file, of any length. It stays until the next call on this file. */
plumbline_got plumbline_read(plumbline_file *file, plumbline_text *piece);
/* The next line, at most `max` bytes of it, without its end (LF or CR LF). It stays until the next call on this file. */
plumbline_got plumbline_line(plumbline_file *file, size_t max, plumbline_text *line);
/* Why the file could not be read: put it under the meta key `error` of an item `unknown`, and go on with the next file. */
plumbline_text plumbline_error(const plumbline_file *file);

/* ---- items ---- */

typedef enum plumbline_status {
    PLUMBLINE_ROLLED_UP, /* left to the host: by the items below, or `unknown` where there are none */
    PLUMBLINE_PASSED,
    PLUMBLINE_FAILED,
    PLUMBLINE_SKIPPED,
    PLUMBLINE_TIMEOUT,
    PLUMBLINE_UNKNOWN,
    PLUMBLINE_CUSTOM,
} plumbline_status;

/* Where the tree goes. Items leave in batches by themselves. */
typedef struct plumbline_output plumbline_output;

/* Begins an item; those before it are complete. Depth 0 is a root of the result set, and a depth is at most one more than the one before.
 * The name must not be empty; of one longer than 64 KiB the rest is left out. */
void plumbline_item(plumbline_output *out, uint32_t depth, plumbline_text name);
/* How the item ended; without it, PLUMBLINE_ROLLED_UP. */
void plumbline_set_status(plumbline_output *out, plumbline_status status);
/* A status of the format's own, such as `warning`: 1 to 256 bytes. One anywhere in the tree makes the host report counts. */
void plumbline_set_custom_status(plumbline_output *out, plumbline_text status);
/* A short fact: `file` (the path of the file that the item stands for), `type` (`file`), `error`, or keys of your own. */
void plumbline_meta(plumbline_output *out, const char *key, plumbline_text value);
/* A text that a person reads: `failure`, `error`, `system-out`, … */
void plumbline_detail(plumbline_output *out, const char *key, plumbline_text value);
/* A structure. The host refuses what is no JSON. */
void plumbline_json(plumbline_output *out, const char *key, plumbline_text json);

/* ---- the log of the run ---- */

typedef enum plumbline_level { PLUMBLINE_DEBUG, PLUMBLINE_INFO, PLUMBLINE_WARNING, PLUMBLINE_ERROR } plumbline_level;

/* A line for the log, which the host bounds: not one per item. */
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
    plumbline_text os, arch; /* empty when the cluster does not say */
} plumbline_node;

/* The value of a label; false where the node has none of that key. */
bool plumbline_label(const plumbline_node *node, const char *key, plumbline_text *value);

typedef struct plumbline_expected plumbline_expected;

/* The one result of the whole cluster must arrive. */
void plumbline_expect_global(plumbline_expected *expected);
/* That of a node must arrive: one of those given, and each at most once. */
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
    plumbline_text custom; /* the status' own word, where it is PLUMBLINE_CUSTOM */
    const plumbline_pair *meta;
    size_t meta_count;
    const plumbline_entry_detail *details;
    size_t detail_count;
} plumbline_entry;

typedef struct plumbline_results plumbline_results;

/* The next item, result set by result set. It stays until the next call. */
plumbline_got plumbline_next(plumbline_results *results, plumbline_entry *entry);
/* Why the results could not be read to their end. */
plumbline_text plumbline_results_error(const plumbline_results *results);

/* ---- the finished tree, for judges ---- */

/* What is said of one item. */
typedef struct plumbline_ruling {
    plumbline_text word;   /* the class, such as `known-failure`, `flaky`: 1 to 64 of the characters a-z, 0-9 and `-` */
    bool counts;           /* whether the item counts as a failure; without a ruling, what failed or timed out does */
    plumbline_text reason; /* why, as a sentence for a person */
    plumbline_text source; /* where the judge has it from: the entry of a list, an archive, the address of an issue; may be empty */
} plumbline_ruling;

/* An item of the tree, and what was said of it so far. */
typedef struct plumbline_judged {
    uint64_t index;          /* its number in the tree: what a ruling names it by */
    plumbline_entry item;    /* its set is empty for what a summarizer added */
    bool leaf;               /* it has no children: only then it can be ruled on */
    bool ruled;              /* an earlier judge of the chain said */
    plumbline_ruling ruling; /* this */
} plumbline_judged;

typedef struct plumbline_tree plumbline_tree;

/* The next item, result set by result set, then those of the summarizer. It stays until the next call. */
plumbline_got plumbline_next_judged(plumbline_tree *tree, plumbline_judged *judged);
/* Why the tree could not be read to its end. */
plumbline_text plumbline_tree_error(const plumbline_tree *tree);
/* Whether it is a leaf that failed or timed out: what counts as a failure while nobody says otherwise. */
bool plumbline_is_failure(const plumbline_judged *judged);

/* One numbered requirement on the results as a whole. */
typedef struct plumbline_check {
    plumbline_text id;        /* what it is referred to by, such as `PODS-001`: 1 to 64 characters, unique within one call */
    plumbline_text name;      /* what is required, in a few words */
    plumbline_status outcome; /* PLUMBLINE_PASSED or PLUMBLINE_FAILED; anything else: it could not be evaluated, and the plugin does not pass */
    plumbline_text want;      /* what was wanted, such as `>= 98 %` */
    plumbline_text got;       /* what was found, such as `96.4 % (27 of 28)` */
    plumbline_text reason;    /* what else a person must know */
} plumbline_check;

/* Where rulings and checks go. They leave in batches by themselves; of texts longer than 4 KiB the rest is left out. */
typedef struct plumbline_rulings plumbline_rulings;

/* Says something of the item of that number, also when the tree has been read to its end. A later ruling takes the place of an earlier one,
 * also of one of an earlier judge. Only leaves that were read can be ruled on: anything else ends the call. */
void plumbline_rule(plumbline_rulings *out, uint64_t index, plumbline_ruling ruling);
/* Reports a check, in the order in which a person is to see them. */
void plumbline_report(plumbline_rulings *out, plumbline_check check);

/* ---- what the author defines: the one of the module's role ---- */

const char *plumbline_process(const plumbline_plugin *plugin, plumbline_file **files, size_t count, plumbline_output *out);
/* pod_spec is the definition's, as JSON; NULL when it has none. */
const char *plumbline_expected_results(const plumbline_plugin *plugin, const plumbline_text *pod_spec, const plumbline_node *nodes,
                                       size_t count, plumbline_expected *expected);
const char *plumbline_summarize(const plumbline_plugin *plugin, plumbline_results *results, plumbline_output *out);
/* `evidence` are the files that the definition names for it: those of its `data` as `data/NAME`, then those of the archive. */
const char *plumbline_judge(const plumbline_plugin *plugin, plumbline_tree *tree, plumbline_file **evidence, size_t count,
                            plumbline_rulings *out);

#endif
