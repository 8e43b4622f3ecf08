//! Errors in a pod spec.

/// Error in the `podSpec` or the options. Every message starts with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A value has another type than in Kubernetes.
    #[error("{place}: expected {expected}, found {found}")]
    Type {
        /// The place, such as `podSpec.nodeSelector.disk`.
        place: String,
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        found: &'static str,
    },
    /// A required field is missing.
    #[error("{place}: `{field}` is missing")]
    Missing {
        /// The place of the object.
        place: String,
        /// The name of the field.
        field: &'static str,
    },
    /// A word is not one of those that Kubernetes accepts in this place.
    #[error("{place}: `{word}` is not known: use {known}")]
    Unknown {
        /// The place.
        place: String,
        /// The word, cut to 100 characters.
        word: String,
        /// The accepted words.
        known: &'static str,
    },
    /// The values do not fit the operator.
    #[error("{place}: operator `{operator}` {rule}")]
    Values {
        /// The place.
        place: String,
        /// The operator.
        operator: &'static str,
        /// The requirement of the operator.
        rule: &'static str,
    },
}
