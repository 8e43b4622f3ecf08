//! Finds duplicated passages.

use std::collections::HashMap;

use super::source::SourceFile;

/// Minimum number of lines in a passage.
const PASSAGE: usize = 6;

/// Counts the lines of passages that occurred before. Empty lines, comments, imports and lone
/// brackets do not count.
pub(super) fn count(files: &[&SourceFile]) -> usize {
    let mut seen: HashMap<Vec<&str>, ()> = HashMap::new();
    let mut repeated = 0;
    for file in files {
        let lines: Vec<&str> = file.text.iter().map(String::as_str).filter(|line| counts(line)).collect();
        let mut covered = 0;
        for (at, passage) in lines.windows(PASSAGE).enumerate() {
            if seen.insert(passage.to_vec(), ()).is_some() {
                // Passages overlap, and each line counts once.
                repeated += (at + PASSAGE).saturating_sub(covered.max(at));
                covered = at + PASSAGE;
            }
        }
    }
    repeated
}

fn counts(line: &str) -> bool {
    line.len() > 3 && !line.starts_with("//") && !line.starts_with("use ") && !line.starts_with('#')
}
