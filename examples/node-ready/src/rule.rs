//! The outcome of a rule, and what rules read.

use plumbline_sdk::context::FileError;
use plumbline_sdk::{Context, Item, Status};

/// A rule. Its error is a file that it could not read.
pub(crate) type Rule = fn(&mut Context) -> Result<Outcome, FileError>;

/// The outcome of a rule.
pub(crate) enum Outcome {
    Passed,
    /// The node is not as the rule wants it, with what was found.
    Failed(String),
    /// The rule does not apply, with the reason.
    Skipped(String),
    /// It is not known how the node is, with the reason.
    Unknown(String),
}

impl Outcome {
    pub(crate) fn passed_if(is_good: bool, problem: impl FnOnce() -> String) -> Self {
        if is_good { Self::Passed } else { Self::Failed(problem()) }
    }

    /// Returns the outcome for a file in a form that the rule does not know.
    pub(crate) fn unparsed(path: &str) -> Self {
        Self::Unknown(format!("failed to parse `{path}`"))
    }
}

/// Returns the item of a rule.
pub(crate) fn item(name: &str, outcome: Result<Outcome, FileError>) -> Item {
    let item = Item::new(0, name);
    match outcome {
        Ok(Outcome::Passed) => item.status(Status::Passed),
        Ok(Outcome::Failed(problem)) => item.status(Status::Failed).text("failure", problem),
        Ok(Outcome::Skipped(reason)) => item.status(Status::Skipped).text("skipped", reason),
        Ok(Outcome::Unknown(error)) => item.status(Status::Unknown).meta("error", error),
        // A kernel or a machine without this part has no such file.
        Err(error @ FileError::NotFound { .. }) => item.status(Status::Skipped).text("skipped", error.to_string()),
        Err(error) => item.status(Status::Unknown).meta("error", error.to_string()),
    }
}

/// Returns whether a file or directory exists.
pub(crate) fn exists(context: &mut Context, path: &str) -> Result<bool, FileError> {
    match context.metadata(path) {
        Ok(_) => Ok(true),
        Err(FileError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the first line of a file, without spaces around it. It is empty if the file is.
pub(crate) fn first_line(context: &mut Context, path: &str) -> Result<String, FileError> {
    Ok(context.read_to_string(path)?.lines().next().unwrap_or_default().trim().to_owned())
}
