//! Parses untrusted YAML within limits.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options};

use super::error::MAX_YAML_BYTES;
use crate::definition::error::DefinitionError;
use crate::definition::warning::{WarningKind, Warnings};

/// The maximum nesting depth. The deepest pod spec has about 15 levels.
const MAX_DEPTH: usize = 64;

/// The maximum number of mappings, lists and scalars, with aliases counted at each use. The largest
/// known definition has about 500.
const MAX_NODES: usize = 200_000;

/// The maximum size in bytes of all scalars, with aliases counted at each use.
const MAX_SCALAR_BYTES: usize = 4 * MAX_YAML_BYTES;

/// The maximum number of nodes that come from aliases. Few definitions use any.
const MAX_REPLAYED: usize = 20_000;

fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_total_scalar_bytes: MAX_SCALAR_BYTES,
            max_recorded_anchor_bytes: MAX_SCALAR_BYTES,
            max_recorded_anchor_events: MAX_NODES,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_merge_keys: 1_000,
            max_documents: 64,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: duplicate_keys,
        // Sonobuoy reads YAML 1.1: `defaultMode: 0644` is 420 there.
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        emit_comments: false,
        with_snippet: false,
    }
}

/// Reads the only document in `text`. Empty documents around it, such as after a trailing `---`, do
/// not count.
pub(super) fn read_document(text: &str, warnings: &mut Warnings) -> Result<Value, DefinitionError> {
    check_size(text)?;
    let read = |policy| serde_saphyr::from_multiple_with_options::<Value>(text, options(policy));
    let documents = match read(DuplicateKeyPolicy::Error) {
        Err(error @ Error::DuplicateMappingKey { .. }) => {
            warnings.add("", WarningKind::DuplicateKey { parser: error.to_string() });
            read(DuplicateKeyPolicy::LastWins)
        }
        other => other,
    };
    let mut documents = documents.map_err(|error| DefinitionError::Yaml(error.to_string()))?.into_iter();
    match (documents.next(), documents.next()) {
        (None, _) => Err(DefinitionError::Empty),
        (Some(document), None) => Ok(document),
        (Some(_), Some(_)) => Err(DefinitionError::SeveralDocuments),
    }
}

/// Checks that `text` is valid YAML, with any number of documents and any content.
pub(super) fn check(text: &str) -> Result<(), String> {
    check_size(text).map_err(|error| error.to_string())?;
    /// A document that is parsed and discarded.
    #[derive(Deserialize)]
    struct Any(#[expect(dead_code, reason = "only read to see that it can be")] Value);
    let read = serde_saphyr::from_multiple_with_options::<Any>(text, options(DuplicateKeyPolicy::LastWins));
    read.map(drop).map_err(|error| error.to_string())
}

fn check_size(text: &str) -> Result<(), DefinitionError> {
    if text.len() > MAX_YAML_BYTES {
        return Err(DefinitionError::TooLarge { bytes: text.len() as u64 });
    }
    Ok(())
}
