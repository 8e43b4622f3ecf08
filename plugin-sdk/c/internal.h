/* Declarations shared by the files of the library. */
#ifndef PLUMBLINE_INTERNAL_H
#define PLUMBLINE_INTERNAL_H

#include "contract.h"
#include "plumbline.h"

#if defined(CONTRACT_POST_PROCESSOR) || defined(CONTRACT_SUMMARIZER) || defined(CONTRACT_CHECK)
#define PLUMBLINE_EMITS 1
#endif

#if defined(CONTRACT_POST_PROCESSOR) || defined(CONTRACT_JUDGE)
#define PLUMBLINE_READS_INPUT 1
#endif

#if defined(PLUMBLINE_READS_INPUT) || defined(CONTRACT_CHECK)
#define PLUMBLINE_READS 1
#endif

#if defined(CONTRACT_SUMMARIZER) || defined(CONTRACT_JUDGE)
#define PLUMBLINE_READS_ITEMS 1
#endif

/* Resizes `array`, which may be NULL. Ends the call if there is no memory, because a module could
 * not even report that. */
void *plumbline_grow(void *array, size_t count, size_t size);
/* The length of the longest valid UTF-8 prefix of `text` in bytes. */
size_t plumbline_valid(plumbline_text text);
/* Copies the text, with U+FFFD for invalid UTF-8. `into` has room for three times its bytes.
 * Returns the number of bytes written. */
size_t plumbline_repair(plumbline_text text, char *into);
/* At most `max` bytes of the text, cut at a character. */
plumbline_text plumbline_shorten(plumbline_text text, size_t max);
/* A text of the host, as one of the library. */
static inline plumbline_text plumbline_lift(contract_string_t text) { return (plumbline_text){(const char *)text.ptr, text.len}; }
/* Returns the outcome of a role for the contract: true if `sentence` is NULL, else false with a
 * copy of it in *error. */
bool plumbline_outcome(const char *sentence, contract_string_t *error);

#ifdef PLUMBLINE_EMITS
plumbline_output *plumbline_open(void);
/* Sends what is in the batch, and frees it. */
void plumbline_close(plumbline_output *out);
#endif

#ifdef PLUMBLINE_READS
struct plumbline_file {
    /* Reads the next piece. Returns PLUMBLINE_END without one at the end, and PLUMBLINE_BROKEN with
     * an error. */
    plumbline_got (*next)(plumbline_file *file);
    int32_t handle; /* the number of the host or of the operating system */
    uint64_t size;
    plumbline_text path, error;
    char *piece;
    size_t piece_len, position;
    plumbline_got state; /* PLUMBLINE_OK until the end */
    plumbline_buffer line;
};
#endif

#ifdef PLUMBLINE_READS_INPUT
typedef struct plumbline_files {
    plumbline_file *files;
    plumbline_file **pointers;
    size_t count;
} plumbline_files;

plumbline_files plumbline_open_files(const plumbline_plugin_input_own_file_t *given, size_t count);
/* Frees the files and drops the handles of the host. */
void plumbline_close_files(plumbline_files *files);
#endif

#ifdef CONTRACT_CHECK
struct plumbline_context {
    plumbline_buffer error; /* why the last call failed */
};

/* A text for the host, with valid UTF-8. Free it with contract_string_free. */
contract_string_t plumbline_lower(plumbline_text text);

/* Most bytes of a path. */
#define PLUMBLINE_MAX_PATH 4096u

/* Writes the place of a node's file on disk, which ends with NUL. Natively, the test's host defines
 * this function. */
plumbline_access plumbline_locate(const char *path, char disk[PLUMBLINE_MAX_PATH]);
#endif

#ifdef PLUMBLINE_READS_ITEMS
/* Memory for one item at a time. free() both at the end. */
typedef struct plumbline_lifted {
    plumbline_pair *meta;
    plumbline_entry_detail *details;
} plumbline_lifted;

/* Fills in the entry except its set. It is valid until the next call, or until the item is
 * freed. */
void plumbline_lift_item(plumbline_lifted *into, const plumbline_plugin_types_item_t *item, plumbline_entry *entry);
#endif

#endif
