//! Texts of failures: without terminal sequences and dumps of objects, and of limited size.

/// Maximum size in bytes of the start of a text, where messages are.
const HEAD: usize = 16 << 10;
/// Maximum size in bytes of the end of a text, where some tools write the source location.
const TAIL: usize = 4 << 10;
/// Minimum number of words of a quoted string in a dump that says something by itself.
const MIN_SENTENCE: usize = 3;

/// Returns the start and the end of a text, without terminal sequences.
pub(crate) fn bounded(text: &str) -> String {
    if text.len() <= HEAD + TAIL {
        return plain(text);
    }
    let (head, tail) = (text.floor_char_boundary(HEAD), text.ceil_char_boundary(text.len() - TAIL));
    let mut out = plain(text.get(..head).unwrap_or_default());
    out.push('\n');
    out.push_str(&plain(text.get(tail..).unwrap_or_default()));
    out
}

/// Removes terminal sequences (ECMA-48) and other control characters, except line breaks and tabs.
fn plain(text: &str) -> String {
    if !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // A control sequence ends with its final byte.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // A command to the operating system ends with BEL or ESC \.
                Some(']') => {
                    while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {}
                    chars.next_if_eq(&'\\');
                }
                _ => {}
            },
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Removes everything in braces, such as dumps of objects. Sentences that are quoted in there, such
/// as the message of an error, stay on lines of their own. A brace without its counterpart stays.
pub(crate) fn without_objects(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for (open, close) in objects(text) {
        out.push_str(text.get(end..open).unwrap_or_default());
        let object = text.get(open + 1..close).unwrap_or_default();
        let before = out.len();
        for sentence in sentences(object) {
            out.push('\n');
            out.push_str(sentence);
        }
        if object.contains('\n') || out.len() > before {
            out.push('\n');
        }
        end = close + 1;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

/// Returns the positions of the outermost pairs of braces.
fn objects(text: &str) -> Vec<(usize, usize)> {
    let (mut open, mut pairs) = (Vec::new(), Vec::<(usize, usize)>::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => {
                let Some(start) = open.pop() else { continue };
                while pairs.pop_if(|(inner, _)| *inner > start).is_some() {}
                pairs.push((start, at));
            }
            _ => {}
        }
    }
    pairs
}

/// Returns the quoted strings of at least three words.
fn sentences(object: &str) -> impl Iterator<Item = &str> {
    object.split('"').skip(1).step_by(2).filter(|quoted| quoted.split_whitespace().count() >= MIN_SENTENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_sequences_are_removed() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{7} a\tb\r\nc";
        assert_eq!(bounded(text), "red link a\tb\nc");
    }

    #[test]
    fn of_a_long_text_the_start_and_the_end_are_read() {
        let text = format!("start ä{}é end", "ü".repeat(50_000));
        let read = bounded(&text);
        assert!(read.starts_with("start") && read.ends_with("é end") && read.len() < HEAD + TAIL + 8);
    }

    #[test]
    fn of_an_object_only_sentences_stay() {
        let dump = "Unexpected error:\n    <*errors.errorString | 0xc0>: {\n        s: \"timed out waiting\",\n        n: {a: \"b\"},\n    }\noccurred";
        assert_eq!(
            without_objects(dump),
            "Unexpected error:\n    <*errors.errorString | 0xc0>: \ntimed out waiting\n\noccurred"
        );
        assert_eq!(without_objects("want &Pod{Name: x} here"), "want &Pod here");
        assert_eq!(without_objects("{ open {a} {b{c}} end"), "{ open   end");
        for open in ["expected `{`, got end", "a } b { c", "{ {"] {
            assert_eq!(without_objects(open), open);
        }
    }
}
