//! Suggestions for mistyped names.

/// The length in bytes above which a string gets no suggestion. Real keys and names are shorter,
/// and a string from outside may be as long as a document.
const MAX_LENGTH: usize = 64;

/// Returns the entry of `known` that `typed` most likely stands for, or `None` if none is similar.
///
/// Up to a third of the letters may differ, but not all of them. Case is ignored, `_` equals `-`,
/// and two swapped letters count as one mistake.
#[must_use]
pub fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > MAX_LENGTH {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let typed = plain(typed);
    let letters = typed.chars().count();
    let near = known.into_iter().filter(|known| known.len() <= MAX_LENGTH);
    let near = near.map(|known| (strsim::osa_distance(&typed, &plain(known)), known));
    let near = near.filter(|&(distance, known)| distance <= (known.chars().count() / 3).max(1) && distance < letters);
    near.min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_and_nothing_is_guessed() {
        let known =
            ["driver", "plugin-name", "result-format", "result-files", "source-url", "order", "tap", "JavaScript"];
        for (typed, meant) in [
            ("diver", Some("driver")),
            ("plugin_name", Some("plugin-name")),
            ("PluginName", Some("plugin-name")),
            ("result-fromat", Some("result-format")),
            ("oder", Some("order")),
            ("resultformat", Some("result-format")),
            ("javscript", Some("JavaScript")),
            ("tpa", Some("tap")),
            ("tapp", Some("tap")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, known), meant, "{typed}");
        }
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }
}
