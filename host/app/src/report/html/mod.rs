//! Trees as one HTML page that works offline: what failed and why without a script, and a table of
//! everything, a heat map and a timeline with the page's own script.

mod ansi;
mod causes;
mod cluster;
mod failures;
mod nodes;
mod row;
mod section;
mod slowest;
mod spool;
mod summary;

use std::collections::HashMap;
use std::io::{self, Read, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Digest, Item};
use serde_json::json;

use crate::causes::Cause;
use crate::report::html::causes::{PageCause, causes_of};
use crate::report::html::cluster::Cluster;
use crate::report::html::nodes::{Drift, Nodes};
use crate::report::html::row::PluginRow;
pub(crate) use crate::report::html::section::Section;
use crate::report::html::section::Test;
use crate::report::html::slowest::Slowest;
use crate::report::html::spool::{Spool, Strings, Texts, element};
pub(crate) use crate::report::html::summary::PageFacts;
use crate::report::text::name;
use crate::report::verdict::Rulings;
use crate::timeline::{Relation, Timeline};

/// The style sheet.
const STYLE: &str = include_str!("style.css");

/// The script, in the order in which its parts depend on each other.
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("script/data.js"),
    include_str!("script/table.js"),
    include_str!("script/item.js"),
    include_str!("script/charts.js"),
    include_str!("script/start.js"),
);

/// The start of a page, up to its content. It has the style sheet, and this script.
fn head(title: &str, script: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">\n"))
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta http-equiv="Content-Security-Policy" content=(policy(script));
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("\n<body>\n"))
    }
}

/// The start of a page without a script, up to its content.
pub(crate) fn start(title: &str) -> Markup {
    head(title, None)
}

/// The end of such a page.
pub(crate) const END: &str = "</main>\n</body>\n</html>";

/// The number columns of strings: node, name, place, status, reason, source. Then the ruling, and
/// the texts.
const NUMBERS: [&str; 8] = ["node", "name", "place", "status", "reason", "source", "ruling", "text"];

/// The rows of the page's table, column by column.
struct Columns {
    numbers: [Spool; NUMBERS.len()],
    /// Durations in milliseconds, -1 if there is none.
    took: Spool,
    /// Starts in milliseconds since 1970, 0 if they are not known.
    start: Spool,
}

impl Columns {
    fn new() -> io::Result<Self> {
        let mut numbers = Vec::with_capacity(NUMBERS.len());
        for _ in NUMBERS {
            numbers.push(Spool::new()?);
        }
        let numbers = numbers.try_into().map_err(|_| io::Error::other("a column is missing"))?;
        Ok(Self { numbers, took: Spool::new()?, start: Spool::new()? })
    }

    fn len(&self) -> u32 {
        self.took.len
    }

    fn push(&mut self, row: [u32; NUMBERS.len()], seconds: Option<f64>, start: Option<i64>) -> io::Result<()> {
        for (column, number) in self.numbers.iter_mut().zip(row) {
            column.push(&number)?;
        }
        self.took.push(&seconds.map_or(-1, |seconds| (seconds * 1000.0).round() as i64))?;
        self.start.push(&start.unwrap_or_default())
    }

    fn finish(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"{\"took\":")?;
        self.took.finish(out)?;
        out.write_all(b",\"start\":")?;
        self.start.finish(out)?;
        for (title, column) in NUMBERS.iter().zip(self.numbers) {
            write!(out, ",\"{title}\":")?;
            column.finish(out)?;
        }
        out.write_all(b"}")
    }
}

/// Distinct rulings: class, whether it counts, reason, source and judge.
struct Rules {
    known: HashMap<(u32, u32, u32, u32, u32), u32>,
    spool: Spool,
}

/// A page that is being written. The data of items is in temporary files until the end, so memory
/// does not grow with the texts of items.
pub(crate) struct Page {
    strings: Strings,
    columns: Columns,
    texts: Texts,
    rules: Rules,
    rows: Vec<PluginRow>,
    tests: Vec<Test>,
    slowest: Slowest,
    nodes: Nodes,
    drift: Vec<Drift>,
    cluster: Cluster,
    /// The bytes of texts that are on the page without a script.
    samples: usize,
    /// The number of items for which the table has no room.
    left_out: u64,
}

