//! Mail addresses that Go's `mail.ParseAddress` accepts (RFC 5322 with UTF-8, comments, quoted names,
//! and groups with one member), and URLs that `url.ParseRequestURI` accepts. The latter include more
//! than URLs of web pages: `/path` and `mailto:x` are valid.

use std::net::{IpAddr, Ipv6Addr};

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

/// Returns whether Go parses `text` as a request URI.
pub(in crate::submission) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        // `scheme:anything` is opaque to Go.
        return scheme.is_some();
    }
    let Some(authority) = rest.strip_prefix("//").filter(|_| scheme.is_some()) else { return has_valid_escapes(rest) };
    let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    is_user(user) && is_host(host) && has_valid_escapes(path)
}

/// Splits off the scheme, if there is one. `None` for a colon without a scheme.
fn split_scheme(text: &str) -> Option<(Option<&str>, &str)> {
    let Some((scheme, rest)) = text.split_once(':') else { return Some((None, text)) };
    if scheme.is_empty() {
        return None;
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fits);
    Some(if is_scheme { (Some(scheme), rest) } else { (None, text) })
}

fn is_user(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c)) && has_valid_escapes(text)
}

/// Returns whether `text` is a host with an optional port.
fn is_host(text: &str) -> bool {
    if let Some(literal) = text.strip_prefix('[') {
        let Some((address, port)) = literal.rsplit_once(']') else { return false };
        return !literal.contains('[') && is_port(port) && is_ipv6(address);
    }
    if text.contains('[') {
        return false;
    }
    let (host, port) = text.split_at(text.rfind(':').unwrap_or(text.len()));
    is_port(port) && is_host_name(host)
}

/// Returns whether `text` is an IPv6 address with an optional zone after `%25`.
fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once("%25").map_or((text, None), |(address, zone)| (address, Some(zone)));
    let zone_fits = zone.is_none_or(|zone| !zone.is_empty() && is_host_name(zone));
    zone_fits && address.parse::<Ipv6Addr>().is_ok()
}

/// Returns whether `text` is a host name. In hosts, `%` escapes only bytes outside of ASCII.
fn is_host_name(text: &str) -> bool {
    let fits = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    let escapes_fit = text.match_indices('%').all(|(at, _)| {
        let digits = text.get(at + 1..at + 3).unwrap_or_default();
        digits == "25" || matches!(digits.as_bytes(), [b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', _])
    });
    text.chars().all(fits) && escapes_fit && has_valid_escapes(text)
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Returns whether two hexadecimal digits follow every `%`.
fn has_valid_escapes(text: &str) -> bool {
    text.match_indices('%').all(|(at, _)| {
        text.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
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

    #[test]
    fn ports_hosts_and_escapes_are_checked() {
        for good in
            ["https://example.org", "HTTPS://EX.COM", "http://ex.com:8080/a?b#c", "http://[::1]:80/", "/x", "mailto:x"]
        {
            assert!(is_request_uri(good), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "https://ex.com:abc",
            "https://ex.com/%zz",
            "https://a b",
            "http://[::1",
            "://x",
            "a\tb",
        ] {
            assert!(!is_request_uri(bad), "{bad}");
        }
    }
}
