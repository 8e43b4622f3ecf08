//! Tests of files in other encodings than UTF-8.

use plumbline_sdk::testing::Run;

use crate::common;

const NAME: &str = "prüft Größe 𝄞 ≥ 10 €";

fn document(declaration: &str) -> String {
    format!(
        "{declaration}<testsuites><testsuite name=\"Größen\"><testcase name=\"{NAME}\"><failure message=\"naïve\">\
         <![CDATA[Ω < 1]]> &#8364;</failure></testcase></testsuite></testsuites>\r\n"
    )
}

fn little(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn big(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn check(what: &str, bytes: Vec<u8>) {
    for piece in [1, 2, 3, 64, 1 << 20] {
        let run = common::read_in_pieces(bytes.clone(), piece);
        let outline = format!("junit.xml: -\n  Größen: -\n    {NAME}: failed\n");
        assert_eq!(run.outline(), outline, "{what}, {piece} bytes at a time");
        assert_eq!(common::text(&run, NAME, "failure"), "naïve Ω < 1 €", "{what}");
    }
}

#[test]
fn utf_16_in_both_orders_with_and_without_mark_and_declaration() {
    let declared = document("<?xml version=\"1.0\" encoding=\"UTF-16\"?>\r\n");
    let bare = document("");
    check("little, mark, declared", joined(&[b"\xFF\xFE", &little(&declared)]));
    check("big, mark, declared", joined(&[b"\xFE\xFF", &big(&declared)]));
    check("little, mark", joined(&[b"\xFF\xFE", &little(&bare)]));
    check("big, mark", joined(&[b"\xFE\xFF", &big(&bare)]));
    check("little, declared", little(&declared));
    check("big, declared", big(&declared));
    check("little", little(&bare));
    check("big", big(&bare));
}

#[test]
fn utf_8_with_a_mark_wins_over_what_is_declared() {
    let text = document("<?xml version='1.0' encoding='ISO-8859-1'?>");
    check("mark", joined(&[b"\xEF\xBB\xBF", text.as_bytes()]));
}

#[test]
fn utf_16_declared_in_a_file_that_is_not() {
    check("converted", document("<?xml version=\"1.0\" encoding=\"utf-16\"?>").into_bytes());
}

fn latin(declaration: &str, bytes: &[u8]) -> Run {
    let parts: [&[u8]; 4] =
        [declaration.as_bytes(), b"<testsuite name='s'><testcase name='", bytes, b"'/></testsuite>"];
    common::read(parts.concat())
}

#[test]
fn one_byte_encodings_as_declared() {
    for (label, bytes, name) in [
        ("ISO-8859-1", &b"Gr\xF6\xDFe"[..], "Größe"),
        ("iso-8859-15", b"10 \xA4", "10 €"),
        ("windows-1252", b"\x8010 \x96 \x93x\x94", "€10 – “x”"),
        ("us-ascii", b"plain", "plain"),
        ("windows-1251", b"\xEF\xF0\xE8\xE2\xE5\xF2", "привет"),
        ("Shift_JIS", b"\x83e\x83X\x83g", "テスト"),
    ] {
        for declaration in [
            format!("<?xml version=\"1.0\" encoding=\"{label}\"?>\n"),
            format!("<?xml version='1.0'  encoding = '{label}' standalone='yes' ?>"),
            format!("\n <?xml version=\"1.0\" encoding=\"{label}\"?>"),
        ] {
            assert_eq!(latin(&declaration, bytes).items.last().unwrap().name, name, "{declaration}");
        }
    }
}

#[test]
fn bytes_that_are_not_in_the_encoding_are_marked_and_the_rest_is_read() {
    let run = common::read(
        &b"<testsuite name='s'><testcase name='a\xF6b'><failure>x\xFFy\xC3</failure></testcase></testsuite>"[..],
    );
    assert_eq!(common::text(&run, "a\u{FFFD}b", "failure"), "x\u{FFFD}y\u{FFFD}");
}

#[test]
fn an_encoding_that_is_not_known_is_named() {
    for label in ["utf-7", "klingon", "iso-2022-kr"] {
        let run = latin(&format!("<?xml version=\"1.0\" encoding=\"{label}\"?>"), b"x");
        assert_eq!(common::error(&run), format!("encoding `{label}` is not known"));
        assert_eq!(run.items.len(), 1);
    }
}
