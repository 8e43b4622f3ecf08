//! Errors of a file that is not a result tree.

/// Error of a file. The message is a fragment for the metadata key `error`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("the file has more than {max} bytes, the most that can be read")]
    TooLarge { max: usize },
    #[error("not UTF-8: invalid byte at offset {at}")]
    Encoding { at: usize },
    #[error("not a result tree: {0}")]
    Yaml(String),
    #[error("the file holds {0} documents, where one is expected")]
    SeveralDocuments(usize),
    #[error("the file has no document")]
    Empty,
    #[error("items are nested {levels} levels deep: at most {max} are possible")]
    TooDeep { levels: usize, max: usize },
}
