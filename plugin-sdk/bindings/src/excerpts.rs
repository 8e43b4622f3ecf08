//! Excerpts of the templates in the authors' guide, so that the guide shows what `plumbline plugin
//! new` writes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::BindingsError;
use crate::registry::Files;

/// The path of the guide. It is written by hand, except for its excerpts.
const GUIDE: &str = "docs/authors-guide.md";

/// The placeholders of templates, and the names that the guide uses for them.
const NAMES: [(&str, &str); 3] = [("__NAME__", "my-format"), ("__IDENT__", "my_format"), ("__TYPE__", "MyFormat")];

/// Returns the guide of the workspace at `root` with up-to-date excerpts.
///
/// The line before the fence of an excerpt is `<!-- excerpt FILE: START … END -->`. The excerpt is
/// the lines of the file from the first that starts with START to the next that is END. If END is
/// `(blank)`, the excerpt ends before the next blank line. Without a guide there are no files.
///
/// # Errors
/// [`BindingsError`]: a file cannot be read, or does not have such lines.
pub fn excerpts(root: &Path) -> Result<Files, BindingsError> {
    let path = root.join(GUIDE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Files::new()),
        Err(error) => return Err(BindingsError::io("read", path)(error)),
    };
    let mut guide = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        guide.push_str(line);
        guide.push('\n');
        let Some(wanted) = line.strip_prefix("<!-- excerpt ").and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let fence = lines.next().unwrap_or_default();
        if !fence.starts_with("```") {
            return Err(wrong(wanted, "no fence follows it"));
        }
        // Drop the old excerpt up to the end of the fence.
        if !lines.by_ref().any(|line| line == "```") {
            return Err(wrong(wanted, "its fence does not end"));
        }
        let excerpt = excerpt(root, wanted)?;
        guide.push_str(&format!("{fence}\n{excerpt}```\n"));
    }
    Ok(Files::from([(PathBuf::from(GUIDE), guide.into_bytes())]))
}

fn excerpt(root: &Path, wanted: &str) -> Result<String, BindingsError> {
    let split = wanted.split_once(": ").and_then(|(file, rest)| Some((file, rest.split_once(" … ")?)));
    let Some((file, (start, end))) = split else { return Err(wrong(wanted, "write `FILE: START … END`")) };
    let path = root.join(file);
    let text = fs::read_to_string(&path).map_err(BindingsError::io("read", path))?;
    let mut piece = String::new();
    let mut ended = false;
    for line in text.lines().skip_while(|line| !line.starts_with(start)) {
        ended = if end == "(blank)" { line.is_empty() } else { line == end };
        if !line.is_empty() || !ended {
            piece.push_str(line);
            piece.push('\n');
        }
        if ended {
            break;
        }
    }
    if !ended {
        return Err(wrong(wanted, "the file has no such lines"));
    }
    Ok(NAMES.iter().fold(piece, |piece, (from, to)| piece.replace(from, to)))
}

fn wrong(wanted: &str, cause: &str) -> BindingsError {
    BindingsError::Generator { what: GUIDE, cause: format!("excerpt `{wanted}`: {cause}") }
}
