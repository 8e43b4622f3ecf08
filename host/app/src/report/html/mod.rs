//! Trees as one HTML page without scripts, fonts and other resources.

mod parts;
mod section;

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plumbline_core::Item;
use plumbline_core::judgement::PluginVerdict;

use crate::report::html::parts::{Row, row, summary};
use crate::report::html::section::section;
use crate::report::text::name;

/// The style sheet.
const STYLE: &str = include_str!("style.css");

/// The content security policy. Even if markup from results were not escaped, it could not load or
/// run anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The start of a page, up to its content.
pub(crate) fn start(title: &str) -> Markup {
    html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">\n"))
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("\n<body>\n"))
    }
}

/// The end of a page.
pub(crate) const END: &str = "</main>\n</body>\n</html>";

/// The head of the page.
#[derive(Debug, Clone, Default)]
pub struct PageFacts {
    /// The archive's name.
    pub archive: String,
    /// The ID of the run.
    pub run: Option<String>,
    /// The tool that made the archive, with its version.
    pub tool: Option<String>,
}

/// A page that is being written. The sections of plugins are in a temporary file until the table
/// above them is known, so at most one tree is in memory.
pub struct Page {
    parts: BufWriter<File>,
    rows: Vec<Row>,
}

impl Page {
    /// Starts an empty page.
    pub fn new() -> io::Result<Self> {
        Ok(Self { parts: BufWriter::new(tempfile::tempfile()?), rows: Vec::new() })
    }

    /// Adds the section of a plugin: its tree, or a part of it, and its verdict.
    pub fn plugin(&mut self, root: &Item, verdict: Option<&PluginVerdict>) -> io::Result<()> {
        let row = row(root, verdict);
        section(self.rows.len() + 1, &row, root, verdict, &mut self.parts)?;
        self.rows.push(row);
        Ok(())
    }

    /// Writes the page.
    pub fn finish(self, facts: &PageFacts, out: &mut impl Write) -> io::Result<()> {
        let title = format!("Results of {}", name(&facts.archive));
        let head = html! {
            (start(&title))
            header {
                h1 { (title) }
                p.soft {
                    @if let Some(run) = &facts.run { "run " (name(run)) }
                    @if facts.run.is_some() && facts.tool.is_some() { " · " }
                    @if let Some(tool) = &facts.tool { (name(tool)) }
                }
            }
            (PreEscaped("\n<main>\n"))
            (summary(&self.rows))
        };
        out.write_all(head.into_string().as_bytes())?;
        let mut parts = self.parts.into_inner().map_err(io::IntoInnerError::into_error)?;
        parts.seek(SeekFrom::Start(0))?;
        io::copy(&mut parts, out)?;
        writeln!(out, "{END}")
    }
}
