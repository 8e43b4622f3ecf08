//! The custom section `plumbline:module`: what a module is, readable without running it. Built at compile time.

/// Bytes of a module's name at most: what a definition may name as `result-format` or `expectations`.
pub const MAX_NAME: usize = 63;

/// Whether `name` can be a module's name: lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit, at
/// most [`MAX_NAME`] bytes. The host also takes `_`; a packed module never has one, because its file's name has `-` in its place.
#[must_use]
pub const fn is_name(name: &str) -> bool {
    const fn edge(byte: u8) -> bool {
        byte.is_ascii_lowercase() || byte.is_ascii_digit()
    }
    let mut rest = name.as_bytes();
    if rest.len() > MAX_NAME {
        return false;
    }
    match (rest.first(), rest.last()) {
        (Some(first), Some(last)) if edge(*first) && edge(*last) => {}
        _ => return false,
    }
    while let [byte, tail @ ..] = rest {
        if !(edge(*byte) || *byte == b'-' || *byte == b'.') {
            return false;
        }
        rest = tail;
    }
    true
}

/// What [`module!`](crate::module) says about a module.
#[derive(Debug, Clone, Copy)]
pub struct Metadata {
    /// The module's name.
    pub name: &'static str,
    /// The result formats that it answers to.
    pub formats: &'static [&'static str],
    /// Glob patterns of the files that it takes when a definition names none.
    pub default_files: &'static [&'static str],
    /// The rules by which the host detects its files, as a JSON array.
    pub detect: Option<&'static str>,
    /// The limits that it asks for, as JSON.
    pub limits: Option<&'static str>,
    /// A JSON Schema of its options.
    pub schema: Option<&'static str>,
}

impl Metadata {
    /// The length of the JSON text.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.write(Writer { rest: &mut [], length: 0 }).length
    }

    /// The JSON text; `N` must be [`Metadata::length`].
    #[must_use]
    pub const fn json<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [b' '; N];
        assert!(self.write(Writer { rest: &mut bytes, length: 0 }).length == N, "`N` must be the length of the text");
        bytes
    }

    const fn write<'a>(&self, mut out: Writer<'a>) -> Writer<'a> {
        out = out.raw("{\"name\":").quoted(self.name);
        out = out.raw(",\"formats\":").list(self.formats);
        out = out.raw(",\"default-files\":").list(self.default_files);
        if let Some(detect) = self.detect {
            out = out.raw(",\"detect\":").raw(detect);
        }
        if let Some(limits) = self.limits {
            out = out.raw(",\"limits\":").raw(limits);
        }
        if let Some(schema) = self.schema {
            out = out.raw(",\"schema\":").raw(schema);
        }
        out.raw("}")
    }
}

/// Writes as far as there is room, and counts everything.
struct Writer<'a> {
    rest: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    const fn byte(mut self, byte: u8) -> Self {
        self.length += 1;
        match self.rest.split_first_mut() {
            Some((slot, rest)) => {
                *slot = byte;
                Self { rest, length: self.length }
            }
            None => Self { rest: &mut [], length: self.length },
        }
    }

    const fn raw(mut self, text: &str) -> Self {
        let mut bytes = text.as_bytes();
        while let [byte, tail @ ..] = bytes {
            self = self.byte(*byte);
            bytes = tail;
        }
        self
    }

    /// `text` as a JSON string (RFC 8259, section 7).
    const fn quoted(mut self, text: &str) -> Self {
        const fn hex(digit: u8) -> u8 {
            if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
        }
        let mut bytes = text.as_bytes();
        self = self.byte(b'"');
        while let [byte, tail @ ..] = bytes {
            self = match *byte {
                b'"' | b'\\' => self.byte(b'\\').byte(*byte),
                0..0x20 => self.raw("\\u00").byte(hex(*byte >> 4)).byte(hex(*byte & 15)),
                other => self.byte(other),
            };
            bytes = tail;
        }
        self.byte(b'"')
    }

    const fn list(mut self, mut texts: &[&str]) -> Self {
        self = self.byte(b'[');
        let mut first = true;
        while let [text, tail @ ..] = texts {
            if !first {
                self = self.byte(b',');
            }
            first = false;
            self = self.quoted(text);
            texts = tail;
        }
        self.byte(b']')
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The text as the macro makes it: the length at compile time, then the bytes.
    macro_rules! written {
        ($metadata:expr) => {{
            const METADATA: Metadata = $metadata;
            const JSON: [u8; METADATA.length()] = METADATA.json();
            serde_json::from_slice::<Value>(&JSON).unwrap()
        }};
    }

    #[test]
    fn the_section_is_json_whatever_stands_in_it() {
        let value = written!(Metadata {
            name: "a-b",
            formats: &["a", "quote \" backslash \\ line \n end \u{1f} ü"],
            default_files: &["**/*.x"],
            detect: Some("[ { \"prefix\" : [ \"{\" ] } ]"),
            limits: Some("{ \"memory\" : 1 }"),
            schema: Some("{ \"type\" : [ \"object\" ] }"),
        });
        let want = json!({
            "name": "a-b",
            "formats": ["a", "quote \" backslash \\ line \n end \u{1f} ü"],
            "default-files": ["**/*.x"],
            "detect": [{ "prefix": ["{"] }],
            "limits": { "memory": 1 },
            "schema": { "type": ["object"] },
        });
        assert_eq!(value, want);
    }

    #[test]
    fn what_is_left_out_is_not_there() {
        let value = written!(Metadata {
            name: "x",
            formats: &[],
            default_files: &[],
            detect: None,
            limits: None,
            schema: None,
        });
        assert_eq!(value, json!({ "name": "x", "formats": [], "default-files": [] }));
    }

    #[test]
    fn names_are_those_that_definitions_may_use() {
        for good in ["a", "7", "junit", "go-json", "a.b", &"x".repeat(MAX_NAME)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", ".", "A", "a_b", "a b", "ü", "a/b", &"x".repeat(MAX_NAME + 1)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
