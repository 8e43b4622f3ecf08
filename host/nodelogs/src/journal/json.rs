//! An entry as a line of JSON, with the keys and types of `journalctl -o json -a`.

use std::fmt::Write as _;

use super::cursor::Entry;

/// Fields of one entry; journald takes as many.
pub const MAX_FIELDS: usize = 1024;

/// Bytes of a line. Fields beyond are left out of it.
pub const MAX_LINE_BYTES: usize = 8 << 20;

/// The longest name of a field.
const MAX_NAME: usize = 64;

/// Writes `entry` and its `fields` (each `NAME=value`) into `line`, which is emptied before. How many fields were left out: without a name
/// that is one, or because the line would become too long.
pub(super) fn line(line: &mut Vec<u8>, entry: &Entry, sequence: [u8; 16], fields: &[Vec<u8>]) -> u64 {
    line.clear();
    head(line, entry, sequence);
    let mut left_out = 0;
    let mut grouped: Vec<(&str, Vec<&[u8]>)> = Vec::new();
    for field in fields {
        let Some((name, value)) = split(field) else {
            left_out += 1;
            continue;
        };
        // The head has it already.
        if name == "_BOOT_ID" {
            continue;
        }
        match grouped.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => grouped.push((name, vec![value])),
        }
    }
    for (name, values) in grouped {
        let before = line.len();
        line.push(b',');
        text(line, name);
        line.push(b':');
        match values.as_slice() {
            [one] => value(line, one),
            several => list(line, several, |line, one| value(line, one)),
        }
        // Room for the end of the line.
        if line.len() > MAX_LINE_BYTES - 2 {
            line.truncate(before);
            left_out += values.len() as u64;
        }
    }
    line.extend(b"}\n");
    left_out
}

/// What the entry itself says. A cursor is what `journalctl --cursor` takes.
fn head(line: &mut Vec<u8>, entry: &Entry, sequence: [u8; 16]) {
    let Entry { number, realtime, monotonic, boot, hash, .. } = entry;
    let (boot, sequence) = (hex(*boot), hex(sequence));
    let cursor = format!("s={sequence};i={number:x};b={boot};m={monotonic:x};t={realtime:x};x={hash:x}");
    line.extend(
        format!(
            r#"{{"__CURSOR":"{cursor}","__REALTIME_TIMESTAMP":"{realtime}","__MONOTONIC_TIMESTAMP":"{monotonic}","_BOOT_ID":"{boot}""#
        )
        .bytes(),
    );
}

fn hex(id: [u8; 16]) -> String {
    id.iter().fold(String::with_capacity(32), |mut text, byte| {
        // Cannot fail: writing to a String.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn split(field: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr(b'=', field)?;
    let (name, value) = (field.get(..end)?, field.get(end + 1..)?);
    let letter = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let good = (1..=MAX_NAME).contains(&name.len()) && name.iter().all(letter) && !name.first()?.is_ascii_digit();
    good.then_some((std::str::from_utf8(name).ok()?, value))
}

/// As text if it is one that can be printed, else as a list of its bytes.
fn value(line: &mut Vec<u8>, value: &[u8]) {
    match std::str::from_utf8(value) {
        Ok(printable) if printable.chars().all(is_printable) => text(line, printable),
        _ => list(line, value, |line, byte| line.extend(byte.to_string().bytes())),
    }
}

fn list<T>(line: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    line.push(b'[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        write(line, item);
    }
    line.push(b']');
}

fn text(line: &mut Vec<u8>, text: &str) {
    // Cannot fail: text, into memory.
    let _ = serde_json::to_writer(line, text);
}

/// What `journalctl` prints as text: no control characters but tab and newline, no code points that are no characters.
fn is_printable(character: char) -> bool {
    let code = u32::from(character);
    let control = character.is_control() && character != '\t' && character != '\n';
    !control && !(0xfdd0..=0xfdef).contains(&code) && code & 0xfffe != 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn entry() -> Entry {
        Entry { at: 0, size: 0, number: 0xc9, realtime: 1_700_000_000_000_000, monotonic: 7, boot: [0xab; 16], hash: 1 }
    }

    fn written(fields: &[&[u8]]) -> (Value, u64) {
        let fields: Vec<Vec<u8>> = fields.iter().map(|field| field.to_vec()).collect();
        let mut out = b"old".to_vec();
        let left_out = line(&mut out, &entry(), [1; 16], &fields);
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
        (serde_json::from_slice(&out).unwrap(), left_out)
    }

    #[test]
    fn text_bytes_and_several_values() {
        let fields: [&[u8]; 8] = [
            b"MESSAGE=a = b\nc\td",
            b"TAG=x",
            b"COLOUR=\x1b[1m",
            b"TAG=\xff\x00",
            b"EMPTY=",
            b"_BOOT_ID=another",
            b"lower=no",
            b"no name",
        ];
        let (line, left_out) = written(&fields);
        let boot = "ab".repeat(16);
        assert_eq!(
            line,
            json!({
                "__CURSOR": format!("s={};i=c9;b={boot};m=7;t=60a24181e4000;x=1", "01".repeat(16)),
                "__REALTIME_TIMESTAMP": "1700000000000000",
                "__MONOTONIC_TIMESTAMP": "7",
                "_BOOT_ID": boot,
                "MESSAGE": "a = b\nc\td",
                "TAG": ["x", [255, 0]],
                "COLOUR": [27, 91, 49, 109],
                "EMPTY": "",
            })
        );
        assert_eq!(left_out, 2);
    }

    #[test]
    fn a_line_has_a_bound() {
        let mut large = b"A=".to_vec();
        large.resize(MAX_LINE_BYTES / 3, 200);
        let (line, left_out) = written(&[b"BEFORE=1", &large, b"AFTER=2"]);
        assert!(line.get("A").is_none(), "as a list it is four times as long");
        assert_eq!(left_out, 1);
        assert_eq!((&line["BEFORE"], &line["AFTER"]), (&json!("1"), &json!("2")));
    }
}
