//! The XML that Go's `encoding/xml` accepts in strict mode.
//!
//! It checks less than a validating parser: duplicate attributes and arbitrary bytes in comments
//! are valid. It checks more than lenient parsers: entities, characters, quotes, nesting, the
//! declared version and encoding.

use thiserror::Error;

/// Maximum depth of elements. Go has no limit. A report has a depth of four.
const MAX_DEPTH: usize = 100_000;

/// Entities that XML predefines. Go resolves no others, declared or not.
const ENTITIES: [(&str, &str); 5] = [("lt", "<"), ("gt", ">"), ("amp", "&"), ("apos", "'"), ("quot", "\"")];

/// Reason why a document is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} (line {line})")]
pub(in crate::submission) struct XmlError {
    what: String,
    line: usize,
}

/// A token of a document.
#[derive(Debug)]
pub(in crate::submission) enum Token<'a> {
    /// A start tag. An element `<a/>` yields a start and an end.
    Start(Start<'a>),
    /// The end of the innermost open element.
    End,
    /// Text, a comment, a directive or a processing instruction.
    Other,
}

/// A start tag.
#[derive(Debug)]
pub(in crate::submission) struct Start<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, String)>,
}

impl<'a> Start<'a> {
    /// Returns the name without its prefix.
    pub(in crate::submission) fn local_name(&self) -> &'a str {
        local(self.name)
    }

    /// Returns all values of the attributes with this name, regardless of their prefix, in document
    /// order.
    pub(in crate::submission) fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        self.attributes.iter().filter(move |(key, _)| local(key) == name).map(|(_, value)| value.as_str())
    }
}

/// Returns the part of a name after its prefix. A colon at either end belongs to the name.
fn local(name: &str) -> &str {
    match name.split_once(':') {
        Some((prefix, local)) if !prefix.is_empty() && !local.is_empty() => local,
        _ => name,
    }
}

/// End of a run of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Before the next tag.
    Tag,
    /// After `]]>`.
    CDataEnd,
    /// After this quote.
    Quote(u8),
}

/// Splits a document into tokens and checks that elements nest.
pub(in crate::submission) struct Decoder<'a> {
    input: &'a [u8],
    at: usize,
    open: Vec<&'a str>,
    /// Whether the last start tag was `<a/>`, so that its end is the next token.
    end_is_due: bool,
}

