//! What modules used, and how they behaved.

use plumbline_sandbox::{CallStats, ModuleFailure};

use super::failure::MAX_FAILURES;

/// What the calls of a plugin's modules used, and which of them the sandbox had to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls.
    pub calls: u64,
    /// The most linear memory that one call had in use, in bytes. Calls that were ended do not say.
    pub memory: u64,
    /// Why calls were ended: a trap, a limit, a broken rule, code that could not be had. The first [`MAX_FAILURES`]. What a module says itself
    /// of results that it cannot read is none.
    pub broken: Vec<String>,
    /// The errors that modules returned in their own words. The first [`MAX_FAILURES`].
    pub refused: Vec<String>,
}

impl Usage {
    pub(crate) fn count(&mut self, call: &Result<CallStats, ModuleFailure>) {
        self.calls += 1;
        match call {
            Ok(stats) => self.memory = self.memory.max(stats.memory),
            Err(ModuleFailure::Refused(sentence)) => {
                if self.refused.len() < MAX_FAILURES {
                    self.refused.push(sentence.clone());
                }
            }
            Err(failure) => self.broke(failure.to_string()),
        }
    }

    pub(crate) fn broke(&mut self, why: String) {
        if self.broken.len() < MAX_FAILURES {
            self.broken.push(why);
        }
    }
}