impl Page {
    /// Starts an empty page.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            strings: Strings::new()?,
            columns: Columns::new()?,
            texts: Texts::new()?,
            rules: Rules { known: HashMap::new(), spool: Spool::new()? },
            rows: Vec::new(),
            tests: Vec::new(),
            slowest: Slowest::default(),
            nodes: Nodes::default(),
            drift: Vec::new(),
            cluster: Cluster::default(),
            samples: 0,
            left_out: 0,
        })
    }

    /// Adds the nodes of the cluster, as the API server returns them.
    pub(crate) fn cluster_nodes(&mut self, list: impl Read) -> usize {
        self.nodes.read(list);
        self.nodes.len()
    }

    /// Adds the cluster timeline of an archive, which has a name if there are several.
    pub(crate) fn timeline(&mut self, input: Option<&str>, timeline: &Timeline) {
        self.cluster.add(input, timeline);
    }

    /// Starts a plugin with the root of its tree, or of a part of it. `plugin` is its name on the
    /// page, and `directory` that of its directory in the archive.
    pub(crate) fn section<'a>(
        &'a mut self,
        plugin: &str,
        directory: &str,
        root: &Item,
        verdict: Option<&'a PluginVerdict>,
        causes: &[Cause],
        relations: &[Relation],
    ) -> Section<'a> {
        let row = PluginRow::new(name(plugin), directory, root, self.columns.len(), verdict);
        Section::new(self, row, Rulings::new(verdict), causes, relations)
    }

    /// Writes the page.
    pub(crate) fn finish(self, facts: &PageFacts, out: &mut impl Write) -> io::Result<()> {
        let title = format!("Results of {}", name(&facts.archive));
        let causes = causes_of(&self.tests);
        let start = html! {
            (head(&title, Some(SCRIPT)))
            (summary::header(&title, facts, &self.rows))
            (PreEscaped("<main>\n"))
            (summary::plugins(&self.rows))
        };
        out.write_all(start.into_string().as_bytes())?;
        let failures = self.rows.iter().map(|row| row.counting.saturating_add(row.excused)).sum();
        failures::write(&self.tests, &causes, &self.cluster.relations, failures, out)?;
        let rest = html! {
            (summary::verdicts(&self.rows))
            (summary::nodes(&self.rows, &self.nodes))
            (summary::drift(&self.drift))
            (summary::script_parts(self.left_out))
            (summary::slowest(&self.slowest))
            (PreEscaped("</main>\n"))
        };
        out.write_all(rest.into_string().as_bytes())?;
        self.data(&causes, out)?;
        writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")
    }

    /// Writes the data that the script shows.
    fn data(self, causes: &[PageCause], out: &mut impl Write) -> io::Result<()> {
        let blocks = self.texts.finish(out)?;
        let plugins: Vec<_> = self
            .rows
            .iter()
            .map(|row| json!({"name": row.plugin, "first": row.first, "count": row.rows, "nodes": row.nodes.len()}))
            .collect();
        let head = json!({"plugins": plugins, "causes": causes, "texts": blocks, "cluster": self.cluster});
        let (strings, rulings, columns) = (self.strings, self.rules.spool, self.columns);
        element("data", out, |mut out| {
            serde_json::to_writer(&mut out, &head)?;
            // The last character is the brace that ends the object: the rest goes into a second one.
            out.write_all(b"\n{\"strings\":")?;
            strings.finish(&mut out)?;
            out.write_all(b",\"rulings\":")?;
            rulings.finish(&mut out)?;
            out.write_all(b",\"items\":")?;
            columns.finish(&mut out)?;
            out.write_all(b"}\n")
        })
    }
}

/// The content security policy. It allows only the style sheet and this script, and nothing from
/// outside. Even if markup from results were not escaped, it could not load or run anything.
fn policy(script: Option<&str>) -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Digest::of(text.as_bytes()).as_bytes());
    let script = script.map_or_else(String::new, |text| format!("script-src 'sha256-{}'; ", hash(text)));
    format!(
        "default-src 'none'; {script}style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(STYLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_and_the_script_cannot_end_their_elements() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
        for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http"] {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }
}
