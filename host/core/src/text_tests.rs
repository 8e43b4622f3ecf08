use super::*;

#[test]
fn control_characters_are_replaced() {
    for c in ['\u{1b}', '\r', '\u{7f}', '\u{85}', '\u{9b}', '\u{200f}', '\u{202e}', '\u{2028}', '\u{2066}', '\u{61c}'] {
        assert_eq!(one_line(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
    }
    assert_eq!(one_line("a\tb\nc\r\nd\n"), "a b c d");
    assert_eq!(one_line("grüße 漢字 e\u{301}"), "grüße 漢字 e\u{301}");
}

#[test]
fn a_printable_text_is_one_line_that_controls_no_terminal() {
    let foreign = "a\u{1b}[2J\tb\u{202e}\r\nc\u{9b}";
    assert_eq!(Printable::from(foreign), "a\u{fffd}[2J b\u{fffd} c\u{fffd}");
    assert_eq!(Printable::escaped(foreign, 100), r"a\u{1b}[2J\tb\u{202e}\r\nc\u{9b}");
    assert_eq!(Printable::escaped("äöü\n", 3), "äöü…");
    assert_eq!(Printable::escaped("don't say \"C:\\x\"", 100), "don't say \"C:\\x\"");
    for text in [Printable::from(foreign), Printable::escaped(foreign, 100)] {
        assert!(!text.chars().any(steers_terminal), "{text:?}");
    }
    assert_eq!(format!("{:4}|", Printable::from("ab")), "ab  |");
}

#[test]
fn colours_of_a_log_stay_and_everything_else_that_steers_goes() {
    assert_eq!(coloured_line("\u{1b}[1;31mfailed\u{1b}[0m \u{1b}[mü\r\n"), "\u{1b}[1;31mfailed\u{1b}[0m \u{1b}[mü");
    assert_eq!(coloured_line("\u{1b}[38:2:1:2:3mx"), "\u{1b}[38:2:1:2:3mx");
    for (line, shown) in [
        ("a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
        ("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}"),
        ("\u{1b}[", "\u{fffd}["),
        ("\u{1b}[31", "\u{fffd}[31"),
        ("\u{1b}[1;\u{1b}[31m", "\u{fffd}[1;\u{1b}[31m"),
        ("10 %\r20 %", "10 %\u{fffd}20 %"),
        ("a\u{202e}b\u{9b}31m", "a\u{fffd}b\u{fffd}31m"),
    ] {
        assert_eq!(coloured_line(line), shown, "{line:?}");
    }
}

#[test]
fn an_excerpt_says_that_it_is_one() {
    assert_eq!(excerpt("äöü", 3), "äöü");
    assert_eq!(excerpt("äöü\u{1b}", 3), "äöü…");
    assert_eq!(excerpt("", 0), "");
}

#[test]
fn later_lines_are_indented() {
    assert_eq!(indented("a\n\u{1b}b\n", "  "), "a\n  \u{fffd}b");
}

#[test]
fn a_long_list_ends_with_how_many_more_there_are() {
    assert_eq!(listed(&["a", "b\n", "c"], 2, ", "), "a, b, … 1 more");
    assert_eq!(listed(&["a", "b"], 2, ", "), "a, b");
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Layer(&'static str, #[source] Option<Box<Layer>>);

#[test]
fn causes_follow_and_are_printed_once() {
    let bottom = Layer("connection refused", None);
    let middle = Layer("connect: connection refused", Some(Box::new(bottom)));
    let top = Layer("send the result", Some(Box::new(middle)));
    assert_eq!(chain(&top), "send the result: connect: connection refused");
}

#[test]
fn only_close_names_are_suggested() {
    let known = ["driver", "plugin-name", "result-format", "result-files", "source-url", "order", "tap", "JavaScript"];
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

#[test]
fn a_shell_reads_one_word() {
    for (text, quoted) in [
        ("./202611201300_plumbline_7f3a9c.tar.gz", "./202611201300_plumbline_7f3a9c.tar.gz"),
        ("my results/a.tar.gz", "'my results/a.tar.gz'"),
        ("it's", r"'it'\''s'"),
        ("$(reboot)", "'$(reboot)'"),
        ("~/x", "'~/x'"),
        ("", "''"),
    ] {
        assert_eq!(shell_quote(text), quoted);
    }
    assert_eq!(shell_path(Path::new("-x y")), "'./-x y'");
}

#[test]
fn only_special_characters_are_escaped() {
    assert_eq!(go_quote("[sig-node] a+b (c) {d} \\ ^$ x|y *.?"), r"\[sig-node\] a\+b \(c\) \{d\} \\ \^\$ x\|y \*\.\?");
    assert_eq!(go_quote("plain text-1_2/é, \"q\" 'r' #&~"), "plain text-1_2/é, \"q\" 'r' #&~");
}
