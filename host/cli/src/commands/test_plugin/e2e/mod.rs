//! `plumbline test-plugin e2e`: stands in for the image of the conformance suite, for tests of everything around it.
//!
//! [`settings`] reads the variables, [`plan`] decides the fate of every test, [`run`] plays it: [`log`], [`progress`], [`junit`], [`save`].

mod junit;
mod log;
mod plan;
mod progress;
mod run;
mod save;
mod settings;

pub(crate) use run::suite;
