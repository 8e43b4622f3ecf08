//! Words in brackets.

use std::collections::BTreeMap;

/// How many of `tests` there are of each tag: everything from a `[` to the next `]`, brackets included. A tag that a name has twice counts twice, as users of Sonobuoy know it.
pub fn tags<'a>(tests: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for test in tests {
        let mut rest = test;
        while let Some(tag) = rest.find('[').and_then(|open| rest.get(open..)) {
            let Some(tag) = tag.find(']').and_then(|close| tag.get(..=close)) else { break };
            *counts.entry(tag.to_owned()).or_default() += 1;
            rest = rest.split_once(tag).map_or("", |(_, after)| after);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_what_stands_in_brackets() {
        let counts = tags(["[sig-a] x [Slow] [Driver: a b]", "[sig-a] y [[Slow]", "] z [open"].into_iter());
        let counts: Vec<(&str, usize)> = counts.iter().map(|(tag, count)| (tag.as_str(), *count)).collect();
        assert_eq!(counts, [("[Driver: a b]", 1), ("[Slow]", 1), ("[[Slow]", 1), ("[sig-a]", 2)]);
    }
}
