//! The Kubernetes conformance suite: modes, tests, images, submissions and judges.
//!
//! * [`suite`]: applies modes and settings to a definition.
//! * [`lists`]: names of tests by version, and selections by Go regular expressions.
//! * [`images`]: the images of a run, their names in a private registry, and programs from the
//!   suite's image.
//! * [`submission`]: required tests, the four files of a submission, and the rules of its verifier.
//! * [`chain`]: converts command-line options to the chain `verdict` of a definition.
//!
//! The crate does not access clusters.
#![forbid(unsafe_code)]

pub mod chain;
pub mod images;
pub mod lists;
#[cfg(test)]
mod messages;
pub mod submission;
pub mod suite;
