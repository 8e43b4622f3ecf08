//! What is odd about a definition, but does not stop it.

use std::fmt;

use crate::closest;

/// Warnings kept of one definition. What is wrong in a hundred places is seen from these.
pub const MAX_WARNINGS: usize = 100;

/// Something odd in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where: the keys from the top, joined by dots, such as `sonobuoy-config.result-type`.
    pub path: String,
    /// What.
    pub kind: WarningKind,
}

/// What is odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WarningKind {
    /// The key is not known and is ignored.
    UnknownKey {
        /// A known key of the same place that looks like it.
        closest: Option<&'static str>,
    },
    /// The key is seen in the wild but has never had an effect.
    NoEffect {
        /// What to do in its place.
        instead: &'static str,
    },
    /// A known key of a container in a spelling that Kubernetes does not read.
    Spelling {
        /// The spelling that it reads.
        right: &'static str,
    },
    /// A number or truth value stands where text belongs. It is read as text here, but a cluster refuses it.
    NotText,
    /// A value cannot have the effect that was meant.
    Useless {
        /// Why.
        why: &'static str,
    },
    /// A key stands twice in one mapping; the last one counts.
    DuplicateKey {
        /// What the parser says, with line and column.
        parser: String,
    },
    /// There were more than [`MAX_WARNINGS`].
    More,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.kind {
            WarningKind::UnknownKey { closest: None } => write!(f, "`{path}` is not a known key and is ignored"),
            WarningKind::UnknownKey { closest: Some(closest) } => {
                write!(f, "`{path}` is not a known key and is ignored: did you mean `{closest}`?")
            }
            WarningKind::NoEffect { instead } => write!(f, "`{path}` has no effect: {instead}"),
            WarningKind::Spelling { right } => write!(f, "`{path}` is ignored: the key is spelled `{right}`"),
            WarningKind::NotText => write!(f, "`{path}` is not text: put the value in quotes"),
            WarningKind::Useless { why } => write!(f, "`{path}`: {why}"),
            WarningKind::DuplicateKey { parser } => {
                write!(f, "a key is listed twice and the last one counts: {parser}")
            }
            WarningKind::More => write!(f, "there are more warnings, which are left out"),
        }
    }
}

/// Warnings as they come up: bounded.
#[derive(Debug, Default)]
pub(super) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(super) fn add(&mut self, path: impl Into<String>, kind: WarningKind) {
        match self.0.len() {
            0..MAX_WARNINGS => self.0.push(Warning { path: cut(&path.into()), kind }),
            MAX_WARNINGS => self.0.push(Warning { path: String::new(), kind: WarningKind::More }),
            _ => {}
        }
    }

    /// Says that `key` at `path` is not among `known`.
    pub(super) fn unknown_key(&mut self, path: String, key: &str, known: impl Iterator<Item = &'static str>) {
        // The search costs time for each key: none for those that will not be shown.
        let closest = if self.0.len() < MAX_WARNINGS { closest(key, known) } else { None };
        self.add(path, WarningKind::UnknownKey { closest });
    }

    pub(super) fn into_vec(self) -> Vec<Warning> {
        self.0
    }
}

/// A path as it is shown: keys may be as long as the document.
pub(super) fn cut(path: &str) -> String {
    match path.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded() {
        let mut warnings = Warnings::default();
        for i in 0..1_000 {
            warnings.unknown_key(format!("key-{i}"), "key", ["kex"].into_iter());
        }
        let warnings = warnings.into_vec();
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert_eq!(warnings[MAX_WARNINGS].kind, WarningKind::More);
    }
}
