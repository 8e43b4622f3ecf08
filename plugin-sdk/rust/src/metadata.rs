//! The custom section `plumbline:module`, which describes a module without running it. It is built
//! at compile time.

/// Maximum length in bytes of a module's name, as a definition uses it in `result-format` or
/// `expectations`.
pub const MAX_NAME: usize = 63;

/// Returns whether `name` is a valid module name: lower-case letters, digits, `-` and `.`, starting
/// and ending with a letter or digit, at most [`MAX_NAME`] bytes.
///
/// The host also accepts `_`. A packed module never has one, because the name of its file has `-`
/// instead.
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

/// The metadata that [`module!`](crate::module) declares.
#[derive(Debug, Clone, Copy)]
pub struct Metadata {
    /// The name of the module.
    pub name: &'static str,
    /// The result formats that the module handles.
    pub formats: &'static [&'static str],
    /// Glob patterns of the files that the module reads if a definition has no `result-files`.
    pub default_files: &'static [&'static str],
    /// The rules by which the host detects files of the module, as a JSON array.
    pub detect: Option<&'static str>,
    /// The limits that the module asks for, as a JSON object.
    pub limits: Option<&'static str>,
    /// The JSON Schema of the module's options.
    pub schema: Option<&'static str>,
    /// The rights that the module needs as a check, as a JSON object.
    pub rights: Option<&'static str>,
}

impl Metadata {
    /// Returns the length of the JSON text in bytes.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.write(Writer { rest: &mut [], length: 0 }).length
    }

    /// Returns the JSON text.
    ///
    /// # Panics
    ///
    /// If `N` is not [`Metadata::length`]; in a constant this is a compile error.
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
        if let Some(rights) = self.rights {
            out = out.raw(",\"rights\":").raw(rights);
        }
        out.raw("}")
    }
}

/// Writes as far as there is room, and counts every byte.
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

    /// Writes `text` as a JSON string (RFC 8259, section 7).
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

    /// Builds the text in the same way as the macro: the length at compile time, then the bytes.
    macro_rules! written {
        ($metadata:expr) => {{
            const METADATA: Metadata = $metadata;
            const JSON: [u8; METADATA.length()] = METADATA.json();
            serde_json::from_slice::<Value>(&JSON).unwrap()
        }};
    }

    #[test]
    fn the_section_is_json_for_any_content() {
        let value = written!(Metadata {
            name: "a-b",
            formats: &["a", "quote \" backslash \\ line \n end \u{1f} ü"],
            default_files: &["**/*.x"],
            detect: Some("[ { \"prefix\" : [ \"{\" ] } ]"),
            limits: Some("{ \"memory\" : 1 }"),
            schema: Some("{ \"type\" : [ \"object\" ] }"),
            rights: Some("{ \"env\" : [ \"A\" ] }"),
        });
        let want = json!({
            "name": "a-b",
            "formats": ["a", "quote \" backslash \\ line \n end \u{1f} ü"],
            "default-files": ["**/*.x"],
            "detect": [{ "prefix": ["{"] }],
            "limits": { "memory": 1 },
            "schema": { "type": ["object"] },
            "rights": { "env": ["A"] },
        });
        assert_eq!(value, want);
    }

    #[test]
    fn missing_fields_are_omitted() {
        let value = written!(Metadata {
            name: "x",
            formats: &[],
            default_files: &[],
            detect: None,
            limits: None,
            schema: None,
            rights: None,
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
