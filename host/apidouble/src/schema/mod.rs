//! Whether an object is one that an API server takes: for tests of what a program prints, renders or keeps in files.
//!
//! A double that stores what it is sent cannot tell a misspelt field, and a real server that prunes it does not complain either. Here an
//! object must survive the way through the type of its kind unchanged, and keep the rules that types do not know.

mod names;
mod object;
mod pod;
mod restricted;
mod typed;

pub use object::check;
pub use restricted::breaches;
