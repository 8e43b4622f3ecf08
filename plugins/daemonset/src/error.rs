//! What can be wrong with a pod spec.

/// A place in the `podSpec` or the options that cannot be understood. Every message begins with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A value of another type than Kubernetes has there.
    #[error("{place}: expected {expected}, found {found}")]
    Type {
        /// Where it stands, such as `podSpec.nodeSelector.disk`.
        place: String,
        /// What must stand there.
        expected: &'static str,
        /// What does.
        found: &'static str,
    },
    /// A field that must be there is not.
    #[error("{place}: `{field}` is missing")]
    Missing {
        /// Where it should stand.
        place: String,
        /// Its name.
        field: &'static str,
    },
    /// A word that is not one of those that Kubernetes knows in this place.
    #[error("{place}: `{word}` is not known: use {known}")]
    Unknown {
        /// Where it stands.
        place: String,
        /// The word, cut to 100 characters.
        word: String,
        /// Those that are known.
        known: &'static str,
    },
    /// Values that do not fit the operator.
    #[error("{place}: operator `{operator}` {rule}")]
    Values {
        /// Where it stands.
        place: String,
        /// The operator.
        operator: &'static str,
        /// What it needs.
        rule: &'static str,
    },
}
