//! Names of tests by version, and selections by Go regular expressions.
//!
//! * [`Embedded`] has the lists of a program. [`read_dir`], [`read_file`], [`parse`] and [`resolve`]
//!   return a [`TestList`] from a directory, a file, bytes, or any other storage by version.
//! * [`GoRegex`] is a regular expression in the syntax of Go's package `regexp`.
//! * [`Selection`] is a focus and a skip, and [`check_selection`] tells what they select.
//! * [`rerun_focus`] returns a focus that matches given tests.
//! * [`tags`] counts the words in brackets in the names of tests.

mod list;
mod regex;
mod selection;
mod sources;
mod version;

pub use list::{
    ListError, MAX_LINE, MAX_PACKED, MAX_TESTS, MAX_TEXT, TestList, from_program, is_suite_node, parse, plain_name,
};
pub use regex::{GoRegex, GoRegexError, MAX_PATTERN, MAX_PROGRAM};
pub use selection::{
    Checked, Selection, SelectionError, alternatives, check_list, check_selection, near, rerun_focus, tags,
};
pub use sources::{Embedded, Read, read_dir, read_file, read_version, resolve};
