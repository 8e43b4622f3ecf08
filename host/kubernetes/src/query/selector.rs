//! Validates label selectors, so that an invalid one is reported once instead of by every list.

/// Returns what is wrong with a label selector, or `None` if it is valid. The empty selector
/// selects everything.
pub(super) fn complaint(selector: &str) -> Option<String> {
    if selector.trim().is_empty() {
        return None;
    }
    split(selector).into_iter().find_map(|part| requirement(part.trim()))
}

/// Splits at commas outside of parentheses.
fn split(selector: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    selector
        .split(move |c| {
            match c {
                '(' => depth = depth.saturating_add(1),
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect()
}

fn requirement(part: &str) -> Option<String> {
    let bad = |why: &str| Some(format!("`{part}` {why}"));
    if part.is_empty() {
        return bad("is an empty requirement");
    }
    if let Some(key) = part.strip_prefix('!') {
        return if is_key(key.trim()) { None } else { bad("does not negate a label's key") };
    }
    // Longer operators come first, because they contain `=`.
    for operator in ["!=", "==", "=", ">", "<"] {
        if let Some((key, value)) = part.split_once(operator) {
            let number = matches!(operator, ">" | "<");
            let fits = if number { value.trim().parse::<i64>().is_ok() } else { is_value(value.trim()) };
            return match (is_key(key.trim()), fits) {
                (false, _) => bad("does not begin with a label's key"),
                (_, false) => bad("does not end with a value that a label may have"),
                _ => None,
            };
        }
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else {
        return if is_key(part) { None } else { bad("is not a label's key") };
    };
    let values = ["notin", "in"]
        .iter()
        .find_map(|word| rest.trim().strip_prefix(word))
        .and_then(|rest| rest.trim().strip_prefix('(')?.strip_suffix(')'));
    match values {
        Some(values) if is_key(key) && values.split(',').all(|value| is_value(value.trim())) => None,
        _ => bad("is not of the form `KEY in (VALUE, ...)`"),
    }
}

/// Returns true for a qualified name: an optional DNS prefix and a slash, and a name of at most 63
/// characters.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty()
        && is_value(name)
        && prefix.is_none_or(|prefix| {
            !prefix.is_empty()
                && prefix.len() <= 253
                && prefix.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
        })
}

/// Returns true for a label value.
///
/// It is empty, or has at most 63 characters (letters, digits, `-`, `_`, `.`) with a letter or
/// digit at both ends.
fn is_value(value: &str) -> bool {
    let end = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    value.len() <= 63
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && end(value.bytes().next())
        && end(value.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_of_every_kind_are_understood() {
        for good in [
            "",
            "app",
            "!app",
            "app=web",
            "app == web",
            "app!=web,tier=",
            "example.org/app in (a, b),x notin (c)",
            "n>3,m<4",
        ] {
            assert_eq!(complaint(good), None, "{good}");
        }
        for bad in
            ["=x", "app=a b", "app in a", "app in (a", "a,,b", "!", "a/b/c", "app=-x", "n>many", "bad key(", "a b c"]
        {
            assert!(complaint(bad).is_some(), "{bad}");
        }
    }
}
