//! Excerpts of the templates in the guides for authors, so that a guide shows what `plumbline plugin
//! new` writes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::BindingsError;
use crate::registry::Files;

/// A guide, which is written by hand, except for its excerpts.
struct Guide {
    path: &'static str,
    /// The placeholders of templates, and the names that the guide uses for them.
    names: [(&'static str, &'static str); 3],
}

const GUIDES: [Guide; 2] = [
    Guide {
        path: "docs/authors-guide.md",
        names: [("__NAME__", "my-format"), ("__IDENT__", "my_format"), ("__TYPE__", "MyFormat")],
    },
    Guide {
        path: "docs/check-guide.md",
        names: [("__NAME__", "my-check"), ("__IDENT__", "my_check"), ("__TYPE__", "MyCheck")],
    },
];

/// Returns the guides of the workspace at `root` with up-to-date excerpts.
///
/// The line before the fence of an excerpt is `<!-- excerpt FILE: START … END -->`. The excerpt is
/// the lines of the file from the first that starts with START to the next that is END. If END is
/// `(blank)`, the excerpt ends before the next blank line. A guide that does not exist is left out.
///
/// # Errors
/// [`BindingsError`]: a file cannot be read, or does not have such lines.
pub fn excerpts(root: &Path) -> Result<Files, BindingsError> {
    let mut files = Files::new();
    for guide in &GUIDES {
        let path = root.join(guide.path);
        match fs::read_to_string(&path) {
            Ok(text) => {
                files.insert(PathBuf::from(guide.path), guide.updated(root, &text)?.into_bytes());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(BindingsError::io("read", path)(error)),
        }
    }
    Ok(files)
}

impl Guide {
    fn updated(&self, root: &Path, text: &str) -> Result<String, BindingsError> {
        let mut updated = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            updated.push_str(line);
            updated.push('\n');
            let Some(wanted) = line.strip_prefix("<!-- excerpt ").and_then(|rest| rest.strip_suffix(" -->")) else {
                continue;
            };
            let fence = lines.next().unwrap_or_default();
            if !fence.starts_with("```") {
                return Err(self.wrong(wanted, "no fence follows it"));
            }
            // Drop the old excerpt up to the end of the fence.
            if !lines.by_ref().any(|line| line == "```") {
                return Err(self.wrong(wanted, "its fence does not end"));
            }
            let excerpt = self.excerpt(root, wanted)?;
            updated.push_str(&format!("{fence}\n{excerpt}```\n"));
        }
        Ok(updated)
    }

    fn excerpt(&self, root: &Path, wanted: &str) -> Result<String, BindingsError> {
        let split = wanted.split_once(": ").and_then(|(file, rest)| Some((file, rest.split_once(" … ")?)));
        let Some((file, (start, end))) = split else { return Err(self.wrong(wanted, "write `FILE: START … END`")) };
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
            return Err(self.wrong(wanted, "the file has no such lines"));
        }
        Ok(self.names.iter().fold(piece, |piece, (from, to)| piece.replace(from, to)))
    }

    fn wrong(&self, wanted: &str, cause: &str) -> BindingsError {
        BindingsError::Generator { what: self.path, cause: format!("excerpt `{wanted}`: {cause}") }
    }
}
