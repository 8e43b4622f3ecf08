//! Files for judges.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::error::ChainError;

/// Maximum size of a file for a judge: 8 MiB, the limit of the judges. In a cluster, the limit is
/// lower, because a ConfigMap can have at most 1 MiB.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// Maximum length of a name. Kubernetes allows 253 characters for a key of a ConfigMap, and a
/// number may be added as a prefix.
const MAX_NAME: usize = 200;

/// Maximum depth of a list. Every valid list has two levels.
const MAX_DEPTH: usize = 16;

/// A file for a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFile {
    /// Key of the file in a `config-map`: letters, digits, `-`, `_`, `.`.
    pub(super) name: String,
    /// Content of the file.
    pub(super) text: String,
}

impl ListFile {
    /// Reads the file at `path` and checks that it is YAML. The judge checks its entries.
    ///
    /// # Errors
    /// When the file is not readable, too large, or not YAML.
    pub fn read(path: &Path) -> Result<Self, ChainError> {
        let failed = |source| ChainError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(ChainError::TooLarge { path: path.to_owned(), max: MAX_FILE_BYTES });
        }
        let refused = |why: String| ChainError::NotAList { path: path.to_owned(), why };
        let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
        document(&text).map_err(|why| {
            let quotes = if text.contains("- [") { "; names that begin with `[` must be quoted" } else { "" };
            refused(format!("{why}{quotes}"))
        })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name: key(&name), text })
    }

    /// Creates a file with this name and text, without checks.
    #[must_use]
    pub fn new(name: &str, text: impl Into<String>) -> Self {
        Self { name: key(name), text: text.into() }
    }
}

/// Parses the text as a document. An empty text is `null`.
pub(super) fn document(text: &str) -> Result<Value, String> {
    let bytes = text.len();
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: bytes.saturating_mul(2).saturating_add(64),
            max_nodes: bytes.saturating_add(64),
            max_total_scalar_bytes: bytes.saturating_mul(2).saturating_add(64),
            max_depth: MAX_DEPTH,
            max_aliases: 1000,
            max_anchors: 1000,
        },
        emit_comments: false,
        with_snippet: false,
    };
    let document: Option<Value> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| plain(&error.to_string()))?;
    Ok(document.unwrap_or_default())
}

/// Reduces a message of the parser to one line, without hints at options of the parser.
fn plain(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.replace("; use from_str_multiple or from_str_multiple_with_options", "")
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "")
}

/// Returns a valid key of a ConfigMap, with other characters replaced by `-`.
fn key(name: &str) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.chars().map(good).collect();
    // Keep the end of the name, which is the more specific part.
    let from = name.len().saturating_sub(MAX_NAME);
    match name.get(from..).unwrap_or_default().trim_start_matches('.') {
        "" => "list.yaml".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keys() {
        for (name, is) in [
            ("known.yaml", "known.yaml"),
            ("known failures (März).yaml", "known-failures--M-rz-.yaml"),
            ("..", "list.yaml"),
            (".hidden.yaml", "hidden.yaml"),
        ] {
            assert_eq!(key(name), is);
        }
        assert_eq!(key(&format!("{}.yaml", "x".repeat(300))).len(), MAX_NAME);
    }
}
