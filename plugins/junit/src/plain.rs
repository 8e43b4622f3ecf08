//! A fast path for the markup of nearly every report: tags with plain names and quoted values, and
//! references with plain names.
//!
//! All other markup, and incomplete markup, is left to quick-xml, which supports all of XML and
//! recovers from errors. What this fast path reads, quick-xml would read in the same way, as a test
//! checks.

use memchr::memchr;

use crate::tag::Attribute;
use crate::text::MAX_REFERENCE;

/// Maximum number of attributes of a tag; real ones have up to ten.
pub(crate) const MAX_ATTRIBUTES: usize = 16;

/// Plain markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup<'a> {
    /// A tag that opens an element, and closes it if it is `empty`. Its attributes are the first
    /// ones of the given slice.
    Open { name: &'a [u8], attributes: usize, empty: bool },
    /// A tag that closes an element.
    Close { name: &'a [u8] },
    /// A reference.
    Reference { name: &'a [u8] },
}

/// Returns the markup at the start of `rest` and its length, if it is plain and complete.
/// Attributes are written to `attributes`.
pub(crate) fn read<'a>(
    rest: &'a [u8],
    attributes: &mut [Attribute<'a>; MAX_ATTRIBUTES],
) -> Option<(Markup<'a>, usize)> {
    match rest {
        [b'<', b'/', tail @ ..] => {
            let (name, tail) = name(tail)?;
            let [b'>', tail @ ..] = tail else { return None };
            Some((Markup::Close { name }, rest.len() - tail.len()))
        }
        [b'<', tail @ ..] => {
            let (name, tail) = name(tail)?;
            let mut free = attributes.iter_mut();
            let (empty, tail) = read_attributes(tail, &mut free)?;
            let free = free.len();
            Some((Markup::Open { name, attributes: MAX_ATTRIBUTES - free, empty }, rest.len() - tail.len()))
        }
        [b'&', tail @ ..] => {
            let length = tail
                .iter()
                .take(MAX_REFERENCE)
                .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'#')
                .filter(|length| *length > 0)?;
            let (name, tail) = tail.split_at_checked(length)?;
            let [b';', tail @ ..] = tail else { return None };
            Some((Markup::Reference { name }, rest.len() - tail.len()))
        }
        _ => None,
    }
}

/// Reads attributes up to the end of the tag. Returns whether the element is empty, and what
/// follows the tag.
fn read_attributes<'a, 's>(
    mut tail: &'a [u8],
    free: &mut impl Iterator<Item = &'s mut Attribute<'a>>,
) -> Option<(bool, &'a [u8])>
where
    'a: 's,
{
    loop {
        let spaced = tail;
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = tail {
            tail = rest;
        }
        match tail {
            [b'>', rest @ ..] => return Some((false, rest)),
            [b'/', b'>', rest @ ..] => return Some((true, rest)),
            _ if spaced.len() == tail.len() => return None,
            _ => {}
        }
        let (key, rest) = name(tail)?;
        let [b'=', quote @ (b'"' | b'\''), rest @ ..] = rest else { return None };
        let (value, rest) = rest.split_at_checked(memchr(*quote, rest)?)?;
        *free.next()? = Attribute { key, value };
        tail = rest.get(1..)?;
    }
}

/// Returns a name, and what follows it. A name starts with a letter, and ends before the first byte
/// that [`stops`] it.
#[inline(never)]
fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    text.first().filter(|first| first.is_ascii_alphabetic())?;
    // Process eight bytes at a time, because a module pays for every iteration. Near the end of the
    // window there are fewer bytes. They are read after the next piece has arrived, or by
    // quick-xml.
    let mut length = 0;
    for word in text.as_chunks::<8>().0 {
        let stops = stops(u64::from_le_bytes(*word));
        if stops != 0 {
            length += stops.trailing_zeros() as usize / 8;
            return text.split_at_checked(length);
        }
        length += word.len();
    }
    None
}

/// Returns the highest bit of each byte that is not part of a plain name: white space, quotes, `/`,
/// `<`, `=`, `>`, most other punctuation, and non-ASCII bytes.
fn stops(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let low = word & !HIGH;
    // Seven bits of each byte, so that no sum carries into the next byte.
    let at_least = |byte: u8| low + (0x80 - u64::from(byte)) * EACH;
    let marks = at_least(b'/') & !at_least(b'/' + 1) | at_least(b'<') & !at_least(b'>' + 1);
    (word | !at_least(b'-') | marks) & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use super::*;
    use crate::tag::Tag;

    /// Asserts that quick-xml reads the same. Returns whether the text is plain.
    fn agrees(text: &[u8]) -> bool {
        // Names are not read at the very end.
        let text = &[text, &[b' '; 16]].concat()[..];
        let mut attributes = [Attribute::default(); MAX_ATTRIBUTES];
        let Some((markup, length)) = read(text, &mut attributes) else { return false };
        let mut reader = Reader::from_reader(text);
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        let event = reader.read_event().unwrap();
        assert_eq!(reader.buffer_position(), length as u64);
        match (&event, markup) {
            (Event::Start(tag) | Event::Empty(tag), Markup::Open { name, attributes: count, empty }) => {
                assert_eq!(empty, matches!(event, Event::Empty(_)));
                let plain = Tag::Plain { name, attributes: &attributes[..count] };
                assert_eq!(Tag::Other(tag).name(), name);
                assert!(Tag::Other(tag).attributes().eq(plain.attributes()));
                assert_eq!(tag.attributes().with_checks(false).count(), count, "nothing was passed over");
            }
            (Event::End(tag), Markup::Close { name }) => assert_eq!(tag.name().into_inner(), name),
            (Event::GeneralRef(reference), Markup::Reference { name }) => assert_eq!(&**reference, name),
            (event, markup) => panic!("{markup:?} is {event:?}"),
        }
        true
    }

    #[test]
    fn common_xml_takes_the_fast_path() {
        for text in [
            "<testsuites>",
            "<testcase name=\"a>b 'c'\" classname='d\"' time=\"0.1\">x",
            "<ns:a ns:b=\"&lt;\"\n c=''/>",
            "<skipped />",
            "</testcase>",
            "&amp;",
            "&#x0a;x",
        ] {
            assert!(agrees(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn names_end_where_they_should() {
        for byte in 0..=u8::MAX {
            let part = matches!(byte, b'-' | b'.' | b'0'..=b';' | b'?'..=0x7F);
            for place in 0..8 {
                let mut word = *b"abcdefgh";
                word[place] = byte;
                let expected = if part { 0 } else { 0x80 << (8 * place) };
                assert_eq!(stops(u64::from_le_bytes(word)), expected, "{byte:#x} at {place}");
            }
        }
    }

    #[test]
    fn everything_else_is_left_alone() {
        let many = format!("<a{}>", " b=''".repeat(MAX_ATTRIBUTES + 1));
        let long = format!("&{};", "a".repeat(MAX_REFERENCE + 1));
        for text in [
            "",
            "<",
            "</",
            "<a",
            "<a b",
            "<a b=",
            "<a b=c>",
            "<a b='c",
            "<a b='c'd='e'>",
            "<a b = 'c'>",
            "<a b>",
            "< a>",
            "<a/",
            "<a / >",
            "</a",
            "</a >",
            "</>",
            "<>",
            "<1>",
            "<ü>",
            "<!-- -->",
            "<?a?>",
            "&",
            "&;",
            "&a",
            "&a b;",
            "&a&b;",
            "text",
            &many,
            &long,
        ] {
            assert!(!agrees(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_fast_parser_agrees_with_quick_xml(
            text in r#"(<|</|&)[a-z]{1,3}([ a-c:.]{0,2}[ \n]?[a-c]?=?['"][a-c<>&=/ '"]{0,5}['"]){0,3}[ /;]{0,1}[>;]?[a-c<>&"' ]{0,4}"#
        ) {
            agrees(text.as_bytes());
        }
    }
}
