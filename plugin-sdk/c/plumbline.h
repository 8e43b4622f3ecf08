/* Write a module for Plumbline in C (C11).
 *
 * A module interprets the results of a plugin. It has one role, for which it defines one function:
 *
 *     const char *plumbline_process(…)            a post-processor: turns files into items
 *     const char *plumbline_expected_results(…)   expectations: lists the results that must arrive
 *     const char *plumbline_summarize(…)          a summarizer: adds items about the items of all result sets
 *     const char *plumbline_judge(…)              a judge: decides what counts in the finished tree
 *     const char *plumbline_check_run(…)          a check: reads a node or a cluster itself
 *
 * `world` in module.yaml selects the role, and `plumbline plugin build` compiles the bindings of
 * that world. The function returns NULL, or an error message if nothing can be done at all. There
 * is no file system, no clock, and no output except through this header, unless the module is a
 * check. Each call has its own instance, so nothing can be kept between two calls.
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

/* Gets the value of a key of a JSON object, such as one of the host. Returns false if the key is
 * missing. */
bool plumbline_member(plumbline_text object, const char *key, plumbline_text *value);

/* ---- files ---- */

typedef enum plumbline_got {
    PLUMBLINE_END,    /* there is no more data */
    PLUMBLINE_OK,     /* the call returned data */
    PLUMBLINE_CUT,    /* the call returned data; the rest of the line, above the limit, was dropped */
    PLUMBLINE_BROKEN, /* reading failed before the end: plumbline_error returns the reason */
} plumbline_got;

/* A file of the result set, of a judge's evidence, or of the node that a check reads. It can be read
 * once, from start to end. */
typedef struct plumbline_file plumbline_file;

/* The unique path relative to the plugin's directory in the archive, such as
 * `results/global/junit_01.xml`. For a check, the path on the node. */
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

/* ---- the node and the cluster, for checks ----
 *
 * A check reads and reaches what the definition grants. Paths are those of the node. getenv() and time() work.
 * So does <stdio.h>, but it cannot tell a path that is not granted from one that does not exist. */

typedef struct plumbline_context plumbline_context;

/* Why the last call with this context failed, with the path. It is valid until the next call. */
plumbline_text plumbline_context_error(const plumbline_context *context);
/* Reports that `completed` parts of `total` are done, and what the check does now. `total` is 0 as
 * long as it is not known. The host skips reports that follow each other quickly. */
void plumbline_progress(plumbline_context *context, uint64_t completed, uint64_t total, plumbline_text message);

/* Whether a file or directory could be read. */
typedef enum plumbline_access {
    PLUMBLINE_READABLE,
    PLUMBLINE_NOT_GRANTED,   /* no granted directory contains the path, or it does not exist on the node */
    PLUMBLINE_NOT_FOUND,     /* the file or directory does not exist */
    PLUMBLINE_NOT_PERMITTED, /* a link out of the granted directory, a pipe, a socket, a device, … */
    PLUMBLINE_TOO_LARGE,     /* the file has more bytes than the limit */
    PLUMBLINE_UNREADABLE,    /* another reason */
} plumbline_access;

/* Opens a file, to read it with plumbline_read or plumbline_line. On success, close it: the host
 * limits the number of open files. */
plumbline_access plumbline_open_file(plumbline_context *context, plumbline_text path, plumbline_file **file);
void plumbline_close_file(plumbline_file *file);
/* Reads a whole file into the buffer, up to its limit. */
plumbline_access plumbline_read_file(plumbline_context *context, plumbline_text path, plumbline_buffer *content);

/* The entries of a directory, in any order and without `.` and `..`. */
typedef struct plumbline_directory plumbline_directory;

/* Opens a directory. On success, close it. */
plumbline_access plumbline_open_directory(plumbline_context *context, plumbline_text path, plumbline_directory **directory);
/* Gets the name of the next entry. It is valid until the next call. After PLUMBLINE_BROKEN,
 * plumbline_context_error returns the reason. */
plumbline_got plumbline_next_name(plumbline_directory *directory, plumbline_text *name);
void plumbline_close_directory(plumbline_directory *directory);

/* The owner and the mode of a file, by POSIX. */
typedef struct plumbline_attributes {
    uint32_t mode; /* the type and the permissions, such as 0100600 (st_mode) */
    uint32_t uid, gid;
} plumbline_attributes;

/* Reads the owner and the mode of a file of any type, or of a directory. Follows links. */
plumbline_access plumbline_read_attributes(plumbline_context *context, plumbline_text path, plumbline_attributes *attributes);

/* Objects of the cluster to read. */
typedef struct plumbline_query {
    plumbline_text api_version; /* such as `v1` or `apps/v1` */
    plumbline_text resource;    /* the plural name, such as `nodes` */
    plumbline_text namespace_;  /* empty for all of them, and for objects outside namespaces */
    plumbline_text labels;      /* a label selector, such as `app=web`; empty for all objects */
    plumbline_text fields;      /* a field selector, such as `spec.nodeName=node-1` */
} plumbline_query;

