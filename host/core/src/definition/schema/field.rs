//! The description of one key.

/// A key of a mapping in a definition: which values it accepts, and what it means.
#[derive(Debug, Clone, Copy)]
pub(in crate::definition) struct Field {
    /// The name of the key.
    pub(in crate::definition) name: &'static str,
    /// A short title, which editors show in lists.
    pub(super) title: &'static str,
    /// The description for authors of definitions.
    pub(super) about: &'static str,
    /// The accepted values.
    pub(super) shape: Shape,
    /// Whether the key is required.
    pub(super) required: bool,
    /// The default value, as JSON.
    pub(super) default: Option<&'static str>,
    /// Sensible values: JSON, or else plain strings.
    pub(super) examples: &'static [&'static str],
}

/// The values that a key accepts. The schema is never more lenient than the reader: any value that
/// it accepts is read without a warning.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any string.
    Text,
    /// A string that matches a regular expression, with a maximum length and reserved values.
    Form { pattern: &'static str, longest: u64, not: &'static [&'static str] },
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Truth,
    /// A whole number.
    Whole { least: i64, most: i64 },
    /// A whole number, or a string that matches a pattern: a duration in seconds or a size in
    /// bytes.
    Measure { least: i64, most: i64, pattern: &'static str },
    /// A list of values with this shape.
    List(&'static Shape),
    /// A list with a minimum and maximum number of entries.
    Few { of: &'static Shape, least: u64, most: u64 },
    /// A mapping with any content.
    Open,
    /// A mapping of strings whose keys match a pattern.
    Texts { keys: &'static str, longest: u64 },
    /// A mapping with these keys. With `open`, it may have further keys, which belong to Kubernetes
    /// and are passed on unchanged.
    Section { fields: &'static [Field], open: bool },
    /// No value: definitions contain this key, but it does not do what its author expects.
    Never,
}

impl Field {
    pub(super) const fn new(name: &'static str, title: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, title, about, shape, required: false, default: None, examples: &[] }
    }

    pub(super) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(super) const fn default(self, json: &'static str) -> Self {
        Self { default: Some(json), ..self }
    }

    pub(super) const fn examples(self, examples: &'static [&'static str]) -> Self {
        Self { examples, ..self }
    }
}
