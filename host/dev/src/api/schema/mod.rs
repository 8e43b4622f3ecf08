//! Checks whether an API server would accept an object, for tests of what a program prints, renders
//! or stores in files.
//!
//! A server that stores everything does not notice a misspelled field, and a real server prunes it
//! silently. This check requires that an object is unchanged after a round trip through the type of
//! its kind. It also enforces rules that the types do not express.

mod object;
mod pod;
mod restricted;
mod typed;

pub use object::check;
pub use restricted::breaches;
