//! A post-processor for CycloneDX (ECMA-424) in JSON, versions 1.4 to 1.6. A document may be a bill
//! of materials, a vulnerability exchange (VEX), or both.
//!
//! Each document becomes an item. Below it are an item for each vulnerability and one that counts
//! the components.
//!
//! # The status of a vulnerability
//!
//! | in the document | status |
//! |---|---|
//! | `analysis.state` is `not_affected` or `false_positive` | `skipped` |
//! | `analysis.state` is `resolved` or `resolved_with_pedigree` | `passed` |
//! | anything else (`exploitable`, `in_triage`, nothing), and the severity is in the option `fail-on` | `failed` |
//! | anything else, and the severity is unknown | `unknown` |
//! | anything else | `passed`, with the severity in the metadata |
//!
//! If there are several ratings, the method decides: CVSS 4, 3.1, 3, 2, then any other. Among
//! equals, the first one is used. If a rating has no severity, its score decides, according to
//! CVSS.
//!
//! # Options
//!
//! | option | default | |
//! |---|---|---|
//! | `fail-on` | `[critical, high]` | severities that fail: `critical`, `high`, `medium`, `low`, `info`, `none`, `unknown` |
//!
//! # Memory
//!
//! Documents are read piece by piece. Components are counted and dropped, and vulnerabilities are
//! emitted one by one. Only a short name of each component is kept, up to [`MAX_NAMES`], so that a
//! vulnerability can list what it affects.
#![forbid(unsafe_code)]

mod components;
mod document;
mod names;
mod severity;
mod vulnerability;

use std::collections::BTreeSet;
use std::io::{self, BufRead};

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};
use serde::Deserialize;

pub use names::MAX_NAMES;
pub use severity::Severity;

/// The post-processor. The documentation of the crate describes the rules.
#[derive(Debug, Clone, Copy)]
pub struct CycloneDx;

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Options {
    fail_on: BTreeSet<Severity>,
}

impl Default for Options {
    fn default() -> Self {
        Self { fail_on: BTreeSet::from([Severity::Critical, Severity::High]) }
    }
}

impl PostProcessor for CycloneDx {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        if options.fail_on.is_empty() {
            return Err("the option `fail-on` has no severity, so nothing could fail".to_owned());
        }
        for file in files {
            out.emit(Item::new(0, file.file_name()).meta("file", file.path()).meta("type", "file"));
            if let Err(error) = read(file, &options, out) {
                // The items before the error are kept.
                out.emit(Item::new(1, "unreadable").status(Status::Unknown).meta("error", error));
            }
        }
        Ok(())
    }
}

fn read(mut file: InputFile, options: &Options, out: &mut Output) -> Result<(), String> {
    skip_mark(&mut file).map_err(|error| error.to_string())?;
    match first(&mut file).map_err(|error| error.to_string())? {
        None => return Err("the file is empty".to_owned()),
        Some(b'<') => return Err("this is XML: only the JSON form of CycloneDX is read".to_owned()),
        Some(b'{') => {}
        Some(_) => return Err("this is not a CycloneDX document in JSON, which begins with `{`".to_owned()),
    }
    document::read(file, &options.fail_on, out)
}

/// Skips a byte order mark.
fn skip_mark(file: &mut InputFile) -> io::Result<()> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    // The host may return only a part of the mark, so compare byte by byte.
    for (i, &byte) in MARK.iter().enumerate() {
        let next = file.fill_buf()?.first().copied();
        if next != Some(byte) {
            return if i == 0 { Ok(()) } else { Err(io::Error::other("the file begins with half a byte order mark")) };
        }
        file.consume(1);
    }
    Ok(())
}

/// Returns the first byte that is not white space, without consuming it.
fn first(file: &mut InputFile) -> io::Result<Option<u8>> {
    loop {
        let Some(byte) = file.fill_buf()?.first().copied() else { return Ok(None) };
        if !byte.is_ascii_whitespace() {
            return Ok(Some(byte));
        }
        file.consume(1);
    }
}

plumbline_sdk::module! {
    name: "cyclonedx",
    formats: ["cyclonedx"],
    default_files: ["**/*.cdx.json", "**/bom.json"],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "fail-on": {
                "type": "array",
                "minItems": 1,
                "items": { "enum": ["critical", "high", "medium", "low", "info", "none", "unknown"] },
                "description": "Severities of vulnerabilities that fail."
            }
        },
        "additionalProperties": false
    },
    post_processor: CycloneDx,
}
