//! Names as expressions.

/// The characters that mean something in expressions as Go writes them.
const SPECIAL: &str = r"\.+*?()|[]{}^$";

/// An expression, as Go writes them, that finds `text` and nothing else.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 4);
    for character in text.chars() {
        if SPECIAL.contains(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_quoted_is_found(text in ".*") {
            let whole = regex::Regex::new(&format!(r"\A(?:{})\z", quote(&text))).unwrap();
            prop_assert!(whole.is_match(&text));
        }
    }

    #[test]
    fn only_what_is_special_is_quoted() {
        assert_eq!(quote(r#"[sig-a] b-c "d" (e) #1 ~ä"#), r#"\[sig-a\] b-c "d" \(e\) #1 ~ä"#);
    }
}
