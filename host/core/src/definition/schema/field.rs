//! What is known of one key.

/// A key of a mapping in a definition: what may stand there, and what it means.
#[derive(Debug, Clone, Copy)]
pub(in crate::definition) struct Field {
    /// The key.
    pub(in crate::definition) name: &'static str,
    /// A few words, which an editor shows in a list.
    pub(super) title: &'static str,
    /// What it means, for a person who writes one.
    pub(super) about: &'static str,
    /// What may stand there.
    pub(super) shape: Shape,
    /// A definition without it is refused.
    pub(super) required: bool,
    /// What counts where it is left out, as JSON.
    pub(super) default: Option<&'static str>,
    /// Values that make sense: JSON, or texts as they are.
    pub(super) examples: &'static [&'static str],
}

/// What may stand at a key. The schema is at most as generous as the reader: what it accepts is read, without a warning.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any text.
    Text,
    /// Text of a form: a regular expression, the most characters, and texts that are taken.
    Form { pattern: &'static str, longest: u64, not: &'static [&'static str] },
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Truth,
    /// A whole number.
    Whole { least: i64, most: i64 },
    /// A whole number, or a text of a form: a duration in seconds, a size in bytes.
    Measure { least: i64, most: i64, pattern: &'static str },
    /// A list, each entry of which is this.
    List(&'static Shape),
    /// A list that has to be empty.
    Nothing,
    /// A mapping of anything.
    Open,
    /// A mapping of texts, whose keys are of a form.
    Texts { keys: &'static str, longest: u64 },
    /// A mapping of these keys. `open`: further keys belong to Kubernetes and travel as they are.
    Section { fields: &'static [Field], open: bool },
    /// Never: the key is seen, and means something else than its writer thinks.
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
