//! A focus on tests by their names.

use plumbline_core::go_quote;

use super::list::{is_suite_node, plain_name};

/// The focus that runs again what failed: plain names, quoted, in the order given, joined by `|`. What the suite does around its tests cannot be focused on and is left out; `None` if
/// nothing remains.
pub fn rerun_focus<'a>(failed: impl Iterator<Item = &'a str>) -> Option<String> {
    let names = failed.map(plain_name).filter(|name| !name.is_empty() && !is_suite_node(name));
    let quoted: Vec<String> = names.map(go_quote).collect();
    (!quoted.is_empty()).then(|| quoted.join("|"))
}

/// The alternatives of a focus: what stands between bars that no backslash is before.
pub fn alternatives(focus: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    focus.split(move |c| {
        let bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        bar
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::GoRegex;

    #[test]
    fn names_are_quoted_and_joined() {
        let failed = ["[It] [sig-a] does a|b (c)", "x.y", "[SynchronizedAfterSuite]", " [It] "];
        let focus = rerun_focus(failed.into_iter()).unwrap();
        assert_eq!(focus, r"\[sig-a\] does a\|b \(c\)|x\.y");
        let focused = GoRegex::new(&focus).unwrap();
        assert!(focused.is_match("[sig-a] does a|b (c)") && focused.is_match("x.y"));
        assert!(!focused.is_match("xzy") && !focused.is_match("[sig-a] does a"));
        assert_eq!(alternatives(&focus).collect::<Vec<_>>(), [r"\[sig-a\] does a\|b \(c\)", r"x\.y"]);
        assert_eq!(rerun_focus(["[ReportAfterSuite] x"].into_iter()), None);
    }
}
