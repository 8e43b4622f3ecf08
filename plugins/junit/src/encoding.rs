//! Converts a file from any encoding to UTF-8 before it is parsed as XML.
//!
//! The order is that of appendix F of XML 1.0. A byte order mark takes precedence. Without one, the
//! first bytes distinguish UTF-16 from the rest. Otherwise the declaration decides.

use std::io::{self, BufRead};

use encoding_rs::{CoderResult, Decoder, Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use plumbline_sdk::text::cut;

/// Number of bytes within which an XML declaration must end. The longest reasonable one has about
/// 100.
const MAX_DECLARATION: usize = 1024;

/// Maximum number of bytes of an encoding's name in a reason.
const MAX_LABEL: usize = 60;

/// A reader of a file that returns UTF-8.
pub(crate) struct Utf8<R> {
    reader: R,
    state: State,
}

enum State {
    /// The encoding is not known yet.
    Start,
    /// The bytes are decoded, unless they are UTF-8; the string is scratch space.
    Reading(Option<(Box<Decoder>, String)>),
    /// The file has ended.
    End,
}

impl<R: BufRead> Utf8<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, state: State::Start }
    }

    /// Appends the next piece to `window`. Returns `false` at the end. The error is a sentence.
    pub(crate) fn fill(&mut self, window: &mut Vec<u8>) -> Result<bool, String> {
        match &mut self.state {
            State::Start => {
                let (head, ended) = read_head(&mut self.reader).map_err(|error| error.to_string())?;
                let (encoding, mark) = detect(&head)?;
                let text = head.get(mark..).unwrap_or_default();
                self.state = if encoding == UTF_8 {
                    window.extend_from_slice(text);
                    State::Reading(None)
                } else {
                    let mut decoder = encoding.new_decoder_without_bom_handling();
                    let mut scratch = String::new();
                    decode(&mut decoder, text, false, &mut scratch, window);
                    State::Reading(Some((Box::new(decoder), scratch)))
                };
                if ended { self.fill(window) } else { Ok(true) }
            }
            State::Reading(decoding) => {
                let piece = self.reader.fill_buf().map_err(|error| error.to_string())?;
                let length = piece.len();
                match decoding {
                    None => window.extend_from_slice(piece),
                    Some((decoder, scratch)) => decode(decoder, piece, length == 0, scratch, window),
                }
                self.reader.consume(length);
                if length == 0 {
                    self.state = State::End;
                }
                Ok(length > 0)
            }
            State::End => Ok(false),
        }
    }
}

/// Reads until the encoding can be determined. Also returns whether the file has ended.
fn read_head(reader: &mut impl BufRead) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    loop {
        let piece = reader.fill_buf()?;
        let length = piece.len();
        if length == 0 {
            return Ok((head, true));
        }
        head.extend_from_slice(piece);
        reader.consume(length);
        if is_enough(&head) {
            return Ok((head, false));
        }
    }
}

fn is_enough(head: &[u8]) -> bool {
    const OPENING: &[u8] = b"<?xml";
    if head.len() >= MAX_DECLARATION {
        return true;
    }
    let text = head.trim_ascii_start();
    let begun = text.get(..OPENING.len().min(text.len())).unwrap_or_default();
    if head.len() >= 4 && !OPENING.starts_with(begun) {
        return true;
    }
    text.starts_with(OPENING) && text.contains(&b'>')
}

/// Returns the encoding of a file that starts with `head`, and the length of its byte order mark.
fn detect(head: &[u8]) -> Result<(&'static Encoding, usize), String> {
    if let Some(found) = Encoding::for_bom(head) {
        return Ok(found);
    }
    // In UTF-16, XML starts with `<`, or with an empty line that a script wrote.
    match head {
        [b'<' | b' ' | b'\t' | b'\r' | b'\n', 0, ..] => return Ok((UTF_16LE, 0)),
        [0, b'<' | b' ' | b'\t' | b'\r' | b'\n', ..] => return Ok((UTF_16BE, 0)),
        _ => {}
    }
    let Some(label) = declared(head) else { return Ok((UTF_8, 0)) };
    // The Encoding Standard only names some encodings, because decoding them is unsafe. It would
    // replace the whole text by a mark.
    let Some(encoding) = Encoding::for_label(label).filter(|encoding| *encoding != REPLACEMENT) else {
        return Err(format!("encoding `{}` is not known", cut(&String::from_utf8_lossy(label), MAX_LABEL)));
    };
    // The declaration was readable as ASCII, so the file is not UTF-16, whatever it says. The file
    // was converted without changing its declaration.
    let encoding = if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding };
    Ok((encoding, 0))
}

/// Returns the encoding in the XML declaration, if there is one.
fn declared(head: &[u8]) -> Option<&[u8]> {
    // Nothing may precede a declaration, but reports that scripts write often start with an empty
    // line.
    let head = head.get(..head.len().min(MAX_DECLARATION))?.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = head.get(..head.iter().position(|&byte| byte == b'>')?)?;
    let place = declaration.windows(b"encoding".len()).position(|word| word == b"encoding")?;
    let rest = declaration.get(place + b"encoding".len()..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first()?;
    if *quote != b'"' && *quote != b'\'' {
        return None;
    }
    rest.get(..rest.iter().position(|byte| byte == quote)?)
}

fn decode(decoder: &mut Decoder, mut piece: &[u8], last: bool, scratch: &mut String, window: &mut Vec<u8>) {
    loop {
        scratch.clear();
        scratch.reserve(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len()).max(16));
        let (result, read, _replaced) = decoder.decode_to_string(piece, scratch, last);
        window.extend_from_slice(scratch.as_bytes());
        piece = piece.get(read..).unwrap_or_default();
        if result == CoderResult::InputEmpty {
            return;
        }
    }
}
