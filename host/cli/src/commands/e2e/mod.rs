//! `plumbline e2e`: the tests of the suite, and what a focus selects of them.

mod archive;
mod input;
mod list;
mod print;

pub(crate) use list::e2e;
