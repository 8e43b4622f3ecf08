//! Reads a file as a YAML document within limits.

use plumbline_sdk::InputFile;
use plumbline_sdk::text::shortened;
use serde::de::DeserializeOwned;
use serde_saphyr::Options;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

/// Maximum depth of mappings and lists. The parser recurses, and a module has 1 MiB of stack.
const MAX_DEPTH: usize = 64;

/// Maximum number of mappings, lists and scalars.
const MAX_NODES: usize = 2_000_000;

/// Maximum number of nodes that come from aliases, so that a few lines cannot expand to gigabytes.
const MAX_REPLAYED: usize = 100_000;

/// Maximum number of bytes of a parser's message to show, because it may quote the file.
const MAX_MESSAGE: usize = 300;

/// Reads the whole file, of at most `max` bytes, and the one document in it. The error is a
/// fragment that follows the name of the file.
///
/// # Errors
/// The file cannot be read, is too large, or is not a document of this type.
pub fn read<T: DeserializeOwned>(file: &mut InputFile, max: usize) -> Result<T, String> {
    let text = text(file, max)?;
    serde_saphyr::from_str_with_options(&text, options(max)).map_err(|error| {
        let message = error.to_string();
        // Keep one line, without the parser's hints for programmers.
        let line = message.lines().next().unwrap_or_default();
        let line = line.replace("; use from_str_multiple or from_str_multiple_with_options", "");
        let line = line.replace(", set DuplicateKeyPolicy in Options if acceptable", "");
        format!("it cannot be read: {}", shortened(&line, MAX_MESSAGE))
    })
}

fn text(file: &mut InputFile, max: usize) -> Result<String, String> {
    let bytes = file.read_within(max as u64).map_err(|error| format!("it cannot be read: {error}"))?;
    let bytes = bytes.ok_or_else(|| format!("it has more than {} MiB, the most that can be read", max >> 20))?;
    String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8: invalid byte at offset {}", error.utf8_error().valid_up_to()))
}

fn options(max: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_total_scalar_bytes: 2 * max,
            max_recorded_anchor_bytes: max,
            max_recorded_anchor_events: MAX_REPLAYED,
            max_aliases: 10_000,
            max_anchors: 10_000,
            max_merge_keys: 10_000,
            max_documents: 1,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        emit_comments: false,
        with_snippet: false,
    }
}
