//! Log lines of a native run.

use std::cell::RefCell;

use crate::log::Level;

thread_local! {
    static LINES: RefCell<Option<Vec<(Level, String)>>> = const { RefCell::new(None) };
}

/// Keeps the line for the case that runs on this thread. Without one, the line goes to standard
/// error.
pub(crate) fn write_log(level: Level, message: &str) {
    LINES.with_borrow_mut(|lines| match lines {
        Some(lines) => lines.push((level, message.to_owned())),
        None => eprintln!("{level:?}: {message}"),
    });
}

/// Runs `call` and returns the lines that it wrote.
pub(super) fn gather<T>(call: impl FnOnce() -> T) -> (T, Vec<(Level, String)>) {
    let outer = LINES.replace(Some(Vec::new()));
    let value = call();
    (value, LINES.replace(outer).unwrap_or_default())
}
