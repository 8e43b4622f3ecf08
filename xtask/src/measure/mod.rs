//! Measures the size and structure of the code, as a table to compare before and after a change.
//!
//! Everything is derived from the text. rustfmt has formatted it, so an item ends at the first line
//! that closes it with the same indentation.

mod circles;
mod repeats;
mod source;

use std::collections::BTreeSet;
use std::fs;

use self::source::SourceFile;
use crate::error::Error;
use crate::paths::Workspace;
use crate::program::{self, PROGRAM, Platform};

/// Number of lines from which a function is listed.
const LONG_FUNCTION: usize = 60;
/// Number of lines from which a file is listed.
const LONG_FILE: usize = 600;

/// Prints the table for the crates below `host`, and then everything that exceeds a limit.
pub(crate) fn print(workspace: &Workspace) -> Result<(), Error> {
    let files = source::read(&workspace.root().join("host"))?;
    let production: Vec<&SourceFile> = files.iter().filter(|file| file.production > 0).collect();
    let lines = |of: &dyn Fn(&SourceFile) -> usize| files.iter().map(of).sum::<usize>();
    let crates: BTreeSet<&str> = production.iter().map(|file| file.krate.as_str()).collect();
    let mut sizes: Vec<usize> = production.iter().map(|file| file.production).collect();
    sizes.sort_unstable();
    let functions: Vec<_> =
        production.iter().flat_map(|file| file.functions.iter().map(move |function| (file, function))).collect();
    let long: Vec<_> = functions.iter().filter(|(_, function)| function.lines > LONG_FUNCTION).collect();
    let circles = circles::find(&production);
    let cli = production.iter().filter(|file| file.krate == "cli").map(|file| file.production).sum::<usize>();

    row("production lines", lines(&|file| file.production));
    row("test lines", lines(&|file| file.tests));
    row("crates", crates.len());
    row("lines of the crate cli", cli);
    row("files", sizes.len());
    row("lines of the median file", sizes.get(sizes.len() / 2).copied().unwrap_or_default());
    row("lines of the longest file", sizes.last().copied().unwrap_or_default());
    row("circles of files", circles.len());
    row("functions", functions.len());
    row(&format!("functions above {LONG_FUNCTION} lines"), long.len());
    row("lines that stand twice", repeats::count(&production));
    let binary = Platform::of_this_machine().map(|platform| program::path(workspace, platform, PROGRAM));
    if let Some(binary) = binary.ok().and_then(|binary| fs::metadata(binary).ok()) {
        row("MB of the release binary", usize::try_from(binary.len() / 1_000_000).unwrap_or_default());
    }

    println!();
    for file in production.iter().filter(|file| file.production > LONG_FILE) {
        println!("file of {} lines: {}", file.production, file.name());
    }
    for (file, function) in long {
        println!("function of {} lines: {} in {}", function.lines, function.name, file.name());
    }
    for circle in circles {
        println!("circle: {}", circle.files.join(", "));
        for tie in circle.ties {
            println!("    {tie}");
        }
    }
    Ok(())
}

fn row(what: &str, value: usize) {
    println!("{what:32} {value:>8}");
}
