//! Every leaf as a line of JSON, and files unchanged.

use std::io::{self, Write};

use plumbline_core::text::steers_terminal;
use plumbline_core::{Item, Meta, Status};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use serde_json::{Map, Value};

use super::text::name;

/// A leaf, with its path in the tree under `meta.path`.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    status: &'a Status,
    meta: &'a Meta,
    #[serde(skip_serializing_if = "Map::is_empty")]
    details: &'a Map<String, Value>,
}

/// Prints every leaf below `root`: as a line of JSON, or, for a leaf with a file, as the content of
/// that file. `copy` writes the file, whose path is relative to the plugin's directory. Unless
/// `skip_prefix` is set, the path of the leaf is before the content.
///
/// # Errors
/// `out` cannot be written, or `copy` failed.
pub fn detailed(
    root: &Item,
    skip_prefix: bool,
    out: &mut impl Write,
    mut copy: impl FnMut(&str, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut walk = root.walk();
    while let Some(item) = walk.next() {
        if !item.is_leaf() {
            continue;
        }
        if let Some(file) = item.meta.get("file") {
            if !skip_prefix {
                write!(out, "{} ", name(&walk.path().join("|")))?;
            }
            let mut content = Ended { out: &mut *out, last: None };
            // Archives that were made on Windows have its separator in paths.
            copy(&file.replace('\\', "/"), &mut content)?;
            if content.last != Some(b'\n') {
                writeln!(out)?;
            }
            continue;
        }
        let mut meta = item.meta.clone();
        let path: Vec<&str> = walk.ancestors().map(|item| item.name.as_str()).collect();
        meta.insert("path".to_owned(), path.join("|"));
        let line = Line { name: &item.name, status: &item.status, meta: &meta, details: &item.details };
        line.serialize(&mut Serializer::with_formatter(&mut *out, Escaped))?;
        writeln!(out)?;
    }
    Ok(())
}

/// Keeps the last byte, so that the leaf after a file starts on a new line.
struct Ended<'a, W> {
    out: &'a mut W,
    last: Option<u8>,
}

impl<W: Write> Write for Ended<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes.get(..written).and_then(<[u8]>::last) {
            self.last = Some(*last);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// JSON exactly as Sonobuoy writes it, with `<`, `>` and `&` escaped, and with escaped control
/// characters.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_escaped(c)) {
            let (before, after) = rest.split_at(at);
            CompactFormatter.write_string_fragment(out, before)?;
            // All of them are in the Basic Multilingual Plane.
            write!(out, "\\u{:04x}", u32::from(c))?;
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        CompactFormatter.write_string_fragment(out, rest)
    }
}

fn is_escaped(c: char) -> bool {
    matches!(c, '<' | '>' | '&') || steers_terminal(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Item {
        let leaf = |name: &str| Item { name: name.into(), status: Status::Passed, ..Item::default() };
        let test = Item { details: [("failure".to_owned(), "x".into())].into_iter().collect(), ..leaf("t") };
        let file = Item { meta: [("file".to_owned(), "results\\global\\out0".to_owned())].into(), ..leaf("out0") };
        Item { items: vec![Item { items: vec![test], ..leaf("junit_01.xml") }, file], ..leaf("e2e") }
    }

    fn text(skip_prefix: bool) -> String {
        let mut out = Vec::new();
        detailed(&root(), skip_prefix, &mut out, |path, out| write!(out, "<{path}>")).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_file_that_ends_its_line_gets_no_second_end() {
        let mut out = Vec::new();
        detailed(&root().items[1], true, &mut out, |_, out| write!(out, "a\nb\n")).unwrap();
        assert_eq!(out, b"a\nb\n");
    }

    #[test]
    fn names_are_escaped_as_scripts_know_it_and_stay_what_they_are() {
        let name = "a => <b> & \"c\" \u{1b}[2J \u{202e}\u{2028}\u{7f} ä";
        let leaf = Item { name: name.into(), status: Status::Passed, ..Item::default() };
        let mut out = Vec::new();
        detailed(&leaf, false, &mut out, |_, _| Ok(())).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with(
                r#"{"name":"a =\u003e \u003cb\u003e \u0026 \"c\" \u001b[2J \u202e\u2028\u007f ä","status":"passed""#
            ),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["name"], name);
    }

    #[test]
    fn the_path_before_a_file_stays_on_its_line() {
        let mut file = root().items.remove(1);
        file.name = "a\u{1b}[2J\n\u{202e}b".into();
        let mut out = Vec::new();
        detailed(&file, false, &mut out, |_, out| write!(out, "content")).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\u{fffd}[2J\u{fffd}\u{fffd}b content\n");
    }

    #[test]
    fn leaves_are_lines_of_json_and_files_are_copied() {
        let test = r#"{"name":"t","status":"passed","meta":{"path":"e2e|junit_01.xml"},"details":{"failure":"x"}}"#;
        assert_eq!(text(false), format!("{test}\ne2e|out0 <results/global/out0>\n"));
        assert_eq!(text(true), format!("{test}\n<results/global/out0>\n"));
    }
}