impl<'a> Decoder<'a> {
    pub(in crate::submission) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0, open: Vec::new(), end_is_due: false }
    }

    /// Returns the next token, or `None` at the end of a document whose elements are all closed.
    pub(in crate::submission) fn token(&mut self) -> Result<Option<Token<'a>>, XmlError> {
        if self.end_is_due {
            self.end_is_due = false;
            self.open.pop();
            return Ok(Some(Token::End));
        }
        if self.peek().is_none() && self.open.is_empty() {
            return Ok(None);
        }
        if self.required()? != b'<' {
            self.text(Until::Tag)?;
            return Ok(Some(Token::Other));
        }
        self.at += 1;
        let token = match self.required()? {
            b'/' => self.end_tag()?,
            b'?' => self.instruction()?,
            b'!' => self.declaration()?,
            _ => Token::Start(self.start_tag()?),
        };
        Ok(Some(token))
    }

    fn start_tag(&mut self) -> Result<Start<'a>, XmlError> {
        let name = self.qualified_name("`<` without the name of an element")?;
        let mut attributes = Vec::new();
        loop {
            self.skip_space();
            match self.required()? {
                b'/' => {
                    self.at += 1;
                    if self.next()? != b'>' {
                        return Err(self.error("`/` in a tag without `>`"));
                    }
                    self.end_is_due = true;
                    break;
                }
                b'>' => {
                    self.at += 1;
                    break;
                }
                _ => attributes.push(self.attribute()?),
            }
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error(format!("elements are nested more than {MAX_DEPTH} deep")));
        }
        self.open.push(name);
        Ok(Start { name, attributes })
    }

    fn attribute(&mut self) -> Result<(&'a str, String), XmlError> {
        let name = self.qualified_name("a tag with something other than attributes")?;
        self.skip_space();
        if self.next()? != b'=' {
            return Err(self.error(format!("attribute `{name}` has no value")));
        }
        self.skip_space();
        match self.next()? {
            quote @ (b'"' | b'\'') => Ok((name, self.text(Until::Quote(quote))?)),
            _ => Err(self.error(format!("the value of attribute `{name}` is not quoted"))),
        }
    }

    fn end_tag(&mut self) -> Result<Token<'a>, XmlError> {
        self.at += 1;
        let name = self.qualified_name("`</` without the name of an element")?;
        self.skip_space();
        if self.next()? != b'>' {
            return Err(self.error(format!("`</{name}` without `>`")));
        }
        match self.open.pop() {
            Some(open) if open == name => Ok(Token::End),
            Some(open) => Err(self.error(format!("element `{open}` is closed by `</{name}>`"))),
            None => Err(self.error(format!("`</{name}>` closes an element that is not open"))),
        }
    }

    /// Reads a processing instruction, or the XML declaration. Go checks the latter at any
    /// position.
    fn instruction(&mut self) -> Result<Token<'a>, XmlError> {
        self.at += 1;
        let target = self.name("`<?` without a name")?;
        self.skip_space();
        let content = self.through("?>")?;
        if target == "xml" {
            let content = String::from_utf8_lossy(content);
            if let Some(version) = pseudo_attribute("version", &content).filter(|version| *version != "1.0") {
                return Err(self.error(format!("XML version `{}` is not supported, only 1.0", shown(version))));
            }
            let encoding = pseudo_attribute("encoding", &content);
            if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("utf-8")) {
                return Err(self.error(format!("encoding `{}` is not supported, only UTF-8", shown(encoding))));
            }
        }
        Ok(Token::Other)
    }

    /// Reads the rest of `<!`: a comment, CDATA, or a directive such as `<!DOCTYPE …>`.
    fn declaration(&mut self) -> Result<Token<'a>, XmlError> {
        self.at += 1;
        match self.next()? {
            b'-' => {
                if self.next()? != b'-' {
                    return Err(self.error("`<!-` begins no comment"));
                }
                self.through("--")?;
                if self.next()? != b'>' {
                    return Err(self.error("`--` inside a comment"));
                }
            }
            b'[' => {
                for expected in *b"CDATA[" {
                    if self.next()? != expected {
                        return Err(self.error("`<![` begins no CDATA section"));
                    }
                }
                self.text(Until::CDataEnd)?;
            }
            _ => self.directive()?,
        }
        Ok(Token::Other)
    }

    /// Reads the rest of a directive. Angle brackets nest, except in quotes and comments.
    fn directive(&mut self) -> Result<(), XmlError> {
        let (mut quote, mut depth) = (None, 0_u64);
        let mut byte = self.next()?;
        while !(byte == b'>' && quote.is_none() && depth == 0) {
            match byte {
                _ if quote == Some(byte) => quote = None,
                _ if quote.is_some() => {}
                b'\'' | b'"' => quote = Some(byte),
                b'>' => depth = depth.saturating_sub(1),
                b'<' => {
                    let Some(other) = self.comment_in_directive()? else {
                        byte = self.next()?;
                        continue;
                    };
                    depth += 1;
                    // The byte that rules out a comment has its normal meaning, also `>`.
                    byte = other;
                    if byte == b'>' {
                        depth -= 1;
                        byte = self.next()?;
                    }
                    continue;
                }
                _ => {}
            }
            byte = self.next()?;
        }
        Ok(())
    }

    /// Skips a comment whose `<` has been read. If it is not a comment, returns the first
    /// unexpected byte.
    fn comment_in_directive(&mut self) -> Result<Option<u8>, XmlError> {
        for expected in *b"!--" {
            let byte = self.next()?;
            if byte != expected {
                return Ok(Some(byte));
            }
        }
        self.through("-->")?;
        Ok(None)
    }

    /// Reads a run of characters, resolves references and normalizes line ends.
    fn text(&mut self, until: Until) -> Result<String, XmlError> {
        let cdata = until == Until::CDataEnd;
        let quoted = matches!(until, Until::Quote(_));
        let mut text = Vec::new();
        let (mut brackets, mut previous) = (0_u8, 0);
        loop {
            let Some(byte) = self.peek() else {
                if until == Until::Tag {
                    break;
                }
                return Err(self.error("unexpected end of the file"));
            };
            if byte == b'>' && brackets == 2 && !quoted {
                if !cdata {
                    return Err(self.error("`]]>` outside a CDATA section"));
                }
                self.at += 1;
                text.truncate(text.len().saturating_sub(2));
                break;
            }
            if byte == b'<' && !cdata {
                if quoted {
                    return Err(self.error("`<` in the value of an attribute"));
                }
                break;
            }
            self.at += 1;
            if until == Until::Quote(byte) {
                break;
            }
            if byte == b'&' && !cdata {
                let mut encoded = [0; 4];
                text.extend_from_slice(self.reference()?.encode_utf8(&mut encoded).as_bytes());
                (brackets, previous) = (0, 0);
                continue;
            }
            match byte {
                b'\r' => text.push(b'\n'),
                b'\n' if previous == b'\r' => {}
                _ => text.push(byte),
            }
            brackets = if byte == b']' { (brackets + 1).min(2) } else { 0 };
            previous = byte;
        }
        let text = String::from_utf8(text).map_err(|_| self.error("text is not in UTF-8"))?;
        match text.chars().find(|c| !is_character(*c)) {
            None => Ok(text),
            Some(c) => Err(self.error(format!("character U+{:04X} is not allowed", u32::from(c)))),
        }
    }

    /// Returns the character of a reference whose `&` has been read.
    fn reference(&mut self) -> Result<char, XmlError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        // Longer references only have leading zeros.
        let rest = rest.get(..rest.len().min(64)).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b';');
        let name = end.and_then(|end| std::str::from_utf8(rest.get(..end)?).ok());
        let found = name.and_then(|name| match name.strip_prefix('#') {
            Some(number) => numbered(number),
            None => ENTITIES.iter().find(|(known, _)| *known == name).and_then(|(_, text)| text.chars().next()),
        });
        match (found, end) {
            (Some(found), Some(end)) => {
                self.at += end + 1;
                Ok(found)
            }
            _ => {
                let shown = String::from_utf8_lossy(
                    rest.get(..end.map_or(8, |end| end + 1).min(rest.len())).unwrap_or_default(),
                )
                .into_owned();
                Err(self.error(format!("invalid entity `&{}`: write `&amp;` for `&`", self::shown(&shown))))
            }
        }
    }

    fn qualified_name(&mut self, missing: &str) -> Result<&'a str, XmlError> {
        let name = self.name(missing)?;
        if name.bytes().filter(|byte| *byte == b':').count() > 1 {
            return Err(self.error(missing));
        }
        Ok(name)
    }

    fn name(&mut self, missing: &str) -> Result<&'a str, XmlError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let is_name_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(byte) || !byte.is_ascii();
        let Some(end) = rest.iter().position(|byte| !is_name_byte(byte)) else {
            return Err(self.error("unexpected end of the file"));
        };
        let name = rest.get(..end).unwrap_or_default();
        if name.is_empty() {
            return Err(self.error(missing));
        }
        let name = std::str::from_utf8(name).map_err(|_| self.error("a name is not in UTF-8"))?;
        if !name.starts_with(is_letter) || !name.chars().all(is_name_character) {
            return Err(self.error(format!("`{}` is not a valid name", shown(name))));
        }
        self.at += end;
        Ok(name)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\r' | b'\n' | b'\t')) {
            self.at += 1;
        }
    }

    /// Returns everything before the next `mark` and moves past it.
    fn through(&mut self, mark: &str) -> Result<&'a [u8], XmlError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let Some(length) = rest.windows(mark.len()).position(|window| window == mark.as_bytes()) else {
            return Err(self.error("unexpected end of the file"));
        };
        self.at += length + mark.len();
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn required(&self) -> Result<u8, XmlError> {
        self.peek().ok_or_else(|| self.error("unexpected end of the file"))
    }

    fn next(&mut self) -> Result<u8, XmlError> {
        let byte = self.required()?;
        self.at += 1;
        Ok(byte)
    }

    fn error(&self, what: impl Into<String>) -> XmlError {
        let read = self.input.get(..self.at).unwrap_or(self.input);
        XmlError { what: what.into(), line: read.iter().filter(|byte| **byte == b'\n').count() + 1 }
    }
}

