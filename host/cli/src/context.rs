//! Builds the context of use cases from the command line: registry settings, and a reporter on
//! stderr.

use std::sync::Arc;

use plumbline_app::{AppError, Context, Reporter};

use crate::args::RegistryArgs;
use crate::error::PrintError as _;
use crate::ui::say;

/// Prints messages of use cases to stderr.
struct Stderr;

impl Reporter for Stderr {
    fn error(&self, error: &AppError) {
        error.print();
    }

    fn warning(&self, text: &str) {
        say(&format!("warning: {text}"));
    }

    fn hint(&self, text: &str) {
        say(&format!("hint:    {text}"));
    }

    fn note(&self, text: &str) {
        say(&format!("note: {text}"));
    }

    fn progress(&self, text: &str) {
        say(text);
    }
}

/// Returns the context of a command with these options.
pub(crate) fn context(registry: &RegistryArgs) -> Context {
    Context { registries: registry.settings(), reporter: Arc::new(Stderr) }
}
