//! Parser for the mail addresses that Go's `mail.ParseAddress` accepts: RFC 5322 with UTF-8,
//! comments, quoted names, and groups with one member.

use std::net::IpAddr;

/// Returns whether Go parses `text` as one mail address.
pub(in crate::submission) fn is_mail_address(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address(true) == Some(1) && parser.skip_comments().is_some() && parser.rest.is_empty()
}

/// Parses from the start of a string. A method returns `None` if the input does not match.
#[derive(Clone, Copy)]
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Parses a mailbox, or a group if `groups` is set. Returns the number of mailboxes.
    fn address(&mut self, groups: bool) -> Option<usize> {
        self.skip_space();
        let begin = *self;
        if self.mailbox().is_some() {
            self.skip_space();
            return match self.consume('(') {
                true => self.display_comment().map(|()| 1),
                false => Some(1),
            };
        }
        *self = begin;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if groups && self.consume(':') {
            return self.group();
        }
        (self.consume('<') && self.mailbox().is_some() && self.consume('>')).then_some(1)
    }

    /// Parses the members of a group, after its `:`.
    fn group(&mut self) -> Option<usize> {
        let mut members = 0;
        self.skip_space();
        while !self.consume(';') {
            if members > 0 && !self.consume(',') {
                return None;
            }
            members += self.address(false)?;
            self.skip_comments()?;
        }
        self.skip_comments().map(|()| members)
    }

    /// Parses `local@domain`.
    fn mailbox(&mut self) -> Option<()> {
        self.skip_space();
        let local_part = if self.rest.starts_with('"') { self.quoted_string()? } else { self.dot_atom()? };
        if local_part.is_empty() || !self.consume('@') {
            return None;
        }
        self.skip_space();
        if !self.consume('[') {
            return self.dot_atom().map(drop);
        }
        let (literal, rest) = self.rest.split_once(']')?;
        self.rest = rest;
        literal.parse::<IpAddr>().is_ok().then_some(())
    }

    /// Parses the words before an address in angle brackets. The rest of the input remains.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 {
                self.skip_comments()?;
            }
            self.skip_space();
            let begin = *self;
            let word = match self.rest.starts_with('"') {
                true => self.quoted_string(),
                false => self.atom().filter(|word| !has_unknown_charset(word)),
            };
            if word.is_none() {
                // Go consumes a word with an unknown character set nevertheless.
                if !begin.clone().atom().is_some_and(has_unknown_charset) {
                    *self = begin;
                }
                return (words > 0).then_some(());
            }
            words += 1;
        }
    }

    /// Parses the name in parentheses after an address. Its `(` has been read.
    fn display_comment(&mut self) -> Option<()> {
        let begin = self.rest;
        self.comment()?;
        let text = begin.get(..begin.len() - self.rest.len() - 1)?.replace('\\', "");
        (!text.split([' ', '\t']).any(has_unknown_charset)).then_some(())
    }

    /// Parses the rest of a comment, after its `(`.
    fn comment(&mut self) -> Option<()> {
        let mut depth = 1_u32;
        let mut characters = self.rest.chars();
        while depth > 0 {
            match characters.next()? {
                '\\' if !characters.as_str().is_empty() => drop(characters.next()),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        self.rest = characters.as_str();
        Some(())
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.consume('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    /// Parses a quoted string and returns its content, escapes included.
    fn quoted_string(&mut self) -> Option<&'a str> {
        let inside = self.rest.strip_prefix('"')?;
        let mut escaped = false;
        for (at, c) in inside.char_indices() {
            match c {
                '"' if !escaped => {
                    self.rest = inside.get(at + 1..)?;
                    return inside.get(..at);
                }
                '\\' if !escaped => escaped = true,
                ' ' | '\t' => escaped = false,
                _ if is_visible(c) => escaped = false,
                _ => return None,
            }
        }
        None
    }

    fn atom(&mut self) -> Option<&'a str> {
        let fits = |c: char| is_visible(c) && !"()<>[]:;@\\,\"".contains(c);
        let (atom, rest) = self.rest.split_at(self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        (!atom.is_empty()).then_some(atom)
    }

    fn dot_atom(&mut self) -> Option<&'a str> {
        self.atom().filter(|atom| !atom.starts_with('.') && !atom.ends_with('.') && !atom.contains(".."))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn consume(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || !c.is_ascii()
}

/// Returns whether a word is an encoded word (RFC 2047) in a character set that Go does not decode.
fn has_unknown_charset(word: &str) -> bool {
    let Some(inside) = word.strip_prefix("=?").and_then(|word| word.strip_suffix("?=")) else { return false };
    let parts: Vec<&str> = inside.split('?').collect();
    let [charset, encoding, text] = parts.as_slice() else { return false };
    let known = ["utf-8", "iso-8859-1", "us-ascii"].iter().any(|known| known.eq_ignore_ascii_case(charset));
    !known && !charset.is_empty() && can_decode(encoding, text)
}

/// Returns whether the text of an encoded word is valid. Go treats an invalid one as ordinary
/// characters.
fn can_decode(encoding: &str, text: &str) -> bool {
    match encoding {
        "q" | "Q" => {
            let escapes = text.match_indices('=').all(|(at, _)| {
                text.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            });
            escapes && text.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        }
        "b" | "B" => {
            let digits = text.trim_end_matches('=');
            let padding = text.len() - digits.len();
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
            text.len().is_multiple_of(4) && padding <= 2 && digits.bytes().all(fits)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_comments_quotes_and_literals_are_read() {
        for good in [
            "a@b.example",
            "a@b_c.com",
            "Some One <a@b.example>",
            "\"One, Some\" <a@b.example>",
            "a@b.example (Some One)",
            "\"a b\"@b.example",
            "a@[127.0.0.1]",
            "group: a@b.example;",
            "ü@münchen.example",
            "=?utf-8?q?a?= <a@b.example>",
        ] {
            assert!(is_mail_address(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "@b",
            "a@",
            "a b@c.d",
            "a@b@",
            "a..b@c.d",
            "A <a@b.c",
            "a@b.example, c@d.example",
            "a@[x]",
            "group: a@b.c, d@e.f;",
            "=?koi8-r?q?a?= <a@b.example>",
            "\"\"@b.example",
            "a@b.example (x",
        ] {
            assert!(!is_mail_address(bad), "{bad}");
        }
    }
}
