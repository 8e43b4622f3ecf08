//! YAML that the verifier's parser rejects and a YAML 1.2 parser accepts. The verifier uses
//! `sigs.k8s.io/yaml`, which implements YAML 1.1.

/// Returns why the verifier cannot read the document, if the reason is its version of YAML. The
/// reason is a sentence.
pub(in crate::submission) fn yaml_1_1_problem(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    if let Some(c) = text.chars().find(|c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')) {
        return Some(format!("U+{:04X} is a line break to the verifier", u32::from(c)));
    }
    let mut in_directives = true;
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = at + 1;
        if line.starts_with('\t') {
            return Some(format!("line {number} begins with a tab: indent with spaces"));
        }
        if line.split_once("\\/").is_some_and(|(before, _)| before.contains('"')) {
            return Some(format!("line {number} has the escape `\\/`, which YAML 1.1 does not know: write `/`"));
        }
        let blank = line.trim().is_empty() || line.starts_with('#');
        if in_directives && line.starts_with("...") {
            return Some(format!("line {number} ends a document that has not begun"));
        }
        if in_directives && line.starts_with('%') && !line.starts_with("%YAML 1.1") && !line.starts_with("%TAG ") {
            return Some(format!("line {number} is a directive that YAML 1.1 does not know"));
        }
        in_directives &= blank || line.starts_with('%');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_refused() {
        for good in ["a: b\n", "a: c:\\/d\n", "%YAML 1.1\n---\na: b\n", "# c\n\n---\na: b\n...\n", "a: \"b\tc\"\n"] {
            assert_eq!(yaml_1_1_problem(good.as_bytes()), None, "{good}");
        }
        for bad in
            ["a:\n\tb: c\n", "a: \"https:\\/\\/b\"\n", "%YAML 1.2\n---\na: b\n", "...\na: b\n", "a: b\u{2028}c\n"]
        {
            assert!(yaml_1_1_problem(bad.as_bytes()).is_some(), "{bad}");
        }
    }
}
