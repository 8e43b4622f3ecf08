//! What was most likely meant.

/// Bytes of a word that is compared: nobody mistypes a longer one.
const MAX_WORD: usize = 64;

/// The one of `known` that differs least from `word`, if it is close.
pub(super) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD {
        return None;
    }
    let word = word.to_ascii_lowercase().replace('_', "-");
    let near = known.into_iter().filter(|known| known.len() <= MAX_WORD).map(|known| (distance(&word, known), known));
    near.filter(|&(distance, known)| distance <= (known.len() / 3).max(1)).min().map(|(_, known)| known)
}

/// How many characters have to be inserted, deleted or replaced to come from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let above = *cell;
            *cell = (diagonal + usize::from(x != *y)).min(above + 1).min(left + 1);
            diagonal = above;
            left = *cell;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        let known = ["names", "keys", "not-after", "file", "pem"];
        for (word, meant) in [
            ("name", Some("names")),
            ("key", Some("keys")),
            ("not_after", Some("not-after")),
            ("expires", None),
            ("fiel", None),
            ("flie", None),
            ("files", Some("file")),
        ] {
            assert_eq!(closest(word, known), meant, "{word}");
        }
        assert_eq!(closest(&"x".repeat(1 << 20), known), None);
    }
}
