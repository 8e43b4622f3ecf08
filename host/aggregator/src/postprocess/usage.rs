//! Resources that modules used, and their failures.

use plumbline_sandbox::{CallStats, ModuleFailure};

use super::failure::MAX_FAILURES;

/// Resources that the calls of a plugin's modules used, and the calls that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of calls.
    pub calls: u64,
    /// Maximum linear memory of one call, in bytes. Failed calls do not report it.
    pub memory: u64,
    /// Why calls were ended: a trap, a limit, a violated rule, or a module that could not be
    /// compiled. At most [`MAX_FAILURES`]. A module's own errors about unreadable results are not
    /// included.
    pub broken: Vec<String>,
    /// Errors that modules returned themselves. At most [`MAX_FAILURES`].
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
