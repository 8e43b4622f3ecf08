//! What somebody most likely meant.

/// The longest text for which a similar one is looked for: keys and names are shorter.
const MAX_LENGTH: usize = 64;

/// The one of `known` that `typed` was most likely meant to be; `None` where none looks like it.
#[must_use]
pub fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > MAX_LENGTH {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let typed = plain(typed);
    let close = known.into_iter().filter_map(|known| {
        let distance = distance(&typed, &plain(known));
        // A third of the letters may be wrong, but not all of them.
        (distance <= (known.chars().count() / 3).max(1) && distance < typed.chars().count())
            .then_some((distance, known))
    });
    close.min().map(|(_, known)| known)
}

/// How many letters have to be inserted, deleted or replaced to come from `a` to `b`; two that changed places count as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(MAX_LENGTH);
    let mut two_before: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (at(&before, j) + usize::from(x != y)).min(at(&before, j + 1) + 1).min(at(&row, j) + 1);
            if i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x) {
                best = best.min(at(&two_before, j - 1) + 1);
            }
            row.push(best);
        }
        two_before = std::mem::replace(&mut before, row);
    }
    at(&before, b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_and_nothing_is_guessed() {
        let known = ["name", "language", "default-files", "javascript"];
        assert_eq!(closest("langauge", known), Some("language"));
        assert_eq!(closest("default_file", known), Some("default-files"));
        assert_eq!(closest("javscript", known), Some("javascript"));
        assert_eq!(closest("colour", known), None);
        assert_eq!(closest("", known), None);
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }
}
