//! Where a call's words go on the caller's side, whatever the role.

use std::io;

use crate::call::io::{ItemSink, RulingSink};
use crate::call::outbox::Said;

/// Takes what a module says, batch by batch.
pub(crate) enum Sink<'a> {
    /// Of a role that emits items.
    Items(&'a mut dyn ItemSink),
    /// Of a judge.
    Rulings(&'a mut dyn RulingSink),
    /// Of a role that only answers.
    Nothing,
}

impl Sink<'_> {
    /// # Errors
    /// When the caller cannot take it.
    pub(crate) fn take(&mut self, said: Said) -> io::Result<()> {
        match (self, said) {
            (Self::Items(sink), Said::Items(items)) => items.into_iter().try_for_each(|item| sink.item(item)),
            (Self::Rulings(sink), Said::Rulings(rulings)) => {
                rulings.into_iter().try_for_each(|(index, ruling)| sink.ruling(index, ruling))
            }
            (Self::Rulings(sink), Said::Checks(checks)) => checks.into_iter().try_for_each(|check| sink.check(check)),
            // The call's state lets through only what the role may say.
            (_, Said::Items(_) | Said::Rulings(_) | Said::Checks(_)) => {
                Err(io::Error::other("the module said something that its role cannot say"))
            }
        }
    }
}
