//! What judges say of a finished tree: which items count, and which requirements on the whole are met.

mod ruling;

pub use ruling::{Check, CheckOutcome, Ruling};