/* The objects of a list. The host reads one page of it at a time. */
typedef struct plumbline_objects plumbline_objects;

/* Lists objects. Close the list. If the definition does not grant them, the first object is
 * PLUMBLINE_BROKEN. */
plumbline_objects *plumbline_list(plumbline_context *context, const plumbline_query *query);
/* Gets the next object as a JSON document. It is valid until the next call. After PLUMBLINE_BROKEN,
 * plumbline_context_error returns the reason. */
plumbline_got plumbline_next_object(plumbline_objects *objects, plumbline_text *json);
void plumbline_close_objects(plumbline_objects *objects);
/* Gets an object as a JSON document, which the buffer holds up to its limit. Returns PLUMBLINE_END
 * if the object does not exist. The selectors of the query are not used. */
plumbline_got plumbline_get(plumbline_context *context, const plumbline_query *query, plumbline_text name, plumbline_buffer *json);

/* Whether a host was reached. */
typedef enum plumbline_reach {
    PLUMBLINE_REACHED,
    PLUMBLINE_DENIED,      /* the definition does not grant it, or an argument is invalid */
    PLUMBLINE_NO_ADDRESS,  /* the name does not exist, or has no address */
    PLUMBLINE_REFUSED,     /* the target refused or reset the connection */
    PLUMBLINE_TIMED_OUT,   /* the time was up */
    PLUMBLINE_TLS_FAILED,  /* the TLS handshake failed: an invalid certificate, or no TLS at all */
    PLUMBLINE_UNREACHABLE, /* another cause */
} plumbline_reach;

/* Whether a failure says something about the target. After any other failure, a check knows nothing
 * about it, so the status of its item is PLUMBLINE_UNKNOWN and not PLUMBLINE_FAILED. */
bool plumbline_is_of_target(plumbline_reach reach);

/* Which certificates of a server are accepted. */
typedef enum plumbline_trust {
    PLUMBLINE_TRUST_SYSTEM,       /* those of the CAs of the system on which the check runs */
    PLUMBLINE_TRUST_CERTIFICATES, /* those of the CAs in `certificates` */
    PLUMBLINE_TRUST_ANY,          /* all: such a request proves nothing about the identity of the server */
} plumbline_trust;

typedef struct plumbline_request {
    plumbline_text method; /* empty for `GET` */
    plumbline_text url;    /* `http` or `https`, without a user */
    const plumbline_pair *headers;
    size_t header_count;
    plumbline_text body; /* at most 1 MiB */
    plumbline_trust trust;
    plumbline_text certificates; /* CAs in PEM form, for PLUMBLINE_TRUST_CERTIFICATES */
    uint32_t timeout_ms;         /* the time limit for everything: at most 300,000; 0 stands for 10,000 */
} plumbline_request;

typedef struct plumbline_response {
    uint16_t status;               /* the host does not follow redirects */
    const plumbline_pair *headers; /* with names in lower case */
    size_t header_count;
    plumbline_text body;        /* at most 16 MiB; a longer one is an error */
    plumbline_text certificate; /* that of the server in DER form; empty if the URL is not `https` */
    plumbline_text address;     /* the address and port of the server */
    void *memory;               /* of the library */
} plumbline_response;

/* Sends an HTTP request. Gets the response, whatever its status is. On success, free it. */
plumbline_reach plumbline_send(plumbline_context *context, const plumbline_request *request, plumbline_response *response);
void plumbline_free_response(plumbline_response *response);
/* Gets the first value of a header field, whose name is in lower case. */
bool plumbline_header(const plumbline_response *response, const char *name, plumbline_text *value);

/* Gets the addresses of a name, by the resolver of the machine or pod. The buffer holds them up to
 * its limit, each with a line feed at its end. */
plumbline_reach plumbline_resolve(plumbline_context *context, plumbline_text name, plumbline_buffer *addresses);

/* A host and port to which a check tries to connect. */
typedef struct plumbline_target {
    plumbline_text host; /* a name, or an address without brackets */
    uint16_t port;
} plumbline_target;

/* The result of a connection attempt. */
typedef struct plumbline_connection {
    plumbline_reach reach;
    plumbline_text text;   /* the address and port of an open connection, or why there is none */
    uint64_t microseconds; /* from the start of the attempt until it was open */
} plumbline_connection;

/* Tries to open a TCP connection to each target, many at the same time, and closes it. `results` has
 * room for `count` of them, in the same order. Free them. An attempt takes at most `attempt_ms`
 * milliseconds: up to 60,000; 0 stands for 5,000. Failed attempts are repeated about once a second
 * for `wait_ms` milliseconds. */
void plumbline_connect(plumbline_context *context, const plumbline_target *targets, size_t count, uint32_t attempt_ms, uint32_t wait_ms,
                       plumbline_connection *results);
void plumbline_free_connections(plumbline_connection *results, size_t count);

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
const char *plumbline_check_run(const plumbline_plugin *plugin, plumbline_context *context, plumbline_output *out);

#endif
