//! The page while it is being written.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use maud::{PreEscaped, html};
use plumbline_archive::results::ResultsArchive;
use plumbline_core::judgement::RuledItem;
use plumbline_core::rollup::meaning;
use plumbline_core::{Status, Verdict};
use serde_json::json;

use crate::difference::Previous;
use crate::report::facts::ReportFacts;
use crate::report::html::cluster::Cluster;
use crate::report::html::durations::{Durations, SlowItem, slowest};
use crate::report::html::failed::Test;
use crate::report::html::failures::{self, PageCause, causes_of};
use crate::report::html::frame::{SCRIPT, head};
use crate::report::html::logs::Logs;
use crate::report::html::row::PluginRow;
use crate::report::html::spool::{Spool, Strings, Texts, element};
use crate::report::html::summary;
use crate::report::nodes::Nodes;
use crate::report::slowest::{MAX_SLOWEST, Slowest};
use crate::report::text::name;
use crate::timeline::Timeline;

/// The most items in the table, and as many failures again. Browsers cannot scroll through more.
const MAX_ROWS: u32 = 250_000;

/// The number columns of strings: node, name, place, status, reason, source. Then the ruling, and
/// the texts.
const NUMBERS: [&str; 8] = ["node", "name", "place", "status", "reason", "source", "ruling", "text"];

/// The rows of the page's table, column by column.
pub(super) struct Columns {
    numbers: [Spool; NUMBERS.len()],
    /// Durations in milliseconds, -1 if unknown.
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

    pub(super) fn len(&self) -> u32 {
        self.took.len
    }

    pub(super) fn push(
        &mut self,
        row: [u32; NUMBERS.len()],
        seconds: Option<f64>,
        start: Option<i64>,
    ) -> io::Result<()> {
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
    pub(super) strings: Strings,
    /// The standard statuses that statuses of plugins count as, by their numbers among the strings.
    meanings: BTreeMap<u32, Status>,
    pub(super) columns: Columns,
    pub(super) texts: Texts,
    rules: Rules,
    pub(super) rows: Vec<PluginRow>,
    pub(super) tests: Vec<Test>,
    pub(super) slowest: Slowest<SlowItem>,
    pub(crate) nodes: Nodes,
    /// The durations that changed since an earlier run, if there is one.
    pub(super) durations: Option<Durations>,
    pub(super) cluster: Cluster,
    logs: Logs,
    /// The bytes of texts that are on the page without a script.
    pub(super) samples: usize,
    /// The number of items for which the table has no room.
    pub(super) left_out: u64,
}

impl Page {
    /// Starts an empty page.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            strings: Strings::new()?,
            meanings: BTreeMap::new(),
            columns: Columns::new()?,
            texts: Texts::new()?,
            rules: Rules { known: HashMap::new(), spool: Spool::new()? },
            rows: Vec::new(),
            tests: Vec::new(),
            slowest: Slowest::new(MAX_SLOWEST),
            nodes: Nodes::default(),
            durations: None,
            cluster: Cluster::default(),
            logs: Logs::default(),
            samples: 0,
            left_out: 0,
        })
    }

    /// Adds the durations that changed since an earlier run. The items of the page follow.
    pub(crate) fn previous(&mut self, previous: Previous) {
        self.durations = Some(Durations::of(previous));
    }

    /// Adds the cluster timeline of an archive, which has a name if there are several.
    pub(crate) fn timeline(&mut self, input: Option<&str>, timeline: &Timeline) {
        self.cluster.add(input, timeline);
    }

    /// Adds the logs of pods that ran failed items, for the plugins since the last call. `archive` is
    /// that of these plugins.
    pub(crate) fn logs(&mut self, archive: &mut ResultsArchive) -> io::Result<()> {
        self.logs.add(&self.rows, archive, &mut self.texts)
    }

    /// Whether the table has room for another item. Failures have a reserve.
    pub(super) fn has_room(&self, is_bad: bool) -> bool {
        self.columns.len() < if is_bad { MAX_ROWS.saturating_mul(2) } else { MAX_ROWS }
    }

    /// Adds what a status of a plugin counts as. `number` is that of the status among the strings.
    pub(super) fn add_meaning(&mut self, number: u32, status: &Status) {
        if !status.is_custom() {
            return;
        }
        let counted = meaning(status);
        if !counted.is_custom() {
            self.meanings.insert(number, counted);
        }
    }

    /// The number of the ruling in the page's data, counted from 1, or 0 without a ruling.
    pub(super) fn ruling(&mut self, ruled: Option<&RuledItem>) -> io::Result<u32> {
        let Some(RuledItem { ruling, judge, .. }) = ruled else { return Ok(0) };
        let mut number_of = |text: &str| self.strings.number(&name(text));
        let row = (
            number_of(&ruling.class)?,
            u32::from(ruling.counts),
            number_of(&ruling.reason)?,
            number_of(&ruling.source)?,
            number_of(judge)?,
        );
        let Rules { known, spool } = &mut self.rules;
        if let Some(number) = known.get(&row) {
            return Ok(*number);
        }
        spool.push(&row)?;
        known.insert(row, spool.len);
        Ok(spool.len)
    }

    /// Writes the page. `verdict` is that over everything on it.
    pub(crate) fn finish(self, verdict: Verdict, facts: &ReportFacts, out: &mut impl Write) -> io::Result<()> {
        let title = format!("Results of {}", name(&facts.archive));
        let causes = causes_of(&self.tests);
        let start = html! {
            (head(&title, Some(SCRIPT)))
            (summary::header(&title, verdict, facts, &self.rows))
            (PreEscaped("<main>\n"))
        };
        out.write_all(start.into_string().as_bytes())?;
        let failures = self.rows.iter().map(|row| row.counting.saturating_add(row.excused)).sum();
        failures::write(&self.tests, &causes, &self.cluster.relations, failures, out)?;
        let rest = html! {
            (summary::items(self.left_out))
            (summary::plugins(&self.rows))
            (summary::verdicts(&self.rows))
            (summary::nodes(&self.rows, &self.nodes))
            (summary::drift(&self.nodes.drift))
            (summary::timeline())
            (slowest(self.slowest.leaves()))
            @if let Some(durations) = &self.durations { (durations.markup()) }
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
        let head = json!({"plugins": plugins, "causes": causes, "texts": blocks, "cluster": self.cluster,
            "logs": self.logs.shown, "meanings": self.meanings});
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
