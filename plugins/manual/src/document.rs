//! Reads a file as a document within limits.

use plumbline_sdk::InputFile;
use plumbline_sdk::text::shortened;
use serde_saphyr::Options;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use crate::emit;
use crate::entry::Entry;

/// Maximum size of a file in bytes: 32 MiB. With the limits below, any such file fits into a
/// module's memory.
pub const MAX_BYTES: usize = 32 << 20;

/// Maximum number of mappings, lists and scalars in a file. An item with a name and a status has
/// five.
pub const MAX_NODES: usize = 2_000_000;

/// Maximum number of nodes that come from aliases, counted where they are used.
pub const MAX_REPLAYED: usize = 200_000;

/// Maximum depth of mappings and lists: two for each level of items, and some for details. The
/// parser recurses, and a module has 1 MiB of stack.
const MAX_DEPTH: usize = 64;

/// Maximum number of bytes of a parser's message to show, because it may quote the file.
const MAX_MESSAGE: usize = 500;

/// Error of a file. The message is a fragment for the metadata key `error`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("the file has more than {max} bytes, the most that can be read")]
    TooLarge { max: usize },
    #[error("not UTF-8: invalid byte at offset {at}")]
    Encoding { at: usize },
    #[error("not a result tree: {0}")]
    Yaml(String),
    #[error("the file holds {0} documents, where one is expected")]
    SeveralDocuments(usize),
    #[error("the file has no document")]
    Empty,
    #[error("items are nested {levels} levels deep: at most {max} are possible")]
    TooDeep { levels: usize, max: usize },
}

/// Reads the file and the one document in it.
pub(crate) fn read(file: &mut InputFile) -> Result<Entry, DocumentError> {
    let text = text(file)?;
    let mut documents: Vec<Entry> = serde_saphyr::from_multiple_with_options(&text, options())
        .map_err(|error| DocumentError::Yaml(shortened(&error.to_string(), MAX_MESSAGE)))?;
    drop(text);
    let count = documents.len();
    match (documents.pop(), count) {
        (None, _) => Err(DocumentError::Empty),
        (Some(entry), 1) => {
            let levels = entry.levels();
            if levels > emit::MAX_LEVELS {
                return Err(DocumentError::TooDeep { levels, max: emit::MAX_LEVELS });
            }
            Ok(entry)
        }
        (Some(_), count) => Err(DocumentError::SeveralDocuments(count)),
    }
}

fn text(file: &mut InputFile) -> Result<String, DocumentError> {
    let bytes = file.read_within(MAX_BYTES as u64)?.ok_or(DocumentError::TooLarge { max: MAX_BYTES })?;
    String::from_utf8(bytes).map_err(|error| DocumentError::Encoding { at: error.utf8_error().valid_up_to() })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_total_scalar_bytes: 2 * MAX_BYTES,
            max_recorded_anchor_bytes: MAX_BYTES,
            max_recorded_anchor_events: MAX_REPLAYED,
            max_aliases: 50_000,
            max_anchors: 50_000,
            max_merge_keys: 50_000,
            max_documents: 64,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        // Existing plugins were written for a YAML 1.1 parser.
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        emit_comments: false,
        with_snippet: false,
    }
}
