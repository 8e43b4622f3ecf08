//! The archives that tools read, and what is reported meanwhile.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::context::{Context, Reporter};
use crate::error::AppError;
use crate::mcp::answer::text_of;
use crate::mcp::runs::Sources;
use crate::modules::LimitsFile;

/// The most notes of an answer, and the most characters of each.
const MAX_NOTES: usize = 20;
const MAX_NOTE: usize = 500;

/// What tools read.
pub(crate) struct Archives {
    pub(super) context: Context,
    notes: Arc<Notes>,
    pub(super) sources: Sources,
    pub(super) limits: LimitsFile,
}

impl Archives {
    /// Opens nothing yet: each call of a tool reads what it needs.
    pub(super) fn new(context: &Context, paths: &[PathBuf], limits: &LimitsFile) -> Result<Self, AppError> {
        let notes = Arc::new(Notes::default());
        let context = Context { reporter: notes.clone(), ..context.clone() };
        Ok(Self { context, notes, sources: Sources::new(paths)?, limits: limits.clone() })
    }

    /// Returns what was reported since the last call.
    pub(super) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }
}

/// Collects what is reported while a tool runs.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, text: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES {
            notes.push(text_of(text, MAX_NOTE));
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Reporter for Notes {
    fn error(&self, error: &AppError) {
        self.add(&format!("error: {error}"));
    }

    fn warning(&self, text: &str) {
        self.add(&format!("warning: {text}"));
    }

    fn hint(&self, text: &str) {
        self.add(&format!("hint: {text}"));
    }

    fn note(&self, text: &str) {
        self.add(text);
    }
}
