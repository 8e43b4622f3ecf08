//! The baseline in Rust: quick-xml without a sandbox or limits. It does the same work: it decodes
//! every test case into an item with its name, status and texts.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use plumbline_dev::Result;
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};

#[derive(Default)]
struct Item {
    name: String,
    status: &'static str,
    details: Vec<(&'static str, String)>,
}

/// Reads the file, and returns the number of its test cases.
pub(crate) fn read(path: &Path) -> Result<u64> {
    let mut reader = Reader::from_reader(BufReader::with_capacity(1 << 20, File::open(path)?));
    let mut buffer = Vec::new();
    let mut count = 0;
    let mut item: Option<Item> = None;
    let mut text: Option<(&'static str, String)> = None;
    loop {
        match reader.read_event_into(&mut buffer)? {
            Event::Eof => return Ok(count),
            Event::Start(tag) => match tag.local_name().as_ref() {
                b"testcase" => {
                    item = Some(Item { name: attribute(&tag, b"name")?, status: "passed", details: Vec::new() });
                }
                b"failure" => text = Some(("failure", attribute(&tag, b"message")?)),
                b"error" => text = Some(("error", attribute(&tag, b"message")?)),
                b"skipped" => text = Some(("skipped", attribute(&tag, b"message")?)),
                b"system-out" => text = Some(("system-out", String::new())),
                b"system-err" => text = Some(("system-err", String::new())),
                _ => {}
            },
            Event::Text(bytes) => {
                if let Some((_, text)) = &mut text {
                    text.push_str(&bytes.decode()?);
                }
            }
            Event::CData(bytes) => {
                if let Some((_, text)) = &mut text {
                    text.push_str(&bytes.decode()?);
                }
            }
            Event::GeneralRef(name) => {
                if let Some((_, text)) = &mut text {
                    text.push_str(resolve_predefined_entity(&name.decode()?).unwrap_or_default());
                }
            }
            Event::End(tag) => match tag.local_name().as_ref() {
                b"testcase" => {
                    if let Some(item) = item.take() {
                        std::hint::black_box((&item.name, item.status, &item.details));
                        count += 1;
                    }
                }
                b"failure" | b"error" | b"skipped" | b"system-out" | b"system-err" => {
                    if let (Some(item), Some((key, text))) = (&mut item, text.take()) {
                        item.status = match key {
                            "failure" | "error" => "failed",
                            "skipped" => "skipped",
                            _ => item.status,
                        };
                        item.details.push((key, text.trim().to_owned()));
                    }
                }
                _ => {}
            },
            _ => {}
        }
        buffer.clear();
    }
}

fn attribute(tag: &BytesStart<'_>, name: &[u8]) -> Result<String> {
    for attribute in tag.attributes() {
        let attribute = attribute?;
        if attribute.key.as_ref() == name {
            let value = std::str::from_utf8(&attribute.value).map_err(io::Error::other)?;
            return Ok(unescape(value)?.into_owned());
        }
    }
    Ok(String::new())
}
