//! Tests of Go regular expressions.

use std::time::Instant;

use plumbline_conformance::lists::{GoRegex, GoRegexError, MAX_PATTERN};
use plumbline_core::go_quote;

/// An expression, strings that it matches, and strings that it does not match.
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

#[test]
fn valid_expressions_match_as_in_go() {
    let cases: &[Case] = &[
        ("", &["", "x"], &[]),
        (r"\[Conformance\]", &["a [Conformance] b"], &["a Conformance b"]),
        (r"\[Disruptive\]|NoExecuteTaintManager", &["NoExecuteTaintManager x", "[Disruptive]"], &["Disruptive"]),
        ("a|", &["", "b"], &[]),
        // Perl classes are ASCII only.
        (r"^\d+$", &["12"], &["٣", ""]),
        (r"^\w+$", &["a_9"], &["é"]),
        (r"^\s$", &[" ", "\t", "\u{c}"], &["\u{b}", "\u{a0}"]),
        (r"^\S$", &["\u{b}", "\u{a0}"], &[" "]),
        (r"é\b", &["éa"], &["é", "é "]),
        // A brace that does not start a repetition is literal.
        ("a{", &["a{"], &["a"]),
        ("a{,2}", &["a{,2}"], &["aa"]),
        ("^a{2}$", &["aa"], &["a", "aaa"]),
        ("^a{02}$", &["a{02}"], &["aa"]),
        ("^a{1,}$", &["a", "aaa"], &[""]),
        ("^a{0}$", &[""], &["a"]),
        ("x}y]", &["x}y]"], &["xy"]),
        // Classes do not nest and have no operators.
        ("^[a[b]$", &["a", "[", "b"], &["[a"]),
        ("^[a&&b]$", &["a", "&", "b"], &["c"]),
        ("^[+--b]$", &["+", ",", "-", "b"], &["."]),
        (r"^[a\--z]$", &["a", "-", "5", "z"], &["+"]),
        ("^[a~~b]$", &["~"], &["c"]),
        ("^[]a]$", &["]", "a"], &["b"]),
        ("^[^]a]$", &["b", "\n"], &["]", "a"]),
        ("^[a-]$", &["a", "-"], &["b"]),
        (r"^[\]\-\\]$", &["]", "-", r"\"], &["a"]),
        (r"^[\d\W]$", &["1", "é", " "], &["a"]),
        ("^[[:alpha:][:digit:]]$", &["a", "1"], &["-"]),
        ("^[[:^alpha:]]$", &["1", "é"], &["a"]),
        ("^[[:alpha]$", &[":", "a", "["], &["b"]),
        (r"^[\x{41}-C]$", &["A", "B"], &["D"]),
        // Flags.
        ("(?i)slow", &["[SLOW]"], &[]),
        ("(?i)\u{212a}elvin", &["kelvin"], &[]),
        ("a(?i)b|c", &["aB", "C"], &["AB"]),
        ("(?i:a)b", &["Ab"], &["AB"]),
        ("((?i)a)b", &["Ab"], &["AB"]),
        ("(?i)a(?-i)b", &["Ab"], &["aB"]),
        ("(?i)[^a]b", &["cB"], &["AB"]),
        ("^a.b$", &["aéb"], &["a\nb"]),
        ("(?s)^a.b$", &["a\nb"], &["ab"]),
        ("^b$", &["b"], &["a\nb", "b\n"]),
        ("(?m)^b$", &["a\nb\nc"], &["ab"]),
        (r"(?m)\Ab\z", &["b"], &["a\nb"]),
        ("(?U)^a+?$", &["aa"], &[""]),
        // Escapes.
        (r"\Qa.b\E.", &["a.bc"], &["axbc"]),
        (r"\Q(((", &["((("], &["("]),
        (r"^\x41\x{1F600}$", &["A😀"], &[]),
        (r"^\a\f\n\r\t\v\_\/$", &["\u{7}\u{c}\n\r\t\u{b}_/"], &[]),
        // Properties.
        (r"^\pN\PN$", &["٣x"], &["x٣"]),
        (r"^\p{Greek}\P{Greek}$", &["αa"], &["aa", "αα"]),
        (r"^[\p{Lu}\d]$", &["É", "1"], &["é"]),
        (r"(?i)^\p{Lu}$", &["é"], &["1"]),
        (r"^\p{Old_Italic}$", &["\u{10300}"], &["a"]),
        // Groups.
        ("(?P<n>a)(?<m>b)(?:c)(d)", &["abcd"], &["abc"]),
        ("()", &[""], &[]),
    ];
    for (pattern, matched, others) in cases {
        let regex = GoRegex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for text in *matched {
            assert!(regex.is_match(text), "{pattern} matches {text:?}");
        }
        for text in *others {
            assert!(!regex.is_match(text), "{pattern} does not match {text:?}");
        }
    }
}

#[test]
fn an_invalid_expression_is_rejected() {
    for pattern in [
        "a(b", "ab)", "a[b", "*a", r"a\", r"x\Z", r"\C", r"\8", r"(a)\1x", "(?=a)", "(?<!a)", "(?P<n", "a{2,1}",
        r"\p{Foo}",
    ] {
        assert!(matches!(GoRegex::new(pattern), Err(GoRegexError::Syntax(_))), "{pattern}");
    }
}

#[test]
fn nothing_grows_without_bounds() {
    assert!(matches!(GoRegex::new(&"a".repeat(MAX_PATTERN + 1)), Err(GoRegexError::TooLong(_))));
    let bomb = r"(\pL{1000}\pN{1000}\pS{1000}){1}".repeat(200);
    assert!(matches!(GoRegex::new(&bomb), Err(GoRegexError::TooLarge)), "{:?}", GoRegex::new(&bomb));
    let deep = |levels: usize| format!("{}a{}", "(".repeat(levels), ")".repeat(levels));
    assert!(GoRegex::new(&deep(90)).is_ok());
    assert!(matches!(GoRegex::new(&deep(100_000)), Err(GoRegexError::Syntax(_))));
    let bars = GoRegex::new(&"(a|b*)".repeat(80).replace(')', "|(c|d*)+)*")).unwrap();
    assert!(bars.is_match(""));
}

#[test]
fn a_focus_on_thousands_of_names_is_quick() {
    let names: Vec<String> =
        (0..7_000).map(|n| format!("[sig-x] Thing {n} should [Driver: {n}] do what is asked of it (well)")).collect();
    let focus: Vec<String> = names.iter().map(|name| go_quote(name)).collect();
    let start = Instant::now();
    let regex = GoRegex::new(&focus.join("|")).unwrap();
    assert!(names.iter().all(|name| regex.is_match(&format!("Kubernetes e2e suite {name}"))));
    assert!(!regex.is_match("Kubernetes e2e suite [sig-x] Thing 7000 should"));
    // The limit is generous. On an idle machine, it takes a fraction of a second.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
