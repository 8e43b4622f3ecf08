//! Problems of a definition that do not make it invalid.

use std::fmt;

use crate::closest;

/// The maximum number of warnings per definition. A hundred are enough to see what is wrong.
pub const MAX_WARNINGS: usize = 100;

/// A suspicious part of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The keys from the top, joined by dots, such as `sonobuoy-config.result-type`.
    pub path: String,
    /// The kind of warning.
    pub kind: WarningKind,
}

/// The kind of a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WarningKind {
    /// The key is unknown and ignored.
    UnknownKey {
        /// A known key in the same mapping with a similar name.
        closest: Option<&'static str>,
    },
    /// The key occurs in real definitions but has never had an effect.
    NoEffect {
        /// What to write instead.
        instead: &'static str,
    },
    /// A known key of a container, in a spelling that Kubernetes does not accept.
    Spelling {
        /// The spelling that Kubernetes accepts.
        right: &'static str,
    },
    /// A number or boolean in place of a string. Plumbline reads it as a string, but a cluster
    /// rejects it.
    NotText,
    /// A value cannot have the intended effect.
    Useless {
        /// The reason.
        why: &'static str,
    },
    /// A key occurs twice in one mapping. The last one applies.
    DuplicateKey {
        /// The message of the parser, with line and column.
        parser: String,
    },
    /// There were more than [`MAX_WARNINGS`] warnings.
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

/// A bounded list of warnings.
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

    /// Warns that `key` at `path` is not among `known`.
    pub(super) fn unknown_key(&mut self, path: String, key: &str, known: impl Iterator<Item = &'static str>) {
        // The search takes time per key, so skip it for warnings that are not shown.
        let closest = if self.0.len() < MAX_WARNINGS { closest(key, known) } else { None };
        self.add(path, WarningKind::UnknownKey { closest });
    }

    pub(super) fn into_vec(self) -> Vec<Warning> {
        self.0
    }
}

/// Shortens a path for display, since keys may be as long as the document.
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
