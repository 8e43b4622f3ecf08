//! Names of tests by version, and selections by Go regular expressions.
//!
//! * [`embedded`], [`read_dir`], [`read_file`], [`parse`] and [`resolve`] return a [`TestList`] from
//!   this program, a directory, a file, bytes, or any other storage of lists by version.
//! * [`GoRegex`] is a regular expression in the syntax of Go's package `regexp`.
//! * [`Selection`] is a focus and a skip, and [`check_selection`] tells what they select.
//! * [`rerun_focus`] returns a focus that matches given tests.
//! * [`tags`] counts the words in brackets in the names of tests.

mod check;
mod embedded;
mod error;
mod files;
mod list;
mod near;
mod program;
mod regex;
mod resolve;
mod selection;
mod text;
mod version;

pub use check::{Checked, SelectionError, check_list, check_selection};
pub use embedded::{embedded, embedded_for, embedded_versions};
pub use error::ListError;
pub use files::{read_dir, read_file, versions_in};
pub use list::{SUITE, TestList, is_suite_node, plain_name};
pub use near::near;
pub use program::from_program;
pub use regex::{GoRegex, GoRegexError, MAX_PATTERN, MAX_PROGRAM};
pub use resolve::{MAX_DELTAS, Read, resolve};
pub use selection::{Selection, alternatives, rerun_focus, tags};
pub use text::{MAX_LINE, MAX_PACKED, MAX_TESTS, MAX_TEXT, parse};
