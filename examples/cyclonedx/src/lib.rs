//! A post-processor for CycloneDX (ECMA-424) in JSON, versions 1.4 to 1.6: a bill of materials, an exchange of what is known of its
//! vulnerabilities (VEX), or both in one document.
//!
//! Each document becomes an item; below it stands an item for each vulnerability, then one that counts the components.
//!
//! # How a vulnerability ends
//!
//! | the document says | status |
//! |---|---|
//! | `analysis.state` is `not_affected` or `false_positive` | `skipped`: it is none here |
//! | `analysis.state` is `resolved` or `resolved_with_pedigree` | `passed` |
//! | anything else (`exploitable`, `in_triage`, nothing), and its severity is among the option `fail-on` | `failed` |
//! | anything else, and nobody says how severe it is | `unknown` |
//! | anything else | `passed`; its severity stands in its meta |
//!
//! Of several ratings the one counts whose method comes first here: CVSS 4, 3.1, 3, 2, any other; among equals the first. Where a rating has no
//! severity, that of its score counts, as CVSS maps scores to words.
//!
//! # Options
//!
//! | option | default | |
//! |---|---|---|
//! | `fail-on` | `[critical, high]` | severities that fail: `critical`, `high`, `medium`, `low`, `info`, `none`, `unknown` |
//!
//! # Memory
//!
//! Documents are read piece by piece: components are counted and dropped, vulnerabilities leave one by one. What is kept of components is
//! a short name each, up to [`MAX_NAMES`], so that a vulnerability can say in words what it affects.
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

/// Plays the role. See the crate's documentation for the rules.
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
        for file in files {
            out.emit(Item::new(0, file.file_name()).meta("file", file.path()).meta("type", "file"));
            if let Err(error) = read(file, &options, out) {
                // What was read before stays.
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

/// Passes over a byte order mark.
fn skip_mark(file: &mut InputFile) -> io::Result<()> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    // The host may give fewer bytes than the mark has at once, so byte by byte.
    for (i, &byte) in MARK.iter().enumerate() {
        let next = file.fill_buf()?.first().copied();
        if next != Some(byte) {
            return if i == 0 { Ok(()) } else { Err(io::Error::other("the file begins with half a byte order mark")) };
        }
        file.consume(1);
    }
    Ok(())
}

/// The first byte that is no white space; it stays in the file.
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
                "items": { "enum": ["critical", "high", "medium", "low", "info", "none", "unknown"] },
                "description": "Severities of vulnerabilities that fail."
            }
        },
        "additionalProperties": false
    },
    post_processor: CycloneDx,
}