/// Returns the character with this number. As in Go, a surrogate becomes U+FFFD.
fn numbered(number: &str) -> Option<char> {
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    // `from_str_radix` would accept a sign.
    let code = digits.chars().all(|digit| digit.is_digit(radix)).then(|| u32::from_str_radix(digits, radix).ok())??;
    (code <= u32::from(char::MAX)).then(|| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Returns whether a name may start with `c`. XML 1.0 lists letters of Unicode 2.0, all below
/// U+D7A4.
fn is_letter(c: char) -> bool {
    c == '_' || c == ':' || c.is_ascii_alphabetic() || (!c.is_ascii() && c <= '\u{d7a3}' && c.is_alphabetic())
}

/// Returns whether a name may contain `c`: also digits and combining characters, but no symbols.
fn is_name_character(c: char) -> bool {
    match c {
        '\u{80}'..='\u{bf}' => c == '\u{b7}' || c.is_alphabetic(),
        '\u{d7}' | '\u{f7}' | '\u{2000}'..='\u{2fff}' | '\u{d7a4}'.. => false,
        _ => true,
    }
}

/// Returns whether XML allows the character.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns the value of `name` in an XML declaration. As in Go, it is the first `name=` with a
/// quote.
fn pseudo_attribute<'a>(name: &str, content: &'a str) -> Option<&'a str> {
    let mark = format!("{name}=");
    let mut rest = content;
    loop {
        rest = rest.split_once(mark.as_str())?.1;
        let quote = rest.chars().next()?;
        rest = rest.get(quote.len_utf8()..)?;
        if matches!(quote, '"' | '\'') {
            return rest.split_once(quote).map(|(value, _)| value).filter(|value| !value.is_empty());
        }
    }
}

