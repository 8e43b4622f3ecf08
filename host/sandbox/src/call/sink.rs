//! The receiver of a call's output on the caller's side, for any role.

use std::io;

use crate::call::io::{ItemSink, RulingSink};
use crate::call::outbox::ModuleOutput;

/// Receives the output of a module batch by batch.
pub(crate) enum Sink<'a> {
    /// For roles that emit items.
    Items(&'a mut dyn ItemSink),
    /// For judges.
    Rulings(&'a mut dyn RulingSink),
    /// For roles that only return a value.
    Nothing,
}

impl Sink<'_> {
    /// Passes a batch on.
    ///
    /// # Errors
    ///
    /// Returns the error of the caller's sink.
    pub(crate) fn take(&mut self, said: ModuleOutput) -> io::Result<()> {
        match (self, said) {
            (Self::Items(sink), ModuleOutput::Items(items)) => items.into_iter().try_for_each(|item| sink.item(item)),
            (Self::Rulings(sink), ModuleOutput::Rulings(rulings)) => {
                rulings.into_iter().try_for_each(|(index, ruling)| sink.ruling(index, ruling))
            }
            (Self::Rulings(sink), ModuleOutput::Checks(checks)) => {
                checks.into_iter().try_for_each(|check| sink.check(check))
            }
            // The state of the call only lets through what the role may output.
            (_, ModuleOutput::Items(_) | ModuleOutput::Rulings(_) | ModuleOutput::Checks(_)) => {
                Err(io::Error::other("the module said something that its role cannot say"))
            }
        }
    }
}
