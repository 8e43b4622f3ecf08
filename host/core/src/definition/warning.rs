//! What is odd about a definition, but does not stop it.

use std::fmt;

/// Warnings kept of one definition. What is wrong in a hundred places is seen from these.
pub const MAX_WARNINGS: usize = 100;

/// The longest key for which a similar one is looked for. Known keys are shorter.
const MAX_SIMILAR: usize = 40;

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
            WarningKind::DuplicateKey { parser } => write!(f, "a key stands twice and the last one counts: {parser}"),
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

/// The known key that `key` was most likely meant to be.
fn closest(key: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if key.len() > MAX_SIMILAR {
        return None;
    }
    let key = key.to_ascii_lowercase().replace('_', "-");
    known
        .map(|known| (distance(&key, &known.to_ascii_lowercase()), known))
        .filter(|&(distance, known)| distance <= (known.len() / 3).max(1))
        .min()
        .map(|(_, known)| known)
}

/// How many characters have to be inserted, deleted, replaced or swapped with their neighbour to come from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut two_before: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&before, j) + usize::from(x != y)).min(at(&before, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&two_before, j - 1) + 1);
            }
            row.push(best);
        }
        two_before = std::mem::replace(&mut before, row);
    }
    before.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_key_is_the_one_that_was_meant() {
        let known: &[&str] = &["driver", "plugin-name", "result-format", "result-files", "source-url", "order"];
        for (typed, meant) in [
            ("diver", Some("driver")),
            ("plugin_name", Some("plugin-name")),
            ("PluginName", Some("plugin-name")),
            ("result-fromat", Some("result-format")),
            ("oder", Some("order")),
            ("resultformat", Some("result-format")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, known.iter().copied()), meant, "{typed}");
        }
        assert_eq!(closest(&"x".repeat(100_000), known.iter().copied()), None);
    }

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