/// Returns a part of the document for a message.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(document: &str) -> Result<usize, String> {
        let mut decoder = Decoder::new(document.as_bytes());
        let mut tokens = 0;
        while decoder.token().map_err(|error| error.to_string())?.is_some() {
            tokens += 1;
        }
        Ok(tokens)
    }

    #[test]
    fn errors_name_the_cause_and_the_line() {
        for (document, part) in [
            ("<a>\n& b</a>", "write `&amp;` for `&` (line 2)"),
            ("<a>&nbsp;</a>", "invalid entity `&nbsp;`"),
            ("<a b=1/>", "attribute `b` is not quoted"),
            ("<a b/>", "attribute `b` has no value"),
            ("<a><!-- x -- y --></a>", "`--` inside a comment"),
            ("<a>]]></a>", "`]]>` outside a CDATA section"),
            ("<a>\u{1}</a>", "U+0001"),
            ("<a>&#1;</a>", "U+0001"),
            ("<?xml version='1.1'?><a/>", "XML version `1.1`"),
            ("<?xml version='1.0' encoding='latin1'?><a/>", "encoding `latin1`"),
            ("<a><b></a>", "element `b` is closed by `</a>`"),
            ("<a>", "unexpected end of the file"),
            ("</a>", "is not open"),
            ("<a b='<'/>", "`<` in the value"),
        ] {
            let error = outcome(document).unwrap_err();
            assert!(error.contains(part), "{document}: {error}");
        }
    }

    #[test]
    fn unusual_documents_are_read() {
        for (document, tokens) in [
            ("<!DOCTYPE a [<!ENTITY x \"<>\"> <!-- ' --> ]><a/>", 3),
            ("<a><![CDATA[]] ]>]]></a>", 3),
            ("<a b='1' b='2'>&#x41;&#65;</a>", 3),
            ("\u{feff}<a/>", 3),
            ("<a/><b/>", 4),
        ] {
            assert_eq!(outcome(document), Ok(tokens), "{document}");
        }
        let deep = "<a>".repeat(MAX_DEPTH + 1);
        assert!(outcome(&deep).unwrap_err().contains("nested more than"));
    }
}
