/* What the files of the library share. */
#ifndef PLUMBLINE_INTERNAL_H
#define PLUMBLINE_INTERNAL_H

#include "contract.h"
#include "plumbline.h"

#if defined(CONTRACT_POST_PROCESSOR) || defined(CONTRACT_SUMMARIZER)
#define PLUMBLINE_EMITS 1
#endif

#if defined(CONTRACT_POST_PROCESSOR) || defined(CONTRACT_JUDGE)
#define PLUMBLINE_READS 1
#endif

#if defined(CONTRACT_SUMMARIZER) || defined(CONTRACT_JUDGE)
#define PLUMBLINE_READS_ITEMS 1
#endif

/* Memory, or the end of the call: a module without memory cannot even say so. `array` may be NULL. */
void *plumbline_grow(void *array, size_t count, size_t size);
/* How many bytes of `text` are UTF-8 from its start. */
size_t plumbline_valid(plumbline_text text);
/* The text with U+FFFD for what is no UTF-8; `into` has room for three times its bytes. The number of bytes written. */
size_t plumbline_repair(plumbline_text text, char *into);
/* At most `max` bytes of it, and no half of a character. */
plumbline_text plumbline_shorten(plumbline_text text, size_t max);
/* A text of the host's. */
static inline plumbline_text plumbline_lift(contract_string_t text) { return (plumbline_text){(const char *)text.ptr, text.len}; }
/* What a role says, as the contract wants it: false, and a copy of the sentence in *error, unless it is NULL. */
bool plumbline_outcome(const char *sentence, contract_string_t *error);

#ifdef PLUMBLINE_EMITS
plumbline_output *plumbline_open(void);
/* Sends what has gathered, and frees it. */
void plumbline_close(plumbline_output *out);
#endif

#ifdef PLUMBLINE_READS
typedef struct plumbline_files {
    plumbline_file *files;
    plumbline_file **pointers;
    size_t count;
} plumbline_files;

plumbline_files plumbline_open_files(const plumbline_plugin_input_own_file_t *given, size_t count);
/* Frees them, and lets go of the host's. */
void plumbline_close_files(plumbline_files *files);
#endif

#ifdef PLUMBLINE_READS_ITEMS
/* Memory for one item at a time; free() both in the end. */
typedef struct plumbline_lifted {
    plumbline_pair *meta;
    plumbline_entry_detail *details;
} plumbline_lifted;

/* All of the entry but its set; it stays until the next call, or until the item goes. */
void plumbline_lift_item(plumbline_lifted *into, const plumbline_plugin_types_item_t *item, plumbline_entry *entry);
#endif

#endif
